"""Traces of what a push consumer consumes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fakemq.client.consuming.received import ReceivedMessage
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab, React

TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"


def fail(_: Sequence[ReceivedMessage]) -> None:
    raise ValueError("no")


def traces(lab: PushLab) -> list[list[str]]:
    """The fields of all traces that were sent."""
    lab.advance(1_000)
    text = "".join(body.decode() for header, body in lab.broker.sent if header.topic == TRACE_TOPIC)
    return [one.split("\x01") for one in text.split("\x02") if one]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("react", "code"), [(None, "0"), (fail, "2")])
def test_each_call_of_the_listener_has_two_traces(
    react: React | None, code: str, ordered: bool
) -> None:
    broker = PlayedBroker(topics=("orders", TRACE_TOPIC))
    lab = PushLab(broker, react, trace=True, ordered=ordered, max_reconsume_times=0).start()
    lab.put(b"0", UNIQ_KEY="0A01", KEYS="k")
    lab.react = None
    before, after = traces(lab)[:2]
    assert (before[0], before[3], before[5:]) == ("SubBefore", GROUP, ["0A01", "0", "k"])
    assert (after[0], after[1]) == ("SubAfter", before[4])
    assert after[2:7] == ["0A01", "0", "true" if react is None else "false", "k", code]


def test_time_of_the_call_is_traced() -> None:
    broker = PlayedBroker(topics=("orders", TRACE_TOPIC))
    lab = PushLab(broker, lambda _: lab.advance(500), trace=True, consume_timeout_ms=400)
    lab.start()
    lab.put(b"0", UNIQ_KEY="0A01")
    _, after = traces(lab)
    assert (after[3], after[6]) == ("500", "1")


def test_message_without_a_trace_is_left_out() -> None:
    broker = PlayedBroker(topics=("orders", TRACE_TOPIC))
    lab = PushLab(broker, trace=True).start()
    lab.put(b"0", UNIQ_KEY="0A01", TRACE_ON="false")
    assert traces(lab) == []
    assert lab.consumed == [b"0"]


def test_last_traces_are_sent_at_the_shutdown() -> None:
    broker = PlayedBroker(topics=("orders", TRACE_TOPIC))
    lab = PushLab(broker, trace=True).start()
    lab.put(b"0", UNIQ_KEY="0A01")
    lab.carrier.run(lab.core.shutdown())
    assert [header.topic for header, _ in broker.sent] == [TRACE_TOPIC]
    assert not lab.services.is_used
