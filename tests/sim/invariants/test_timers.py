"""Timer messages that come early, twice, or although they were recalled."""

from __future__ import annotations

from fakemq.events import ClockMoved, ClockSkewed, Event, NodeStopped
from fakemq.events.store import UnsyncedLost
from fakemq.events.timers import TimerDelivered, TimerDiscarded, TimerSet
from fakemq.sim.events import RecallEnded
from fakemq.sim.history import Violation
from fakemq.sim.invariants.timers import wrong_timers
from tests.support.histories import NODE, history

DUE_MS = 5_000
SET = TimerSet(
    node=NODE,
    timer_offset=0,
    phy_offset=100,
    due_at_ms=DUE_MS,
    rolls_at_ms=None,
    topic="orders",
    msg_id="ID",
)
CAME = TimerDelivered(
    node=NODE,
    from_phy_offset=100,
    phy_offset=900,
    topic="orders",
    queue_id=0,
    queue_offset=0,
    msg_id="ID",
)
RECALLED = RecallEnded(
    node="producer",
    topic="orders",
    key="m-1",
    msg_id="ID",
    broker="broker-a",
    phy_offset=100,
    well=True,
)
CRASH = UnsyncedLost(node=NODE, pages=3, lost_pages=2, log_offset=500, log_bytes=0)
TOO_LATE = TimerDiscarded(node=NODE, phy_offset=500, topic="orders", why="too late", msg_id="ID")


def found(*events: Event | tuple[int, Event], lost: tuple[str, ...] = ()) -> list[str]:
    return [one.text for one in wrong_timers(history(*events), lost)]


def test_message_that_comes_once_and_in_time_is_accepted() -> None:
    assert found(SET, (DUE_MS, CAME)) == []


def test_message_that_comes_early_is_a_violation() -> None:
    text = "ID, a timer message of broker-a, came 1 ms too early"
    assert found(SET, (DUE_MS - 1, CAME)) == [text]
    fast = ClockSkewed(node=NODE, skew_ms=1)
    assert found(SET, fast, (DUE_MS - 1, CAME)) == []


def test_message_that_was_never_set_is_a_violation() -> None:
    assert "was never set at offset 100" in found((DUE_MS, CAME))[0]


def test_message_that_comes_twice_is_a_violation_unless_its_machine_crashed() -> None:
    story, again = (SET, (DUE_MS, CAME)), (DUE_MS, CAME)
    text = "ID, a timer message of broker-a, came a second time"
    assert found(*story, again) == [text]
    assert found(*story, CRASH, again) == []
    assert found(*story, CRASH, again, again) == [text]
    assert found(CRASH, *story, again) == [text]


def test_kill_repeats_the_last_second_of_a_store_on_disk_only() -> None:
    story, again = (SET, (DUE_MS, CAME)), (90_000, CAME)
    kill = NodeStopped(node=NODE, how="kill")

    def killed(at_ms: int, *, on_disk: bool) -> list[Violation]:
        return [*wrong_timers(history(*story, (at_ms, kill), again), (), on_disk=on_disk)]

    assert killed(DUE_MS + 1_000, on_disk=True) == []
    assert len(killed(DUE_MS + 1_001, on_disk=True)) == 1
    assert len(killed(DUE_MS, on_disk=False)) == 1


def test_start_may_repeat_what_a_clock_that_has_gone_back_delivered() -> None:
    fast, right = ClockSkewed(node=NODE, skew_ms=5_000), ClockSkewed(node=NODE, skew_ms=0)
    stop, again = NodeStopped(node=NODE, how="stop"), (DUE_MS, CAME)
    assert found(SET, fast, (1_000, CAME), right, (2_000, stop), again) == []
    text = "ID, a timer message of broker-a, came a second time"
    assert found(SET, fast, (1_000, CAME), right, again) == [text]
    assert found(SET, (DUE_MS, CAME), (DUE_MS + 1, stop), again) == [text]


def test_recalled_message_that_comes_is_a_violation_unless_the_recall_was_late() -> None:
    story = SET, RECALLED, (DUE_MS, CAME)
    assert found(*story) == ["ID, a timer message of broker-a, came although it was recalled"]
    assert found(*story, TOO_LATE) == []
    assert found(*story, lost=(NODE,)) == []
    assert found(SET, RECALLED) == []


def test_clock_that_has_gone_back_lets_a_delivered_message_be_recalled() -> None:
    came, slow = (DUE_MS, CAME), (DUE_MS + 1, ClockSkewed(node=NODE, skew_ms=-1_000))
    assert found(SET, came, slow, (DUE_MS + 2, RECALLED)) == []
    jump = (1_000, ClockMoved(node="cluster", how="jump", by_ms=-DUE_MS))
    assert found(SET, came, jump, (1_001, RECALLED)) == []
    text = "ID, a timer message of broker-a, came although it was recalled"
    assert found(SET, came, (DUE_MS + 2, RECALLED)) == [text]
    early = ClockSkewed(node=NODE, skew_ms=-10_000)
    assert found(SET, early, RECALLED, ClockSkewed(node=NODE, skew_ms=0), came) == [text]
