"""Telemetry, Heartbeat and NotifyClientTermination: how clients come and go."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.protocol.bodies.group import (
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from tests.support.proxy_lab import Asked, FrontClient, ProxyLab, message, resource


def beat(client: FrontClient, group: str = "g") -> Asked:
    return client.ask("Heartbeat", m.HeartbeatRequest(group=resource(group)))


def leave(client: FrontClient, group: str = "g") -> Asked:
    request = m.NotifyClientTerminationRequest(group=resource(group))
    return client.ask("NotifyClientTermination", request)


def test_producer_is_given_its_settings(lab: ProxyLab) -> None:
    asked = lab.client().produce("normal")
    settings = asked.answer.settings
    assert asked.code == 20000
    assert settings.backoff_policy.max_attempts == 3
    exponential = settings.backoff_policy.exponential_backoff
    assert (exponential.initial.nanos, exponential.max.seconds, exponential.multiplier) == (
        *(10_000_000, 1),
        2.0,
    )
    assert settings.publishing.max_body_size == 4_194_304
    assert settings.publishing.validate_message_type
    assert [topic.name for topic in settings.publishing.topics] == ["normal"]
    assert settings.HasField("metric")
    assert not settings.metric.on


def test_consumer_is_given_what_its_group_says(lab: ProxyLab) -> None:
    settings = lab.client().consume().answer.settings
    assert settings.backoff_policy.max_attempts == 17
    delays = [one.seconds for one in settings.backoff_policy.customized_backoff.next]
    assert (len(delays), delays[:4], delays[-1]) == (18, [1, 5, 10, 30], 7200)
    subscription = settings.subscription
    assert subscription.HasField("fifo")
    assert not subscription.fifo
    assert subscription.receive_batch_size == 32
    assert subscription.long_polling_timeout.seconds == 20
    assert (subscription.lite_subscription_quota, subscription.max_lite_topic_size) == (2000, 64)
    assert settings.request_timeout.seconds == 3


def test_exponential_and_ordered_groups(lab: ProxyLab) -> None:
    policy = ExponentialRetryPolicy(initial=1500, max=60_000, multiplier=3)
    lab.broker.groups.update(
        SubscriptionGroupConfig(
            group_name="exp",
            retry_max_times=3,
            consume_message_orderly=True,
            group_retry_policy=GroupRetryPolicy(
                type="EXPONENTIAL", exponential_retry_policy=policy
            ),
        )
    )
    settings = lab.client().consume("exp").answer.settings
    assert settings.subscription.fifo
    assert settings.backoff_policy.max_attempts == 4
    exponential = settings.backoff_policy.exponential_backoff
    assert (exponential.initial.seconds, exponential.initial.nanos) == (1, 500_000_000)
    assert (exponential.max.seconds, exponential.multiplier) == (60, 3.0)


def settings_of(client_type: int, expression: Any = None, group: str = "g") -> m.TelemetryCommand:
    entry = m.SubscriptionEntry(topic=resource("normal"), expression=expression)
    subscription = m.Subscription(group=resource(group), subscriptions=[entry])
    settings = m.Settings(client_type=client_type, subscription=subscription)  # type: ignore[arg-type]
    return m.TelemetryCommand(settings=settings)


_FAILED = "process client telemetryCommand failed. "


@pytest.mark.parametrize(
    ("command", "status", "text"),
    [
        (
            m.TelemetryCommand(settings=m.Settings()),
            GrpcStatus.INVALID_ARGUMENT,
            "there is no publishing or subscription data in settings",
        ),
        (
            settings_of(3, group="a b"),
            GrpcStatus.INVALID_ARGUMENT,
            (
                f"{_FAILED}the specified group[a b] contains illegal characters,"
                " allowing only ^[%|a-zA-Z0-9_-]+$"
            ),
        ),
        (
            settings_of(1),
            GrpcStatus.INTERNAL,
            f"{_FAILED}Client type is not consumer, type: PRODUCER",
        ),
        (
            settings_of(4),
            GrpcStatus.INTERNAL,
            f"{_FAILED}Client type is not consumer, type: PULL_CONSUMER",
        ),
        (
            settings_of(5),
            GrpcStatus.INVALID_ARGUMENT,
            f"{_FAILED}regular group cannot use LITE mode: g",
        ),
        (
            settings_of(2, m.FilterExpression(type=m.FilterType.TAG, expression="||")),
            GrpcStatus.INVALID_ARGUMENT,
            f"{_FAILED}expression format is not correct",
        ),
    ],
)
def test_wrong_settings_end_the_stream(
    lab: ProxyLab, command: Any, status: GrpcStatus, text: str
) -> None:
    asked = lab.client().settings(command)
    assert (asked.status, asked.text, asked.answers) == (status, text, [])


def test_broken_sql_is_no_error_of_settings(lab: ProxyLab) -> None:
    expression = m.FilterExpression(type=m.FilterType.SQL, expression="a >")
    assert lab.client().settings(settings_of(2, expression)).code == 20000


@pytest.mark.parametrize("language", ["KLINGON", ""])
def test_unknown_language_ends_the_stream(lab: ProxyLab, language: str) -> None:
    asked = lab.client(language=language).produce("normal")
    assert asked.status is GrpcStatus.INTERNAL
    assert asked.text == (
        f"{_FAILED}No enum constant org.apache.rocketmq.remoting.protocol.LanguageCode.{language}"
    )


def test_producer_without_topics_needs_no_language(lab: ProxyLab) -> None:
    assert lab.client(language="").produce().code == 20000


def test_stream_without_a_client_id_is_refused_and_ends(lab: ProxyLab) -> None:
    asked = lab.client("").produce("normal")
    assert (asked.code, asked.status) == (40017, GrpcStatus.OK)


def test_further_settings_come_on_the_same_stream(lab: ProxyLab) -> None:
    client = lab.client()
    asked = client.produce("normal")
    asked.call.on_message(
        m.TelemetryCommand(
            settings=m.Settings(
                client_type=m.ClientType.PRODUCER,
                publishing=m.Publishing(topics=[resource("fifo")]),
            )
        )
    )
    assert len(asked.answers) == 2
    assert [one.name for one in asked.answers[1].settings.publishing.topics] == ["fifo"]


def test_half_close_ends_the_stream(lab: ProxyLab) -> None:
    asked = lab.client().produce("normal")
    asked.call.on_half_close()
    assert asked.status is GrpcStatus.OK


# -- members ----------------------------------------------------------------------------------


def test_client_without_settings_has_no_heartbeat(lab: ProxyLab) -> None:
    asked = beat(lab.client())
    assert asked.code == 40015
    assert asked.message == "cannot find client settings for this client"


def test_heartbeat_of_a_consumer_needs_a_group(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    assert beat(client).code == 20000
    assert (beat(client, "").code, beat(client, "").message) == (
        40003,
        "the specified group is blank",
    )


def test_silent_client_is_removed_by_the_first_scan_after_120_s(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    lab.core.advance(119_000)
    beat(client)
    lab.core.advance(120_000)
    assert lab.proxy.clients.consumer("g", "c1")
    lab.core.advance(10_000)
    assert lab.proxy.clients.consumer("g", "c1") is None
    assert beat(client).code == 40015


def test_outside_client_counts_real_time(lab: ProxyLab) -> None:
    lab.client(outside=True).consume()
    lab.core.advance(3_600_000)
    assert lab.proxy.clients.consumer("g", "c1")


def test_termination_forgets_the_client(lab: ProxyLab) -> None:
    client = lab.client()
    stream = client.consume()
    assert leave(client).code == 20000
    assert lab.proxy.clients.find("c1") is None
    assert (leave(client).code, stream.status) == (40015, None)


def test_termination_with_a_wrong_group_forgets_the_settings_only(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    assert leave(client, "a b").code == 40003
    assert lab.proxy.clients.find("c1") is not None
    assert client.receive().code == 50001


def test_termination_in_an_unknown_language_is_refused(lab: ProxyLab) -> None:
    asked = leave(lab.client(language="KLINGON"))
    assert asked.code == 50001
    assert asked.message == (
        "No enum constant org.apache.rocketmq.remoting.protocol.LanguageCode.KLINGON."
        " IllegalArgumentException. java.base/java.lang.Enum.valueOf(Enum.java:273)"
    )


def test_brokers_do_not_know_the_consumers_of_the_front(lab: ProxyLab) -> None:
    lab.client().consume()
    assert lab.broker.consumers.group("g") is None


def test_producer_of_transactions_is_one_for_the_brokers(lab: ProxyLab) -> None:
    lab.client().produce("tx")
    members = lab.broker.producers.channels("tx") or ()
    assert [(one.client_id, one.version) for one in members] == [("rmq-proxy-producer-client", 513)]
    lab.core.advance(300_000)
    assert not lab.broker.producers.channels("tx")  # the client itself is silent


def test_settings_of_a_killed_front_are_gone(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    lab.proxy.stop("kill")
    lab.core.start_proxy()
    assert client.receive().code == 50001
    client.consume()
    client.send(message())
    assert client.receive().code == 20000
