"""What requests concern, for the scopes of faults; and scopes checked where faults are placed.

Only a cluster with faults loads this.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from fakemq.broker.broker import Broker
from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import Scope
from fakemq.protocol import table
from fakemq.protocol.bodies.heartbeat import CheckClientRequestBody, HeartbeatData
from fakemq.protocol.bodies.queue import LockBatchRequestBody
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.errors import ProtocolError

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.namesrv.namesrv import NameServer
    from fakemq.net.session import Session
    from fakemq.protocol.header import Header

CodeT = TypeVar("CodeT", bound=IntEnum)

_SAID_BY = {
    "topic": "topic",
    "origin_topic": "topic",
    "queue_id": "queue",
    "group": "group",
    "group_name": "group",
    "consumer_group": "group",
    "producer_group": "group",
    "client_id": "client",
    "broker_name": "client",
    "broker_addr": "client",
}
"""Attribute of a request's header → what of a scope it says."""

_IN_BODIES: dict[int, tuple[str, ...]] = {
    RequestCode.HEART_BEAT: ("topic", "group"),
    RequestCode.CHECK_CLIENT_CONFIG: ("topic", "group"),
    RequestCode.LOCK_BATCH_MQ: ("topic", "queue", "group"),
    RequestCode.UNLOCK_BATCH_MQ: ("topic", "queue", "group"),
    RequestCode.CHECK_TRANSACTION_STATE: ("topic", "queue", "group"),
}
"""Codes whose bodies say it, because their headers do not."""


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


# -- what happens -----------------------------------------------------------------------------


def happening(
    node: str, code: int, header: Header | None, body: bytes, clients: Iterable[str]
) -> Scope:
    """What a request says it concerns, in its header or its body; ``clients`` are who asked."""
    said: dict[str, set[str | int]] = {"client": set(clients)}
    if header is not None:
        for attribute, value in vars(header).items():
            what = _SAID_BY.get(attribute)
            if what is not None and value is not None:
                said.setdefault(what, set()).add(value)
    if code in _IN_BODIES:
        for what, value in _in_body(code, body):
            if value is not None:
                said.setdefault(what, set()).add(value)
    said["client"] = {*with_instances(map(str, said["client"]))}
    return Scope(code=code, node=node, **{what: frozenset(of) for what, of in said.items()})  # type: ignore[arg-type]  # each of its own kind


def _in_body(code: int, body: bytes) -> list[tuple[str, str | int | None]]:
    try:
        if code == RequestCode.HEART_BEAT:
            return _in_heartbeat(HeartbeatData.decode(body))
        if code == RequestCode.CHECK_CLIENT_CONFIG:
            check = CheckClientRequestBody.decode(body)
            subscription = check.subscription_data
            topic = None if subscription is None else subscription.topic
            return [("client", check.client_id), ("group", check.group), ("topic", topic)]
        if code == RequestCode.CHECK_TRANSACTION_STATE:
            return _in_half_message(body)
        locks = LockBatchRequestBody.decode(body)
    except ProtocolError:  # whoever handles it says what is wrong with it
        return []
    said: list[tuple[str, str | int | None]] = [
        ("client", locks.client_id),
        ("group", locks.consumer_group),
    ]
    for queue in locks.mq_set:
        said += [("topic", queue.topic), ("queue", queue.queue_id)]
    return said


def _in_heartbeat(data: HeartbeatData) -> list[tuple[str, str | int | None]]:
    said: list[tuple[str, str | int | None]] = [("client", data.client_id)]
    said += [("group", producer.group_name) for producer in data.producer_data_set]
    for consumer in data.consumer_data_set:
        said.append(("group", consumer.group_name))
        said += [("topic", subscription.topic) for subscription in consumer.subscription_data_set]
    return said


def _in_half_message(body: bytes) -> list[tuple[str, str | int | None]]:
    from fakemq.protocol.message import decode_records
    from fakemq.protocol.properties import PRODUCER_GROUP

    return [
        said
        for half in decode_records(body)
        for said in (
            ("topic", half.topic),
            ("queue", half.queue_id),
            ("group", half.properties.get(PRODUCER_GROUP)),
        )
    ]


def clients_of(node: object, session: Session) -> set[str]:
    """By which names a client may be called: its address, and the ids that it gave."""
    clients = {session.remote_addr}
    if isinstance(node, Broker):
        for members in (node.producers, node.consumers):
            clients |= {channel.client_id for channel in members.channels_of(session)}
    return clients


def with_instances(clients: Iterable[str]) -> set[str]:
    """Client ids, and the instance names behind their ``@``."""
    clients = set(clients)
    return clients | {client.partition("@")[2] for client in clients} - {""}


# -- what may be said of it -------------------------------------------------------------------


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
    said = said_by(code)
    for name in ("topic", "queue", "group"):
        if where.get(name) is not None and name not in said:
            has = f"; it says {' and '.join(sorted(said))}" if said else ""
            raise ConfigError(f"a {code_name(code)} says no {name}: {name}= can never apply{has}")


def _require_asked(code: int, node: Broker | NameServer) -> None:
    """Refuse a node that no request of this code goes to; what no node knows may go to any."""
    from fakemq.broker.broker import handles as at_brokers
    from fakemq.namesrv.namesrv import handles as at_name_servers

    if isinstance(node, Broker):
        others = at_brokers.find(code) is None and at_name_servers.find(code) is not None
        who = "name servers"
    else:
        others = at_name_servers.find(code) is None and code in list(RequestCode)
        who = "brokers"
    if others:
        name = code_name(code)
        raise ConfigError(f"a {name} is for {who}: node={node.name!r} can never apply")


@cache
def said_by(code: int) -> frozenset[str]:
    """What of topic, queue and group requests of a code say."""
    row = next((row for row in table.rows() if row.code == code), None)
    said = set(_IN_BODIES.get(code, ()))
    if row is not None:
        attributes = {attribute for _, attribute, _ in row.request_header.field_specs()}
        said |= {_SAID_BY[attribute] for attribute in attributes & _SAID_BY.keys()}
    return frozenset(said - {"client"})


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
