"""Timer messages wait in the timer topic and are delivered at the end of their second."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.broker.sending.puts import Putting
from fakemq.events import (
    TimerDelivered,
    TimerDiscarded,
    TimerRolled,
    TimerSet,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.store.inner_message import InnerMessage, inner_message
from fakemq.store.puts import PutMessageResult, put_ended
from fakemq.store.results import PutMessageStatus
from tests.support.time import START_MS
from tests.support.timer_lab import SECOND_MS, TimerLab

DAY_MS = 24 * 3_600_000


@pytest.fixture
def lab() -> TimerLab:
    return TimerLab()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIMER_DELAY_SEC", 3),
        ("TIMER_DELAY_MS", 3_000),
        ("TIMER_DELIVER_MS", START_MS + 3_000),
    ],
)
def test_message_comes_at_the_end_of_its_second(lab: TimerLab, name: str, value: int) -> None:
    lab.send("K", {name: value, "TAGS": "red"})
    out_ms = (START_MS + 2_999) // 1000 * 1000
    [waiting] = lab.messages(TIMER_TOPIC)
    assert waiting.properties == {
        name: str(value),
        "UNIQ_KEY": "K",
        "TAGS": "red",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "CLUSTER": "DefaultCluster",
        "TIMER_OUT_MS": str(out_ms),
        "REAL_TOPIC": "orders",
        "REAL_QID": "0",
    }
    due_ms = out_ms + 1000
    lab.pass_time(due_ms - START_MS - 1)
    assert lab.messages() == []
    lab.pass_time(1)
    [delivered] = lab.messages()
    assert delivered.store_timestamp_ms == due_ms
    assert delivered.body == b"hello"
    assert delivered.properties == waiting.properties | {
        "TIMER_ENQUEUE_MS": str(SECOND_MS),
        "TIMER_DEQUEUE_MS": str(due_ms),
    }


def test_first_wish_counts(lab: TimerLab) -> None:
    lab.send(TIMER_DELIVER_MS=START_MS + 9_000, TIMER_DELAY_MS=6_000, TIMER_DELAY_SEC=3)
    assert lab.messages(TIMER_TOPIC)[0].properties["TIMER_OUT_MS"] == str(
        (START_MS + 2_999) // 1000 * 1000
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=6), st.integers(0, 2_500))
def test_no_message_comes_early_or_over_a_second_late(delays: list[int], pause_ms: int) -> None:
    lab = TimerLab()
    wished = {}
    for number, delay_ms in enumerate(delays):
        wished[f"K{number}"] = lab.clock.now_ms() + delay_ms
        lab.send(f"K{number}", TIMER_DELAY_MS=delay_ms)
        lab.pass_time(pause_ms)
    lab.pass_time(21_000)
    late = {
        message.properties["UNIQ_KEY"]: message.store_timestamp_ms
        - wished[message.properties["UNIQ_KEY"]]
        for message in lab.messages()
    }
    lab.free()
    assert late.keys() == wished.keys()
    assert all(0 <= ms < 1000 for ms in late.values())


def test_message_for_a_whole_second_comes_then(lab: TimerLab) -> None:
    lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_000)
    lab.pass_time(60_000)
    assert lab.messages()[0].store_timestamp_ms == SECOND_MS + 5_000


@pytest.mark.parametrize(
    "wish", [{"TIMER_DELIVER_MS": 5}, {"TIMER_DELAY_SEC": -5}, {"TIMER_DELAY_MS": 0}]
)
def test_time_that_is_over_is_no_wish(lab: TimerLab, wish: dict[str, int]) -> None:
    answer = lab.send("K", wish)
    assert "recallHandle" not in answer.ext_fields
    assert lab.keys() == ["K"]
    assert lab.messages(TIMER_TOPIC) == []


def test_delay_level_replaces_a_timer(lab: TimerLab) -> None:
    lab.send(DELAY=1, TIMER_DELAY_SEC=30, TIMER_DELAY_MS=1, TIMER_DELIVER_MS=5)
    assert lab.messages(TIMER_TOPIC) == []
    lab.pass_time(2_000)
    assert not {"TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"} & set(
        lab.messages()[0].properties
    )


def test_delay_level_0_leaves_a_timer(lab: TimerLab) -> None:
    lab.send(DELAY=0, TIMER_DELAY_SEC=1)
    assert lab.messages() == []
    lab.pass_time(2_000)
    assert lab.keys() == ["K"]


def test_three_days_are_one_advance(lab: TimerLab) -> None:
    lab.send(TIMER_DELAY_SEC=3 * 24 * 3600)
    due_ms = (START_MS - 1) // 1000 * 1000 + 1000 + 3 * DAY_MS
    lab.pass_time(due_ms - START_MS - 1)
    assert lab.messages() == []
    lab.pass_time(1)
    [delivered] = lab.messages()
    assert delivered.properties["TIMER_ROLL_TIMES"] == "1"
    assert delivered.properties["TIMER_ENQUEUE_MS"] == str(SECOND_MS + 2 * DAY_MS + 1000)
    [first, again] = lab.messages(TIMER_TOPIC)
    assert again.store_timestamp_ms == SECOND_MS + 2 * DAY_MS + 1000
    assert again.properties == first.properties | {
        "TIMER_ROLL_TIMES": "1",
        "TIMER_ENQUEUE_MS": str(SECOND_MS),
        "TIMER_DEQUEUE_MS": str(again.store_timestamp_ms),
    }


def test_deadline_is_called_timer(lab: TimerLab) -> None:
    for second in (7, 3, 5):
        lab.send(f"K{second}", TIMER_DELIVER_MS=SECOND_MS + second * 1000)
    for second in (3, 5, 7):
        lab.pass_time(lab.clock.due_in_ms(lab.clock.next_of("timer")))
        assert lab.clock.now_ms() == SECOND_MS + second * 1000
        assert lab.keys()[-1] == f"K{second}"
    assert not [timer for timer in lab.clock.timers() if timer.kind == "timer"]


def test_messages_of_a_second_come_in_the_order_of_their_sends(lab: TimerLab) -> None:
    for number in range(20):
        lab.send(f"K{number}", TIMER_DELIVER_MS=SECOND_MS + 5_000 - number)
    lab.pass_time(6_000)
    assert lab.keys() == [f"K{number}" for number in range(20)]


def test_held_pull_wakes_for_a_timer_message(lab: TimerLab) -> None:
    lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_000)
    lab.pass_time(6_000)
    assert lab.node.store.max_offset_in_queue("orders", 0) == 1


def test_journal_has_the_life_of_a_timer_message() -> None:
    lab = TimerLab(timer_roll_window_slot=10)
    lab.send(TIMER_DELIVER_MS=SECOND_MS + 15_000)
    lab.pass_time(20_000)
    [first, again] = lab.journal.find(TimerSet)
    assert (first.due_at_ms, again.due_at_ms) == (SECOND_MS + 15_000,) * 2
    # 14 slots are over the window of 10, but by less than the third of it that is 3 slots.
    assert first.rolls_at_ms == SECOND_MS + 11_000
    assert again.rolls_at_ms is None
    [rolled] = lab.journal.find(TimerRolled)
    assert (rolled.from_phy_offset, rolled.times) == (first.phy_offset, 1)
    [delivered] = lab.journal.find(TimerDelivered)
    assert (delivered.from_phy_offset, delivered.topic) == (again.phy_offset, "orders")
    assert (delivered.queue_id, delivered.queue_offset, delivered.msg_id) == (0, 0, "K")


def test_message_that_was_due_before_it_had_a_slot_is_delivered_at_once(lab: TimerLab) -> None:
    properties = {"TIMER_OUT_MS": str(SECOND_MS - 1000), "REAL_TOPIC": "orders", "REAL_QID": "1"}
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    lab.node.put(inner_message(TIMER_TOPIC, 0, b"x", properties, text))
    lab.pass_time(0)
    [delivered] = lab.messages(queue_id=1)
    assert delivered.properties["TIMER_ENQUEUE_MS"] == str(LONG_MAX)
    assert lab.node.timers.metrics.count("orders") == 0


def test_message_without_a_time_is_passed_over(lab: TimerLab) -> None:
    lab.send("bad", topic=TIMER_TOPIC)
    lab.send("good", TIMER_DELAY_SEC=1)
    lab.pass_time(3_000)
    assert lab.keys() == ["good"]
    [discarded] = lab.journal.find(TimerDiscarded)
    assert (discarded.msg_id, discarded.why) == ("bad", "it has no TIMER_OUT_MS")


def test_roll_times_of_a_producer_that_are_no_number_stop_nothing() -> None:
    lab = TimerLab(timer_roll_window_slot=10)
    lab.send("odd", TIMER_DELAY_SEC=15, TIMER_ROLL_TIMES="many")
    lab.send("usual", TIMER_DELAY_SEC=15)
    lab.pass_time(20_000)
    assert lab.keys() == ["odd", "usual"]
    assert [event.times for event in lab.journal.find(TimerRolled)] == [1, 1]


def test_refused_delivery_is_tried_until_it_succeeds(lab: TimerLab) -> None:
    lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_000)
    tries: list[int] = []

    def refuse(message: InnerMessage) -> PutMessageResult:
        tries.append(lab.clock.now_ms() - SECOND_MS)
        return put_ended(PutMessageStatus.SERVICE_NOT_AVAILABLE)

    put, lab.node.timers._put = lab.node.timers._put, refuse
    lab.pass_time(20_000)
    assert tries == [5_000, 5_500, 6_500, 8_000, 10_000, 12_500, 15_500, 19_000]
    assert not lab.journal.find(TimerDiscarded)
    lab.node.timers._put = put
    lab.pass_time(4_000)
    assert lab.keys() == ["K"]
    assert lab.node.timers.metrics.count("orders") == 0


def test_delivery_can_be_stopped(lab: TimerLab) -> None:
    lab.config.timer_stop_dequeue = True
    lab.send(TIMER_DELAY_SEC=1)
    lab.pass_time(10_000)
    assert lab.messages() == []


def set_key(lab: TimerLab, text: str) -> None:
    assert lab.client.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode()).code == 0


def test_delivery_can_be_stopped_while_a_message_waits(lab: TimerLab) -> None:
    lab.send(TIMER_DELAY_SEC=1)
    set_key(lab, "timerStopDequeue=true")
    lab.pass_time(10_000)
    assert lab.messages() == []
    set_key(lab, "timerStopDequeue=false")
    lab.pass_time(1)
    assert lab.keys() == ["K"]


def test_message_that_has_no_slot_yet_gets_one_when_the_config_says_so(lab: TimerLab) -> None:
    set_key(lab, "timerStopEnqueue=true")
    lab.send("due", TIMER_DELAY_SEC=1)
    lab.send("later", TIMER_DELIVER_MS=SECOND_MS + 20_000)
    lab.pass_time(10_000)
    assert lab.messages() == []
    set_key(lab, "timerStopEnqueue=false")
    lab.pass_time(1)
    assert lab.keys() == ["due"]
    lab.pass_time(10_000)
    assert lab.keys() == ["due", "later"]


def test_clock_that_goes_back_brings_no_message_early_or_twice(lab: TimerLab) -> None:
    lab.send("first", TIMER_DELIVER_MS=SECOND_MS + 5_000)
    lab.pass_time(6_000)
    lab.node.clock.skew_ms = -3_600_000
    lab.send("second", TIMER_DELAY_SEC=10)
    lab.pass_time(9_000)
    assert lab.keys() == ["first"]
    lab.pass_time(3_600_000)
    assert lab.keys() == ["first", "second"]


def test_clock_that_goes_ahead_delivers_what_is_due(lab: TimerLab) -> None:
    lab.send(TIMER_DELAY_SEC=3600)
    lab.node.clock.skew_ms = 2 * 3_600_000
    lab.pass_time(0)
    assert lab.keys() == ["K"]


def test_slot_is_read_in_steps_and_without_its_messages(lab: TimerLab) -> None:
    lab.config.timer_stop_dequeue = True
    for number in range(50):
        lab.send(f"K{number}", TIMER_DELIVER_MS=SECOND_MS + 5_000)
    lab.pass_time(6_000)
    service = lab.node.timers
    assert sum(1 for _ in service._read_next_slot()) == 50, "a step for each, not one for all"
    assert not any(hasattr(due, "message") for due in service._due)
    lab.config.timer_stop_dequeue = False
    service.follow_config()
    lab.pass_time(1)
    assert lab.keys() == [f"K{number}" for number in range(50)]


def test_unexpected_error_ends_one_delivery_and_not_all(
    lab: TimerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = lab.node.timers
    put, failures = service._put, iter([True, True])

    def fail_twice(message: InnerMessage) -> Putting:
        if next(failures, False):
            raise ValueError("unexpected")
        return put(message)

    monkeypatch.setattr(service, "_put", fail_twice)
    lab.send("first", TIMER_DELIVER_MS=SECOND_MS + 3_000)
    lab.send("second", TIMER_DELIVER_MS=SECOND_MS + 5_000)
    for _ in range(2):
        with pytest.raises(ValueError, match="unexpected"):  # the lab raises what a broker journals
            lab.pass_time(10_000)
    lab.pass_time(10_000)
    assert lab.keys() == ["first", "second"]
