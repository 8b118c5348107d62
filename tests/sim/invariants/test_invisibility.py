"""Messages that come again before their time, or although they were acknowledged."""

from __future__ import annotations

import pytest

from fakemq.events import ClockSkewed, Event, LogAppended, NodeStopped
from fakemq.events.store import UnsyncedLost
from fakemq.sim.invariants.invisibility import Invisibility
from fakemq.sim.pops import GroupQueue
from tests.support.histories import (
    GROUP,
    NODE,
    TOPIC,
    acknowledged,
    changed,
    history,
    popped,
    revived,
)

KILL = NodeStopped(node=NODE, how="kill")
LOST = UnsyncedLost(node=NODE, pages=3, lost_pages=2, log_offset=500, log_bytes=80)
ORDER = {"in_order": True}
SLAVE = "broker-a-1"


def found(*events: Event | tuple[int, Event]) -> list[str]:
    judge = Invisibility()
    judge.pops.follow(history(*events).entries)
    return [violation.text for violation in judge.found]


def appended(phy_offset: int, queue_offset: int = 0) -> LogAppended:
    return LogAppended(
        node=NODE,
        topic=TOPIC,
        queue_id=0,
        queue_offset=queue_offset,
        phy_offset=phy_offset,
        size_bytes=100,
        msg_id=f"ID-{queue_offset}",
    )


def test_message_that_is_revived_at_its_time_is_accepted() -> None:
    assert found(popped(1_000), (11_000, revived(1_000))) == []


def test_message_that_is_revived_early_is_a_violation() -> None:
    assert found(popped(1_000), (10_999, revived(1_000))) == [
        "broker-a-0 revived offset 0 of orders queue 0 for workers (ID-0), 1 ms too early"
    ]


def test_time_is_that_of_the_broker() -> None:
    slow = ClockSkewed(node=NODE, skew_ms=-500)
    assert "500 ms too early" in found(slow, popped(1_000), (11_000, revived(1_000)))[0]
    assert found(slow, popped(1_000), (11_500, revived(1_000))) == []


def test_acknowledged_message_that_is_revived_is_a_violation() -> None:
    (text,) = found(popped(1_000), acknowledged(1_000), (20_000, revived(1_000)))
    assert text.endswith("(ID-0), which was acknowledged")


def test_acknowledgement_that_comes_late_or_is_of_another_pop_proves_nothing() -> None:
    assert found(popped(1_000), (20_000, revived(1_000)), acknowledged(1_000)) == []
    assert found(popped(1_000), acknowledged(999), (20_000, revived(1_000))) == []


def test_changed_time_counts_from_the_change_on() -> None:
    longer = changed(1_000, 5_000, 40_000)
    assert found(popped(1_000), longer, (40_000, revived(5_000))) == []
    assert "1 ms too early" in found(popped(1_000), longer, (39_999, revived(5_000)))[0]
    assert "invisible until another" in found(popped(1_000), longer, (40_000, revived(1_000)))[0]
    assert (
        "which was acknowledged"
        in (found(popped(1_000), longer, acknowledged(5_000), (40_000, revived(5_000)))[0])
    )


def test_change_that_is_handled_twice_is_one() -> None:
    twice = [changed(1_000, 5_000, 40_000)] * 2
    assert len(found(popped(1_000), *twice, acknowledged(5_000), (50_000, revived(5_000)))) == 1
    assert found(popped(1_000), *twice, (50_000, revived(5_000))) == []


def test_revival_without_a_pop_or_twice_is_a_violation() -> None:
    assert "which no pop returned" in found((20_000, revived(1_000)))[0]
    once, again = (popped(1_000), (20_000, revived(1_000))), (21_000, revived(1_000))
    assert "which was revived before" in found(*once, again)[0]
    assert found(*once, KILL, again) == []


@pytest.mark.parametrize(
    ("between", "at_ms", "text"),
    [
        ((), 10_999, "was popped 1 ms too early"),
        ((acknowledged(1_000),), 90_000, "was popped after it was acknowledged"),
    ],
)
def test_message_that_is_popped_again_is_a_violation(
    between: tuple[Event, ...], at_ms: int, text: str
) -> None:
    (one,) = found(popped(1_000), *between, popped(at_ms))
    assert one == f"offset 0 of orders queue 0 at broker-a-0, popped by workers at {at_ms}, {text}"
    assert found(popped(1_000), *between, KILL, popped(at_ms)) == []
    assert found(popped(1_000), *between, popped(at_ms, group="others")) == []


