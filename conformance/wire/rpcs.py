"""Requests of gRPC clients, as the official clients fill them, and what a scenario prepares.

``**more`` replaces fields and adds others, as in `requests`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.run import Run
from conformance.wire.raw import create_topic
from conformance.wire.requests import BORN_MS, group_config
from conformance.wire.rpc_peer import RpcPeer
from fakemq.protocol.codes import RequestCode

FRONT = {"enablePropertyFilter": "true", "recallMessageEnable": "true"}
"""A config of brokers with what gRPC clients can use."""
MESSAGE_ID = "01AABBCCDDEEFF0001000000000000{:04X}"
"""What clients make: a version, an address, a process, a time, a number."""
MASTERS = ("broker-a", "broker-b")

Fields = dict[str, Any]


def typed_topic(
    run: Run,
    name: str,
    message_type: str = "NORMAL",
    queues: int = 1,
    brokers: Sequence[str] = MASTERS[:1],
    perm: int = 6,
    write_queues: int | None = None,
) -> str:
    """Create a topic of a type, at broker-a alone if nothing else is said; return its name."""
    attributes = f"+message.type={message_type}" if message_type else ""
    for broker in brokers:
        create_topic(
            *(run.addrs[broker], name, queues, perm),
            attributes=attributes,
            write_queues=write_queues,
        )
    where = " and ".join(brokers)
    shown = f"{queues} queue{'s' * (queues > 1)}"
    if write_queues is not None:
        shown = f"{queues} to read, {write_queues} to write"
    run.note(f"topic {name} of type {message_type or 'none'} at {where}: {shown}, perm {perm}")

    def is_routed() -> bool:
        route = run.client.update_route(name)
        return route is not None and len(route.data.queue_datas) == len(brokers)

    run.until(is_routed, f"a route of {name}")
    return name


def typed_group(run: Run, name: str, **config: object) -> str:
    """Create a group at both brokers; return its name."""
    body = json.dumps(group_config(name, **config)).encode()
    code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
    for broker in MASTERS:
        run.client.invoke(run.addrs[broker], run.client.instance.command(code, body=body))
    run.note(f"group {name}: {', '.join(f'{key} {value}' for key, value in config.items())}")
    return name


def named(name: str) -> Fields:
    """Return a resource."""
    return {"name": name}


def seconds(value: float) -> Fields:
    """Return a duration."""
    return {"seconds": int(value), "nanos": round(value % 1 * 1e9)}


def moment(ms: int) -> Fields:
    """Return a timestamp."""
    return {"seconds": ms // 1000, "nanos": ms % 1000 * 1_000_000}


def endpoints(port: int = 8081, host: str = "127.0.0.1", scheme: str = "IPv4") -> Fields:
    """Return endpoints with one address."""
    return {"scheme": scheme, "addresses": [{"host": host, "port": port}]}


def route_of(topic: str, **more: Any) -> Fields:
    """Return a QueryRoute."""
    return {"topic": named(topic), "endpoints": endpoints()} | more


def assignment_of(topic: str, group: str, **more: Any) -> Fields:
    """Return a QueryAssignment."""
    return {"topic": named(topic), "group": named(group), "endpoints": endpoints()} | more


def message(
    topic: str,
    number: int = 0,
    body: bytes | None = None,
    user: Mapping[str, str] | None = None,
    **system: Any,
) -> Fields:
    """Return a message; ``system`` are its system properties."""
    return {
        "topic": named(topic),
        "user_properties": dict(user or {}),
        "system_properties": {
            "message_id": MESSAGE_ID.format(number),
            "message_type": "NORMAL",
            "body_encoding": "IDENTITY",
            "born_timestamp": moment(BORN_MS),
            "born_host": "client",
        }
        | system,
        "body": f"body {number}".encode() if body is None else body,
    }


def sending(*messages: Fields) -> Fields:
    """Return a SendMessage."""
    return {"messages": list(messages)}


def producing(*topics: str, **more: Any) -> Fields:
    """Return the settings of a producer."""
    return {
        "client_type": "PRODUCER",
        "access_point": endpoints(),
        "request_timeout": seconds(3),
        "publishing": {"topics": [named(topic) for topic in topics]},
        "user_agent": {"language": "JAVA", "version": "5.2.0", "platform": "any"},
    } | more


def consuming(
    group: str, subscriptions: Mapping[str, str], client_type: str = "SIMPLE_CONSUMER", **more: Any
) -> Fields:
    """Return the settings of a consumer; ``subscriptions`` maps topics to tags."""
    return {
        "client_type": client_type,
        "access_point": endpoints(),
        "request_timeout": seconds(3),
        "subscription": {
            "group": named(group),
            "subscriptions": [
                {"topic": named(topic), "expression": {"type": "TAG", "expression": expression}}
                for topic, expression in subscriptions.items()
            ],
        },
        "user_agent": {"language": "JAVA", "version": "5.2.0", "platform": "any"},
    } | more


def receiving(
    group: str, topic: str, *, queue_id: int = -1, broker: str = "broker-a", **more: Any
) -> Fields:
    """Return a ReceiveMessage that waits for 5 s, the shortest time that a proxy waits."""
    return {
        "group": named(group),
        "message_queue": {
            "topic": named(topic),
            "id": queue_id,
            "broker": {"name": broker, "endpoints": endpoints()},
        },
        "filter_expression": {"type": "TAG", "expression": "*"},
        "batch_size": 16,
        "invisible_duration": seconds(30),
        "long_polling_timeout": seconds(5),
    } | more


def acknowledging(group: str, topic: str, *handles: str, **more: Any) -> Fields:
    """Return an AckMessage."""
    return {
        "group": named(group),
        "topic": named(topic),
        "entries": [
            {"message_id": MESSAGE_ID.format(number), "receipt_handle": handle}
            for number, handle in enumerate(handles)
        ],
    } | more


def changing(group: str, topic: str, handle: str, duration_s: float, **more: Any) -> Fields:
    """Return a ChangeInvisibleDuration."""
    return {
        "group": named(group),
        "topic": named(topic),
        "receipt_handle": handle,
        "invisible_duration": seconds(duration_s),
        "message_id": MESSAGE_ID.format(0),
    } | more


def burying(group: str, topic: str, handle: str, **more: Any) -> Fields:
    """Return a ForwardMessageToDeadLetterQueue."""
    return {
        "group": named(group),
        "topic": named(topic),
        "receipt_handle": handle,
        "message_id": MESSAGE_ID.format(0),
        "delivery_attempt": 1,
        "max_delivery_attempts": 3,
    } | more


def ending(topic: str, transaction_id: str, resolution: str, **more: Any) -> Fields:
    """Return an EndTransaction."""
    return {
        "topic": named(topic),
        "message_id": MESSAGE_ID.format(0),
        "transaction_id": transaction_id,
        "resolution": resolution,
        "source": "SOURCE_CLIENT",
    } | more


def received(responses: Sequence[Any]) -> list[Any]:
    """Return the messages in what answers a ReceiveMessage."""
    return [one.message for one in responses if one.WhichOneof("content") == "message"]


def handle_of(found: Any) -> str:
    """Return the receipt handle of a received message."""
    return str(found.system_properties.receipt_handle)


def receive(run: Run, consumer: RpcPeer, fields: Fields, hidden: tuple[str, ...] = ()) -> list[Any]:
    """Receive, and return the messages; write down all that came."""
    return received(run.rpc_within(consumer.begin("ReceiveMessage", fields, hidden=hidden)))


def receive_again(
    run: Run, consumer: RpcPeer, fields: Fields, within_ms: int, hidden: tuple[str, ...] = ()
) -> list[Any]:
    """Receive until messages come; return them. Write down the last call only.

    How often a consumer asks in vain depends on how exactly a broker counts. Raises TimeoutError.
    """
    begin_ms = run.now_ms()
    while True:
        lines = len(run.lines)
        found = receive(run, consumer, fields, hidden)
        if found:
            return found
        if run.now_ms() - begin_ms > within_ms:
            raise TimeoutError(f"no message within {within_ms} ms")
        del run.lines[lines:]
