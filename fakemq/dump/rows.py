"""The content of a store as rows, which become tables and JSON lines."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from fakemq.broker.tables.persistence import LMQ_OFFSETS, OFFSETS
from fakemq.protocol import fastjson
from fakemq.protocol.hosts import format_host
from fakemq.protocol.layout.codecs import CHECKPOINT
from fakemq.protocol.limits import FILE_JSON
from fakemq.store.findings import Finding
from fakemq.store.stored_entries import Index, LogEnd, Passed, records, tags_code_of, units

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt
    from fakemq.store.stored_node import FileRow, StoredNode

Row: TypeAlias = dict[str, Any]


class Selection:
    """The topic and queue to show; None means all."""

    def __init__(self, topic: str | None = None, queue_id: int | None = None) -> None:
        self.topic = topic
        self.queue_id = queue_id

    def has(self, topic: str, queue_id: int | None = None) -> bool:
        return self.topic in (None, topic) and (
            self.queue_id is None or queue_id is None or self.queue_id == queue_id
        )


def log_rows(node: StoredNode, of: Selection, passed: Passed) -> Iterator[Row]:
    """Return the records of the commit log.

    Records between a damage and the next file are not shown.
    """
    for file in node.log.files:
        for one in records(file, passed):
            if isinstance(one, LogEnd):
                break
            message = one[1].message
            if message is not None and of.has(message.topic, message.queue_id):
                yield _record(message)


def _record(message: MessageExt) -> Row:
    return {
        "phyOffset": message.commit_log_offset,
        "size": message.store_size_bytes,
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "storeTimestamp": message.store_timestamp_ms,
        "msgId": message.msg_id,
        "tags": message.tags or "",
        "keys": message.keys or "",
        "sysFlag": message.sys_flag,
        "reconsumeTimes": message.reconsume_times,
        "bodySize": len(message.body),
        "flag": message.flag,
        "offsetMsgId": message.offset_msg_id,
        "bornTimestamp": message.born_timestamp_ms,
        "bornHost": format_host(message.born_host),
        "storeHost": format_host(message.store_host),
        "bodyCrc": message.body_crc,
        "preparedTransactionOffset": message.prepared_transaction_offset,
        "properties": message.properties,
        "body": b64encode(message.body).decode(),
    }


def queue_rows(node: StoredNode, of: Selection, passed: Passed) -> Iterator[Row]:
    """Return the entries of the consume queues.

    The tags code is None if it is in an extension of the queue, and not found there.
    """
    for topic, queue_id, row in node.queues():
        if of.has(topic, queue_id):
            extension = node.extension(topic, queue_id)
            for unit in units(row, passed):
                yield {
                    "topic": topic,
                    "queueId": queue_id,
                    "queueOffset": unit.offset,
                    "phyOffset": unit.phy_offset,
                    "size": unit.size_bytes,
                    "tagsCode": tags_code_of(unit.tags_code, extension),
                }


def index_rows(node: StoredNode, of: Selection, passed: Passed) -> Iterator[Row]:
    """Return the entries of the index files; the topic is that of an entry's record."""
    for file in node.index_files():
        index = Index(file)
        begin_ms = index.head.begin_timestamp_ms if index.head else 0
        for entry in index.entries():
            if of.topic is not None or of.queue_id is not None:
                message = node.record(entry.phy_offset)
                if message is None or not of.has(message.topic, message.queue_id):
                    continue
            yield {
                "file": file.name,
                "entry": entry.number,
                "slot": entry.key_hash % index.slots,
                "keyHash": entry.key_hash,
                "phyOffset": entry.phy_offset,
                "storeTimestamp": begin_ms + entry.seconds * 1000,
                "previousEntry": entry.previous,
            }


def offset_rows(node: StoredNode, of: Selection, passed: Passed) -> Iterator[Row]:
    """Return the offsets of groups and delay levels, and the checkpoint."""
    tables = [
        *_table(node, OFFSETS, "offsetTable"),
        *_table(node, LMQ_OFFSETS, "offsetTable"),
        *((key, {"0": offset}) for key, offset in _table(node, LMQ_OFFSETS, "lmqOffsetTable")),
    ]
    for key, offsets in tables:
        topic, _, group = str(key).partition("@")
        for queue_id, offset in offsets.items() if isinstance(offsets, dict) else ():
            # A value that is no number is shown unchanged: the file is damaged there.
            number = int(queue_id) if str(queue_id).isdecimal() else None
            if of.has(topic, number):
                place = {"topic": topic, "queueId": queue_id if number is None else number}
                yield {"of": "consumer", "name": group, **place, "offset": offset}
    if of.topic is not None:
        return
    for level, offset in _table(node, "delayOffset.json", "offsetTable"):
        place = {"topic": "", "queueId": ""}
        yield {"of": "delay", "name": f"level {level}", **place, "offset": offset}
    data = node.checkpoint()
    if data is not None and len(data) >= CHECKPOINT.size:
        names = ("physicMsgTimestamp", "logicsMsgTimestamp", "indexMsgTimestamp")
        for name, at_ms in zip(names, CHECKPOINT.unpack_from(data), strict=True):
            place = {"topic": "", "queueId": ""}
            yield {"of": "checkpoint", "name": name, **place, "offset": at_ms}


def config_rows(node: StoredNode, of: Selection, passed: Passed) -> Iterator[Row]:
    """Return topics, groups and filters, each with its settings."""
    for topic, config in _table(node, "topics.json", "topicConfigTable"):
        if of.has(str(topic)):
            yield _setting("topic", topic, config)
    if of.topic is None:
        for group, config in _table(node, "subscriptionGroup.json", "subscriptionGroupTable"):
            yield _setting("group", group, config)
    for topic, data in _table(node, "consumerFilter.json", "filterDataByTopic"):
        groups = data.get("groupFilterData") if isinstance(data, dict) else None
        for group, config in groups.items() if isinstance(groups, dict) else ():
            if of.has(str(topic)):
                yield _setting("filter", f"{topic}@{group}", config)


def topics(node: StoredNode) -> set[str]:
    """Return the topics of the node's config and consume queues."""
    configured = _table(node, "topics.json", "topicConfigTable")
    return {str(topic) for topic, _ in configured} | {topic for topic, _, _ in node.queues()}


def _setting(of: str, name: object, config: object) -> Row:
    return {"of": of, "name": str(name), "settings": config}


def _table(node: StoredNode, name: str, field: str) -> Iterator[tuple[Any, Any]]:
    """Return keys and values of a config file's table; read the backup if the file is bad."""
    for file in (name, f"{name}.bak"):
        text = node.config_text(file)
        if not text:
            continue
        try:
            value = fastjson.loads(text, FILE_JSON)
        except fastjson.JsonError:
            continue
        table = value.get(field) if isinstance(value, dict) else None
        yield from table.items() if isinstance(table, dict) else ()
        return


# Whether the files of a row follow each other.
def check_row(row: FileRow, unit_bytes: int) -> Iterator[Finding]:
    """Check that files have one size and are named by their offsets, and that none is missing."""
    size_bytes = row.file_size_bytes
    expected = row.min_offset
    for file in row.files:
        if file.size_bytes != size_bytes or size_bytes % unit_bytes or not size_bytes:
            text = f"the file has {file.size_bytes} bytes, the first one {size_bytes}"
            if file.size_bytes == size_bytes:
                text = f"the file has {size_bytes} bytes"
            yield Finding(file.name, 0, text)
        if file.offset != expected:
            yield Finding(
                file.name,
                0,
                f"the file before ends at {expected}, this one begins at {file.offset}",
            )
        expected = file.offset + file.size_bytes