def test_queue_in_order_waits_for_every_message() -> None:
    first = popped(1_000, count=2, **ORDER)
    other = popped(5_000, count=2, **ORDER)
    assert len(found(first, other)) == 3  # the second message only for itself
    (text,) = found(first, acknowledged(1_000), popped(5_000, 1, **ORDER))
    assert text == (
        "offset 1 of orders queue 0 at broker-a-0, popped by workers at 5000,"
        " was popped while offset 1 was out until 11000"
    )
    both = acknowledged(1_000), acknowledged(1_000, 1)
    assert found(first, *both, popped(5_000, 2, **ORDER)) == []
    assert found(first, popped(11_000, count=2, **ORDER)) == []


def test_same_attempt_in_order_may_pop_again() -> None:
    one = popped(1_000, attempt_id="one", **ORDER)
    assert found(one, popped(2_000, attempt_id="one", **ORDER)) == []
    assert len(found(one, popped(2_000, attempt_id="two", **ORDER))) == 1


def test_changed_time_in_order_holds_the_queue() -> None:
    first, longer = popped(1_000, **ORDER), changed(1_000, 1_000, 40_000)
    assert len(found(first, longer, popped(39_999, **ORDER))) == 1
    assert found(first, longer, popped(40_000, **ORDER)) == []


def test_crash_excuses_what_it_may_have_lost() -> None:
    story = [(1_000, appended(100)), (1_000, popped(1_000)), (2_000, appended(600))]
    acked = (2_000, acknowledged(1_000))
    assert found(*story, acked, LOST, (20_000, revived(1_000))) == []
    early = (1_500, acknowledged(1_000))
    (text,) = found(story[0], story[1], early, story[2], LOST, (20_000, revived(1_000)))
    assert "which was acknowledged" in text
    judge = Invisibility()
    judge.pops.follow(history(*story, acked, LOST).entries)
    assert judge.pops.lost() == {(GROUP, "ID-0")}
    assert judge.pops.lossy == {NODE}


def test_kill_loses_what_is_out_in_order_and_no_message() -> None:
    story = (1_000, appended(100)), popped(1_000, **ORDER), KILL
    assert found(*story, popped(2_000, **ORDER)) == []
    judge = Invisibility()
    judge.pops.follow(history(*story).entries)
    assert judge.pops.lost() == set()
    assert [one.uncertain for one in judge.pops.of(GroupQueue(NODE, GROUP, TOPIC, 0))] == [True]


def test_slave_forgets_what_it_popped() -> None:
    assert found(popped(1_000, node=SLAVE), popped(6_000, node=SLAVE)) == []
    first, longer = popped(1_000, node=SLAVE, **ORDER), popped(6_000, node=SLAVE, **ORDER)
    assert len(found(first, longer)) == 1


def test_master_pops_what_its_slave_popped_although_it_was_changed_and_acknowledged() -> None:
    at_slave, once = popped(1_000, node=SLAVE), changed(1_000, 2_000, 40_000)
    assert found(at_slave, once, popped(3_000)) == []
    twice = changed(2_000, 3_000, 50_000)
    assert found(at_slave, once, twice, acknowledged(3_000), popped(4_000)) == []
    (text,) = found(at_slave, once, popped(3_000), popped(4_000))
    assert text.endswith("9000 ms too early")


@pytest.mark.parametrize(
    "other",
    [popped(999, node=SLAVE), popped(1_000, node="broker-b-1"), popped(1_000, offset=1)],
    ids=["another pop", "another broker", "another message"],
)
def test_change_of_what_no_slave_popped_excuses_no_pop(other: Event) -> None:
    (text,) = found(other, changed(1_000, 2_000, 40_000), popped(3_000))
    assert text.endswith("37000 ms too early")


def test_pops_of_a_master_and_its_slave_in_one_millisecond_prove_nothing() -> None:
    both = popped(1_000, node=SLAVE), popped(1_000)
    short, long = changed(1_000, 1_001, 2_000), changed(1_000, 1_001, 9_000)
    revivals = (2_000, revived(1_001)), (9_000, revived(1_001))
    assert found(*both, short, long, *revivals) == []
    assert found(*both, acknowledged(1_000), (11_000, revived(1_000))) == []
    assert found(*both, short, (11_000, revived(1_000))) == []
    assert len(found(popped(1_000), short, (11_000, revived(1_000)))) == 1
    assert len(found(popped(1_000), short, long, *revivals)) == 2


def test_pop_of_a_master_in_the_millisecond_of_a_change_proves_nothing() -> None:
    at_slave, once = popped(1_000, node=SLAVE), changed(1_000, 2_000, 9_000)
    both = at_slave, once, popped(2_000), acknowledged(2_000)
    assert found(*both, (9_000, revived(2_000))) == []
    assert len(found(at_slave, once, acknowledged(2_000), (9_000, revived(2_000)))) == 1
