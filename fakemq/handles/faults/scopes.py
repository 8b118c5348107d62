"""The limits of a fault (codes, nodes, topics), checked and turned into a `Scope`."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from fakemq.broker.broker import Broker
from fakemq.broker.broker import handles as broker_handles
from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import Scope
from fakemq.faults.request_scope import fields_of
from fakemq.namesrv.namesrv import NameServer
from fakemq.namesrv.namesrv import handles as name_server_handles
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.java import INT_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fakemq.controller.controller import Controller
    from fakemq.core.cluster import ClusterCore


class Where(TypedDict, total=False):
    """For which requests a fault acts; a limit that is not given does not limit."""

    node: str | None
    """The node that gets the request, no front; a bare brokerName means its master."""
    topic: str | None
    """The topic that the request names."""
    queue: int | None
    """The queue number that the request names."""
    group: str | None
    """The producer or consumer group that the request names."""
    client: str | None
    """The client that sends the request, in one of three forms:

    1. a client id (``"10.0.0.7@orders"``) or its part behind the ``@``, known from the client's
       first heartbeat on;
    2. the address ``"host:port"`` of its connection;
    3. at a name server also the name or address of a broker.
    """


FAMILIES: dict[str, tuple[RequestCode, ...]] = {
    "send": (
        *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2),
        RequestCode.SEND_BATCH_MESSAGE,
    ),
    "pull": (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE),
}
"""Names for several codes: which of them a client uses depends on its release and settings."""


_CODE_CUTOFF = 0.75
_EXPECTED_RESPONSE = 'expected the name of a ResponseCode, such as "SYSTEM_BUSY", or a number'


class Requested(NamedTuple):
    """The requests that a fault is for."""

    name: str
    """The name of the code, or of the family of codes."""
    codes: tuple[int, ...]


def requested(value: int | str) -> Requested:
    """Return the codes of a family, such as ``"send"``, or the one of `request_code`."""
    if isinstance(value, str) and (codes := FAMILIES.get(value.lower())):
        return Requested(value.lower(), codes)
    code = request_code(
        value,
        'the first argument is a request, such as "send" or "pull";'
        f" a topic is given as topic={value!r}",
        FAMILIES,
    )
    return Requested(code_name(code), (code,))


def request_code(value: int | str, expected: str, families: Iterable[str] = ()) -> int:
    """Return a request code given as member, name or number; 5.5.0's codes are among them.

    A number may be unknown to both, since clients may send such a code; it is an int32 from 0 on,
    as in a JSON header. ConfigError for anything else, which may name one of ``families``, too;
    ``expected`` is its end for a name that is like none.
    """
    return _code(_REQUEST, value, expected, families)


def response_code(value: int | str) -> int:
    """Return a response code given as member, name or number; 5.5.0's codes are among them.

    A number may be unknown to both. It is an int16 from 0 on, as in a binary header: the client's
    request decides whether the response has a JSON or a binary header. ConfigError for anything
    else.
    """
    return _code(_RESPONSE, value, _EXPECTED_RESPONSE)


def response_name(value: int | str) -> str:
    """Return the name of a response code given as member, name or number; a number if it has none.

    A number that means something else in 5.5.0 has its name of 4.9.7.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, IntEnum):
        return value.name
    if value in list(ResponseCode):
        return ResponseCode(value).name
    codes5 = _v5_codes("ResponseCode5")
    return codes5(value).name if value in list(codes5) else str(value)


class _Kind(NamedTuple):
    """Requests or responses: the name of their codes, and the greatest that a header can have."""

    what: str
    codes: type[IntEnum]
    v5_codes: str
    """The name of the enum with 5.5.0's codes."""
    most: int


_REQUEST = _Kind("request code", RequestCode, "RequestCode5", 2**31 - 1)
_RESPONSE = _Kind("response code", ResponseCode, "ResponseCode5", 2**15 - 1)


def _code(kind: _Kind, value: int | str, expected: str, families: Iterable[str] = ()) -> int:
    what, codes, v5_codes, most = kind
    if isinstance(value, str):
        if value in codes.__members__:
            return codes[value]
        members = {**_v5_codes(v5_codes).__members__, **codes.__members__}
        if value in members:
            return checked.whole(what, int(members[value]), 0, most)
        known = [*families, *members]
        # Some name of hundreds is a little like any word, such as that of a topic.
        hint = did_you_mean(value, known, cutoff=_CODE_CUTOFF, lists=False)
        raise ConfigError(f"there is no {what} {value!r}{hint or f': {expected}'}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{what} {value!r}: expected a name, a number or a {codes.__name__}")
    return checked.whole(what, int(value), 0, most)


