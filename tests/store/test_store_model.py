"""Random puts and gets against a model that is a list of messages for each queue."""

from __future__ import annotations

import struct
import zlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fakemq.clock.slices import finished
from fakemq.store.results import GetMessageStatus
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS

LOG_BYTES = 1024
QUEUE_UNITS = 7
TAGS = {"": 0, "a": 97, "bb": 3136}  # with their String.hashCode
MEMORY_LIMIT_BYTES = 40_000


class Stored:
    """What the model remembers of a message."""

    def __init__(self, body: bytes, tag: str, phy_offset: int, size: int, at_ms: int) -> None:
        self.body = body
        self.tag = tag
        self.phy_offset = phy_offset
        self.size = size
        self.at_ms = at_ms


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.lab = StoreLab(
            log_bytes=LOG_BYTES, queue_units=QUEUE_UNITS, limit_bytes=MEMORY_LIMIT_BYTES
        )
        self.store = self.lab.store
        self.forget()

    def forget(self) -> None:
        self.queues: dict[tuple[str, int], list[Stored]] = {}
        self.log: list[tuple[str, int, int, Stored]] = []
        self.end = 0

    @rule(
        topic=st.sampled_from(["t", "topic"]),
        queue_id=st.integers(0, 2),
        size=st.integers(0, 950),
        tag=st.sampled_from(sorted(TAGS)),
        wait_ms=st.sampled_from([0, 0, 1, 1000]),
        count=st.integers(1, 4),
    )
    def put(self, topic: str, queue_id: int, size: int, tag: str, wait_ms: int, count: int) -> None:
        self.lab.advance(wait_ms)
        for number in range(count):
            body = bytes((number,)) * size
            properties = f"TAGS\x01{tag}\x02KEYS\x01{tag}" if tag else ""
            result = self.lab.put(body, topic, queue_id, properties)
            record_bytes = 91 + size + len(topic) + len(properties)
            may_refuse = record_bytes + 8 > LOG_BYTES or self.lab.files.used_ratio() > 0.9
            if may_refuse and result.append_result is None:
                return
            left = LOG_BYTES - self.end % LOG_BYTES
            if record_bytes + 8 > left:
                self.end += left
            queue = self.queues.setdefault((topic, queue_id), [])
            appended = result.append_result
            assert appended is not None
            assert appended.wrote_offset == self.end
            assert appended.wrote_bytes == record_bytes
            assert appended.logics_offset == len(queue)
            stored = Stored(body, tag, self.end, record_bytes, self.lab.clock.now_ms())
            self.log.append((topic, queue_id, len(queue), stored))
            queue.append(stored)
            self.end += record_bytes

    @rule(tag=st.sampled_from([None, *sorted(TAGS)]), max_msg_nums=st.integers(1, 40))
    def walk(self, tag: str | None, max_msg_nums: int) -> None:
        for (topic, queue_id), queue in self.queues.items():
            wanted = [stored for stored in queue if tag is None or stored.tag == tag]
            assert self.walked(topic, queue_id, tag, max_msg_nums) == [s.body for s in wanted]

    def walked(self, topic: str, queue_id: int, tag: str | None, max_msg_nums: int) -> list[bytes]:
        only = None if tag is None else OnlyTag(TAGS[tag])
        bodies: list[bytes] = []
        offset = 0
        while True:
            got = self.store.get_message("g", topic, queue_id, offset, max_msg_nums, only)
            if got.status is GetMessageStatus.OFFSET_OVERFLOW_ONE:
                return bodies
            assert got.status in (GetMessageStatus.FOUND, GetMessageStatus.NO_MATCHED_MESSAGE)
            assert got.next_begin_offset > offset
            offset = got.next_begin_offset
            data = got.body
            for _ in range(got.message_count):
                (body_bytes,) = struct.unpack_from(">i", data, 84)
                bodies.append(data[88 : 88 + body_bytes])
                data = data[struct.unpack_from(">i", data)[0] :]
            assert data == b""

    @rule(time_ms=st.integers(-10, 5000))
    def search_time(self, time_ms: int) -> None:
        at_ms = START_MS + time_ms
        for (topic, queue_id), queue in self.queues.items():
            offset = self.store.offset_in_queue_by_time(topic, queue_id, at_ms)
            # Within the file the time belongs to, nothing is stored nearer to it.
            files = [queue[i : i + QUEUE_UNITS] for i in range(0, len(queue), QUEUE_UNITS)]
            index = next(
                (i for i, file in enumerate(files) if file[-1].at_ms >= at_ms), len(files) - 1
            )
            best = min(abs(stored.at_ms - at_ms) for stored in files[index])
            assert index == offset // QUEUE_UNITS
            assert abs(queue[offset].at_ms - at_ms) == best

    @rule(tag=st.sampled_from([tag for tag in sorted(TAGS) if tag]))
    def query(self, tag: str) -> None:
        found = finished(self.store.query_message("topic", tag, 64, 0, 1 << 62))
        expected = [s for topic, _, _, s in self.log if topic == "topic" and s.tag == tag]
        assert [struct.unpack_from(">q", record, 28)[0] for record in found.buffers] == [
            stored.phy_offset for stored in expected[-64:]
        ]

    @rule(doing=st.sampled_from(range(8)))
    def reset(self, doing: int) -> None:
        if doing == 0:
            self.store.reset()
            self.forget()

    @invariant()
    def every_record_is_where_it_should_be(self) -> None:
        for topic, queue_id, queue_offset, stored in self.log[-8:]:
            record = self.store.select_one_message_by_offset(stored.phy_offset)
            assert record is not None
            crc = zlib.crc32(stored.body) & 0x7FFFFFFF
            assert struct.unpack_from(">iIIiiqq", record) == (
                stored.size, 0xDAA320A7, crc, queue_id, 0, queue_offset, stored.phy_offset,
            )  # fmt: skip
            queue = self.store.queues.find(topic, queue_id)
            assert queue is not None
            assert queue.unit_at(queue_offset) == (
                stored.phy_offset,
                stored.size,
                TAGS[stored.tag],
            )
        assert self.store.max_phy_offset == self.end

    @invariant()
    def the_log_is_records_and_blanks_without_a_gap(self) -> None:
        at = 0
        expected = iter(self.log)
        while at < self.end:
            data = self.store.log.read_from(at)
            assert data is not None
            size, magic = struct.unpack_from(">iI", data)
            if magic == 0xCBD43194:
                assert size == LOG_BYTES - at % LOG_BYTES == len(data)
                assert bytes(data[8:]) == bytes(len(data) - 8)
            else:
                assert next(expected)[3].phy_offset == at
            at += size
        assert next(expected, None) is None

    @invariant()
    def bytes_are_accounted_for(self) -> None:
        files = self.lab.files
        held = sum(stored.size + 20 for *_, stored in self.log)
        assert held <= files.used_bytes <= MEMORY_LIMIT_BYTES * 1.1


class OnlyTag:
    def __init__(self, code: int) -> None:
        self.code = code

    def is_matched_by_consume_queue(self, tags_code: int | None) -> bool:
        return tags_code == self.code

    is_spent = False

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        return True


StoreMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
TestStore = StoreMachine.TestCase
