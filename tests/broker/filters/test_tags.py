"""Tags by hash."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.filters.tags import TagsFilter, tags_filter
from fakemq.protocol.subscription import build_subscription_data

INT32 = st.integers(-(2**31), 2**31 - 1)


@given(code=INT32, others=st.sets(INT32))
def test_tag_filter_compares_the_low_32_bits(code: int, others: set[int]) -> None:
    tags = TagsFilter(others)
    assert tags.is_matched_by_consume_queue(code) is (code in others)
    # What a consume queue has: the hash as a long, with its sign.
    assert tags.is_matched_by_consume_queue(code + 2**32) is (code in others)


def test_subscription_to_everything_has_no_filter() -> None:
    assert tags_filter(build_subscription_data("t", "*")) is None


def test_tag_filter_hashes_the_words_of_a_subscription() -> None:
    tags = tags_filter(build_subscription_data("t", "a || b"))
    assert tags is not None
    assert [tags.is_matched_by_consume_queue(code) for code in (97, 98, 99, 0)] == [
        True,
        True,
        False,
        False,
    ]
    assert tags.is_matched_by_commit_log(memoryview(b""))
    assert tags.is_matched_by_properties(b"a\x01b")
