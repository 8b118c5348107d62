"""How messages are consumed at the same time, and what becomes of those that fail."""

from __future__ import annotations

import gc
import logging
from collections.abc import Sequence

import pytest

from fakemq.client.consuming.received import (
    RECONSUME_LATER,
    ConsumeResult,
    ConsumeStatus,
    ReceivedMessage,
)
from fakemq.errors import ConfigError
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab, React
from tests.support.scripted_operation import answer

Messages = Sequence[ReceivedMessage]


def fail(_: Messages) -> None:
    raise ValueError("no")


def levels(broker: PlayedBroker) -> list[tuple[int, int]]:
    """The offset in the log (1,000 times the queue's) and the level of what was sent back."""
    return [(one.offset, one.delay_level) for one in broker.sent_back]


# -- success -----------------------------------------------------------------------------------


@pytest.mark.parametrize("react", [None, lambda _: "anything", lambda _: ConsumeResult()])
def test_message_is_acknowledged_when_the_listener_returns(react: React | None) -> None:
    broker = PlayedBroker()
    lab = PushLab(broker, react)
    lab.start()
    lab.put(b"0", b"1")
    lab.carrier.run(lab.core.shutdown())
    assert lab.consumed == [b"0", b"1"]
    assert (broker.committed(), broker.sent_back) == (2, [])


@pytest.mark.parametrize(("size", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (9, [5])])
def test_listener_gets_batches_of_the_size_of_the_settings(size: int, sizes: list[int]) -> None:
    broker = PlayedBroker()
    for one in range(5):
        broker.put(b"%d" % one)
    lab = PushLab(broker, consume_message_batch_max_size=size).start()
    assert [len(one) for one in lab.batches] == sizes
    assert lab.consumed == [b"0", b"1", b"2", b"3", b"4"]


def test_slow_message_holds_back_the_offset_and_not_its_neighbours() -> None:
    broker = PlayedBroker()
    seen: list[int | None] = []

    def react(messages: Messages) -> None:
        if messages[0].body == b"1":
            lab.advance(60_000)
            seen.append(broker.committed())
            assert lab.consumed == [b"0", b"1", b"2", b"3"]

    for one in range(4):
        broker.put(b"%d" % one)
    lab = PushLab(broker, react)
    lab.start()
    assert seen == [1]
    lab.advance(5_000)
    assert broker.committed() == 4


def test_as_many_messages_are_consumed_at_once_as_the_settings_allow() -> None:
    broker = PlayedBroker()
    depth: list[int] = []

    def react(_: Messages) -> None:
        depth.append(depth[-1] + 1 if depth else 1)
        lab.advance(20)  # meanwhile other runners call the listener
        depth.append(depth[-1] - 1)

    for one in range(10):
        broker.put(b"%d" % one)
    lab = PushLab(broker, react, consume_threads=3)
    lab.start()
    lab.advance(1_000)
    assert max(depth) == 3
    assert sorted(lab.consumed) == [b"%d" % one for one in range(10)]


def test_runners_of_a_slow_listener_start_at_once() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker, lambda _: lab.advance(1), consume_threads=4).start()
    for one in range(10):
        lab.put(b"%d" % one)
    lab.react = None
    lab.carrier.performs_at_once = False
    for one in range(10):
        broker.put(b"%d" % one)
    lab.carrier.settle()
    assert len(lab.carrier.performing) == 4


def test_one_runner_serves_a_short_listener() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker, consume_threads=4).start()
    lab.carrier.performs_at_once = False
    for one in range(10):
        broker.put(b"%d" % one)
    lab.carrier.settle()
    assert len(lab.carrier.performing) == 1
    lab.carrier.perform_next()
    assert len(lab.consumed) == 10


