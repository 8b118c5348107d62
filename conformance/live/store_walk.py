"""Everything a client can find out about what a cluster has stored, to be compared with another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from conformance.targets.java_cluster import wait_until
from conformance.wire.raw import RawConnection, frame, split
from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import decode_records

SIZES = {
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": "100",
    "maxIndexNum": "400",
}
"""Small files, so that there are several of each kind."""
EXTENDED = {
    "enableConsumeQueueExt": "true",
    "enableCalcFilterBitMap": "true",
    "enablePropertyFilter": "true",
    "mappedFileSizeConsumeQueueExt": "1000",
}
"""Queues with extensions, which have the bits of filters.

In smaller files Java's queues are seconds behind its log, on a busy machine.
"""


ANSWER_MS = 30_000
"""A busy machine may let a broker wait for longer than the 3 s of a client by default."""


class Found(NamedTuple):
    """One message: where it is, and by what it is found."""

    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int
    offset_msg_id: str
    unique_id: str
    keys: str
    body: bytes
    store_timestamp_ms: int
    offset_by_time: int
    by_key: tuple[int, ...]
    by_tags: tuple[int, ...]
    """What 5.5.0 finds by the message's tags; nothing with 4.9.7."""


def send_all(namesrv_addr: str, topics: Sequence[str], bodies: Iterable[bytes]) -> set[str]:
    """Send messages with a key each, to the topics in turn; return the acknowledged unique ids."""
    acknowledged = set()
    with Client(namesrv_addr, api_timeout_ms=ANSWER_MS, send_timeout_ms=ANSWER_MS) as client:
        for number, body in enumerate(bodies):
            topic = topics[number % len(topics)]
            words, tags = f"key-{number % 50} {body[:8].hex()}", f"tag-{body[:8].hex()}"
            message = Message(topic, body, keys=words, tags=tags)
            result = client.send(message)
            acknowledged.add(result.msg_id)
    return acknowledged


def wait_for_queues(
    namesrv_addr: str, topics: Sequence[str], queues: int, broker: str, count: int
) -> None:
    """Wait until queues that begin at 0 have ``count`` entries; Java adds them after its answer."""

    def are_there() -> bool:
        ends = (
            client.max_offset(MessageQueue(topic=topic, broker_name=broker, queue_id=queue_id))
            for topic in topics
            for queue_id in range(queues)
        )
        return sum(ends) == count

    with Client(namesrv_addr, api_timeout_ms=ANSWER_MS, send_timeout_ms=ANSWER_MS) as client:
        wait_until(are_there, 60)


def walk(namesrv_addr: str, topics: Sequence[str], queues: int, broker: str) -> list[Found]:
    """Every message of some topics, pulled from its queue, found by its time, key and tags."""
    found: list[Found] = []
    with Client(namesrv_addr, api_timeout_ms=ANSWER_MS, send_timeout_ms=ANSWER_MS) as client:
        for topic in topics:
            for queue_id in range(queues):
                queue = MessageQueue(topic=topic, broker_name=broker, queue_id=queue_id)
                found += _walk_queue(client, queue)
        addr = client.cluster_info().broker_addr_table[broker].broker_addrs[0]
    with RawConnection(addr) as connection:
        return [
            one._replace(by_tags=_by_tags(connection, one.topic, f"tag-{one.body[:8].hex()}"))
            for one in found
        ]


def _walk_queue(client: Client, queue: MessageQueue) -> Iterable[Found]:
    offset, end = client.min_offset(queue), client.max_offset(queue)
    while offset < end:
        result = client.pull(queue, offset)
        assert result.messages, f"nothing at {offset} of {queue}: {result}"
        for message in result.messages:
            yield _found(client, queue, message)
        offset = result.next_begin_offset


def _found(client: Client, queue: MessageQueue, message: Any) -> Found:
    stored_ms = message.store_timestamp_ms
    # The word that is its own: the other is shared by many.
    word = (message.keys or "").split(" ")[-1]
    by_key = client.query_messages(
        queue.topic or "", word, max_num=32, begin_ms=stored_ms - 2000, end_ms=stored_ms + 2000
    )
    return Found(
        topic=queue.topic or "",
        queue_id=queue.queue_id,
        queue_offset=message.queue_offset,
        phy_offset=message.commit_log_offset,
        offset_msg_id=message.offset_msg_id,
        unique_id=message.properties["UNIQ_KEY"],
        keys=message.keys or "",
        body=message.body,
        store_timestamp_ms=stored_ms,
        offset_by_time=client.search_offset(queue, stored_ms),
        # After a crash Java indexes the last record of the last index file that it keeps again.
        by_key=tuple(sorted({one.commit_log_offset for one in by_key})),
        by_tags=(),
    )


def _by_tags(connection: RawConnection, topic: str, tags: str) -> tuple[int, ...]:
    """Return where the records are that a broker of 5.5.0 finds by their tags."""
    fields = {"topic": topic, "key": tags, "indexType": "T"}
    fields |= {"maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(1 << 62)}
    _, _, body = split(connection.call(frame(RequestCode.QUERY_MESSAGE, fields, opaque=1)))
    return tuple(sorted({one.commit_log_offset for one in decode_records(body)}))


def keyless(messages: list[Found]) -> list[Found]:
    """Without what look-ups by key and tags give.

    A start of Java after a kill deletes the last index file, and reads the log from 3 s before the
    last record. So the keys of older records in that file are lost.
    """
    return [message._replace(by_key=(), by_tags=()) for message in messages]


def timeless(messages: list[Found]) -> list[Found]:
    """Without what look-ups by time give, which a file's own time decides.

    That of a file Java has mapped is the system's, which sets it with the first write after a
    flush and with no other: until the next flush Java itself finds later messages elsewhere.
    """
    return [message._replace(offset_by_time=0) for message in messages]


def java_config(store: Path) -> dict[str, str]:
    """Broker properties for a real broker on a directory."""
    return {
        **SIZES,
        "storePathRootDir": str(store),
        "storePathCommitLog": str(store / "commitlog"),
    }


def fake_config(store: Path, keys: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return the same as lines for fakemq."""
    config = {**java_config(store), "brokerName": "broker-a", **keys}
    return [f"{key}={value}" for key, value in config.items()]
