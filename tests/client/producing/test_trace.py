"""Traces of what producers and consumers do, sent by an inner producer."""

from __future__ import annotations

import pytest

from fakemq.client.messages import LocalTransactionState, Message
from fakemq.client.producing.trace import (
    SEGMENT_CHARS,
    UNDER_WAY_MAX,
    TraceDispatcher,
    TraceKind,
)
from fakemq.client.producing.trace_records import ConsumeReturnType, TraceRecord
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import MessageExt, decode_record, encode_record
from fakemq.protocol.properties import decode_properties
from tests.support.producer_lab import ProducerLab, order
from tests.support.scripted_carrier import HELD
from tests.support.scripted_operation import A, answer
from tests.support.time import START_MS

TOPIC = "RMQ_SYS_TRACE_TOPIC"


def lab_with_traces(*brokers: str, **options: object) -> ProducerLab:
    return ProducerLab(*brokers, topics=("orders", TOPIC, "ns%orders"), **options)


def test_region_of_a_broker_forges_no_record() -> None:
    lab = lab_with_traces()
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: answer(
        msgId="0A", queueId=0, queueOffset=0, MSG_REGION="r\x02Pub\x01forged"
    )
    producer = lab.started(trace=True)
    lab.carrier.run(producer.send(order()))
    lab.carrier.run(producer.shutdown())
    ((_, records, _),) = traces(lab)
    assert [record[:3:2] for record in records] == [["Pub", "DefaultRegion"]]


def traces(lab: ProducerLab) -> list[tuple[str, list[list[str]], dict[str, str]]]:
    """The inner groups, records and properties of the traces that were sent."""
    return [
        (
            header.producer_group,
            [line.split("\x01") for line in body.decode().split("\x02")[:-1]],
            decode_properties(header.properties or ""),
        )
        for _, header, body in lab.sends()
        if header.topic == TOPIC
    ]


def test_sent_message_is_traced_half_a_second_later() -> None:
    lab = lab_with_traces()
    producer = lab.started(trace=True)
    message = order(tags="eu", keys="k1 k2")
    result = lab.carrier.run(producer.send(message))
    lab.carrier.advance(499)
    assert traces(lab) == []
    lab.carrier.advance(1)
    ((group, (line,), properties),) = traces(lab)
    assert group == "_INNER_TRACE_PRODUCER-billing-PRODUCE-1"
    assert line == [
        *("Pub", str(START_MS), "DefaultRegion", "billing", "orders", message.unique_id),
        *("eu", "k1 k2", A, "4", "0", "0", result.offset_msg_id, "true"),
    ]
    assert set(properties["KEYS"].split()) == {message.unique_id, "k1", "k2"}


def test_traces_of_some_time_are_sent_together() -> None:
    lab = lab_with_traces()
    producer = lab.started(trace=True)
    lab.carrier.run(producer.send(order(delay_level=1)))
    lab.carrier.advance(300)
    lab.carrier.run(producer.send_batch([order(), order()]))
    lab.carrier.advance(200)
    ((_, (first, second), _),) = traces(lab)
    assert (first[11], second[11]) == ("3", "0")
    assert len(second[5].split(",")) == 2
    assert second[6:8] == ["null", "null"]


def test_long_traces_are_sent_at_once() -> None:
    lab = lab_with_traces()
    lab.started(trace=True)
    trace = TraceDispatcher(lab.services, "g", TraceKind.CONSUME)
    trace.start()
    trace.append(TraceRecord("x" * (SEGMENT_CHARS - 1), ("k",)))
    lab.carrier.settle()
    assert lab.sends() == []
    trace.append(TraceRecord("y", ("k",)))
    lab.carrier.settle()
    assert len(lab.sends()) == 1
    lab.carrier.advance(2_000)
    assert len(lab.sends()) == 1


def test_traces_have_no_traces_and_no_namespace() -> None:
    lab = lab_with_traces()
    producer = lab.started(trace=True, namespace="ns")
    lab.carrier.run(producer.send(order()))
    lab.carrier.run(producer.send(Message(TOPIC, "by hand")))
    lab.carrier.advance(5_000)
    assert [(group, lines[0][3:5]) for group, lines, _ in traces(lab)[1:]] == [
        ("_INNER_TRACE_PRODUCER-ns%billing-PRODUCE-1", ["billing", "orders"])
    ]


def test_message_is_not_traced_if_its_broker_wants_none() -> None:
    lab = lab_with_traces()
    producer = lab.started(trace=True)
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: answer(
        msgId="0A", queueId=0, queueOffset=0, TRACE_ON="false"
    )
    lab.carrier.run(producer.send(order()))
    lab.carrier.run(producer.send_oneway(order()))
    lab.carrier.advance(5_000)
    assert traces(lab) == []


