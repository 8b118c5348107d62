"""Messages that a group popped, and that no one has."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec.structs

from fakemq.events import Event
from fakemq.sim.invariants.accounted import Unacknowledged, unaccounted
from fakemq.sim.pops import GroupQueue, PopHistory
from tests.support.histories import GROUP, NODE, TOPIC, acknowledged, history, popped, revived


class Tables:
    """A broker with one queue, of which a group has popped all before ``following``."""

    def __init__(self, following: int, *waiting: Unacknowledged, first: int = 0) -> None:
        self._following = following
        self._waiting = waiting
        self._first = first

    def waiting(self) -> tuple[Unacknowledged, ...]:
        return self._waiting

    def queues(self, group: str) -> Iterator[tuple[str, int]]:
        yield TOPIC, 0

    def offsets(self, queue: GroupQueue) -> tuple[int, int]:
        return self._first, self._following


def found(tables: Tables, *events: Event) -> list[str]:
    pops = PopHistory()
    pops.follow(history(*events).entries)
    return [one.text for one in unaccounted(pops, NODE, [GROUP], tables)]


def waiting(offset: int, pop_time_ms: int) -> Unacknowledged:
    return Unacknowledged(GROUP, TOPIC, 0, offset, pop_time_ms)


def test_acknowledged_waiting_and_visible_messages_are_accounted_for() -> None:
    story = popped(1_000, count=3), acknowledged(1_000), revived(1_000, 2)
    assert found(Tables(3, waiting(1, 1_000)), *story) == []


def test_popped_message_that_no_one_has_is_a_violation() -> None:
    (text,) = found(Tables(2, waiting(1, 1_000)), popped(1_000, count=2))
    assert text == (
        "offset 0 of orders queue 0 at broker-a-0, popped by workers at 1000,"
        " is not acknowledged and never comes"
    )
    assert len(found(Tables(1, waiting(0, 999)), popped(1_000))) == 1


def test_message_that_was_left_out_is_a_violation() -> None:
    story = popped(1_000), acknowledged(1_000), popped(1_000, 2), acknowledged(1_000, 2)
    (text,) = found(Tables(3), *story)
    assert text == (
        "no pop of workers returned offset 1 of orders queue 0 at broker-a-0,"
        " and the next one begins at 3"
    )
    assert found(Tables(3, first=2), *story) == []


def test_message_in_order_is_before_the_next_pop_only_if_it_is_acknowledged() -> None:
    story = popped(1_000, count=2, in_order=True), acknowledged(1_000)
    assert found(Tables(1), *story) == []
    (text,) = found(Tables(2), *story)
    assert text.startswith("offset 1 of orders queue 0 at broker-a-0")


def test_message_in_order_that_a_slave_popped_is_left_out_by_nothing() -> None:
    at_slave = msgspec.structs.replace(popped(1_000, in_order=True), node="broker-a-1")
    assert found(Tables(1), at_slave, acknowledged(1_000)) == []
    assert len(found(Tables(2), at_slave, acknowledged(1_000))) == 1
