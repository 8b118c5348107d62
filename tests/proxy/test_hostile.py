"""What hostile requests cannot make the front do: hold much, repeat much, work for long."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fakemq.clock.slices import finished
from fakemq.events.core import HandlerFailed
from fakemq.protocol.bodies.group import (
    CustomizedRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.limits import ATTEMPT_ID_MAX_CHARS
from fakemq.proxy import transactions
from fakemq.proxy.checks import MOST_ENTRIES, count_parts
from fakemq.proxy.receipts import decode
from fakemq.proxy.settings import CLIENT_BYTES, PART_BYTES
from fakemq.proxy.status import Code, RpcError
from tests.support.proxy_lab import FrontClient, ProxyLab, message, resource

MANY_ADDRESSES = m.Endpoints(
    scheme=m.AddressScheme.IPv4, addresses=[m.Address(host="a" * 500)] * 5_000
)
LONG_NAMESPACE = m.Resource(name="normal", resource_namespace="n" * 3_000_000)


def settings_of(client: FrontClient, **fields: Any) -> Any:
    """Say that it is a producer, with more fields; return what came back."""
    settings = m.Settings(
        client_type=m.ClientType.PRODUCER,
        publishing=m.Publishing(topics=[resource("normal")]),
        **fields,
    )
    return client.settings(m.TelemetryCommand(settings=settings))


# -- what is repeated for each queue --------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "endpoints"),
    [(resource("normal"), MANY_ADDRESSES), (LONG_NAMESPACE, m.Endpoints())],
    ids=["addresses", "namespace"],
)
@pytest.mark.parametrize("rpc", ["QueryRoute", "QueryAssignment"])
def test_answer_that_repeats_long_words_of_its_caller_is_refused(
    lab: ProxyLab, rpc: str, topic: Any, endpoints: Any
) -> None:
    lab.create_topic("normal", queues=32)
    client = lab.client()
    request: Any = m.QueryRouteRequest(topic=topic, endpoints=endpoints)
    if rpc == "QueryAssignment":
        lab.broker.groups.update(
            SubscriptionGroupConfig(group_name="fifo", consume_message_orderly=True)
        )
        request = m.QueryAssignmentRequest(topic=topic, group=resource("fifo"), endpoints=endpoints)
    asked = client.ask(rpc, request)
    assert asked.code == Code.BAD_REQUEST
    assert "fakemq writes no more than 16777216" in asked.message
    assert len(asked.data) < 1_000


# -- settings -------------------------------------------------------------------------------------


def test_repeated_fields_are_counted_wherever_they_are() -> None:
    endpoints = m.Endpoints(addresses=[m.Address()] * 3)
    settings = m.Settings(access_point=endpoints, metric=m.Metric(endpoints=endpoints))
    settings.backoff_policy.customized_backoff.next.extend([m.Duration()] * 2)
    assert finished(count_parts(settings)) == 8
    settings.access_point.addresses.extend([m.Address()] * MOST_ENTRIES)
    with pytest.raises(RpcError, match="parts of a message"):
        finished(count_parts(settings))


def test_settings_of_many_parts_end_the_stream(lab: ProxyLab) -> None:
    client = lab.client()
    asked = settings_of(client, access_point=m.Endpoints(addresses=[m.Address()] * 20_000))
    assert asked.status is GrpcStatus.INVALID_ARGUMENT
    assert "no more than 10000 parts of a message" in asked.text
    assert lab.proxy.clients.find("c1") is None


def test_parts_and_the_id_of_a_client_count_for_what_settings_may_take(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fakemq.proxy.settings.HELD_MAX_BYTES", 2 * CLIENT_BYTES + 200 * PART_BYTES)
    for name in ("small", "x" * 5_000, "parts"):
        addresses = [m.Address()] * (150 if name == "parts" else 0)
        lab.client(name).settings(
            m.TelemetryCommand(
                settings=m.Settings(
                    client_type=m.ClientType.PRODUCER,
                    publishing=m.Publishing(),
                    access_point=m.Endpoints(addresses=addresses),
                )
            )
        )
    known = [name for name in ("small", "x" * 5_000, "parts") if lab.proxy.settings.raw(name)]
    assert known == ["parts"]


def test_group_with_endless_delays_is_refused(lab: ProxyLab) -> None:
    policy = CustomizedRetryPolicy(next=[1] * (MOST_ENTRIES + 1))
    lab.broker.groups.update(
        SubscriptionGroupConfig(
            group_name="g", group_retry_policy=GroupRetryPolicy(customized_retry_policy=policy)
        )
    )
    asked = lab.client().consume("g")
    assert asked.status is GrpcStatus.INVALID_ARGUMENT
    assert "delays of a group" in asked.text


def test_filters_of_a_client_have_a_largest_size_together(lab: ProxyLab) -> None:
    tags = m.FilterExpression(type=m.FilterType.TAG, expression="a||" * 20_000)
    entries = [m.SubscriptionEntry(topic=resource("normal"), expression=tags)] * 2
    settings = m.Settings(
        client_type=m.ClientType.PUSH_CONSUMER,
        subscription=m.Subscription(group=resource("g"), subscriptions=entries),
    )
    asked = lab.client().settings(m.TelemetryCommand(settings=settings))
    assert asked.status is GrpcStatus.INVALID_ARGUMENT
    assert "no subscription of over 100000 characters" in asked.text


def test_ended_stream_is_not_remembered(lab: ProxyLab) -> None:
    first, second, third = lab.client("a"), lab.client("b"), lab.client("c")
    given_up, ended, open_ = (one.consume() for one in (first, second, third))
    given_up.cancel()
    ended.call.on_half_close()
    streams = [lab.proxy.clients.find(name) for name in "abc"]
    assert [one is not None and one.stream is not None for one in streams] == [False, False, True]
    newer = third.consume()
    open_.cancel()
    client = lab.proxy.clients.find("c")
    assert client is not None
    assert client.stream is not None, "it has a newer one"
    assert not newer.call.closed


# -- receiving, sending, acknowledging ------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        (
            {
                "filter_expression": m.FilterExpression(
                    type=m.FilterType.TAG, expression="a||" * 40_000
                )
            },
            Code.ILLEGAL_FILTER_EXPRESSION,
            "no subscription of over 100000 characters",
        ),
        (
            {
                "filter_expression": m.FilterExpression(
                    type=m.FilterType.SQL, expression="a" * 100_001
                )
            },
            Code.ILLEGAL_FILTER_EXPRESSION,
            "no subscription of over 100000 characters",
        ),
        ({"attempt_id": "x" * (ATTEMPT_ID_MAX_CHARS + 1)}, Code.BAD_REQUEST, "no attempt id"),
    ],
)
def test_receive_with_long_words_is_refused(
    lab: ProxyLab, fields: dict[str, Any], code: int, text: str
) -> None:
    client = lab.client()
    client.consume()
    asked = client.receive(**fields)
    assert asked.code == code
    assert text in asked.message


@pytest.mark.parametrize("most", [-(1 << 31), -1, 0, 1, (1 << 31) - 1])
def test_any_number_of_messages_may_be_asked_for(lab: ProxyLab, most: int) -> None:
    client = lab.client()
    client.consume()
    for number in range(40):
        client.send(message(id=f"m{number}"))
    asked = client.receive(most=most, timeout_ms=6_000)
    lab.core.advance(6_000)
    assert asked.status is GrpcStatus.OK
    assert len(asked.received) <= 32
    assert not lab.core.journal.find(HandlerFailed)


def test_message_with_endless_empty_keys_is_refused(lab: ProxyLab) -> None:
    client = lab.client()
    asked = client.send(message(keys=[""] * 16_385))
    assert asked.code == Code.MESSAGE_PROPERTIES_TOO_LARGE


def test_endless_blanks_of_a_handle_are_not_taken_apart() -> None:
    blanks = " " * 4_000_000
    began_s = time.process_time()
    whole = f"0 1 2 0 0 broker-a 0 7 9{blanks}"
    assert decode(whole)[:9] == (0, 1, 2, 0, "0", "broker-a", 0, 7, 9)
    assert decode(f"0 1 2 0 0 broker-a 0 7 9 x{blanks}y")[8] == 9
    assert time.process_time() - began_s < 0.5
    for text, size in (("", 1), (" ", 0), (f"1 2{blanks}", 2), (" 1", 2)):
        with pytest.raises(RpcError, match=f"dataList size {size}"):
            decode(text)


def test_endless_lite_topics_are_refused(lab: ProxyLab) -> None:
    request = m.SyncLiteSubscriptionRequest(
        topic=resource("normal"), group=resource("g"), lite_topic_set=["a"] * (MOST_ENTRIES + 1)
    )
    asked = lab.client().ask("SyncLiteSubscription", request)
    assert (asked.code, asked.message) == (
        Code.BAD_REQUEST,
        "fakemq takes no more than 10000 lite topics at once",
    )


# -- what waits for others ------------------------------------------------------------------------


def test_oldest_half_message_is_forgotten_beyond_the_most(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MOST", 2)
    client = lab.client()
    client.produce("tx")
    sent = [
        client.send(message("tx", id=f"m{number}", message_type=m.MessageType.TRANSACTION))
        for number in range(3)
    ]
    ids = [asked.answer.entries[0].transaction_id for asked in sent]
    ended = [
        client.ask(
            "EndTransaction",
            m.EndTransactionRequest(
                topic=resource("tx"),
                transaction_id=one,
                message_id="m",
                resolution=m.TransactionResolution.COMMIT,
            ),
        ).code
        for one in ids
    ]
    assert ended == [Code.INTERNAL_SERVER_ERROR, Code.OK, Code.OK]


@pytest.mark.parametrize("outside", [False, True])
def test_request_of_an_admin_waits_by_the_time_of_the_client(lab: ProxyLab, outside: bool) -> None:
    """A client outside answers in real time: on a frozen clock no requests pile up."""
    client = lab.client(outside=outside)
    client.consume()
    fields = {"jstackEnable": "true"}
    command = RemotingCommand(RequestCode.GET_CONSUMER_RUNNING_INFO, ext_fields=fields)
    assert lab.proxy.relay.relay(command, "g", "c1") is not None
    (timer,) = [one for one in lab.core.clock.timers() if one.kind == "rpc_timeout"]
    assert timer.outside is outside
