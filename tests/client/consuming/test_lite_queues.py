"""Which queues a lite pull consumer reads: by subscriptions, or assigned."""

from __future__ import annotations

import pytest

from fakemq.client.errors import MQClientError, RemotingTimeoutError
from fakemq.client.operation import Call
from fakemq.errors import ConfigError
from fakemq.protocol.codes import RequestCode
from tests.support.lite_lab import LiteLab
from tests.support.played_broker import CLIENT
from tests.support.scripted_carrier import Outcome
from tests.support.scripted_operation import A

# -- subscribing -------------------------------------------------------------------------------


def test_topic_can_be_subscribed_to_while_it_runs() -> None:
    lab = LiteLab()
    lab.broker.put(b"p", topic="payments")
    lab.run(lab.consumer.subscribe("payments"))
    lab.carrier.settle()
    assert lab.poll() == [b"p"]
    subscribed = lab.broker.heartbeats[-1].consumer_data_set[0].subscription_data_set
    assert [one.topic for one in subscribed] == ["orders", "payments"]


def test_listener_gets_each_division() -> None:
    lab = LiteLab(started=False)
    seen: list[tuple[str, int, int]] = []
    lab.broker.topics["orders"] = 4
    subscribing = lab.consumer.subscribe(
        "orders", "*", lambda topic, all, mine: seen.append((topic, len(all), len(mine)))
    )
    lab.run(subscribing)
    lab.run(lab.consumer.start())
    assert seen == [("orders", 4, 4)]
    lab.broker.members = [CLIENT, "z"]
    lab.run(lab.consumer.rebalance())
    assert seen[1:] == [("orders", 4, 2)]


def test_listener_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    lab = LiteLab(started=False)

    def fail(*arguments: object) -> None:
        raise LookupError("no")

    lab.run(lab.consumer.subscribe("orders", "*", fail))
    lab.run(lab.consumer.start())
    assert "messageQueueChanged exception" in caplog.text
    lab.put(b"1")
    assert lab.poll() == [b"1"]


@pytest.mark.parametrize(("topic", "text"), [("", "is blank"), (None, "topic=None: expected text")])
def test_topic_must_not_be_empty(topic: str, text: str) -> None:
    lab = LiteLab()
    with pytest.raises(ConfigError, match=text):
        lab.run(lab.consumer.subscribe(topic))


def test_subscribing_and_assigning_exclude_each_other() -> None:
    lab = LiteLab()
    with pytest.raises(MQClientError, match="Subscribe and assign are mutually exclusive"):
        lab.consumer.assign([lab.queue()])
    other = LiteLab(assigns=True)
    other.consumer.assign([other.queue()])
    with pytest.raises(MQClientError, match="Subscribe and assign are mutually exclusive"):
        other.run(other.consumer.subscribe("orders"))


def test_unsubscribed_topic_is_left_with_its_offset_stored() -> None:
    lab = LiteLab(queues=2)
    lab.put(b"1", b"2")
    assert lab.poll() == [b"1"]
    lab.run(lab.consumer.commit(persist=False))
    lab.consumer.unsubscribe("orders")
    lab.carrier.settle()
    assert lab.poll_all() == []
    assert lab.consumer.assignment() == []
    assert lab.broker.committed() == 1
    lab.run(lab.consumer.rebalance())
    assert lab.consumer.assignment() == []


def test_topic_that_is_unsubscribed_while_it_is_divided_is_left() -> None:
    lab = LiteLab(queues=2, started=False)

    def unsubscribing(call: Call) -> Outcome | None:
        lab.consumer.unsubscribe("orders")
        return None

    lab.broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = unsubscribing
    lab.run(lab.consumer.start())
    lab.carrier.settle()
    assert lab.consumer.assignment() == []
    lab.put(b"1")
    assert lab.poll_all() == []


def test_queue_that_another_member_gets_is_committed_and_left() -> None:
    lab = LiteLab(queues=2)
    lab.put(b"1", queue_id=1)
    assert lab.poll() == [b"1"]
    lab.run(lab.consumer.commit(persist=False))
    lab.put(b"2", queue_id=1)
    lab.broker.members = ["0", CLIENT]
    lab.run(lab.consumer.rebalance())
    assert lab.consumer.assignment() == [lab.queue(1)]
    lab.broker.members = [CLIENT, "z"]
    lab.run(lab.consumer.rebalance())
    assert lab.consumer.assignment() == [lab.queue(0)]
    assert lab.broker.committed(1) == 1
    assert lab.poll_all() == [], "what waits in a dropped queue is not returned"


def test_queue_without_offset_is_read_as_soon_as_that_can_be_had() -> None:
    lab = LiteLab(queues=2, started=False)
    refused: list[Call] = []

    def refusing(call: Call) -> Outcome | None:
        if call.command.ext_fields["queueId"] != "1" or len(refused) == 2:
            return None
        refused.append(call)
        return RemotingTimeoutError(A, 1)

    lab.broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = refusing
    lab.broker.put(b"1", queue_id=1)
    lab.run(lab.consumer.start())
    assert lab.consumer.assignment() == [lab.queue(0), lab.queue(1)]
    assert len(refused) == 2, "of the rebalance, and of the reading that tries again"
    lab.carrier.advance(2_999)
    assert lab.poll() == []
    lab.carrier.advance(1)
    assert lab.poll() == [b"1"]


# -- assigning ---------------------------------------------------------------------------------


def test_assigned_queues_are_read_without_members_or_subscriptions() -> None:
    lab = LiteLab(queues=3, assigns=True, started=False)
    for number in range(3):
        lab.broker.put(b"%d" % number, queue_id=number)
    lab.consumer.assign([lab.queue(2), lab.queue(0)])
    lab.run(lab.consumer.start())
    assert sorted(lab.poll_all()) == [b"0", b"2"]
    assert lab.broker.heartbeats[0].consumer_data_set[0].subscription_data_set == []
    assert RequestCode.GET_CONSUMER_LIST_BY_GROUP not in lab.carrier.codes()


def test_other_queues_can_be_assigned_while_it_runs() -> None:
    lab = LiteLab(queues=2, assigns=True)
    lab.consumer.assign([lab.queue(0)])
    lab.put(b"1")
    assert lab.poll() == [b"1"]
    lab.put(b"2")
    lab.run(lab.consumer.commit(persist=False))
    lab.consumer.assign([lab.queue(1)])
    lab.carrier.settle()
    assert lab.poll_all() == []
    assert lab.broker.committed(0) == 1
    lab.put(b"3", queue_id=1)
    assert lab.poll() == [b"3"]


def test_assigned_queues_are_filtered_by_tags() -> None:
    lab = LiteLab(assigns=True, started=False)
    lab.consumer.set_sub_expression_for_assign("orders", "eu")
    lab.consumer.assign([lab.queue()])
    lab.run(lab.consumer.start())
    lab.put(b"eu", tags="eu")
    lab.put(b"us", tags="us")
    assert lab.poll_all() == [b"eu"]


def test_misuse_of_assigning_is_refused() -> None:
    lab = LiteLab(assigns=True, started=False)
    with pytest.raises(ConfigError, match="Message queues can not be null or empty"):
        lab.consumer.assign([])
    with pytest.raises(ConfigError, match="subExpression can not be null or empty"):
        lab.consumer.set_sub_expression_for_assign("orders", " ")
    lab.run(lab.consumer.start())
    with pytest.raises(MQClientError, match="setAssignTag only can be called before start"):
        lab.consumer.set_sub_expression_for_assign("orders", "eu")
