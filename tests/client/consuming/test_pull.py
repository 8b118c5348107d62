"""What a pull consumer does: its share of the queues, its pulls by hand, its offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import pytest

from fakemq.client.consuming.pull import PullConsumerCore
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.consuming.settings import Selector
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingTimeoutError
from fakemq.client.messages import PullStatus
from fakemq.client.service_state import ServiceState
from fakemq.client.tasks import Task
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.played_broker import CLIENT, GROUP, PlayedBroker
from tests.support.scripted_operation import A, answer

T = TypeVar("T")


class Lab:
    """A pull consumer of ``orders`` at a `PlayedBroker`."""

    def __init__(self, *, queues: int = 2, started: bool = True, **settings: Any) -> None:
        self.broker = PlayedBroker(queues=queues)
        self.carrier = self.broker.carrier
        self.services = self.broker.services()
        usual = PullSettings(group=GROUP, topics=["orders"])
        chosen = msgspec.structs.replace(usual, **settings)
        self.consumer = PullConsumerCore(self.services, chosen)
        if started:
            self.run(self.consumer.start())

    def run(self, task: Task[T], *, within_ms: int = 0) -> T:
        return self.carrier.run(task, within_ms=within_ms)

    def queue(self, queue_id: int = 0) -> MessageQueue:
        return self.broker.queue(queue_id)


def test_start_divides_the_queues_of_registered_topics() -> None:
    lab = Lab()
    assert lab.consumer.fetch_message_queues_in_balance("orders") == [lab.queue(0), lab.queue(1)]
    data = lab.broker.heartbeats[0].consumer_data_set[0]
    assert (data.group_name, data.consume_type) == (GROUP, "CONSUME_ACTIVELY")
    assert [one.topic for one in data.subscription_data_set] == ["orders"]
    lab.broker.members = [CLIENT, "z"]
    lab.run(lab.consumer.rebalance())
    assert lab.consumer.fetch_message_queues_in_balance("orders") == [lab.queue(0)]


def test_listener_of_a_topic_is_called_after_a_division() -> None:
    lab = Lab(started=False)
    seen: list[tuple[str, int, int]] = []
    lab.consumer.register_topic(
        "orders", lambda topic, all, mine: seen.append((topic, len(all), len(mine)))
    )
    lab.run(lab.consumer.start())
    assert seen == [("orders", 2, 2)]


def test_topic_can_be_registered_while_it_runs() -> None:
    lab = Lab(topics=[])
    assert lab.consumer.fetch_message_queues_in_balance("orders") == []
    lab.consumer.register_topic("orders")
    lab.carrier.settle()
    assert len(lab.consumer.fetch_message_queues_in_balance("orders")) == 2


def test_pull_returns_at_once_what_is_there() -> None:
    lab = Lab()
    for number in range(3):
        lab.broker.put(b"%d" % number, tags="eu" if number else "us")
    pulled = lab.run(lab.consumer.pull(lab.queue(), 0, max_messages=2))
    assert pulled.status is PullStatus.FOUND
    assert [one.body for one in pulled.messages] == [b"0", b"1"]
    assert (pulled.next_begin_offset, pulled.max_offset) == (2, 3)
    header = lab.broker.pulls[-1]
    assert (header.sys_flag, header.suspend_timeout_millis) == (4, 0)
    pulled = lab.run(lab.consumer.pull(lab.queue(), 0, "eu"))
    assert [one.body for one in pulled.messages] == [b"1", b"2"]


def test_pull_that_blocks_waits_for_a_message() -> None:
    lab = Lab()
    pulling = lab.carrier.start(lab.consumer.pull_block_if_not_found(lab.queue(), 0))
    lab.carrier.advance(5_000)
    assert pulling == []
    lab.broker.put(b"late")
    lab.carrier.settle()
    ((pulled, _),) = pulling
    assert pulled is not None
    assert [one.body for one in pulled.messages] == [b"late"]
    header = lab.broker.pulls[-1]
    assert (header.sys_flag, header.suspend_timeout_millis) == (6, 20_000)


def test_pull_checks_its_arguments() -> None:
    lab = Lab()
    with pytest.raises(MQClientError, match="offset < 0"):
        lab.run(lab.consumer.pull(lab.queue(), -1))
    with pytest.raises(MQClientError, match="maxNums <= 0"):
        lab.run(lab.consumer.pull(lab.queue(), 0, max_messages=0))
    with pytest.raises(MQClientError, match="subscription exception"):
        lab.run(lab.consumer.pull(lab.queue(), 0, "||"))


def test_errors_of_a_pull_reach_its_caller() -> None:
    lab = Lab()
    lab.broker.answers[RequestCode.PULL_MESSAGE] = lambda call: answer(ResponseCode.NO_PERMISSION)
    with pytest.raises(MQBrokerError):
        lab.run(lab.consumer.pull(lab.queue(), 0, Selector.by_sql("a > 1")))
    lab.broker.answers[RequestCode.PULL_MESSAGE] = lambda call: RemotingTimeoutError(A, 1)
    with pytest.raises(RemotingTimeoutError):
        lab.run(lab.consumer.pull(lab.queue(), 0))


def test_offsets_are_updated_by_hand_and_stored_every_five_seconds() -> None:
    lab = Lab()
    assert lab.run(lab.consumer.fetch_consume_offset(lab.queue())) == 0
    lab.consumer.update_consume_offset(lab.queue(), 7)
    assert lab.run(lab.consumer.fetch_consume_offset(lab.queue())) == 7
    assert lab.broker.committed() is None
    lab.carrier.advance(10_000)
    assert lab.broker.committed() == 7
    lab.broker.offsets[GROUP, lab.queue()] = 9
    assert lab.run(lab.consumer.fetch_consume_offset(lab.queue(), from_store=True)) == 9


def test_offset_of_a_queue_of_another_member_is_stored() -> None:
    lab = Lab()
    lab.broker.members = [CLIENT, "z"]
    lab.run(lab.consumer.rebalance())
    lab.consumer.update_consume_offset(lab.queue(1), 3)
    lab.carrier.advance(10_000)
    assert lab.broker.committed(1) == 3
    lab.consumer.update_consume_offset(lab.queue(1), 4)
    lab.broker.members = [CLIENT]
    lab.run(lab.consumer.rebalance())  # the queue is its own now, with what the broker has
    assert lab.broker.committed(1) == 4
    lab.consumer.update_consume_offset(lab.queue(1), 5)
    lab.run(lab.consumer.shutdown())
    assert lab.broker.committed(1) == 5


def test_queues_are_those_that_a_name_server_has_now() -> None:
    lab = Lab()
    assert len(lab.run(lab.consumer.fetch_subscribe_message_queues("orders"))) == 2
    lab.broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: answer(
        ResponseCode.TOPIC_NOT_EXIST
    )
    with pytest.raises(MQClientError, match="Can not find Message Queue"):
        lab.run(lab.consumer.fetch_subscribe_message_queues("orders"))


def test_offset_of_a_queue_that_is_lost_is_stored() -> None:
    lab = Lab()
    lab.consumer.update_consume_offset(lab.queue(1), 3)
    lab.broker.members = [CLIENT, "z"]
    lab.run(lab.consumer.rebalance())
    assert lab.broker.committed(1) == 3


def test_shutdown_stores_offsets_and_leaves() -> None:
    lab = Lab()
    lab.consumer.update_consume_offset(lab.queue(), 2)
    lab.run(lab.consumer.shutdown())
    assert lab.broker.committed() == 2
    assert lab.carrier.codes()[-1] == RequestCode.UNREGISTER_CLIENT
    lab.run(lab.consumer.shutdown())


def test_offsets_of_a_queue_can_be_asked_for() -> None:
    lab = Lab()
    lab.broker.put(b"1")
    assert lab.run(lab.consumer.max_offset(lab.queue())) == 1
    assert lab.run(lab.consumer.min_offset(lab.queue())) == 0
    assert lab.run(lab.consumer.search_offset(lab.queue(), 5)) == 1
    assert lab.run(lab.consumer.fetch_subscribe_message_queues("orders")) == [
        lab.queue(0),
        lab.queue(1),
    ]


def test_message_is_sent_back() -> None:
    lab = Lab()
    lab.broker.put(b"1")
    pulled = lab.run(lab.consumer.pull(lab.queue(), 0))
    assert lab.run(lab.consumer.send_message_back(pulled.messages[0], 3))
    header = lab.broker.sent_back[0]
    assert (header.group, header.delay_level, header.max_reconsume_times) == (GROUP, 3, 16)


def test_namespace_is_before_the_names_that_brokers_see() -> None:
    lab = Lab(started=False, namespace="ns")
    lab.broker.put(b"1", topic="ns%orders")
    lab.run(lab.consumer.start())
    assert lab.consumer.fetch_message_queues_in_balance("orders") == [lab.queue(0)]
    pulled = lab.run(lab.consumer.pull(lab.queue(), 0))
    assert (pulled.queue, pulled.messages[0].topic) == (lab.queue(), "orders")
    lab.consumer.update_consume_offset(lab.queue(), 1)
    lab.run(lab.consumer.persist_offsets())
    assert lab.broker.committed(topic="ns%orders", group=f"ns%{GROUP}") == 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"group": " "}, "the specified group is blank"),
        ({"group": "DEFAULT_CONSUMER"}, "consumerGroup can not equal DEFAULT_CONSUMER"),
        ({"message_model": "ALL"}, "messageModel is 'ALL'"),
        ({"allocate": None}, "allocateMessageQueueStrategy is null"),
        ({"broker_suspend_max_time_ms": 30_001}, "must greater than brokerSuspendMaxTimeMillis"),
    ],
)
def test_settings_are_checked_at_the_start(settings: dict[str, Any], text: str) -> None:
    lab = Lab(started=False, **settings)
    with pytest.raises(MQClientError, match=text):
        lab.run(lab.consumer.start())
    assert lab.consumer.state is ServiceState.START_FAILED


def test_numbers_of_settings_are_whole() -> None:
    lab = Lab(started=False, consumer_pull_timeout_ms=0)
    with pytest.raises(ConfigError, match="consumer_pull_timeout_ms=0: expected a whole number"):
        lab.run(lab.consumer.start())


@pytest.mark.parametrize(
    "call",
    [
        lambda lab: lab.consumer.pull(lab.queue(), 0),
        lambda lab: lab.consumer.fetch_consume_offset(lab.queue()),
        lambda lab: lab.consumer.max_offset(lab.queue()),
        lambda lab: lab.consumer.fetch_subscribe_message_queues("orders"),
    ],
)
def test_consumer_is_used_only_while_it_runs(call: Callable[[Lab], Task[object]]) -> None:
    lab = Lab(started=False)
    with pytest.raises(MQClientError, match="The consumer is not in running status, CREATE_JUST"):
        lab.run(call(lab))
    with pytest.raises(MQClientError, match="not in running status"):
        lab.consumer.update_consume_offset(lab.queue(), 1)


def test_consumer_starts_once_and_a_group_has_one() -> None:
    lab = Lab()
    with pytest.raises(MQClientError, match="maybe started once, RUNNING"):
        lab.run(lab.consumer.start())
    second = PullConsumerCore(lab.services, PullSettings(group=GROUP))
    with pytest.raises(MQClientError, match="has been created before"):
        lab.run(second.start())
    assert second.state is ServiceState.CREATE_JUST


def test_running_info_has_settings_and_subscriptions() -> None:
    lab = Lab()
    info = lab.run(lab.consumer.running_info())
    assert info.properties["maxReconsumeTimes"] == "16"
    assert [one.topic for one in info.subscription_set] == ["orders"]
    lab.consumer.update_consume_offset(lab.queue(), 2)
    assert lab.consumer.consumed_offsets("orders") == {lab.queue(): 2}


def test_start_that_fails_leaves_nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab(started=False)

    def fail() -> None:
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(lab.services, "start", fail)
        with pytest.raises(OSError, match="no room"):
            lab.run(lab.consumer.start())
    assert not lab.services.is_used
    again = PullConsumerCore(lab.services, lab.consumer.settings)
    lab.run(again.start())
    assert again.is_running
