"""How a lite pull consumer pulls ahead: pauses, flow control, and brokers that fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from fakemq.client.errors import RemotingTimeoutError
from fakemq.client.operation import Call
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.lite_lab import LiteLab
from tests.support.played_broker import GROUP
from tests.support.scripted_carrier import Outcome
from tests.support.scripted_operation import A, answer

# -- pausing and flow control ------------------------------------------------------------------


def test_paused_queue_is_not_pulled_from_until_it_is_resumed() -> None:
    lab = LiteLab(queues=2)
    lab.put(b"ahead")
    lab.consumer.pause([lab.queue(0), lab.queue(7)])
    lab.put(b"held", b"later")
    lab.put(b"other", queue_id=1)
    # The pull that was under way at the pause is answered, as in Java.
    assert lab.poll_all() == [b"ahead", b"held", b"other"]
    lab.consumer.resume([lab.queue(0)])
    lab.carrier.settle()
    assert lab.poll_all() == [b"later"]


@pytest.mark.parametrize(
    ("settings", "pulled"),
    [
        ({"pull_threshold_for_queue": 4}, 6),
        ({"pull_threshold_for_all": 4}, 6),
        ({"consume_max_span": 4}, 6),
        ({"pull_threshold_size_mib_for_queue": 1}, 4),
    ],
    ids=["messages of a queue", "messages of all", "span", "bytes"],
)
def test_queue_with_too_much_waiting_is_not_pulled_from_until_a_poll(
    settings: dict[str, Any], pulled: int, caplog: pytest.LogCaptureFixture
) -> None:
    lab = LiteLab(started=False, pull_batch_size=2, **settings)
    with caplog.at_level(logging.WARNING, "fakemq.client"):
        for _ in range(20):
            lab.broker.put(bytes(600_000))
        lab.run(lab.consumer.start())
        lab.carrier.advance(60_000)
    assert len(lab.broker.pulls) * 2 == pulled
    assert caplog.text.count("so do flow control") == 1
    assert len(lab.poll()) == 2
    lab.carrier.settle()
    assert len(lab.broker.pulls) * 2 == pulled + 2
    assert len(lab.poll_all()) == 18


def test_flow_control_of_one_queue_leaves_others() -> None:
    lab = LiteLab(queues=2, started=False, pull_threshold_for_queue=1, pull_batch_size=2)
    for number in range(8):
        lab.broker.put(b"%d" % number)
    lab.run(lab.consumer.start())
    lab.put(b"other", queue_id=1)
    assert b"other" in lab.poll() + lab.poll()


# -- errors of brokers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "wait_ms"),
    [
        (answer(ResponseCode.SYSTEM_ERROR, remark="no"), 1_000),
        (answer(ResponseCode.FLOW_CONTROL, remark="busy"), 20),
        (RemotingTimeoutError(A, 1), 1_000),
        (answer(0, body=b"damaged"), 1_000),
    ],
    ids=["error", "flow control", "silent", "damaged"],
)
def test_pull_that_fails_is_tried_again(outcome: Outcome, wait_ms: int) -> None:
    lab = LiteLab(started=False)
    failing: dict[int, Callable[[Call], Outcome | None]] = {
        RequestCode.PULL_MESSAGE: lambda call: outcome
    }
    lab.broker.answers |= failing
    lab.broker.put(b"1")
    lab.run(lab.consumer.start())
    lab.broker.answers.clear()
    lab.carrier.advance(wait_ms - 1)
    assert lab.poll() == []
    lab.carrier.advance(1)
    assert lab.poll() == [b"1"]


def test_pull_that_the_carrier_cannot_begin_is_tried_again() -> None:
    lab = LiteLab(started=False)
    lab.broker.answers |= {RequestCode.PULL_MESSAGE: no_descriptor}
    lab.broker.put(b"1")
    lab.run(lab.consumer.start())
    lab.broker.answers.clear()
    lab.carrier.advance(1_000)
    assert lab.poll() == [b"1"]


def no_descriptor(call: Call) -> Outcome:
    raise OSError("no descriptor is left")


def test_offset_out_of_range_is_corrected(caplog: pytest.LogCaptureFixture) -> None:
    lab = LiteLab(started=False)
    lab.broker.first[lab.queue()] = 10
    lab.broker.put(b"10")
    lab.broker.offsets[GROUP, lab.queue()] = 3
    lab.run(lab.consumer.start())
    assert "The pull request offset illegal" in caplog.text
    assert lab.poll() == [b"10"]


def test_broker_that_repeats_itself_is_asked_with_pauses_and_returns_a_message_once() -> None:
    lab = LiteLab(started=False)
    lab.broker.put(b"1")
    fields: dict[str, Any] = {
        "suggestWhichBrokerId": 0,
        "nextBeginOffset": 0,
        "minOffset": 0,
        "maxOffset": 1,
    }
    body = lab.broker.messages[lab.queue()][0]
    lab.broker.answers[RequestCode.PULL_MESSAGE] = lambda call: answer(0, body=body, **fields)
    lab.run(lab.consumer.start())
    lab.carrier.advance(1_000)
    pulls = lab.carrier.codes().count(RequestCode.PULL_MESSAGE)
    assert 2 < pulls < 30
    assert lab.poll() == [b"1"]


def test_negative_offset_of_a_broker_is_asked_for_anew() -> None:
    lab = LiteLab(started=False)
    fields: dict[str, Any] = {
        "suggestWhichBrokerId": 0,
        "nextBeginOffset": -7,
        "minOffset": 0,
        "maxOffset": 1,
    }
    lab.broker.answers[RequestCode.PULL_MESSAGE] = lambda call: answer(
        ResponseCode.PULL_RETRY_IMMEDIATELY, **fields
    )
    lab.run(lab.consumer.start())
    lab.broker.answers.clear()
    lab.put(b"1")
    lab.carrier.advance(50)
    assert lab.poll() == [b"1"]
