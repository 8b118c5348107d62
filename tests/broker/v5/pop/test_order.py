"""What a group has in order, step by step, and against a plain model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.v5.pop.order import ILLEGAL, NO_COMMIT, OrderTable
from fakemq.clock.slices import finished
from fakemq.protocol.bodies.topic import TopicConfig

T, G, Q = "T", "G", 0
INVISIBLE_MS = 1_000


def popped(
    table: OrderTable, offsets: list[int], now_ms: int = 0, attempt: str | None = None
) -> list[str]:
    return table.update(
        attempt,
        T,
        G,
        Q,
        pop_time_ms=now_ms,
        invisible_time_ms=INVISIBLE_MS,
        offsets=offsets,
        now_ms=now_ms,
    )


def blocked(table: OrderTable, now_ms: int, attempt: str | None = None) -> bool:
    return table.is_blocked(attempt, T, G, Q, INVISIBLE_MS, now_ms)


def test_unknown_queue_blocks_nothing_and_commits_the_next_offset() -> None:
    table = OrderTable()
    assert not blocked(table, 0)
    assert table.commit_and_next(T, G, Q, 7, 0) == 8
    assert table.free_at_ms(T, G, Q, 0) is None


def test_messages_block_until_they_are_visible() -> None:
    table = OrderTable()
    assert popped(table, [5, 6]) == ["0 0 0"]
    assert [blocked(table, at_ms) for at_ms in (0, 999, 1_000)] == [True, True, False]
    assert table.free_at_ms(T, G, Q, 10) == 1_000
    assert table.free_at_ms(T, G, Q, 2_000) == 2_000


def test_acknowledged_messages_do_not_block() -> None:
    table = OrderTable()
    popped(table, [5, 6, 8])
    assert table.commit_and_next(T, G, Q, 6, 0) == 5
    assert table.commit_and_next(T, G, Q, 5, 0) == 8
    assert blocked(table, 0)
    assert table.commit_and_next(T, G, Q, 8, 0) == 9
    assert not blocked(table, 0)


def test_acknowledgement_of_another_pop_commits_nothing() -> None:
    table = OrderTable()
    popped(table, [5])
    assert table.commit_and_next(T, G, Q, 5, 1) == NO_COMMIT
    assert table.commit_and_next(T, G, Q, 6, 0) == ILLEGAL


def test_second_pop_counts() -> None:
    table = OrderTable()
    popped(table, [5, 6])
    assert popped(table, [5, 6, 7], 1_000) == ["0 qo0%5 1", "0 qo0%6 1", "0 0 0"]
    assert popped(table, [5], 2_000) == ["0 qo0%5 2", "0 0 2"]


def test_same_attempt_does_not_count_and_is_not_blocked() -> None:
    table = OrderTable()
    popped(table, [5], attempt="one")
    assert not blocked(table, 0, "one")
    assert blocked(table, 0, "two")
    assert blocked(table, 0)
    assert popped(table, [5], attempt="one") == ["0 0 0"]


def test_changed_time_counts_for_its_message_only() -> None:
    table = OrderTable()
    popped(table, [5, 6])
    table.update_next_visible_time(T, G, Q, 5, pop_time_ms=0, visible_at_ms=3_000)
    assert table.free_at_ms(T, G, Q, 0) == 3_000
    table.commit_and_next(T, G, Q, 5, 0)
    assert table.free_at_ms(T, G, Q, 0) == 1_000


def test_changed_time_of_another_pop_is_ignored() -> None:
    table = OrderTable()
    popped(table, [5])
    table.update_next_visible_time(T, G, Q, 5, pop_time_ms=1, visible_at_ms=3_000)
    assert not blocked(table, 1_000)


def test_table_survives_its_file() -> None:
    table, read = OrderTable(), OrderTable()
    popped(table, [5, 6], attempt="one")
    table.commit_and_next(T, G, Q, 5, 0)
    saved = table.persisted()
    read.load(type(saved).decode(saved.encode()))
    assert read.table == table.table


def test_cleaning_forgets_what_is_gone() -> None:
    table = OrderTable()
    popped(table, [5])
    topics = {T: TopicConfig(topic_name=T, read_queue_nums=1, write_queue_nums=1)}
    finished(table.clean(topics.get, {G}, 24 * 3_600_000))
    assert table.find(T, G, Q) is not None
    finished(table.clean(topics.get, {G}, 24 * 3_600_000 + 1))
    assert table.find(T, G, Q) is None
    popped(table, [5])
    topics.clear()
    finished(table.clean(topics.get, {G}, 0))
    assert list(table.queues()) == []


@given(
    offsets=st.lists(st.integers(0, 40), min_size=1, max_size=32, unique=True).map(sorted),
    data=st.data(),
)
def test_commits_are_the_first_message_that_is_not_acknowledged(
    offsets: list[int], data: st.DataObject
) -> None:
    table = OrderTable()
    popped(table, offsets)
    left = list(offsets)
    for offset in data.draw(st.permutations(offsets)):
        left.remove(offset)
        expected = left[0] if left else offsets[-1] + 1
        assert table.commit_and_next(T, G, Q, offset, 0) == expected
        assert blocked(table, 0) is bool(left)
