"""The ways to read the records of a get return the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.model import BrokerConfig
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.store.commitlog import CommitLog
from fakemq.store.consumequeue import ConsumeQueue
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.reading import gather, gather_all
from fakemq.store.results import GetMessageResult, GetMessageStatus
from tests.support.store_lab import StoreLab


class Everything:
    """A filter that every message passes."""

    is_spent = False

    def is_matched_by_consume_queue(self, tags_code: int | None) -> bool:
        return True

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        return True


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 600)), min_size=1, max_size=25),
    st.integers(-1, 40),
    st.integers(0, 12),
    st.sampled_from([500, 2_000, 256 * 1024]),
    st.sampled_from([600, 1 << 30]),
)
def test_get_without_a_filter_equals_one_that_lets_all_pass(
    messages: list[tuple[int, int]], most: int, offset: int, most_bytes: int, ram_bytes: int
) -> None:
    lab = StoreLab(ram_bytes=ram_bytes, max_transfer_bytes_on_message_in_memory=most_bytes)
    for queue_id, size_bytes in messages:
        lab.put(b"x" * size_bytes, queue_id=queue_id)
    plain = lab.store.get_message("group", "orders", 0, offset, most)
    filtered = lab.store.get_message("group", "orders", 0, offset, most, Everything())
    assert plain == filtered
    assert plain.body == filtered.body
    assert (plain.message_count > 0) == (plain.status is GetMessageStatus.FOUND)


FILE_BYTES = 1000


def two_files() -> CommitLog:
    """Return a log of one full file and half of another."""
    log = CommitLog(MemoryFiles(NodeClock(Clock(frozen=True), "a")), FILE_BYTES)
    log.append_data(0, bytes(range(250)) * 4, 0)
    log.append_data(FILE_BYTES, bytes(range(250)) * 2, 0)
    return log


def asked(next_offset: int) -> GetMessageResult:
    return GetMessageResult(GetMessageStatus.NO_MATCHED_MESSAGE, next_offset, 0, 100)


@given(
    st.integers(0, 1200),
    st.lists(st.tuples(st.integers(-20, 120) | st.just(0), st.integers(-1, 120)), min_size=1),
    st.integers(-1, 12),
    st.integers(0, 600),
    st.integers(0, 1600),
)
def test_entries_looked_at_together_are_read_as_each_by_itself(
    at: int, entries: list[tuple[int, int]], max_msg_nums: int, max_bytes: int, memory_bytes: int
) -> None:
    units = bytearray()
    for gap_bytes, size_bytes in entries:
        at = max(0, at + gap_bytes)
        units += UNIT.pack(at, size_bytes, 0)
        at += size_bytes
    config = BrokerConfig(
        max_transfer_count_on_message_in_memory=10,
        max_transfer_bytes_on_message_in_memory=max_bytes,
    )
    queue = ConsumeQueue("t", 0, MemoryFiles(NodeClock(Clock(frozen=True), "a")), 2000)
    log, together, alone = two_files(), asked(7), asked(7)
    given_units = memoryview(bytes(units))
    if gather_all(together, given_units, log, config, memory_bytes, max_msg_nums):
        gather(alone, queue, given_units, log, config, memory_bytes, max_msg_nums, None)
        assert list(map(bytes, together.buffers)) == list(map(bytes, alone.buffers))
        assert together == alone
    else:
        assert together == asked(7)


def test_entries_in_memory_are_looked_at_together() -> None:
    units = memoryview(b"".join(UNIT.pack(at, 100, 0) for at in (0, 100, 300, 400, 700)))
    result = asked(0)
    assert gather_all(result, units, two_files(), BrokerConfig(), 1 << 20, 4)
    assert [len(one) for one in result.buffers] == [200, 200]
    assert (result.message_count, result.buffer_total_size, result.next_begin_offset) == (4, 400, 4)
