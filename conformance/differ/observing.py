"""What a cluster has at the end of a sequence: its tables, its log, its consume queues."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from conformance.differ.playing import Block, Play
from conformance.differ.sequences import Sequence
from conformance.run import Run
from conformance.wire.peer import Answer
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import BLANK_MAGIC_CODE
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import (
    OFFSET_MOVED_EVENT_TOPIC,
    SCHEDULE_TOPIC,
    TRANS_OP_HALF_TOPIC,
)

LOG_FILE_BYTES = 16 << 20
SIZES = {
    "mappedFileSizeCommitLog": str(LOG_FILE_BYTES),
    "mappedFileSizeConsumeQueue": "60000",
    "maxHashSlotNum": "10000",
    "maxIndexNum": "40000",
}
"""Of files, the same on both clusters."""
NAME_MAX_BYTES = 255
"""Of a folder: a topic with a longer name has no queues."""
_OFFSET = re.compile(r"offset -?\d+")
_ENTRY = struct.Struct(">qiq")
_TABLES = (
    (RequestCode.GET_ALL_TOPIC_CONFIG, "topicConfigTable"),
    (RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, "subscriptionGroupTable"),
    (RequestCode.GET_ALL_CONSUMER_OFFSET, "offsetTable"),
)
_SHARED = (SCHEDULE_TOPIC, OFFSET_MOVED_EVENT_TOPIC)
_ROUTED = ("<A>", "<B>", "%RETRY%<G>")


class Tables(NamedTuple):
    """What the tables of a cluster have of a sequence."""

    rows: Mapping[str, Mapping[str, object]]
    """Name of a table → its rows that were not there before the sequence."""
    routes: Mapping[str, Answer]

    @classmethod
    def of(cls, play: Play, before: Tables | None = None) -> Tables:
        """Ask the broker for its tables, and the name server for routes."""
        asked: list[tuple[int, dict[str, str]]] = [(code, {}) for code, _ in _TABLES]
        answers = play.run.peer("client", "broker-a").quietly_all(asked)
        rows = {}
        for (_, key), answer in zip(_TABLES, answers, strict=True):
            whole = fastjson.loads(answer.body)
            assert isinstance(whole, dict)
            known = () if before is None else before.rows[key]
            rows[key] = {
                str(name): row for name, row in whole.get(key, {}).items() if name not in known
            }
        routes = play.run.peer("client", "namesrv").quietly_all(
            (RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": play.name(topic)}) for topic in _ROUTED
        )
        return cls(rows, dict(zip(_ROUTED, routes, strict=True)))

    def blocks(self, play: Play) -> Iterator[Block]:
        """Return topics, groups and offsets of the broker, and the routes of its topics."""
        for key, rows in self.rows.items():
            lines = [f"    {name}: {json.dumps(row, sort_keys=True)}" for name, row in rows.items()]
            yield Block(key, 0, tuple(sorted(lines)))
        for topic, answer in self.routes.items():
            lines = [f"code {answer.code}", *play.run.normaliser.body(answer.body)]
            yield Block(f"route of {topic}", 0, tuple(f"    {line}" for line in lines))

    def clean(self, play: Play) -> None:
        """Delete what is in them from the cluster, and the sequence's namespace."""
        topics, groups, offsets = self.rows.values()
        found = {*groups, *(one.partition("@")[2] for one in offsets)}
        asked = [
            *((RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}) for topic in topics),
            *(
                (RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": one, "removeOffset": "true"})
                for one in found
            ),
        ]
        play.run.peer("client", "broker-a").quietly_all(asked)
        namesrv = play.run.peer("client", "namesrv")
        namespace = {"namespace": play.name("<N>")}
        *_, kept = namesrv.quietly_all(
            [
                *((RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}) for topic in topics),
                (RequestCode.GET_KVLIST_BY_NAMESPACE, namespace),
            ]
        )
        if kept.code == 0:
            table = fastjson.loads(kept.body)
            assert isinstance(table, dict)
            namesrv.quietly_all(
                (RequestCode.DELETE_KV_CONFIG, namespace | {"key": str(key)})
                for key in table.get("table", {})
            )


