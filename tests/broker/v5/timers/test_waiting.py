"""Which timer messages wait, and until when: `mq.delayed`."""

from __future__ import annotations

from pathlib import Path

import pytest

import fakemq
from fakemq.clock.slices import finished
from fakemq.core.cluster import ClusterCore
from fakemq.core.inspection import delayed
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus
from tests.support.form import pure_only
from tests.support.long_reads import most_reads_of_a_step
from tests.support.timer_lab import SECOND_MS, TimerLab

DAY_MS = 86_400_000


def due(lab: TimerLab) -> dict[str, int]:
    """Return when each message that waits is due, by unique key."""
    return {
        message.properties["UNIQ_KEY"]: due_at_ms
        for message, due_at_ms in finished(lab.node.timers.waiting())
    }


def pass_until(lab: TimerLab, time_ms: int) -> None:
    lab.pass_time(time_ms - lab.clock.now_ms())


@pytest.fixture
def lab() -> TimerLab:
    return TimerLab()


def test_waiting_message_is_due_at_the_end_of_its_second(lab: TimerLab) -> None:
    lab.send("soon", TIMER_DELIVER_MS=SECOND_MS + 4_001)
    lab.send("exact", TIMER_DELIVER_MS=SECOND_MS + 9_000)
    assert due(lab) == {"soon": SECOND_MS + 5_000, "exact": SECOND_MS + 9_000}
    pass_until(lab, SECOND_MS + 5_000)
    assert due(lab) == {"exact": SECOND_MS + 9_000}
    assert lab.keys() == ["soon"]


def test_message_that_rolls_is_due_at_its_own_time(lab: TimerLab) -> None:
    lab.send("far", TIMER_DELIVER_MS=SECOND_MS + 3 * DAY_MS)
    assert due(lab) == {"far": SECOND_MS + 3 * DAY_MS}
    pass_until(lab, SECOND_MS + 2 * DAY_MS + 5_000)
    assert len(lab.messages(TIMER_TOPIC)) == 2, "it rolled"
    assert due(lab) == {"far": SECOND_MS + 3 * DAY_MS}


def test_recalled_message_does_not_wait(lab: TimerLab) -> None:
    handles = [
        lab.send(key, TIMER_DELIVER_MS=SECOND_MS + ms).ext_fields["recallHandle"]
        for key, ms in (("a", 4_000), ("b", 4_000), ("far", 3 * DAY_MS))
    ]
    lab.recall(handles[0])
    lab.recall(handles[2])
    assert due(lab) == {"b": SECOND_MS + 4_000}


def test_recalled_message_does_not_wait_while_its_slot_is_delivered(lab: TimerLab) -> None:
    handles = [
        lab.send(key, TIMER_DELIVER_MS=SECOND_MS + 4_000).ext_fields["recallHandle"]
        for key in ("a", "b")
    ]
    lab.recall(handles[1])
    put = lab.node.timers._put
    lab.node.timers._put = lambda message: put_ended(PutMessageStatus.SERVICE_NOT_AVAILABLE)
    pass_until(lab, SECOND_MS + 4_000)
    assert due(lab) == {"a": SECOND_MS + 4_000}
    lab.node.timers._put = put
    lab.pass_time(2_000)
    assert due(lab) == {}
    assert lab.keys() == ["a"]


def test_messages_of_a_slot_that_is_read_in_steps_wait(lab: TimerLab) -> None:
    lab.config.timer_stop_dequeue = True
    keys = [f"K{number}" for number in range(6)]
    handles = [
        lab.send(key, TIMER_DELIVER_MS=SECOND_MS + 4_000).ext_fields["recallHandle"] for key in keys
    ]
    lab.recall(handles[2])
    pass_until(lab, SECOND_MS + 6_000)
    wait = dict.fromkeys(keys, SECOND_MS + 4_000)
    del wait["K2"]
    for _ in lab.node.timers._read_next_slot():
        assert due(lab) == wait
    assert due(lab) == wait


def test_message_without_a_unit_waits(lab: TimerLab) -> None:
    lab.config.timer_stop_enqueue = True
    lab.send("K", TIMER_DELIVER_MS=SECOND_MS + 4_000)
    assert due(lab) == {"K": SECOND_MS + 4_000}


def test_broker_without_a_wheel_has_none() -> None:
    assert due(TimerLab(timer_wheel_enable=False)) == {}


@pytest.mark.parametrize("store", ["memory", "directory"])
def test_timers_are_listed_among_the_delays_by_their_time(store: str, tmp_path: Path) -> None:
    with fakemq.Cluster(
        reference="5.5.0",
        clock="frozen",
        start_at="2024-02-29T12:00:00.500Z",
        topics={"orders": 1, "bills": 1},
        store="memory" if store == "memory" else tmp_path,
    ) as mq:
        now_ms = mq.clock.now_ms()
        mq.seed("orders", ["timer"], properties={"TIMER_DELAY_SEC": "60"})
        mq.seed("orders", ["level"], delay="30s")
        mq.seed("bills", ["other"], properties={"TIMER_DELAY_SEC": "10"})
        first, level, timer = mq.delayed()
        assert (first.topic, first.level, first.message.body) == ("bills", 0, b"other")
        assert (level.level, level.message.body) == (4, b"level")
        assert (timer.topic, timer.broker, timer.queue_id) == ("orders", "broker-a", 0)
        assert timer.due_at_ms == now_ms + 60_500
        assert timer.message.topic == TIMER_TOPIC
        assert "timer" in str(timer.message.biography)
        mq.broker("broker-a").stop()
        there = [b"level", b"timer"] if store == "memory" else []
        assert [one.message.body for one in mq.delayed("orders")] == there
        mq.broker("broker-a").restart()
        assert len(mq.delayed("orders")) == 2
        mq.clock.advance("61s")
        assert mq.delayed() == []


@pure_only
def test_one_timer_message_is_read_in_a_step() -> None:
    with fakemq.Cluster(reference="5.5.0", clock="frozen", topics={"orders": 1}) as mq:
        mq.seed("orders", ["later"] * 9, properties={"TIMER_DELAY_SEC": "60"})
        assert mq.inspect(lambda core: most_reads_of_a_step(core, delayed(core, None))) == 1


def test_messages_that_wait_are_those_of_the_first_step() -> None:
    def look(core: ClusterCore) -> list[bytes]:
        steps = delayed(core, None)
        next(steps)
        core.advance(61_000)  # all are delivered
        return [one.message.body for one in finished(steps)]

    with fakemq.Cluster(reference="5.5.0", clock="frozen", topics={"orders": 1}) as mq:
        mq.seed("orders", ["a", "b", "c"], properties={"TIMER_DELAY_SEC": "60"})
        assert sorted(mq.inspect(look)) == [b"a", b"b", b"c"]
        assert mq.delayed() == []


def test_counts_in_memory_are_written_after_a_change_alone(lab: TimerLab) -> None:
    timers, written = lab.node.timers, list[int]()
    timers._keep = lambda: written.append(timers.metrics.total)
    lab.send("one", TIMER_DELIVER_MS=SECOND_MS + 5_000)
    timers.save()
    assert written[-1] == 1
    before = len(written)
    timers.save()
    assert len(written) == before
    lab.send("two", TIMER_DELIVER_MS=SECOND_MS + 5_000)
    timers.save()
    assert written[-1] == 2
    pass_until(lab, SECOND_MS + 6_000)
    assert written[-1] == 0