def test_two_inner_producers_have_two_groups() -> None:
    lab = lab_with_traces()
    groups = []
    for _ in range(2):
        trace = TraceDispatcher(lab.services, "g", TraceKind.CONSUME)
        trace.start()
        groups.append(trace.group)
    assert groups == ["_INNER_TRACE_PRODUCER-g-CONSUME-1", "_INNER_TRACE_PRODUCER-g-CONSUME-2"]


def test_end_of_a_transaction_is_traced() -> None:
    lab = lab_with_traces()
    producer = lab.started(trace=True)
    message = order(tags="eu")
    commit = LocalTransactionState.COMMIT_MESSAGE
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: answer(
        msgId="0A000002" + "00002A9F" + "00" * 8, queueId=0, queueOffset=0
    )
    lab.carrier.run(producer.send_in_transaction(message, lambda _: commit))
    lab.carrier.advance(500)
    ((_, (half, end), _),) = traces(lab)
    assert half[11] == "1"
    assert end == [
        *("EndTransaction", str(START_MS), "DefaultRegion", "billing", "orders"),
        *(message.unique_id, "eu", "null", A, "2", message.unique_id, "COMMIT_MESSAGE", "false"),
    ]


def received(**properties: str) -> MessageExt:
    return decode_record(
        encode_record(
            "orders",
            b"x",
            "\x02".join(f"{name}\x01{value}" for name, value in properties.items()),
            queue_id=0,
            born_host=("10.0.0.1", 1),
            store_host=("10.0.0.2", 10911),
            queue_offset=0,
            physical_offset=0,
            reconsume_times=2,
        )
    )


def test_consumed_messages_are_traced_before_and_after() -> None:
    lab = lab_with_traces()
    trace = TraceDispatcher(lab.services, "ns%billing", TraceKind.CONSUME)
    trace.start()
    messages = [
        received(UNIQ_KEY="M1", KEYS="k", MSG_REGION="r"),
        received(UNIQ_KEY="M2", TRACE_ON="false"),
        received(UNIQ_KEY="M3", TRACE_ON="true"),
    ]
    consuming = trace.before_consume(messages)
    assert consuming is not None
    lab.carrier.advance(90)
    trace.after_consume(consuming, success=False, return_type=ConsumeReturnType.EXCEPTION)
    lab.carrier.advance(410)
    ((group, lines, _),) = traces(lab)
    assert group == "_INNER_TRACE_PRODUCER-ns%billing-CONSUME-1"
    request_id = consuming.request_id
    assert lines == [
        ["SubBefore", str(START_MS), "null", "billing", request_id, "M1", "2", "k"],
        ["SubBefore", str(START_MS), "null", "billing", request_id, "M3", "2", "null"],
        ["SubAfter", request_id, "M1", "30", "false", "k", "2", str(START_MS + 90), "billing"],
        ["SubAfter", request_id, "M3", "30", "false", "null", "2", str(START_MS + 90), "billing"],
    ]
    assert trace.before_consume(messages[1:2]) is None


def test_shutdown_sends_the_last_traces() -> None:
    lab = lab_with_traces()
    producer = lab.started(trace=True)
    lab.carrier.run(producer.send(order()))
    lab.carrier.run(producer.shutdown())
    assert len(traces(lab)) == 1
    assert not lab.services.is_used


def test_shutdown_does_not_wait_for_a_broker_that_is_silent() -> None:
    lab = lab_with_traces()
    producer = lab.started(trace=True)
    lab.carrier.run(producer.send(order()))
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: HELD
    lab.carrier.run(producer.shutdown(), within_ms=500)
    assert not lab.services.is_used


def test_keys_of_a_message_are_limited() -> None:
    lab = lab_with_traces()
    trace = TraceDispatcher(lab.services, "g", TraceKind.PRODUCE)
    trace.start()
    for number in range(3):
        trace.append(TraceRecord("x\x02", (f"{number}" * 14_000,)))
    trace.append(TraceRecord("y\x02", ("z" * 40_000, "small")))
    lab.carrier.advance(500)
    sent = traces(lab)
    assert [len(lines) for _, lines, _ in sent] == [2, 1, 1]
    assert [len(properties["KEYS"]) for *_, properties in sent] == [28_001, 14_000, 5]


def test_traces_are_dropped_when_brokers_are_too_slow(caplog: pytest.LogCaptureFixture) -> None:
    lab = lab_with_traces()
    trace = TraceDispatcher(lab.services, "g", TraceKind.PRODUCE)
    trace.start()
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: HELD
    for _ in range(UNDER_WAY_MAX + 5):
        trace.append(TraceRecord("x" * SEGMENT_CHARS, ("k",)))
        lab.carrier.settle()
    assert len(lab.carrier.held) == UNDER_WAY_MAX
    assert caplog.text.count("traces are dropped") == 5
    lab.carrier.advance(60_000)
    assert "send trace data failed" in caplog.text
    lab.answers.clear()
    trace.append(TraceRecord("y" * SEGMENT_CHARS, ("k",)))
    lab.carrier.settle()
    assert lab.sends()[-1][2]