def _v5_codes(name: str) -> type[IntEnum]:
    from fakemq.protocol.v5 import codes  # few faults name such a code

    found: type[IntEnum] = getattr(codes, name)
    return found


def scope(core: ClusterCore, codes: Sequence[int] | None, **where: Unpack[Where]) -> Scope:
    """Check the limits and return them as a `Scope` for requests of ``codes`` (None: of any code).

    Raise ConfigError for a limit that can never apply, LookupError for a node that does not exist.
    """
    for limit in ("topic", "group", "client", "node"):
        value = where.get(limit)
        if value is not None and not (isinstance(value, str) and value):
            raise ConfigError(f"{limit}={value!r}: expected a name")
    queue = where.get("queue")
    if queue is not None:
        checked.whole("queue", queue, 0, INT_MAX)
    name = where.get("node")
    node = None if name is None else node_called(core, name)
    for code in codes or ():
        _require_named(code, where)
        if node is not None:
            _require_receiver(code, node)
    asked: int | frozenset[int] | None = None
    if codes is not None:
        asked = codes[0] if len(codes) == 1 else frozenset(codes)
    return Scope(
        code=asked,
        node=None if node is None else node.name,
        topic=where.get("topic"),
        queue=queue,
        group=where.get("group"),
        client=where.get("client"),
    )


def _require_named(code: int, where: Where) -> None:
    """Raise ConfigError for a limit by a field that requests of this code do not have."""
    fields = fields_of(code)
    for name in ("topic", "queue", "group"):
        if where.get(name) is not None and name not in fields:
            has = f"; it names {' and '.join(sorted(fields))}" if fields else ""
            raise ConfigError(f"a {code_name(code)} names no {name}: {name}= can never apply{has}")


def _require_receiver(code: int, node: Broker | NameServer | Controller) -> None:
    """Raise ConfigError for a node that gets no request of this code.

    A code that no kind of node handles passes: clients may send it to any node.
    """
    if _is_of_controllers(code):
        wrong, receivers = isinstance(node, Broker | NameServer), "controllers"
    elif isinstance(node, Broker):
        wrong = broker_handles.find(code) is None and name_server_handles.find(code) is not None
        receivers = "name servers"
    elif isinstance(node, NameServer):
        wrong = name_server_handles.find(code) is None and _is_of_brokers(code)
        receivers = "brokers"
    else:
        wrong, receivers = node.handlers.find(code) is None, "brokers or name servers"
    if wrong:
        name = code_name(code)
        raise ConfigError(f"a {name} is for {receivers}: node={node.name!r} can never apply")


def _is_of_brokers(code: int) -> bool:
    """Return whether a code that 4.9.7's name servers do not handle is one of brokers."""
    if code in list(RequestCode):
        return True
    from fakemq.faults.v5_requests import OF_BROKERS

    return code in OF_BROKERS


def _is_of_controllers(code: int) -> bool:
    """Return whether only controllers are sent this code."""
    if code in list(RequestCode):
        return False
    from fakemq.faults.v5_requests import OF_CONTROLLERS

    return code in OF_CONTROLLERS


def node_called(core: ClusterCore, name: str) -> Broker | NameServer | Controller:
    """Return the node ``name``, no front; LookupError, with all names, if there is none."""
    controllers = core.controllers_called(None)
    others: list[NameServer | Controller] = [*core.name_servers, *controllers]
    for one in others:
        if one.name == name:
            return one
    try:
        return core.broker(name)
    except LookupError as error:
        there = [*core.brokers, *(one.name for one in others)]
        hint = did_you_mean(name, there, lists=False)
        names = ", ".join(one.name for one in core.name_servers)
        if controllers:
            names += f"; controllers: {', '.join(one.name for one in controllers)}"
        raise LookupError(f"{error}; name servers: {names or 'none'}{hint}") from None


def in_words(what: str, of: Scope, *more: str) -> str:
    """Return a fault's text for the journal and for errors: ``"drop PULL_MESSAGE, topic=t"``."""
    limits = [f"{name}={value}" for name, value in of.given() if name != "code"]
    return ", ".join([what, *limits, *more])
