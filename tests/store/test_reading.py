"""A get without a filter returns what a get returns whose filter lets everything pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.store.results import GetMessageStatus
from tests.support.store_lab import StoreLab


class Everything:
    """A filter that every message passes."""

    is_spent = False

    def is_matched_by_consume_queue(self, tags_code: int) -> bool:
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