# -- failure -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("react", "level"),
    [
        (fail, 0),
        (lambda _: RECONSUME_LATER, 0),
        (lambda _: ConsumeResult(ConsumeStatus.ROLLBACK), 0),
        (lambda _: ConsumeResult(ConsumeStatus.RECONSUME_LATER, delay_level=4), 4),
        (lambda messages: messages[0].retry_later(), 0),
        (lambda messages: messages[0].retry_later(3), 3),
        (lambda messages: messages[0].retry_later(-1), -1),
    ],
)
def test_message_that_failed_is_sent_back_and_over(react: React, level: int) -> None:
    broker = PlayedBroker()
    lab = PushLab(broker, react)
    lab.start()
    lab.put(b"0")
    (header,) = broker.sent_back
    assert (header.group, header.origin_topic, header.offset) == (GROUP, "orders", 0)
    assert (header.delay_level, header.max_reconsume_times) == (level, 16)
    assert header.origin_msg_id == lab.messages[0].message_id
    assert (header.bname, header.unit_mode) == ("a", False)
    lab.carrier.run(lab.core.shutdown())
    assert (broker.committed(), lab.consumed) == (1, [b"0"])


def test_settings_have_the_level_and_limit_of_what_is_sent_back() -> None:
    broker = PlayedBroker()
    settings = {"delay_level_when_next_consume": 2, "max_reconsume_times": 5}
    PushLab(broker, fail, **settings).start().put(b"0")
    (header,) = broker.sent_back
    assert (header.delay_level, header.max_reconsume_times) == (2, 5)


def test_level_that_is_no_number_of_java_is_refused() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker).start()
    lab.put(b"0")
    with pytest.raises(ConfigError, match="level"):
        lab.messages[0].retry_later(1 << 31)


def test_raising_fails_the_whole_batch() -> None:
    broker = PlayedBroker()
    for one in range(3):
        broker.put(b"%d" % one)
    PushLab(broker, fail, consume_message_batch_max_size=3).start()
    assert levels(broker) == [(0, 0), (1_000, 0), (2_000, 0)]


def test_messages_of_a_batch_have_their_own_outcome() -> None:
    broker = PlayedBroker()

    def react(messages: Messages) -> None:
        messages[1].retry_later(5)

    for one in range(3):
        broker.put(b"%d" % one)
    lab = PushLab(broker, react, consume_message_batch_max_size=3)
    lab.start()
    assert levels(broker) == [(1_000, 5)]
    lab.carrier.run(lab.core.shutdown())
    assert broker.committed() == 3


@pytest.mark.parametrize(
    ("ack_index", "back"), [(-1, [0, 1000, 2000]), (0, [1000, 2000]), (1, [2000]), (9, [])]
)
def test_messages_behind_the_ack_index_are_sent_back(ack_index: int, back: list[int]) -> None:
    broker = PlayedBroker()
    for one in range(3):
        broker.put(b"%d" % one)
    react: React = lambda _: ConsumeResult(ack_index=ack_index)  # noqa: E731
    PushLab(broker, react, consume_message_batch_max_size=3).start()
    assert [one.offset for one in broker.sent_back] == back


def test_failure_does_not_stop_those_behind_it() -> None:
    broker = PlayedBroker()

    def react(messages: Messages) -> None:
        if messages[0].body in (b"1", b"3"):
            raise ValueError("no")

    for one in range(5):
        broker.put(b"%d" % one)
    lab = PushLab(broker, react)
    lab.start()
    assert lab.consumed == [b"0", b"1", b"2", b"3", b"4"]
    assert levels(broker) == [(1_000, 0), (3_000, 0)]


@pytest.mark.parametrize("trace", [False, True])
def test_any_error_sends_back_with_one_line_in_the_log(
    caplog: pytest.LogCaptureFixture, trace: bool
) -> None:
    broker = PlayedBroker()

    def react(_: Messages) -> None:
        raise SystemExit(1)

    lab = PushLab(broker, react, trace=trace)
    lab.start()
    lab.put(b"0")
    (line,) = [one for one in caplog.records if "SystemExit" in one.getMessage()]
    assert line.getMessage().startswith("consumeMessage exception: SystemExit(1) Msgs: [<message")
    assert levels(broker) == [(0, 0)]
    assert lab.core.is_idle
    lab.react = None
    lab.put(b"1")
    assert lab.consumed == [b"0", b"1"]


