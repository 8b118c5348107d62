"""Topic configs: those of a new broker, automatic creation, versions, order topics."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import TopicChanged
from fakemq.protocol.bodies.topic import TopicConfig
from tests.support.broker_lab import BrokerLab
from tests.support.time import START_MS

FIRST_BOOT = {
    "SELF_TEST_TOPIC": (1, 6),
    "TBW102": (8, 7),
    "BenchmarkTest": (1024, 6),
    "DefaultCluster": (16, 7),
    "broker-a": (1, 7),
    "OFFSET_MOVED_EVENT": (1, 6),
    "SCHEDULE_TOPIC_XXXX": (18, 6),
    "DefaultCluster_REPLY_TOPIC": (1, 6),
}


def shapes(broker: Broker) -> dict[str, tuple[int, int]]:
    topics = broker.topics.snapshot()
    assert all(one.read_queue_nums == one.write_queue_nums for one in topics.values())
    return {name: (one.write_queue_nums, one.perm) for name, one in topics.items()}


def test_new_broker_has_javas_system_topics(broker: Broker) -> None:
    assert shapes(broker) == FIRST_BOOT
    version = broker.topics.data_version
    assert (version.counter, version.timestamp) == (0, START_MS)


def test_new_broker_has_system_topics_as_configured(lab: BrokerLab) -> None:
    broker = lab.broker(
        BrokerConfig(
            auto_create_topic_enable=False,
            cluster_topic_enable=False,
            broker_topic_enable=False,
            trace_topic_enable=True,
            msg_trace_topic_name="traces",
        )
    )
    expected = FIRST_BOOT | {"DefaultCluster": (16, 1), "broker-a": (1, 1), "traces": (1, 6)}
    del expected["TBW102"]
    assert shapes(broker) == expected


@pytest.mark.parametrize(("asked", "got"), [(4, 4), (100, 8), (0, 0), (-3, 0)])
def test_created_topic_has_the_requested_queues_up_to_its_models(
    broker: Broker, asked: int, got: int
) -> None:
    config = broker.topics.create_in_send("orders", "TBW102", asked, 1)
    assert config == TopicConfig(
        topic_name="orders", read_queue_nums=got, write_queue_nums=got, perm=6, topic_sys_flag=1
    )
    assert broker.topics.select("orders") is config


def test_model_must_exist_and_be_inheritable(broker: Broker) -> None:
    assert broker.topics.create_in_send("orders", "nothing", 4, 0) is None
    assert broker.topics.create_in_send("orders", "BenchmarkTest", 4, 0) is None
    assert broker.topics.select("orders") is None


def test_disabling_auto_creation_at_run_time_changes_the_model(
    broker: Broker,
) -> None:
    broker.config.auto_create_topic_enable = False
    assert broker.topics.create_in_send("orders", "TBW102", 4, 0) is None
    broker.config.auto_create_topic_enable = True
    assert broker.topics.create_in_send("orders", "TBW102", 4, 0) is None
    assert broker.topics.create_in_send("orders", "DefaultCluster", 4, 0) is not None


def test_retry_topic_is_created_once(broker: Broker) -> None:
    first = broker.topics.create_in_send_back("%RETRY%g", 2)
    assert (first.write_queue_nums, first.perm) == (2, 6)
    assert broker.topics.create_in_send_back("%RETRY%g", 5) is first


def test_every_change_raises_the_version_and_is_journalled(lab: BrokerLab, broker: Broker) -> None:
    lab.clock.advance("3s")
    broker.topics.update(TopicConfig(topic_name="orders"))
    version = broker.topics.data_version
    assert (version.counter, version.timestamp) == (1, START_MS + 3_000)
    broker.topics.update(TopicConfig(topic_name="orders", perm=4))
    assert broker.topics.delete("orders")
    assert not broker.topics.delete("orders")
    assert broker.topics.data_version.counter == 3
    hows = [event.how for event in broker.journal.find(TopicChanged, topic="orders")]
    assert hows == ["created", "updated", "deleted"]


def test_order_flags_follow_the_name_servers(broker: Broker) -> None:
    for name in ("a", "b"):
        broker.topics.update(TopicConfig(topic_name=name))
    before = broker.topics.data_version.counter
    broker.topics.update_order_topics(["a", "unknown"])
    assert (broker.topics.is_order("a"), broker.topics.is_order("b")) == (True, False)
    broker.topics.update_order_topics(["a"])
    assert broker.topics.data_version.counter == before + 1, "nothing changed the second time"
    broker.topics.update_order_topics(["b"])
    assert (broker.topics.is_order("a"), broker.topics.is_order("b")) == (False, True)
    assert not broker.topics.is_order("unknown")


def test_snapshot_of_topics_does_not_change(broker: Broker) -> None:
    before = broker.topics.snapshot()
    broker.topics.update(TopicConfig(topic_name="orders"))
    assert "orders" not in before
    broker.topics.reset()
    assert broker.topics.snapshot() == before
