"""What a request concerns, read from its header or body, as a `Scope` to choose a fault by.

Only a cluster with faults loads this.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from fakemq.faults.plan import Scope
from fakemq.protocol import table
from fakemq.protocol.bodies.heartbeat import CheckClientRequestBody, HeartbeatData
from fakemq.protocol.bodies.queue import LockBatchRequestBody
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.header import Header

_SCOPE_FIELDS = {
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
"""Attribute of a request's header → the field of a scope that it sets."""

_IN_BODIES: dict[int, tuple[str, ...]] = {
    RequestCode.HEART_BEAT: ("topic", "group"),
    RequestCode.CHECK_CLIENT_CONFIG: ("topic", "group"),
    RequestCode.LOCK_BATCH_MQ: ("topic", "queue", "group"),
    RequestCode.UNLOCK_BATCH_MQ: ("topic", "queue", "group"),
    RequestCode.CHECK_TRANSACTION_STATE: ("topic", "queue", "group"),
}
"""Code → the fields of a scope that its body sets, because its header does not."""


_CODES = frozenset(RequestCode)


def request_scope(
    node: str,
    code: int,
    header: Header | msgspec.Struct | None,
    body: bytes,
    clients: Iterable[str],
) -> Scope:
    """Return what a request concerns; ``clients`` are the names of the client that sent it."""
    said: dict[str, set[str | int]] = {"client": set(clients)}
    if header is not None:
        fields = vars(header) if isinstance(header, Header) else msgspec.structs.asdict(header)
        for attribute, value in fields.items():
            what = _SCOPE_FIELDS.get(attribute)
            if what is not None and value is not None:
                said.setdefault(what, set()).add(value)
    if code in _in_bodies(code):
        for what, value in _in_body(code, body):
            if value is not None:
                said.setdefault(what, set()).add(value)
    said["client"] = {*with_instances(map(str, said["client"]))}
    return Scope(code=code, node=node, **{what: frozenset(of) for what, of in said.items()})  # type: ignore[arg-type]  # each of its own kind


def _in_bodies(code: int) -> dict[int, tuple[str, ...]]:
    """Return the bodies to read, by the release that has the code."""
    if code in _CODES:
        return _IN_BODIES
    from fakemq.faults.v5_requests import IN_BODIES  # few requests have such a code

    return IN_BODIES


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
        if code not in _CODES:
            from fakemq.faults.v5_requests import in_body

            return in_body(code, body)
        locks = LockBatchRequestBody.decode(body)
    except ProtocolError:  # the handler answers with the error
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


def with_instances(clients: Iterable[str]) -> set[str]:
    """Return client ids and the instance names after their ``@``."""
    clients = set(clients)
    return clients | {client.partition("@")[2] for client in clients} - {""}


@cache
def fields_of(code: int) -> frozenset[str]:
    """Return which of topic, queue and group requests of a code have."""
    said = set(_in_bodies(code).get(code, ()))
    for row in table.rows() if code in _CODES else _v5_rows():
        if row.code == code:
            attributes = {attribute for _, attribute, _ in row.request_header.field_specs()}
            said |= {_SCOPE_FIELDS[attribute] for attribute in attributes & _SCOPE_FIELDS.keys()}
    return frozenset(said - {"client"})


def _v5_rows() -> list[table.Row[Any, Any]]:
    from fakemq.protocol.v5 import table as v5_table

    return v5_table.rows()