class Store:
    """The store directory of a broker that runs, as it grows."""

    def __init__(self, root: Path, broker: str = "broker-a") -> None:
        self._root = root
        self._at = 0
        self._broker = broker

    def grown(self, play: Play, topics: Iterable[str]) -> Iterator[Block]:
        """Return what the log has more than before, and the consume queues of a run's topics."""
        records = b"".join(self._new_records())
        yield Block("commit log", 0, tuple(_record_lines(play, records)))
        yield Block("consume queues", 0, tuple(self._entries(play, topics)))

    def _new_records(self) -> Iterator[bytes]:
        """The records that were appended since the last call, without what fills up a file."""
        while True:
            first = self._at - self._at % LOG_FILE_BYTES
            path = self._root / "commitlog" / f"{first:020}"
            if not path.exists():
                return
            with open(path, "rb") as file:
                file.seek(self._at - first)
                while (head := file.read(8)) and (size := int.from_bytes(head[:4])):
                    if int.from_bytes(head[4:], signed=True) == BLANK_MAGIC_CODE:
                        self._at = first + LOG_FILE_BYTES
                        break
                    self._at += size
                    yield head + file.read(size - 8)
            if self._at != first + LOG_FILE_BYTES:
                return

    def _entries(self, play: Play, topics: Iterable[str]) -> Iterator[str]:
        queues = self._root / "consumequeue"
        kept = [topic for topic in topics if len(topic.encode()) <= NAME_MAX_BYTES]
        for path in sorted(path for topic in kept for path in (queues / topic).glob("*/*")):
            data, name = path.read_bytes(), path.relative_to(queues)
            for at in range(0, len(data), _ENTRY.size):
                offset, size, tags_code = _ENTRY.unpack_from(data, at)
                if not size:
                    break
                place = play.run.normaliser.places.name(self._broker, offset)
                yield f"    {name} {at // _ENTRY.size}: {place}, {size} bytes, tags {tags_code}"


def _record_lines(play: Play, records: bytes) -> Iterator[str]:
    """Return the fields of records, and a checksum of the bytes that two clusters have alike."""
    at = 0
    while size := int.from_bytes(records[at : at + 4]):
        record = records[at : at + size]
        is_op = TRANS_OP_HALF_TOPIC.encode() in record
        is_shared = any(topic.encode() in record for topic in _SHARED)
        for line in play.run.normaliser.records(record):
            if is_shared and line.startswith("message "):
                line = _OFFSET.sub("offset <shared>", line)
            elif is_op and line.startswith("  body "):  # the offset of a half message
                continue
            yield f"    {line}"
        yield f"      bytes with checksum {zlib.crc32(_masked(record)):08x}"
        at += size


def _masked(record: bytes) -> bytes:
    """Return a record up to its properties, with zeros for what is not the same on two clusters:
    both offsets, the hosts with their ports, the time of storing, the place of the half message.

    Of the broker's own records, the born timestamp, too.
    """
    data = bytearray(record)
    sys_flag = int.from_bytes(data[36:40])
    born = 20 if sys_flag & MessageSysFlag.BORNHOST_V6 else 8
    store = 20 if sys_flag & MessageSysFlag.STOREHOSTADDRESS_V6 else 8
    stored_at = 48 + born
    prepared = stored_at + 8 + store + 4
    body_end = prepared + 12 + int.from_bytes(data[prepared + 8 : prepared + 12])
    holes = [(20, 16), (48, born + 8 + store), (prepared, 8)]
    if OFFSET_MOVED_EVENT_TOPIC.encode() in record:
        holes.append((40, 8))
    if TRANS_OP_HALF_TOPIC.encode() in record:
        holes += [(0, 4), (8, 4), (40, 8), (prepared + 8, body_end - prepared - 8)]
    for at, size in holes:
        data[at : at + size] = bytes(size)
    return bytes(data[: body_end + 1 + data[body_end]])


def transcript(run: Run, sequence: Sequence, tag: str) -> None:
    """Play a sequence as a scenario: the transcript of the run then has all but its store."""
    play = Play(run, tag, silent=())
    before = Tables.of(play)
    play.create_topic()
    begin = len(run.lines)
    blocks = [*play.steps(sequence)]
    tables = Tables.of(play, before)
    blocks += tables.blocks(play)
    del run.lines[begin:]
    for block in blocks:
        if block.lines:
            run.note(block.title)
            run.lines += block.lines
    tables.clean(play)
