"""A process queue, compared with a model that keeps everything sorted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from fakemq.client.consuming.process_queue import ProcessQueue
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.message import decode_record, encode_record

QUEUE = MessageQueue(topic="orders", broker_name="a", queue_id=0)
STORED = decode_record(
    encode_record(
        "orders", b"", "", queue_id=0, born_host=("1.1.1.1", 1), store_host=("1.1.1.1", 1)
    )
)


def message(offset: int, size: int = 1, max_offset: int = 0) -> ReceivedMessage:
    made = ReceivedMessage(STORED, "a", max_offset=max_offset)
    made.queue_offset = offset
    made.body = bytes(size)
    return made


class ModelledQueue(RuleBasedStateMachine):
    """``here`` and ``taken`` are what the queue should have, by offset."""

    @initialize()
    def begin(self) -> None:
        self.queue = ProcessQueue(QUEUE, 0, 0)
        self.here: dict[int, ReceivedMessage] = {}
        self.taken: dict[int, ReceivedMessage] = {}
        self.next = 0
        self.highest = 0

    @rule(gaps=st.lists(st.integers(1, 3), min_size=1, max_size=5), size=st.integers(0, 9))
    def put_behind(self, gaps: list[int], size: int) -> None:
        added = []
        for gap in gaps:
            self.next += gap
            added.append(message(self.next, size))
        self.put(added)

    @rule(offsets=st.lists(st.integers(0, 30), max_size=4, unique=True))
    def put_anywhere(self, offsets: list[int]) -> None:
        self.put([message(one) for one in offsets])

    def put(self, messages: list[ReceivedMessage]) -> None:
        expected = [one for one in messages if one.queue_offset not in {**self.here, **self.taken}]
        assert self.queue.put(messages) == expected
        for one in expected:
            self.here[one.queue_offset] = one
            self.highest = one.queue_offset
            self.next = max(self.next, one.queue_offset)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        some = data.draw(st.lists(st.sampled_from(sorted(self.here) or [0]), unique=True))
        was_empty = not self.here
        removed = [self.here.pop(one) if one in self.here else message(one) for one in some]
        offset = self.queue.remove(removed, 5)
        if was_empty:
            assert offset is None
        else:
            assert offset == (min(self.here) if self.here else self.highest + 1)

    @rule(count=st.integers(1, 4))
    def take(self, count: int) -> None:
        expected = [self.here[one] for one in sorted(self.here)[:count]]
        peeked = self.queue.peek(count)
        assert peeked == expected
        self.queue.take(peeked, 7)
        for one in expected:
            self.taken[one.queue_offset] = self.here.pop(one.queue_offset)

    @rule()
    def commit(self) -> None:
        expected = max(self.taken) + 1 if self.taken else None
        assert self.queue.commit() == expected
        self.taken.clear()

    @rule()
    def rollback(self) -> None:
        self.queue.rollback()
        self.here.update(self.taken)
        self.taken.clear()

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def consume_again(self, data: st.DataObject) -> None:
        some = data.draw(st.lists(st.sampled_from(sorted(self.taken)), unique=True))
        self.queue.consume_again([self.taken[one] for one in some])
        self.here.update((one, self.taken.pop(one)) for one in some)

    @rule()
    def clear(self) -> None:
        self.queue.clear()
        self.here.clear()
        self.taken.clear()
        self.highest = 0

    @invariant()
    def queue_and_model_are_equal(self) -> None:
        queue, here, taken = self.queue, self.here, self.taken
        assert (len(queue), queue.waiting, queue.taken) == (
            len(here) + len(taken),
            len(here),
            len(taken),
        )
        assert queue.size_bytes == sum(len(one.body) for one in (*here.values(), *taken.values()))
        assert queue.first_offset() == min(here, default=None)
        assert queue.last_offset() == max(here, default=None)
        assert queue.first() is here.get(min(here, default=-1))
        assert queue.max_span() == (max(here) - min(here) if here else 0)
        assert queue.taken_range() == ((min(taken), max(taken)) if taken else None)


TestModelledQueue = ModelledQueue.TestCase
TestModelledQueue.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


@given(st.permutations(range(8)))
def test_offset_to_commit_is_never_behind_a_message_that_is_here(order: list[int]) -> None:
    queue = ProcessQueue(QUEUE, 0, 0)
    messages = [message(one) for one in range(8)]
    queue.put(messages)
    over: set[int] = set()
    for one in order:
        offset = queue.remove([messages[one]], 0)
        over.add(one)
        assert offset == next(each for each in range(9) if each not in over)


def test_messages_behind_the_last_one_are_counted() -> None:
    queue = ProcessQueue(QUEUE, 0, 0)
    queue.put([message(0, max_offset=10), message(1, max_offset=10)])
    assert queue.behind == 9


@pytest.mark.parametrize(("idle_ms", "expired"), [(120_000, False), (120_001, True)])
def test_pull_expires_after_two_minutes(idle_ms: int, expired: bool) -> None:
    queue = ProcessQueue(QUEUE, 0, 1_000)
    assert queue.is_pull_expired(1_000 + idle_ms) is expired


@pytest.mark.parametrize(("age_ms", "expired"), [(30_000, False), (30_001, True)])
def test_lock_expires_after_thirty_seconds(age_ms: int, expired: bool) -> None:
    queue = ProcessQueue(QUEUE, 0, 1_000)
    assert queue.is_lock_expired(1_000 + age_ms) is expired
