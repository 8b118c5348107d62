"""Requests about lite topics, as a proxy sends them to a broker of 5.5.0."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.header import Header
from fakemq.protocol.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
)
from fakemq.protocol.message import decode_records
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.lite import PopLiteMessageRequestHeader
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.peer import Answer, Peer

PARENT, GROUP, CLIENT = "sessions", "agents", "c1"
INVISIBLE_MS = 10_000
LITE_KEYS = {"enableLmq": "true", "enableMultiDispatch": "true"}
_LITE_TOPIC = "__LITE_TOPIC"


def lite_broker(
    lab: BrokerLab, *, namesrv_addrs: tuple[str, ...] = (), **attributes: str
) -> Broker:
    """A broker with a parent, and a group that is bound to it and has these attributes, too.

    ``_`` stands for a dot in their names.
    """
    config = BrokerConfig5(enable_lmq=True, enable_multi_dispatch=True)
    broker = lab.broker(config, reference=REFERENCE, namesrv_addrs=namesrv_addrs)
    make_parent(broker)
    bind(broker, **attributes)
    return broker


def make_parent(broker: Broker, name: str = PARENT, **attributes: str) -> None:
    given = {key.replace("_", "."): value for key, value in attributes.items()}
    broker.create_topic(name, 1, attributes={"message.type": "LITE"} | given)


def bind(broker: Broker, group: str = GROUP, topic: str = PARENT, **attributes: str) -> None:
    given = {f"lite.sub.{key.replace('_', '.')}": value for key, value in attributes.items()}
    config = SubscriptionGroupConfig(
        group_name=group, attributes={"lite.bind.topic": topic} | given
    )
    broker.groups.update(config)


def queue_of(lite: str, parent: str = PARENT) -> str:
    return f"%LMQ%${parent}${lite}"


def send_lite(peer: Peer, lite: str, body: bytes = b"x", *, topic: str = PARENT) -> RemotingCommand:
    """Send a message to a lite topic; return the answer."""
    text = f"UNIQ_KEY\x017F0000010000000000000000000000\x02{_LITE_TOPIC}\x01{lite}"
    return peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(topic, properties=text), body)


def subscription(
    action: str,
    *lites: str,
    client_id: str = CLIENT,
    group: str = GROUP,
    topic: str = PARENT,
    **more: Any,
) -> bytes:
    """The body of a change of what a client subscribes to."""
    entry = {
        "action": action,
        "clientId": client_id,
        "group": group,
        "topic": topic,
        "liteTopicSet": lites,
    } | more
    return json.dumps({"subscriptionSet": [entry]}).encode()


def control(
    peer: Peer,
    action: str,
    *lites: str,
    client_id: str = CLIENT,
    group: str = GROUP,
    topic: str = PARENT,
    **more: Any,
) -> RemotingCommand:
    """Change what a client subscribes to; return the answer."""
    fields = {"client_id": client_id, "group": group, "topic": topic} | more
    body = subscription(action, *lites, **fields)
    return peer.ask(RequestCode5.LITE_SUBSCRIPTION_CTL, body=body)


def subscribe(peer: Peer, *lites: str, client_id: str = CLIENT, **more: Any) -> None:
    """Let a client subscribe to lite topics."""
    assert control(peer, "PARTIAL_ADD", *lites, client_id=client_id, **more).code == 0


class LiteMessage(NamedTuple):
    """One popped message."""

    lite: str
    offset: int
    body: bytes
    handle: str


def lite_header(**fields: Any) -> PopLiteMessageRequestHeader:
    """The header of a pop that does not wait."""
    header = PopLiteMessageRequestHeader(
        client_id=CLIENT,
        consumer_group=GROUP,
        topic=PARENT,
        max_msg_num=32,
        invisible_time=INVISIBLE_MS,
        poll_time=0,
        born_time=0,
    )
    vars(header).update(fields)
    return header


def ask_pop(peer: Peer, **fields: Any) -> RemotingCommand:
    """Pop, and return the answer."""
    return peer.ask(RequestCode5.POP_LITE_MESSAGE, lite_header(**fields))


def long_pop(peer: Peer, poll_time_ms: int = 15_000, **fields: Any) -> Answer:
    """Pop, and wait for a message; the answer may come later."""
    header = lite_header(poll_time=poll_time_ms, **fields)
    return peer.send(RequestCode5.POP_LITE_MESSAGE, header, timeout_ms=60_000)


def popped(answer: RemotingCommand | None) -> list[LiteMessage]:
    """Return the messages of an answer, each with its handle as a client makes it."""
    assert answer is not None
    found, fields = [], answer.ext_fields
    for message in decode_records(bytes(answer.body)):
        offset = int(message.properties["INNER_MULTI_QUEUE_OFFSET"])
        handle = f"0 {fields['popTime']} {fields['invisibleTime']} 999 0 broker-a 0 {offset}"
        lite = message.properties[_LITE_TOPIC]
        found.append(LiteMessage(lite, offset, message.body, handle))
    return found


def pop_lite(peer: Peer, **fields: Any) -> list[LiteMessage]:
    """Pop, and return the messages."""
    return popped(ask_pop(peer, **fields))


def lite_ack(message: LiteMessage, **fields: Any) -> AckMessageRequestHeader:
    """The header of an acknowledgement."""
    header = AckMessageRequestHeader(
        consumer_group=GROUP,
        topic=PARENT,
        queue_id=0,
        extra_info=message.handle,
        offset=message.offset,
        lite_topic=message.lite,
    )
    vars(header).update(fields)
    return header


def ack_lite(peer: Peer, message: LiteMessage, **fields: Any) -> RemotingCommand:
    """Acknowledge one message; return the answer."""
    return peer.ask(RequestCode5.ACK_MESSAGE, lite_ack(message, **fields))


def hide_lite(peer: Peer, message: LiteMessage, ms: int, **fields: Any) -> RemotingCommand:
    """Change when a message is visible; return the answer."""
    header = ChangeInvisibleTimeRequestHeader(
        consumer_group=GROUP,
        topic=PARENT,
        queue_id=0,
        extra_info=message.handle,
        offset=message.offset,
        invisible_time=ms,
        lite_topic=message.lite,
    )
    vars(header).update(fields)
    return peer.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, header)


def bodies(messages: Sequence[LiteMessage]) -> list[bytes]:
    return [one.body for one in messages]


def asked(peer: Peer, code: RequestCode5, header: Header | None = None) -> Any:
    """Ask what a tool asks; return the decoded answer."""
    answer = peer.ask(code, header)
    assert answer.code == 0, answer.remark
    return json.loads(bytes(answer.body))
