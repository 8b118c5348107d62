"""A broker that fails, is silent or answers garbage: nothing is lost, and nothing hangs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakemq.client.errors import RemotingConnectError, RemotingSendRequestError
from fakemq.client.operation import Call
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import encode_record
from tests.support.hostile_answers import OUTCOMES, Hostile
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_carrier import HELD, Outcome
from tests.support.scripted_operation import A, answer, route

CODES = (
    RequestCode.GET_ROUTEINFO_BY_TOPIC,
    RequestCode.HEART_BEAT,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.PULL_MESSAGE,
    RequestCode.CONSUMER_SEND_MSG_BACK,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.LOCK_BATCH_MQ,
    RequestCode.UNLOCK_BATCH_MQ,
    RequestCode.GET_MAX_OFFSET,
)

FAILURES: dict[str, Outcome] = {
    "refused": RemotingConnectError(A),
    "lost": RemotingSendRequestError(A),
    "silent": HELD,
    "error": answer(ResponseCode.SYSTEM_ERROR, remark="no"),
    "busy": answer(ResponseCode.FLOW_CONTROL, remark="slower"),
    "unknown": answer(12345),
    "empty": answer(),
    "garbage": answer(body=b"\xff\x00{[", nextBeginOffset="x", offset="", queueId=-1),
    "null": answer(body=b"null"),
    "nested": answer(body=b"[" * 5_000),
    "far": answer(
        suggestWhichBrokerId=2**62, nextBeginOffset=2**62, minOffset=-(2**62), maxOffset=-1
    ),
}

BELIEVED = (RequestCode.PULL_MESSAGE, "far")
"""A false next offset looks like a true one; see the test below."""

FAILED = st.tuples(
    st.sampled_from(CODES), st.sampled_from(sorted(FAILURES)), st.integers(1, 4)
).filter(lambda failed: failed[:2] != BELIEVED)


@given(
    plan=st.lists(FAILED, max_size=8),
    fails=st.sets(st.integers(0, 9)),
    ordered=st.booleans(),
)
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_message_is_consumed_and_committed_when_the_broker_is_well_again(
    plan: list[tuple[int, str, int]],
    fails: set[int],
    ordered: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """``plan``: how often requests of a code fail, and how; ``fails``: messages that fail once."""
    caplog.clear()
    broker = PlayedBroker(queues=2)
    lab = PushLab(broker, ordered=ordered, consume_from="first")
    lab.carrier.run(lab.core.start())
    left: dict[int, list[str]] = {}
    for code, failure, times in plan:
        left.setdefault(code, []).extend([failure] * times)

    def fail(call: Call) -> Outcome | None:
        failures = left.get(call.command.code)
        return FAILURES[failures.pop()] if failures else None

    for code in CODES:
        broker.answers[code] = fail
    waiting = set(fails)

    def react(messages: object) -> None:
        number = int(lab.messages[-1].body)
        if number in waiting:
            waiting.remove(number)
            raise ValueError("no")

    lab.react = react
    for one in range(10):
        lab.put(b"%d" % one, queue_id=one % 2)
        lab.advance(7_000)
    left.clear()
    lab.advance(10 * 60_000)
    assert {int(one) for one in lab.consumed} == set(range(10))
    assert [broker.committed(0), broker.committed(1)] == [5, 5]
    assert lab.core.is_idle
    lab.carrier.run(lab.core.shutdown())
    assert len(lab.services.tasks) == 4
    assert not [one for one in caplog.records if one.getMessage().startswith("the task")]


def test_wrong_numbers_of_a_pull_are_not_committed_beyond_a_queue() -> None:
    """A broker that lies about the next offset is asked there, and corrects itself."""
    broker = PlayedBroker()
    broker.put(b"0")
    lies = iter(
        [
            answer(
                ResponseCode.PULL_NOT_FOUND,
                suggestWhichBrokerId=0,
                nextBeginOffset=2**40,
                minOffset=0,
                maxOffset=1,
            )
        ]
    )
    broker.answers[RequestCode.PULL_MESSAGE] = lambda call: (
        next(lies, None) if call.command.ext_fields["topic"] == "orders" else None
    )
    lab = PushLab(broker).start()
    lab.advance(60_000)
    lab.put(b"1")
    assert lab.consumed == [b"1"]
    assert broker.offsets[GROUP, broker.queue()] <= 2


def test_false_next_offset_skips_what_arrives_until_the_broker_corrects_it() -> None:
    """Java's consumer believes it, too: it continues where the broker has moved it to.

    Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#pullMessage (4.9.7)
    """
    broker = PlayedBroker()
    broker.put(b"0")
    answers = iter([FAILURES["far"], HELD])
    broker.answers[RequestCode.PULL_MESSAGE] = lambda call: (
        next(answers, None) if call.command.ext_fields["topic"] == "orders" else None
    )
    lab = PushLab(broker, consume_from="first").start()
    lab.put(b"1")
    lab.advance(60_000)  # the silent pull, the correction, and the next rebalance
    lab.put(b"2")
    assert lab.consumed == [b"2"]
    lab.advance(10_000)
    assert broker.committed() == 3


@pytest.mark.parametrize("status", [0, 19, 20])
@pytest.mark.parametrize("next_offset", [0, -1])
def test_pull_that_leads_nowhere_is_repeated_after_a_pause(status: int, next_offset: int) -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.PULL_MESSAGE] = lambda call: answer(
        status, suggestWhichBrokerId=0, nextBeginOffset=next_offset, minOffset=0, maxOffset=0
    )
    lab = PushLab(broker).start()
    lab.advance(10_000)
    assert 10 <= lab.carrier.codes().count(RequestCode.PULL_MESSAGE) <= 40  # of two topics


def test_message_that_is_answered_again_and_again_is_asked_for_after_a_pause() -> None:
    broker = PlayedBroker()
    broker.put(b"0")

    def repeat(call: Call) -> Outcome | None:
        if call.command.ext_fields["topic"] != "orders":
            return None
        call.command.ext_fields["queueOffset"] = "0"
        found = broker._pull(call)
        assert isinstance(found, RemotingCommand)
        found.ext_fields["nextBeginOffset"] = "0"
        return found

    broker.answers[RequestCode.PULL_MESSAGE] = repeat
    lab = PushLab(broker, consume_from="first").start()
    lab.advance(10_000)
    assert 10 <= len(lab.consumed) <= 12


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("offset", [2**63 - 1, -1, -(2**63)])
def test_message_with_an_offset_that_no_queue_has_is_not_taken(offset: int, ordered: bool) -> None:
    broker = PlayedBroker(queues=2)
    record = encode_record(
        "orders",
        b"odd",
        "",
        queue_id=0,
        born_host=("10.0.0.1", 1),
        store_host=("10.0.0.2", 10911),
        queue_offset=offset,
    )
    odd = answer(
        body=record, suggestWhichBrokerId=0, nextBeginOffset=1, minOffset=0, maxOffset=2**63 - 1
    )
    of_queue_0 = {"topic": "orders", "queueId": "0"}
    broker.answers[RequestCode.PULL_MESSAGE] = lambda call: (
        odd if of_queue_0.items() <= call.command.ext_fields.items() else None
    )
    lab = PushLab(broker, ordered=ordered, consume_from="first").start()
    lab.put(b"0", queue_id=1)
    lab.advance(20_000)
    assert lab.consumed == [b"0"]
    assert broker.committed(1) == 1
    lab.carrier.run(lab.core.shutdown())


@pytest.mark.parametrize("code", [40, 220, 221, 307, 309])
@pytest.mark.parametrize("body", [b"", b"\xff" * 100, b"{", b"[" * 10_000])
def test_damaged_request_of_a_broker_has_no_effect_on_the_consumer(code: int, body: bytes) -> None:
    lab = PushLab(PlayedBroker()).start()
    fields = {"consumerGroup": GROUP, "group": GROUP, "topic": "orders", "jstackEnable": "maybe"}
    for some in (fields, {}, {"consumerGroup": "x" * 70_000}):
        lab.carrier.push(A, RemotingCommand(code, ext_fields=some, body=body))
    lab.advance(30_000)
    lab.put(b"0")
    assert lab.consumed == [b"0"]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "name", ["\ud800", "a\x01b\x02c", '"}:{', "a\0b", "../../x", "x" * 40_000], ids=range(6)
)
def test_odd_name_of_a_broker_keeps_no_consumer_from_leaving(
    name: str, ordered: bool, tmp_path: Path
) -> None:
    broker = PlayedBroker()
    odd = route("a", queues=1)
    odd.queue_datas[0].broker_name = odd.broker_datas[0].broker_name = name
    broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: answer(body=odd)
    options = {"message_model": "BROADCASTING", "offsets_directory": str(tmp_path)}
    lab = PushLab(broker, ordered=ordered, consume_from="first", **options)
    lab.carrier.start(lab.core.start())
    lab.put(b"0")
    lab.advance(30_000)
    lab.carrier.run(lab.core.shutdown())
    assert not lab.services.is_used
    assert len(lab.services.tasks) == 4


@given(
    outcomes=st.lists(OUTCOMES, min_size=1, max_size=30),
    fails=st.booleans(),
    ordered=st.booleans(),
    trace=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_consumer_survives_any_answers(
    outcomes: list[Any],
    fails: bool,
    ordered: bool,
    trace: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """``fails``: each message fails while the answers are hostile."""
    caplog.clear()

    def fail(messages: object) -> None:
        raise ValueError("no")

    broker = PlayedBroker(queues=2)
    lab = PushLab(broker, fail if fails else None, ordered=ordered, trace=trace)
    broker.put(b"before")
    Hostile(lab.carrier, outcomes)
    with caplog.at_level(logging.ERROR, "fakemq.client"):
        ended = lab.carrier.start(lab.core.start())
        lab.advance(180_000)
        assert ended, "the start hangs"
        lab.carrier.answers, lab.react = broker._answer, None
        broker.topics["orders"] = 2
        lab.advance(240_000)
        lab.carrier.held = [one for one in lab.carrier.held if not one.over]
        lab.put(b"honest", queue_id=1)
        lab.advance(60_000)
        assert not [one for one in caplog.records if one.msg.startswith("the task")], caplog.text
    assert b"honest" in lab.consumed
    assert lab.core.is_idle
    lab.carrier.run(lab.core.shutdown(), within_ms=60_000)
    assert len(lab.services.tasks) == 4
