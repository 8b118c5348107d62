"""SyncLiteSubscription, and what lite consumers receive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from tests.support.broker_lab import broker5
from tests.support.lites import LITE_KEYS
from tests.support.proxy_lab import (
    Asked,
    FrontClient,
    ProxyLab,
    handle_of,
    message,
    resource,
)

PARENT, GROUP = "sessions", "agents"
UNKNOWN: Any = 9
"""Of no action and no policy."""


@pytest.fixture
def lab() -> Iterator[ProxyLab]:
    lab = ProxyLab(config=LITE_KEYS)
    lab.create_topic(PARENT, "LITE", 1)
    bind(lab)
    yield lab
    lab.free()


def bind(lab: ProxyLab, group: str = GROUP, **attributes: str) -> None:
    given = {f"lite.sub.{key.replace('_', '.')}": value for key, value in attributes.items()}
    config = SubscriptionGroupConfig(
        group_name=group, attributes={"lite.bind.topic": PARENT} | given
    )
    lab.broker.groups.update(config)


def join(client: FrontClient, group: str = GROUP, *topics: str) -> Asked:
    """Say that this client is a lite consumer."""
    everything = m.FilterExpression(type=m.FilterType.TAG, expression="*")
    settings = m.Settings(
        client_type=m.ClientType.LITE_PUSH_CONSUMER,
        request_timeout=m.Duration(seconds=3),
        subscription=m.Subscription(
            group=resource(group),
            subscriptions=[
                m.SubscriptionEntry(topic=resource(topic), expression=everything)
                for topic in topics or (PARENT,)
            ],
        ),
    )
    return client.settings(m.TelemetryCommand(settings=settings))


def sync(
    client: FrontClient,
    *lites: str,
    action: Any = "PARTIAL_ADD",
    group: str = GROUP,
    topic: str = PARENT,
    **more: Any,
) -> Asked:
    request = m.SyncLiteSubscriptionRequest(
        action=action,
        topic=resource(topic),
        group=resource(group),
        lite_topic_set=lites,
        **more,
    )
    asked = client.ask("SyncLiteSubscription", request)
    client.lab.core.network.settle()  # brokers ask a name server for the route
    return asked


def send(client: FrontClient, lite: str, id: str = "m1") -> None:
    assert client.send(message(PARENT, id=id, lite_topic=lite)).code == 20000


def receive(client: FrontClient, **fields: Any) -> Asked:
    return client.receive(PARENT, GROUP, **fields)


@pytest.fixture
def consumer(lab: ProxyLab) -> FrontClient:
    client = lab.client("c1")
    join(client)
    return client


def subscriptions(lab: ProxyLab, client_id: str = "c1") -> list[str] | None:
    found = lab.broker.lite.subscriptions.find(client_id)
    return None if found is None else sorted(found.queues)


def test_message_of_a_lite_topic_is_received_and_acknowledged(
    lab: ProxyLab, consumer: FrontClient
) -> None:
    assert sync(consumer, "a", "b").code == 20000
    asked = receive(consumer)
    assert asked.answers == []
    send(consumer, "a")
    (one,) = asked.received
    system = one.system_properties
    assert (system.lite_topic, system.message_type, system.queue_offset) == ("a", 5, 0)
    entry = m.AckMessageEntry(
        message_id="m1", receipt_handle=handle_of(one), lite_topic=system.lite_topic
    )
    request = m.AckMessageRequest(topic=resource(PARENT), group=resource(GROUP), entries=[entry])
    assert consumer.ask("AckMessage", request).code == 20000
    assert lab.broker.offsets.query(GROUP, "%LMQ%$sessions$a", 0) == 1


def test_changed_time_counts_for_the_lite_topic(lab: ProxyLab, consumer: FrontClient) -> None:
    sync(consumer, "a")
    send(consumer, "a")
    (one,) = receive(consumer).received
    changed = consumer.change(handle_of(one), 1, topic=PARENT, group=GROUP, lite_topic="a")
    assert changed.code == 20000
    asked = receive(consumer)
    lab.core.clock.advance_ms(1_000)
    assert [again.system_properties.delivery_attempt for again in asked.received] == [2]


def test_message_that_is_tried_too_often_is_buried(lab: ProxyLab, consumer: FrontClient) -> None:
    lab.broker.groups.find(GROUP).retry_max_times = 0
    sync(consumer, "a")
    send(consumer, "b")
    send(consumer, "a")
    (one,) = receive(consumer).received
    consumer.change(handle_of(one), 1, topic=PARENT, group=GROUP, lite_topic="a")
    lab.core.clock.advance_ms(1_000)
    assert receive(consumer).code == 40401
    assert lab.broker.store.max_offset_in_queue(f"%DLQ%{GROUP}", 0) == 1


def test_received_message_is_renewed_with_its_lite_topic(
    lab: ProxyLab, consumer: FrontClient
) -> None:
    sync(consumer, "a")
    send(consumer, "a")
    (_one,) = receive(consumer, auto_renew=True).received
    lab.core.clock.advance_ms(55_000)
    (renewed,) = [found for _, found in lab.proxy.renewals.renewed()]
    assert renewed.lite_topic == "a"
    assert renewed.renewals == 1
    lab.core.clock.advance_ms(10_000)
    assert receive(consumer, timeout_ms=6_000).received == []


@pytest.mark.parametrize(
    ("lites", "more", "code"),
    [
        ([" "], {}, 40020),
        (["a b"], {}, 40020),
        (["l" * 65], {}, 40020),
        (["a"], {"topic": "normal"}, 40002),
        (["a"], {"group": "usual"}, 40002),
        ([f"l{number}" for number in range(306)], {}, 42902),
        (["a"], {"offset_option": m.OffsetOption()}, 50001),
        (["a"], {"offset_option": m.OffsetOption(policy=UNKNOWN)}, 50001),
        (["a"], {"action": UNKNOWN}, 50001),
        (["a"], {"action": -1}, 50001),
    ],
)
def test_subscription_is_refused(
    lab: ProxyLab, consumer: FrontClient, lites: list[str], more: dict[str, Any], code: int
) -> None:
    bind(lab, client_quota="5")
    assert sync(consumer, *lites, **more).code == code


@pytest.mark.parametrize(
    ("quota", "count", "code"),
    [
        ("-1", 299, 20000),
        ("-1", 300, 42902),
        ("2147483647", 1, 42902),  # Java's int overflows with 300 more
        ("2147483648", 1, 50001),
        ("many", 1, 50001),
    ],
)
def test_quota_is_read_as_in_java(
    lab: ProxyLab, consumer: FrontClient, quota: str, count: int, code: int
) -> None:
    bind(lab, client_quota=quota)
    assert sync(consumer, *(f"l{number}" for number in range(count))).code == code


def test_subscription_that_a_broker_refuses_is_refused(
    lab: ProxyLab, consumer: FrontClient
) -> None:
    lab.broker.config.max_lite_subscription_count = 0
    asked = sync(consumer, "a")
    assert asked.code == 42902


@pytest.mark.parametrize(
    ("group", "topics", "text"),
    [
        ("usual", (PARENT,), "regular group cannot use LITE mode: usual"),
        (
            GROUP,
            ("normal",),
            "lite group agents is expected to bind topic sessions, but actual is normal",
        ),
    ],
)
def test_lite_consumer_needs_a_bound_group(
    lab: ProxyLab, group: str, topics: tuple[str, ...], text: str
) -> None:
    asked = join(lab.client(), group, *topics)
    assert asked.status is GrpcStatus.INVALID_ARGUMENT
    assert asked.text == f"process client telemetryCommand failed. {text}"


def test_usual_consumer_may_not_use_a_bound_group(lab: ProxyLab) -> None:
    asked = lab.client().consume(GROUP)
    assert asked.text.endswith(f"lite group must use LITE mode: {GROUP}")


def test_client_is_notified_that_another_one_has_its_lite_topic(lab: ProxyLab) -> None:
    bind(lab, model="Exclusive")
    first, second = lab.client("first"), lab.client("second")
    stream = join(first)
    join(second)
    sync(first, "a")
    sync(second, "a")
    notice = stream.answers[-1]
    assert notice.notify_unsubscribe_lite_command.lite_topic == "a"
    assert subscriptions(lab, "second") == ["%LMQ%$sessions$a"]


def test_client_that_ends_is_forgotten(lab: ProxyLab, consumer: FrontClient) -> None:
    sync(consumer, "a")
    consumer.ask("NotifyClientTermination", m.NotifyClientTerminationRequest(group=resource(GROUP)))
    assert subscriptions(lab) is None


def test_client_whose_stream_is_cancelled_is_forgotten(lab: ProxyLab) -> None:
    client = lab.client("c1")
    stream = join(client)
    sync(client, "a")
    stream.cancel()
    assert subscriptions(lab) is None


def test_receive_of_a_client_that_left_is_refused(lab: ProxyLab, consumer: FrontClient) -> None:
    lab.proxy.clients.remove("c1")
    assert receive(consumer).code in (40000, 50001)


def test_lite_topics_are_divided_among_brokers() -> None:
    lab = ProxyLab(config=LITE_KEYS, masters=2)
    try:
        lab.create_topic(PARENT, "LITE", 2)
        for broker in lab.core.running_masters():
            config = SubscriptionGroupConfig(
                group_name=GROUP, attributes={"lite.bind.topic": PARENT}
            )
            broker.groups.update(config)
        client = lab.client("c1")
        join(client)
        lites = [*"abcd"]
        sync(client, *lites)
        found = [
            {queue[-1] for queue in broker5(broker).lite.subscriptions.queues()}
            for broker in lab.core.running_masters()
        ]
        assert found == [{"a", "b", "d"}, {"c"}]
    finally:
        lab.free()
