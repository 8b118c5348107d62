"""The fields of requests that POP needs, as a 5.5.0 client fills them, and receipt handles.

The functions return values as Python has them; ``**more`` replaces fields and adds others.

Source: remoting/protocol/header/*.java, ExtraInfoUtil.java, body/BatchAck.java (5.5.0)
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from conformance.wire.requests import GROUP
from fakemq.protocol.message import decode_records
from fakemq.protocol.properties import decode_properties

MIN, MAX = 0, 1
"""Where a group begins that has no offset (initMode)."""
INVISIBLE_MS = 60_000


def pop_fields(topic: str, queue_id: int = -1, **more: object) -> dict[str, object]:
    """POP_MESSAGE of everything, from the beginning, not ready to wait."""
    return {
        "consumerGroup": GROUP,
        "topic": topic,
        "queueId": queue_id,
        "maxMsgNums": 32,
        "invisibleTime": INVISIBLE_MS,
        "pollTime": 0,
        "bornTime": 0,
        "initMode": MIN,
        "expType": "TAG",
        "exp": "*",
        "order": False,
    } | more


def polling_fields(topic: str, queue_id: int = -1, **more: object) -> dict[str, object]:
    """NOTIFICATION, not ready to wait; POLLING_INFO takes the first three of them."""
    return {
        "consumerGroup": GROUP,
        "topic": topic,
        "queueId": queue_id,
        "pollTime": 0,
        "bornTime": 0,
        "order": False,
    } | more


class Handle(NamedTuple):
    """What a receipt handle says of one popped message.

    A message from a retry topic has its handle as a property; a client makes that of others.
    """

    start_offset: int
    pop_time_ms: int
    invisible_ms: int
    revive_queue: int
    retry: str
    broker: str
    queue_id: int
    offset: int

    @property
    def text(self) -> str:
        return " ".join(map(str, self))

    def fields(self, topic: str, **more: object) -> dict[str, object]:
        """Return the fields of ACK_MESSAGE; CHANGE_MESSAGE_INVISIBLETIME has invisibleTime, too."""
        return {
            "consumerGroup": GROUP,
            "topic": topic,
            "queueId": self.queue_id,
            "extraInfo": self.text,
            "offset": self.offset,
        } | more

    def changed(self, fields: Mapping[str, str]) -> Handle:
        """Return the handle after an answer to CHANGE_MESSAGE_INVISIBLETIME."""
        return self._replace(
            start_offset=self.offset,
            pop_time_ms=int(fields["popTime"]),
            invisible_ms=int(fields["invisibleTime"]),
            revive_queue=int(fields["reviveQid"]),
        )


def handles(fields: Mapping[str, str], records: bytes, broker: str = "broker-a") -> list[Handle]:
    """Return the handles of the messages in the answer to a pop, as Java's client makes them."""
    starts = {}
    for one in fields["startOffsetInfo"].split(";"):
        retry, queue_id, start = one.split()
        starts[retry, int(queue_id)] = int(start)
    found = []
    for message in decode_records(records):
        own = decode_properties(message.properties_string).get("POP_CK")
        if own is not None:
            words = own.split()
            first, pop_time_ms, invisible_ms, revive_queue = (int(word) for word in words[:4])
            found.append(
                Handle(
                    *(first, pop_time_ms, invisible_ms, revive_queue, words[4], words[5]),
                    queue_id=int(words[6]),
                    offset=int(words[7]),
                )
            )
            continue
        found.append(
            Handle(
                starts["0", message.queue_id],
                int(fields["popTime"]),
                int(fields["invisibleTime"]),
                int(fields["reviveQid"]),
                "0",
                broker,
                message.queue_id,
                message.queue_offset,
            )
        )
    return found


def batch_ack(topic: str, acked: Iterable[Handle], group: str = GROUP) -> dict[str, object]:
    """Return the body of BATCH_ACK_MESSAGE for messages of one pop of one queue."""
    some = list(acked)
    first = some[0]
    bits = sum(1 << one.offset - first.start_offset for one in some)
    return {
        "brokerName": first.broker,
        "acks": [
            {
                "c": group,
                "t": topic,
                "r": first.retry,
                "so": first.start_offset,
                "q": first.queue_id,
                "rq": first.revive_queue,
                "pt": first.pop_time_ms,
                "it": first.invisible_ms,
                "b": bit_set(bits),
            }
        ],
    }


def bit_set(bits: int) -> str:
    """Return a BitSet as Java writes it: its bytes, the lowest first, as base64."""
    return base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "little")).decode()
