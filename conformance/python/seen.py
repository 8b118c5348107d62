"""Messages as observations tell them, whichever way they were read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from conformance.python.spelling import spelled
from fakemq.client import PullResult, ReceivedMessage
from fakemq.protocol.hosts import format_host
from fakemq.protocol.java import crc32
from fakemq.protocol.message import MessageExt

VARYING = (
    *("ORIGIN_MESSAGE_ID", "TRAN_PREPARED_QUEUE_OFFSET", "__transactionId__", "CORRELATION_ID"),
    *("REPLY_TO_CLIENT", "ARRIVE_TIME", "PUSH_REPLY_TIME", "REPLY_MESSAGE_ARRIVE_TIME"),
)
"""Properties whose values no two runs share."""
COMPRESSED_FROM_BYTES = 4096


class Seen(NamedTuple):
    """A stored message that was read, with the name of its broker where that is known."""

    stored: MessageExt
    broker_name: str | None
    properties: dict[str, str]
    body: bytes
    topic: str = ""
    """The topic that a consumer shows, where it is not the stored one."""

    @property
    def keys(self) -> str:
        return self.properties.get("KEYS", "")

    @property
    def place(self) -> str:
        return f"{self.broker_name}:{self.stored.queue_id}"

    @property
    def offset(self) -> int:
        return self.stored.queue_offset


def pulled(result: PullResult) -> list[Seen]:
    """Return the messages of a pull, with what Java's consumers note in each one's properties."""
    noted = {"MIN_OFFSET": str(result.min_offset), "MAX_OFFSET": str(result.max_offset)}
    return [
        Seen(one, result.queue.broker_name, one.properties | noted, one.body)
        for one in result.messages
    ]


def received(message: ReceivedMessage | MessageExt) -> Seen:
    """Return a message that a listener was given: of a consumer, or of a transaction's check."""
    if isinstance(message, MessageExt):
        return Seen(message, None, dict(message.properties), message.body)
    return Seen(
        message.stored,
        message.broker_name or None,
        dict(message.properties),
        message.body,
        topic=message.topic,
    )


def described(seen: Seen, masters: Mapping[str, str], *without: str) -> str:
    """Return a message but for what differs from run to run; of that, whether it agrees.

    ``masters`` are addresses by broker name; ``without`` are properties to leave out.
    """
    one = seen.stored
    text = seen.body.decode("utf-8", "replace")
    host = format_host(one.store_host)
    master = None if seen.broker_name is None else masters.get(seen.broker_name)
    there = host in masters.values() if master is None else host == master
    crc_right = len(text) >= COMPRESSED_FROM_BYTES or crc32(seen.body) == one.body_crc
    parts = {
        "topic": seen.topic or one.topic,
        "body": f"{len(text)} bytes" if len(text) > 40 else text,
        "crcRight": crc_right,
        "flag": one.flag,
        "sysFlag": one.sys_flag,
        "reconsumeTimes": one.reconsume_times,
        "prepared": one.prepared_transaction_offset > 0,
        "storeSize": one.store_size_bytes - _varying_bytes(one.properties),
        "bornHost": format_host(one.born_host).rpartition(":")[0],
        "storedAtMaster": there,
        "idIsUniqKey": one.properties.get("UNIQ_KEY") == one.msg_id,
        "timesRight": one.born_timestamp_ms <= one.store_timestamp_ms + 1000,
        "properties": shared(seen.properties, *without),
    }
    return " ".join(f"{key}={spelled(value)}" for key, value in parts.items())


def shared(properties: Mapping[str, str], *without: str) -> dict[str, str]:
    """Return properties by name, without what no two runs or machines share."""
    left_out = {"UNIQ_KEY", "CONSUME_START_TIME", *without}
    kept = {name: properties[name] for name in sorted(properties) if name not in left_out}
    return {name: "SOME" if name in VARYING and text else text for name, text in kept.items()}


def _varying_bytes(properties: Mapping[str, str]) -> int:
    return sum(len(properties.get(name, "")) for name in ("UNIQ_KEY", *VARYING))


def by_key(messages: Iterable[Seen]) -> list[Seen]:
    """Return messages sorted by their keys."""
    return sorted(messages, key=lambda one: one.keys)


def keys(messages: Iterable[Seen]) -> set[str]:
    """Return the keys of messages."""
    return {one.keys for one in messages}
