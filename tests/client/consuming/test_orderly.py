"""How queues are consumed in order: locks, suspended queues, dead letters, commits by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.client.consuming.received import (
    RECONSUME_LATER,
    ConsumeResult,
    ConsumeStatus,
    ReceivedMessage,
)
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.properties import decode_properties
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab, React
from tests.support.scripted_operation import answer

Messages = Sequence[ReceivedMessage]


def fail(_: Messages) -> None:
    raise ValueError("no")


def ordered(broker: PlayedBroker, react: React | None = None, /, **options: object) -> PushLab:
    return PushLab(broker, react, ordered=True, **options).start()


def committed(lab: PushLab, queue_id: int = 0) -> int | None:
    """What is committed when all offsets are persisted now."""
    lab.carrier.run(lab.core.persist_offsets())
    return lab.broker.committed(queue_id)


# -- order -------------------------------------------------------------------------------------


def test_messages_of_a_queue_are_consumed_in_order() -> None:
    lab = ordered(PlayedBroker())
    for one in range(100):
        lab.put(b"%d" % one)
    assert lab.consumed == [b"%d" % one for one in range(100)]
    assert committed(lab) == 100


def test_message_is_tried_again_before_those_behind_it() -> None:
    outcomes = iter([ValueError("no"), ValueError("no"), None, None])

    def react(_: Messages) -> None:
        error = next(outcomes)
        if error is not None:
            raise error

    lab = ordered(PlayedBroker(), react)
    lab.put(b"0", b"1")
    assert lab.consumed == [b"0"]
    lab.advance(999)
    assert lab.consumed == [b"0"]
    lab.advance(1)
    assert lab.consumed == [b"0", b"0"]
    assert committed(lab) == 0
    lab.advance(1_000)
    assert lab.consumed == [b"0", b"0", b"0", b"1"]
    assert [one.reconsume_times for one in lab.messages] == [2, 2, 2, 0]
    assert (committed(lab), lab.broker.sent_back) == (2, [])


@pytest.mark.parametrize(
    "react",
    [
        fail,
        lambda _: RECONSUME_LATER,
        lambda messages: messages[0].retry_later(5),
    ],
)
def test_queue_waits_after_a_message_that_failed(react: React) -> None:
    lab = ordered(PlayedBroker(), react, suspend_current_queue_time_ms=2_000)
    lab.put(b"0")
    lab.react = None
    lab.advance(1_999)
    assert lab.consumed == [b"0"]
    lab.advance(1)
    assert lab.consumed == [b"0", b"0"]


@pytest.mark.parametrize(
    ("wanted_ms", "suspended_ms"), [(0, 10), (10, 10), (500, 500), (60_000, 30_000)]
)
def test_listener_says_how_long_its_queue_waits(wanted_ms: int, suspended_ms: int) -> None:
    later = ConsumeResult(ConsumeStatus.RECONSUME_LATER, suspend_ms=wanted_ms)
    lab = ordered(PlayedBroker(), lambda _: later)
    lab.put(b"0")
    lab.advance(suspended_ms - 1)
    assert lab.consumed == [b"0"]
    lab.advance(1)
    assert lab.consumed == [b"0", b"0"]


def bury(messages: Messages) -> None:
    messages[0].retry_later(-1)
    if len(messages) > 1:
        raise ValueError("the others are tried again")


def test_dead_letter_makes_way_for_the_messages_behind_it() -> None:
    lab = ordered(PlayedBroker(), bury)
    lab.put(b"0", b"1")
    assert lab.consumed == [b"0", b"1"]
    assert [one.delay_level for one in lab.broker.sent_back] == [-1, -1]
    assert committed(lab) == 2


def test_messages_beside_a_dead_letter_are_tried_again() -> None:
    broker = PlayedBroker()
    for one in range(3):
        broker.put(b"%d" % one)
    lab = ordered(broker, bury, consume_message_batch_max_size=3)
    lab.react = None
    lab.advance(1_000)
    sizes = [[one.body for one in batch] for batch in lab.batches]
    assert sizes == [[b"0", b"1", b"2"], [b"1", b"2"]]
    assert [one.delay_level for one in broker.sent_back] == [-1]


def test_dead_letter_that_no_broker_takes_is_tried_again() -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.CONSUMER_SEND_MSG_BACK] = lambda _: answer(ResponseCode.SYSTEM_ERROR)
    lab = ordered(broker, bury)
    lab.put(b"0", b"1")
    lab.advance(1_000)
    assert lab.consumed == [b"0", b"0"]
    assert lab.messages[0].reconsume_times == 2


def test_message_of_a_broadcast_queue_is_no_dead_letter_but_tried_again(tmp_path: Path) -> None:
    options = {"message_model": "BROADCASTING", "offsets_directory": str(tmp_path)}
    lab = ordered(PlayedBroker(), bury, **options)
    lab.put(b"0", b"1")
    lab.advance(1_000)
    assert (lab.consumed, lab.broker.sent_back) == ([b"0", b"0"], [])


def test_queue_that_waits_does_not_stop_others() -> None:
    lab = ordered(PlayedBroker(queues=2), consume_threads=1)
    lab.react = fail
    lab.put(b"0")
    lab.react = None
    lab.put(b"1", queue_id=1)
    assert lab.consumed == [b"0", b"1"]


@given(st.lists(st.lists(st.booleans(), max_size=3), min_size=1, max_size=8))
@settings(deadline=None)
def test_each_message_succeeds_once_and_in_order(failures: list[list[bool]]) -> None:
    """``failures`` are, for each message, which of its first calls fail."""
    broker = PlayedBroker()
    calls = [iter(one) for one in failures]
    done: list[int] = []

    def react(messages: Messages) -> None:
        number = int(messages[0].body)
        if next(calls[number], False):
            raise ValueError("no")
        done.append(number)

    for one in range(len(failures)):
        broker.put(b"%d" % one)
    lab = ordered(broker, react)
    lab.advance(60_000)
    assert done == list(range(len(failures)))
    assert committed(lab) == len(failures)


def test_batches_keep_the_order_and_fail_as_a_whole() -> None:
    broker = PlayedBroker()
    for one in range(5):
        broker.put(b"%d" % one)
    outcomes = iter([None, ValueError("no")])

    def react(_: Messages) -> None:
        error = next(outcomes, None)
        if error is not None:
            raise error

    lab = ordered(broker, react, consume_message_batch_max_size=2)
    lab.advance(1_000)
    sizes = [[one.body for one in batch] for batch in lab.batches]
    assert sizes == [[b"0", b"1"], [b"2", b"3"], [b"2", b"3"], [b"4"]]


def test_messages_before_one_that_hangs_are_committed() -> None:
    broker = PlayedBroker()
    seen: list[int | None] = []

    def react(messages: Messages) -> None:
        if messages[0].body == b"2":
            lab.advance(10_000)
            seen.append(broker.committed())

    for one in range(4):
        broker.put(b"%d" % one)
    lab = PushLab(broker, react, ordered=True)
    lab.start()
    assert seen == [2]
    assert lab.consumed == [b"0", b"1", b"2", b"3"]


def test_runners_that_cannot_begin_a_call_begin_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = PlayedBroker(queues=500)
    lab = PushLab(broker, ordered=True, consume_from="first").start()

    def fail_to_begin(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(lab.carrier, "perform", fail_to_begin)
    for one in range(500):
        broker.put(b"0", queue_id=one)
    lab.carrier.settle()
    assert lab.consumed == []
    monkeypatch.undo()
    lab.advance(1_000)
    assert len(lab.consumed) == 500


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_any_error_lets_the_queue_continue(error: BaseException) -> None:
    broker = PlayedBroker()
    errors = iter([error])

    def react(messages: Messages) -> None:
        if messages[0].body == b"1":
            for error in errors:
                raise error

    for one in range(3):
        broker.put(b"%d" % one)
    lab = ordered(broker, react)
    assert lab.consumed == [b"0", b"1"]
    lab.advance(1_000)
    assert lab.consumed == [b"0", b"1", b"1", b"2"]
    assert committed(lab) == 3


# -- dead letters ------------------------------------------------------------------------------


def test_message_that_was_tried_often_enough_goes_to_the_retry_topic() -> None:
    broker = PlayedBroker()
    lab = ordered(broker, fail, max_reconsume_times=2)
    lab.put(b"0", UNIQ_KEY="0A01")
    lab.advance(10_000)
    assert lab.consumed == [b"0", b"0", b"0"]
    ((header, body),) = broker.sent
    assert (header.topic, body) == (f"%RETRY%{GROUP}", b"0")
    # The broker makes it a dead letter, since both are equal.
    assert (header.reconsume_times, header.max_reconsume_times) == (2, 2)
    properties = decode_properties(header.properties or "")
    assert (properties["RETRY_TOPIC"], properties["ORIGIN_MESSAGE_ID"]) == ("orders", "0A01")
    assert committed(lab) == 1


def test_message_is_tried_without_a_limit_by_default() -> None:
    lab = ordered(PlayedBroker(), fail, suspend_current_queue_time_ms=10)
    lab.put(b"0")
    lab.advance(1_000)
    assert len(lab.consumed) == 101
    assert lab.broker.sent == []
    assert lab.core.settings.max_reconsume_times == -1


def test_message_that_no_broker_takes_stays_in_its_queue() -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.SEND_MESSAGE_V2] = lambda _: answer(ResponseCode.SYSTEM_ERROR)
    lab = ordered(broker, fail, max_reconsume_times=0)
    lab.put(b"0", b"1")
    assert (lab.consumed, committed(lab)) == ([b"0"], 0)
    broker.answers.clear()
    lab.advance(1_000)
    assert lab.consumed == [b"0", b"0", b"1"]
    assert committed(lab) == 2


def test_batch_is_split_between_dead_letters_and_those_tried_again() -> None:
    broker = PlayedBroker()
    broker.put(b"old", reconsume_times=3)
    broker.put(b"new")
    lab = ordered(broker, fail, max_reconsume_times=3, consume_message_batch_max_size=2)
    lab.react = None
    lab.advance(1_000)
    assert [body for _, body in broker.sent] == [b"old"]
    assert [[one.body for one in batch] for batch in lab.batches] == [[b"old", b"new"], [b"new"]]
    assert committed(lab) == 2


# -- commits by hand ---------------------------------------------------------------------------


def by_hand(status: ConsumeStatus) -> ConsumeResult:
    return ConsumeResult(status, auto_commit=False)


def test_success_by_hand_commits_nothing_until_a_commit() -> None:
    outcomes = iter([ConsumeStatus.SUCCESS, ConsumeStatus.SUCCESS, ConsumeStatus.COMMIT])
    lab = ordered(PlayedBroker(), lambda _: by_hand(next(outcomes)))
    lab.put(b"0", b"1")
    assert committed(lab) == 0
    lab.put(b"2")
    assert committed(lab) == 3


def test_rollback_by_hand_consumes_again_since_the_last_commit() -> None:
    statuses = [ConsumeStatus.COMMIT, ConsumeStatus.SUCCESS, ConsumeStatus.ROLLBACK]
    outcomes = iter([*statuses, ConsumeStatus.SUCCESS, ConsumeStatus.COMMIT])
    lab = ordered(PlayedBroker(), lambda _: by_hand(next(outcomes)))
    lab.put(b"0", b"1", b"2")
    assert lab.consumed == [b"0", b"1", b"2"]
    assert committed(lab) == 1
    lab.advance(1_000)
    assert lab.consumed == [b"0", b"1", b"2", b"1", b"2"]
    assert committed(lab) == 3


@pytest.mark.parametrize("status", [ConsumeStatus.COMMIT, ConsumeStatus.ROLLBACK])
def test_commit_and_rollback_with_auto_commit_are_a_success(status: ConsumeStatus) -> None:
    lab = ordered(PlayedBroker(), lambda _: ConsumeResult(status))
    lab.put(b"0", b"1")
    assert (lab.consumed, committed(lab)) == ([b"0", b"1"], 2)


# -- runners and limits ---------------------------------------------------------------------------


def test_queue_waits_for_a_runner_after_a_minute() -> None:
    """One runner serves two queues: the second gets its turn when the first had 60 s."""
    broker = PlayedBroker(queues=2)
    lab = PushLab(broker, lambda _: lab.advance(25_000), ordered=True, consume_threads=1)
    for one in range(6):
        broker.put(b"%d" % one)
    broker.put(b"other", queue_id=1)
    lab.start()
    lab.advance(60_000)
    assert b"other" in lab.consumed[:5]
    assert [one for one in lab.consumed if one != b"other"] == [b"%d" % one for one in range(6)]


def test_limit_of_ordered_queues_is_that_of_java() -> None:
    broker = PlayedBroker()
    broker.put(b"0", reconsume_times=INT_MAX)
    lab = ordered(broker, fail)
    assert [header.max_reconsume_times for header, _ in broker.sent] == [INT_MAX]
    assert committed(lab) == 1
