"""What clients say to a broker, and clients that live outside the cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fakemq.clock.timers import Timer
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import VERSION_4_9_7, RemotingCommand
from fakemq.protocol.headers.pull import PullMessageRequestHeader
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.peer import Answer, Peer

GROUP = "billing"
TOPIC = "orders"
SUSPEND_MS = 15_000
"""What Java's push consumer asks for."""


def subscription(topic: str = TOPIC, expression: str = "*", **fields: object) -> dict[str, object]:
    """A SubscriptionData as a Java client writes it, for tags without a common hash."""
    tags = [] if expression == "*" else [tag.strip() for tag in expression.split("||")]
    return {
        "classFilterMode": False,
        "codeSet": [java_hash(tag) for tag in tags],
        "expressionType": "TAG",
        "subString": expression,
        "subVersion": 1,
        "tagsSet": tags,
        "topic": topic,
    } | fields


def java_hash(text: str) -> int:
    """String.hashCode, written down once more so that the tests do not believe the code."""
    value = 0
    for char in text:
        value = (31 * value + ord(char)) % 2**32
    return value - 2**32 if value >= 2**31 else value


def consumer_data(
    group: str = GROUP, subscriptions: Sequence[dict[str, object]] = (), **fields: object
) -> dict[str, object]:
    return {
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "consumeType": "CONSUME_PASSIVELY",
        "groupName": group,
        "messageModel": "CLUSTERING",
        "subscriptionDataSet": list(subscriptions) or [subscription()],
        "unitMode": False,
    } | fields


def beat(
    peer: Peer,
    client_id: str = "client-1",
    *,
    consumers: Sequence[dict[str, object]] = (),
    producers: Sequence[str] = (),
    version: int = VERSION_4_9_7,
) -> RemotingCommand:
    """Send a heartbeat. Return the broker's answer."""
    body = {
        "clientID": client_id,
        "consumerDataSet": list(consumers),
        "producerDataSet": [{"groupName": group} for group in producers],
    }
    return peer.ask(RequestCode.HEART_BEAT, body=json.dumps(body).encode(), version=version)


def consume(peer: Peer, client_id: str = "client-1", group: str = GROUP) -> RemotingCommand:
    """Send the heartbeat of a consumer of everything in `TOPIC`."""
    return beat(peer, client_id, consumers=[consumer_data(group)])


def pull_header(offset: int = 0, **fields: Any) -> PullMessageRequestHeader:
    """A pull with its subscription inside, that does not wait and commits nothing."""
    values: dict[str, Any] = {
        "consumer_group": GROUP,
        "topic": TOPIC,
        "queue_id": 0,
        "queue_offset": offset,
        "max_msg_nums": 32,
        "sys_flag": PullSysFlag.SUBSCRIPTION,
        "commit_offset": 0,
        "suspend_timeout_millis": SUSPEND_MS,
        "subscription": "*",
        "sub_version": 0,
        "expression_type": "TAG",
    }
    return PullMessageRequestHeader(**(values | fields))


def pull(peer: Peer, offset: int = 0, **fields: Any) -> RemotingCommand:
    """Pull without waiting."""
    return peer.ask(RequestCode.PULL_MESSAGE, pull_header(offset, **fields))


def long_pull(peer: Peer, offset: int = 0, **fields: str | int | None) -> Answer:
    """Pull, ready to wait; the client itself is in no hurry."""
    flags = PullSysFlag.SUBSCRIPTION | PullSysFlag.SUSPEND
    header = pull_header(offset, **({"sys_flag": flags} | fields))
    return peer.send(RequestCode.PULL_MESSAGE, header, timeout_ms=10**9)


def send(peer: Peer, tag: str = "", *, queue_id: int = 0, topic: str = TOPIC) -> None:
    """Send one message; its topic is created if need be."""
    properties = "WAIT\x01true" + (f"\x02TAGS\x01{tag}" if tag else "")
    header = send_header(topic, queue_id=queue_id, properties=properties)
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"body")
    assert response.code == 0, response


def code(answer: Answer) -> int | None:
    """The response code of an answer that has come."""
    return None if answer.response is None else answer.response.code


def hold_timers(lab: BrokerLab) -> list[Timer]:
    """The pending checks of held pulls."""
    return [timer for timer in lab.clock.timers() if timer.kind == "pull_hold"]


def sql_subscription(expression: str, version: int = 1, topic: str = TOPIC) -> dict[str, object]:
    """A SubscriptionData with an SQL92 expression."""
    return subscription(topic, expressionType="SQL92", subString=expression, subVersion=version)


def subscribe(peer: Peer, *subscriptions: dict[str, object], group: str = GROUP) -> None:
    """Send the heartbeat of one consumer, and expect that it succeeds."""
    assert beat(peer, consumers=[consumer_data(group, subscriptions)]).code == 0
