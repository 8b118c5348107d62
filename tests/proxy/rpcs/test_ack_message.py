"""AckMessage, ChangeInvisibleDuration and ForwardMessageToDeadLetterQueue: what handles are good
for.
"""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.protocol.grpc import messages as m
from tests.support.proxy_lab import Asked, FrontClient, ProxyLab, handle_of, message, resource

NOW = 1_767_225_600_000
_DECODE = "org.apache.rocketmq.common.consumer.ReceiptHandle.decode(ReceiptHandle.java:56)"
_NUMBER = "java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)"
_EXCEPTION = "org.apache.rocketmq.proxy.common.ProxyException: "
_NO_CHANNEL = (
    'Cannot invoke "io.netty.channel.Channel.id()" because "this.channel" is null.'
    " NullPointerException. org.apache.rocketmq.proxy.common.ReceiptHandleGroupKey"
    ".getChannelId(ReceiptHandleGroupKey.java:34)"
)


@pytest.fixture
def client(lab: ProxyLab) -> FrontClient:
    client = lab.client()
    client.consume()
    client.send(message())
    return client


def received(client: FrontClient, **fields: Any) -> str:
    """The handle of the message."""
    (one,) = client.receive(**fields).received
    return handle_of(one)


def forward(client: FrontClient, handle: str) -> Asked:
    request = m.ForwardMessageToDeadLetterQueueRequest(
        topic=resource("normal"), group=resource("g"), receipt_handle=handle, message_id="m1"
    )
    return client.ask("ForwardMessageToDeadLetterQueue", request)


def test_acknowledged_message_does_not_come_again(lab: ProxyLab, client: FrontClient) -> None:
    handle = received(client)
    asked = client.ack(handle)
    (entry,) = asked.answer.entries
    assert (asked.code, entry.status.code, entry.message_id) == (20000, 20000, "m1")
    assert entry.receipt_handle == handle
    again = client.receive()
    lab.core.advance(20_000)
    assert not again.received


def test_acknowledging_twice_is_no_error(client: FrontClient) -> None:
    handle = received(client)
    client.ack(handle)
    assert client.ack(handle).code == 20000


@pytest.mark.parametrize(
    ("handle", "code", "text"),
    [
        ("", 50001, f"Parse failed, dataList size 1. IllegalArgumentException. {_DECODE}"),
        ("a b c", 50001, f"Parse failed, dataList size 3. IllegalArgumentException. {_DECODE}"),
        (
            "x 1 1 0 0 b 0 0 0",
            50001,
            f'For input string: "x". NumberFormatException. {_NUMBER}',
        ),
        (
            f"0 {NOW} 60000 0 0 broker-a 0 0 99999999999999999999",
            50001,
            f'For input string: "99999999999999999999". NumberFormatException. {_NUMBER}',
        ),
        ("0 1 1 0 0 broker-a 0 0 0", 40013, f"{_EXCEPTION}receipt handle is expired"),
        (
            f"0 {NOW} 60000 0 0 nobroker 0 0 0",
            40013,
            f"{_EXCEPTION}cannot find broker nobroker",
        ),
        (f"0 {NOW} 60000 0 0 broker-a 99 0 0", 50001, "ack failed: status is abnormal"),
        (f"0 {NOW} 60000 0 0 broker-a 0 99999 0", 50001, "ack failed: status is abnormal"),
    ],
)
def test_wrong_handles_are_refused(client: FrontClient, handle: str, code: int, text: str) -> None:
    asked = client.ack(handle)
    (entry,) = asked.answer.entries
    assert (asked.code, entry.status.code, entry.status.message) == (code, code, text)
    assert entry.receipt_handle == handle


def test_different_results_are_multiple_results(client: FrontClient) -> None:
    asked = client.ack(received(client), "a")
    assert (asked.code, asked.message) == (30000, "MULTIPLE_RESULTS")
    assert [entry.status.code for entry in asked.answer.entries] == [20000, 50001]


def test_request_without_entries_is_refused(client: FrontClient) -> None:
    asked = client.ack()
    assert (asked.code, asked.message) == (50001, "ack message result is empty")


def test_entries_are_asked_together(lab: ProxyLab, client: FrontClient) -> None:
    client.send(message(id="m2"))
    handles = [handle_of(one) for one in client.receive().received]
    lab.broker.pause()
    asked = client.ack(*handles)
    lab.core.advance(2_000)
    assert [entry.status.code for entry in asked.answer.entries] == [50400, 50400]


# -- changing the invisible time --------------------------------------------------------------