def test_runner_that_cannot_begin_a_call_begins_again_a_second_later(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = PushLab(PlayedBroker()).start()

    def fail_to_begin(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(lab.carrier, "perform", fail_to_begin)
    lab.put(b"0", b"1")
    lab.advance(1_000)
    assert caplog.text.count(f"consuming of {GROUP} failed") == 2  # at once, and now
    monkeypatch.undo()
    lab.advance(1_000)
    assert lab.consumed == [b"0", b"1"]
    assert lab.core.is_idle


def test_broadcast_consumer_drops_what_failed(
    tmp_path: object, caplog: pytest.LogCaptureFixture
) -> None:
    broker = PlayedBroker()
    settings = {"message_model": "BROADCASTING", "offsets_directory": str(tmp_path)}
    lab = PushLab(broker, fail, **settings).start()
    lab.put(b"0", b"1")
    assert (broker.sent_back, broker.sent) == ([], [])
    assert "BROADCASTING, the message consume failed, drop it" in caplog.text
    assert lab.core.queues[broker.queue()].waiting == 0


def refuse(broker: PlayedBroker) -> None:
    """Let no broker take a message back."""
    for code in (RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE_V2):
        broker.answers[code] = lambda _: answer(ResponseCode.SYSTEM_ERROR, remark="no")


# -- messages that are consumed for too long ---------------------------------------------------


def test_message_that_is_consumed_for_too_long_is_sent_back() -> None:
    broker = PlayedBroker()

    def react(messages: Messages) -> None:
        if messages[0].body == b"0":
            lab.advance(2 * 60_000 + 10_000)
            assert levels(broker) == [(0, 3)]
            assert broker.committed() == 2

    broker.put(b"0")
    broker.put(b"1")
    lab = PushLab(broker, react, consume_timeout_ms=60_000)
    lab.start()
    assert sorted(lab.consumed) == [b"0", b"1"]
    lab.advance(5_000)
    assert levels(broker) == [(0, 3)]
    assert broker.committed() == 2


def test_messages_behind_a_young_one_are_left() -> None:
    broker = PlayedBroker()

    def react(_: Messages) -> None:
        lab.advance(60_000)

    broker.put(b"0")
    lab = PushLab(broker, react, consume_timeout_ms=60_000)
    lab.start()
    lab.advance(60_000)
    assert broker.sent_back == []


def test_expired_message_stays_if_no_broker_takes_it() -> None:
    broker = PlayedBroker()
    refuse(broker)

    def react(_: Messages) -> None:
        lab.advance(3 * 60_000)

    broker.put(b"0")
    lab = PushLab(broker, react, consume_timeout_ms=60_000)
    lab.start()
    lab.carrier.run(lab.core.shutdown())
    assert broker.committed() == 1


# -- idle --------------------------------------------------------------------------------------


def test_consumer_is_idle_while_nothing_is_due() -> None:
    broker = PlayedBroker()
    refuse(broker)
    states: list[bool] = []
    lab = PushLab(broker, lambda _: states.append(lab.core.is_idle))
    states.append(lab.core.is_idle)
    lab.start()
    states.append(lab.core.is_idle)
    lab.put(b"0")
    states.append(lab.core.is_idle)
    assert states == [True, True, False, True]
    lab.react = fail
    lab.put(b"1")  # it is consumed again in 5 s
    assert lab.core.is_idle


def test_consumer_is_not_idle_while_a_message_is_sent_back() -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.CONSUMER_SEND_MSG_BACK] = lambda _: "held"
    lab = PushLab(broker, fail).start()
    lab.put(b"0")
    states = [lab.core.is_idle]
    for held in lab.carrier.held:
        if held.call.command.code == RequestCode.CONSUMER_SEND_MSG_BACK:
            held.answer(answer())
    lab.carrier.settle()
    assert [*states, lab.core.is_idle] == [False, True]


def test_failures_leave_no_circle_of_references(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "fakemq.client")  # a record that is kept has its messages
    lab = PushLab(PlayedBroker(), fail).start()
    lab.put(b"0")
    lab.batches.clear()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            lab.put(b"again")
        lab.batches.clear()
        assert not [one for one in gc.get_objects() if isinstance(one, ReceivedMessage)]
    finally:
        gc.enable()
