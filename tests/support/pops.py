"""Requests of a POP client, as it sends them to a broker of 5.5.0."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from fakemq.protocol.bodies.pop import PopCheckPoint
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    NotificationRequestHeader,
    PollingInfoRequestHeader,
    PopMessageRequestHeader,
)
from fakemq.protocol.message import MessageExt, decode_records
from fakemq.protocol.properties import POP_CK
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import send_header
from tests.support.peer import Answer, Peer

TOPIC, GROUP = "orders", "workers"
INVISIBLE_MS = 10_000
CHECKPOINT = PopCheckPoint(
    num=2,
    pop_time=1_700_000_000_000,
    invisible_time=60_000,
    start_offset=5,
    group="G",
    topic="T",
    queue_id=3,
    broker_name="broker-a",
    queue_offset_diff=[0, 2],
)
"""Of two messages, with another one between them."""


def send(peer: Peer, body: bytes = b"hello", *, queue_id: int = 0, tag: str = "") -> None:
    """Store one message."""
    properties = "UNIQ_KEY\x017F0000010000000000000000000000"
    if tag:
        properties += f"\x02TAGS\x01{tag}"
    header = send_header(TOPIC, queue_id=queue_id, properties=properties)
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, body).code == 0


def pop_header(**fields: str | int | bool) -> PopMessageRequestHeader:
    """The header of a pop of all queues that does not wait."""
    header = PopMessageRequestHeader(
        consumer_group=GROUP,
        topic=TOPIC,
        queue_id=-1,
        max_msg_nums=32,
        invisible_time=INVISIBLE_MS,
        poll_time=0,
        born_time=0,
        init_mode=0,
    )
    vars(header).update(fields)
    return header


def pop(peer: Peer, **fields: str | int | bool) -> RemotingCommand:
    """Pop, and return the answer."""
    return peer.ask(RequestCode5.POP_MESSAGE, pop_header(**fields))


def long_pop(peer: Peer, poll_time_ms: int = 15_000, **fields: str | int | bool) -> Answer:
    """Pop, and wait for a message; the answer may come later."""
    header = pop_header(poll_time=poll_time_ms, **fields)
    return peer.send(RequestCode5.POP_MESSAGE, header, timeout_ms=60_000)


class Popped:
    """The messages of a pop's answer, each with its receipt handle."""

    def __init__(self, answer: RemotingCommand) -> None:
        self.answer = answer
        self.messages = decode_records(bytes(answer.body))
        fields = answer.ext_fields
        self._starts = {
            tuple(entry.split(" ")[:2]): entry.split(" ")[2]
            for entry in fields.get("startOffsetInfo", "").split(";")
            if entry
        }

    def handle(self, message: MessageExt) -> str:
        """As a client makes it, if the broker has not."""
        found = message.properties.get(POP_CK)
        if found is not None:
            return found
        fields, queue_id = self.answer.ext_fields, str(message.queue_id)
        return (
            f"{self._starts['0', queue_id]} {fields['popTime']} {fields['invisibleTime']}"
            f" {fields['reviveQid']} 0 broker-a {queue_id} {message.queue_offset}"
        )

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.messages]


def real_topic(handle: str) -> str:
    """The topic that a handle is of."""
    return f"%RETRY%{GROUP}_{TOPIC}" if handle.split(" ")[4] == "1" else TOPIC


def ack_header(popped: Popped, message: MessageExt, **fields: str | int) -> AckMessageRequestHeader:
    handle = popped.handle(message)
    header = AckMessageRequestHeader(
        consumer_group=GROUP,
        topic=real_topic(handle),
        queue_id=message.queue_id,
        extra_info=handle,
        offset=message.queue_offset,
    )
    vars(header).update(fields)
    return header


def ack(peer: Peer, popped: Popped, message: MessageExt, **fields: str | int) -> RemotingCommand:
    """Acknowledge one message."""
    return peer.ask(RequestCode5.ACK_MESSAGE, ack_header(popped, message, **fields))


def batch_ack_body(popped: Popped, messages: Iterable[MessageExt]) -> bytes:
    """The body of an acknowledgement of messages of one queue together."""
    chosen = list(messages)
    start, pop_time, invisible, revive, retry, name, queue, _ = popped.handle(chosen[0]).split(" ")
    bits = sum(1 << one.queue_offset - int(start) for one in chosen)
    batch = {
        "c": GROUP,
        "t": TOPIC,
        "r": retry,
        "so": int(start),
        "q": int(queue),
        "rq": int(revive),
        "pt": int(pop_time),
        "it": int(invisible),
        "b": base64.b64encode(bits.to_bytes(8, "little")).decode(),
    }
    return json.dumps({"brokerName": name, "acks": [batch]}).encode()


def batch_ack(peer: Peer, popped: Popped, messages: Iterable[MessageExt]) -> RemotingCommand:
    """Acknowledge messages of one queue together."""
    body = batch_ack_body(popped, messages)
    return peer.ask(RequestCode5.BATCH_ACK_MESSAGE, body=body)


def change_header(
    popped: Popped, message: MessageExt, invisible_ms: int, **fields: str | int | bool
) -> ChangeInvisibleTimeRequestHeader:
    handle = popped.handle(message)
    header = ChangeInvisibleTimeRequestHeader(
        consumer_group=GROUP,
        topic=real_topic(handle),
        queue_id=message.queue_id,
        extra_info=handle,
        offset=message.queue_offset,
        invisible_time=invisible_ms,
    )
    vars(header).update(fields)
    return header


def change(
    peer: Peer, popped: Popped, message: MessageExt, invisible_ms: int, **fields: str | int | bool
) -> RemotingCommand:
    """Change when a message becomes visible."""
    header = change_header(popped, message, invisible_ms, **fields)
    return peer.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, header)


def notification_header(**fields: str | int | bool) -> NotificationRequestHeader:
    header = NotificationRequestHeader(
        consumer_group=GROUP, topic=TOPIC, queue_id=-1, poll_time=0, born_time=0
    )
    vars(header).update(fields)
    return header


def held_pops(peer: Peer, queue_id: int = -1) -> int:
    """How many pops are held, as the broker says."""
    header = PollingInfoRequestHeader(consumer_group=GROUP, topic=TOPIC, queue_id=queue_id)
    return int(peer.ask(RequestCode5.POLLING_INFO, header).ext_fields["pollingNum"])


def set_mode(peer: Peer, mode: str = "POP", share: int = 0, **fields: Any) -> RemotingCommand:
    """Let clients of the group pull or pop the topic."""
    body = {
        "topic": TOPIC,
        "consumerGroup": GROUP,
        "mode": mode,
        "popShareQueueNum": share,
    } | fields
    return peer.ask(RequestCode5.SET_MESSAGE_REQUEST_MODE, body=json.dumps(body).encode())