def test_changed_time_has_a_new_handle(lab: ProxyLab, client: FrontClient) -> None:
    handle = received(client, invisible_s=20)
    lab.core.advance(5_000)
    asked = client.change(handle, 60)
    assert asked.code == 20000
    parts, before = asked.answer.receipt_handle.split(" "), handle.split(" ")
    assert parts[1:4] == [str(NOW + 5_000), "60000", before[3]]
    assert parts[4:] == before[4:]
    again = client.receive(long_polling_timeout=m.Duration(seconds=20))
    lab.core.advance(20_000)
    assert not again.received
    assert client.ack(asked.answer.receipt_handle).code == 20000


def test_no_time_makes_the_message_visible_soon(lab: ProxyLab, client: FrontClient) -> None:
    handle = received(client)
    assert client.change(handle, 0).code == 20000
    again = client.receive()
    lab.core.advance(4_000)
    (one,) = again.received
    assert one.system_properties.delivery_attempt == 2


def test_suspended_attempt_does_not_count(lab: ProxyLab, client: FrontClient) -> None:
    client.change(received(client), 1, suspend=True)
    again = client.receive()
    lab.core.advance(5_000)
    assert [one.system_properties.delivery_attempt for one in again.received] == [1]


_DURATION = (
    "Duration is not valid. See proto definition for valid values. Seconds ({}) must be in range"
    " [-315,576,000,000, +315,576,000,000]. Nanos ({}) must be in range [-999,999,999,"
    " +999,999,999]. Nanos must have the same sign as seconds. IllegalArgumentException."
    " com.google.protobuf.util.Durations.checkValid(Durations.java:190)"
)


@pytest.mark.parametrize(
    ("duration", "code", "text"),
    [
        (m.Duration(seconds=43_201), 40011, "the invisibleTime is too large. max is 43200000"),
        (m.Duration(seconds=-1), 40011, "the invisibleTime is too small. min is 0"),
        (m.Duration(seconds=1 << 50), 50001, _DURATION.format(1 << 50, 0)),
        (m.Duration(seconds=1, nanos=-1), 50001, _DURATION.format(1, -1)),
    ],
)
def test_wrong_times_are_refused(client: FrontClient, duration: Any, code: int, text: str) -> None:
    request = m.ChangeInvisibleDurationRequest(
        topic=resource("normal"),
        group=resource("g"),
        receipt_handle=received(client),
        invisible_duration=duration,
    )
    asked = client.ask("ChangeInvisibleDuration", request)
    assert (asked.code, asked.message) == (code, text)


def test_wrong_handles_cannot_be_changed(lab: ProxyLab, client: FrontClient) -> None:
    assert client.change("", 1).message.startswith("Parse failed, dataList size 1.")
    expired = client.change("0 1 1 0 0 broker-a 0 0 0", 1)
    assert (expired.code, expired.message) == (40013, f"{_EXCEPTION}receipt handle is expired")
    abnormal = client.change(f"0 {NOW} 60000 0 0 broker-a 99 0 0", 1)
    assert (abnormal.code, abnormal.message) == (
        50001,
        "changeInvisibleDuration failed: status is abnormal",
    )
    unknown = lab.client("unknown").change(received(client), 1)
    assert (unknown.code, unknown.message) == (50001, _NO_CHANNEL)


# -- dead letters -----------------------------------------------------------------------------


def test_forwarded_message_is_a_dead_letter(lab: ProxyLab, client: FrontClient) -> None:
    handle = received(client, invisible_s=10)
    asked = forward(client, handle)
    assert (asked.code, asked.message) == (20000, "0")
    assert lab.broker.store.max_offset_in_queue("%DLQ%g", 0) == 1
    again = client.receive()
    lab.core.advance(15_000)
    assert not again.received


@pytest.mark.parametrize(
    ("handle", "code", "text"),
    [
        ("", 50001, f"Parse failed, dataList size 1. IllegalArgumentException. {_DECODE}"),
        (
            f"0 {NOW} 60000 0 0 broker-a 0 0",
            40013,
            f"{_EXCEPTION}commit log offset is empty",
        ),
        (
            f"0 {NOW} 60000 0 0 nobroker 0 0 0",
            40013,
            f"{_EXCEPTION}cannot find broker nobroker",
        ),
        ("0 1 1 0 0 broker-a 0 0 999999999", 50001, "look message by offset failed, 999999999"),
    ],
)
def test_wrong_handles_cannot_be_forwarded(
    client: FrontClient, handle: str, code: int, text: str
) -> None:
    asked = forward(client, handle)
    assert (asked.code, asked.message) == (code, text)


def test_unknown_client_cannot_forward(lab: ProxyLab, client: FrontClient) -> None:
    asked = forward(lab.client("unknown"), received(client))
    assert (asked.code, asked.message) == (50001, _NO_CHANNEL)
