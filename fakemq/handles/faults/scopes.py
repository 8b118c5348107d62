"""The limits that a test gives a fault: codes, nodes, topics; checked, as a `Scope`."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from fakemq.broker.broker import Broker
from fakemq.broker.broker import handles as broker_handles
from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import Scope
from fakemq.faults.request_scope import fields_of
from fakemq.namesrv.namesrv import handles as name_server_handles
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.namesrv.namesrv import NameServer

CodeT = TypeVar("CodeT", bound=IntEnum)


class Where(TypedDict, total=False):
    """What a fault is limited to; what is not said is not limited."""

    node: str | None
    """A broker or a name server; a bare brokerName means its master."""
    topic: str | None
    queue: int | None
    group: str | None
    client: str | None
    """A client id, or what stands behind its ``@``, known from the client's first heartbeat on; or
    an address ``host:port``. At a name server also the name or address of a broker."""


def request_code(value: RequestCode | int | str) -> int:
    """A request code by member, number or name; a number need not be one of 4.9.7's.

    Of an int32, as in a header of JSON: clients may ask what no node knows.
    """
    return _code(RequestCode, value, "request code", 2**31 - 1)


def response_code(value: ResponseCode | int | str) -> int:
    """A response code by member, number or name; a number need not be one of 4.9.7's.

    Of an int16, as in a binary header: who asks says which kind of header the answer has.
    """
    return _code(ResponseCode, value, "response code", 2**15 - 1)


def _code(codes: type[CodeT], value: CodeT | int | str, what: str, most: int) -> int:
    if isinstance(value, str):
        if value in codes.__members__:
            return codes[value]
        raise ConfigError(f"there is no {what} {value!r}{did_you_mean(value, codes.__members__)}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{what} {value!r}: expected a name, a number or a {codes.__name__}")
    return checked.whole(what, int(value), 0, most)


def scope(core: ClusterCore, code: int | None, **where: Unpack[Where]) -> Scope:
    """A scope, checked: ConfigError for what cannot be, LookupError for a node that is not here."""
    for said in ("topic", "group", "client", "node"):
        value = where.get(said)
        if value is not None and not (isinstance(value, str) and value):
            raise ConfigError(f"{said}={value!r}: expected a name")
    queue = where.get("queue")
    if queue is not None:
        checked.whole("queue", queue, 0)
    if code is not None:
        _require_said(code, where)
    name = where.get("node")
    node = None if name is None else node_called(core, name)
    if code is not None and node is not None:
        _require_asked(code, node)
    return Scope(
        code=code,
        node=None if node is None else node.name,
        topic=where.get("topic"),
        queue=queue,
        group=where.get("group"),
        client=where.get("client"),
    )


def _require_said(code: int, where: Where) -> None:
    """Refuse a scope that no request of this code can be in."""
    said = fields_of(code)
    for name in ("topic", "queue", "group"):
        if where.get(name) is not None and name not in said:
            has = f"; it says {' and '.join(sorted(said))}" if said else ""
            raise ConfigError(f"a {code_name(code)} says no {name}: {name}= can never apply{has}")


def _require_asked(code: int, node: Broker | NameServer) -> None:
    """Refuse a node that no request of this code goes to; what no node knows may go to any."""

    if isinstance(node, Broker):
        others = broker_handles.find(code) is None and name_server_handles.find(code) is not None
        who = "name servers"
    else:
        others = name_server_handles.find(code) is None and code in list(RequestCode)
        who = "brokers"
    if others:
        name = code_name(code)
        raise ConfigError(f"a {name} is for {who}: node={node.name!r} can never apply")


def node_called(core: ClusterCore, name: str) -> Broker | NameServer:
    """The broker or name server called ``name``; LookupError with the names there are."""
    for name_server in core.name_servers:
        if name_server.name == name:
            return name_server
    try:
        return core.broker(name)
    except LookupError as error:
        there = [*core.brokers, *(one.name for one in core.name_servers)]
        hint = did_you_mean(name, there, lists=False)
        names = ", ".join(one.name for one in core.name_servers)
        raise LookupError(f"{error}; name servers: {names or 'none'}{hint}") from None


def in_words(what: str, of: Scope, *more: str) -> str:
    """A fault as the journal and failures call it."""
    limits = [f"{name}={value}" for name, value in of.given() if name != "code"]
    return ", ".join([what, *limits, *more])
