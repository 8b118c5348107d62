"""A producer's life: CREATE_JUST, START_FAILED, RUNNING, SHUTDOWN_ALREADY."""

from __future__ import annotations

import pytest

from fakemq.client.errors import MQClientError
from fakemq.protocol.bodies.heartbeat import HeartbeatData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import FAQ
from tests.support.producer_lab import ProducerLab, order

ILLEGAL = "contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"


def test_start_registers_the_group_and_sends_heartbeats() -> None:
    lab = ProducerLab("a", "b", topics=("orders", "TBW102"))
    producer = lab.producer()
    assert producer.state.name == "CREATE_JUST"
    lab.carrier.run(producer.start())
    assert producer.state.name == "RUNNING"
    assert lab.carrier.calls == [], "no broker is known yet"
    lab.carrier.advance(1_000)
    calls = [one for one in lab.carrier.calls if one.command.code == RequestCode.HEART_BEAT]
    assert [one.addr for one in calls] == ["a:10911", "b:10911"]
    data = HeartbeatData.decode(calls[0].command.body)
    assert [one.group_name for one in data.producer_data_set] == ["billing"]


def test_second_producer_of_a_client_is_known_to_brokers_at_once() -> None:
    lab = ProducerLab()
    lab.carrier.run(lab.started().send(order()))
    lab.started("shipping")
    heartbeat = lab.carrier.calls[-1]
    assert heartbeat.command.code == RequestCode.HEART_BEAT
    data = HeartbeatData.decode(heartbeat.command.body)
    assert [one.group_name for one in data.producer_data_set] == ["billing", "shipping"]


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("", "the specified group is blank"),
        (" \t", "the specified group is blank"),
        ("g" * 256, "the specified group is longer than group max length 255."),
        ("g#1", f"the specified group[g#1] {ILLEGAL}"),
        (
            "DEFAULT_PRODUCER",
            "producerGroup can not equal DEFAULT_PRODUCER, please specify another one.",
        ),
    ],
)
def test_bad_group_fails_the_start_for_good(group: str, text: str) -> None:
    lab = ProducerLab()
    producer = lab.producer(group)
    with pytest.raises(MQClientError) as caught:
        lab.carrier.run(producer.start())
    assert str(caught.value) == text
    assert producer.state.name == "START_FAILED"
    with pytest.raises(MQClientError) as caught:
        lab.carrier.run(producer.start())
    assert str(caught.value) == (
        f"The producer service state not OK, maybe started once, START_FAILED{FAQ}"
    )
    lab.carrier.run(producer.shutdown())
    assert producer.state.name == "START_FAILED"


def test_default_group_in_a_namespace_is_not_the_default_group() -> None:
    lab = ProducerLab()
    assert lab.started("DEFAULT_PRODUCER", namespace="tenant").state.name == "RUNNING"


def test_taken_group_may_be_started_again_when_it_is_free() -> None:
    lab = ProducerLab()
    first = lab.started()
    second = lab.producer()
    with pytest.raises(MQClientError) as caught:
        lab.carrier.run(second.start())
    assert str(caught.value) == (
        "The producer group[billing] has been created before, specify another name please." + FAQ
    )
    assert second.state.name == "CREATE_JUST"
    lab.carrier.run(first.shutdown())
    lab.carrier.run(second.start())
    assert second.state.name == "RUNNING"


def test_start_that_fails_leaves_nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = ProducerLab()

    def fail() -> None:
        raise OSError("no room")

    first = lab.producer(trace=True, check=lambda message: None)
    with monkeypatch.context() as patch:
        patch.setattr(lab.services, "start", fail)
        with pytest.raises(OSError, match="no room"):
            lab.carrier.run(first.start())
    assert first.state.name == "START_FAILED"
    assert not lab.services.is_used
    assert not lab.services.instance.producer_groups
    assert not lab.services.instance.check_listeners
    assert lab.started(trace=True, check=lambda message: None).state.name == "RUNNING"


def test_running_producer_is_not_started_again() -> None:
    lab = ProducerLab()
    producer = lab.started()
    with pytest.raises(MQClientError, match="maybe started once, RUNNING"):
        lab.carrier.run(producer.start())
    assert producer.state.name == "RUNNING"


def test_shutdown_leaves_the_group_at_its_brokers_and_is_repeatable() -> None:
    lab = ProducerLab("a", "b")
    producer = lab.started()
    lab.carrier.run(producer.send(order()))
    lab.carrier.run(producer.shutdown())
    lab.carrier.run(producer.shutdown())
    assert producer.state.name == "SHUTDOWN_ALREADY"
    left = [one for one in lab.carrier.calls if one.command.code == RequestCode.UNREGISTER_CLIENT]
    assert [one.addr for one in left] == ["a:10911", "b:10911"]
    assert left[0].command.ext_fields["producerGroup"] == "billing"
    assert not lab.services.is_used
    with pytest.raises(MQClientError, match="maybe started once, SHUTDOWN_ALREADY"):
        lab.carrier.run(producer.start())


def test_shutdown_before_the_start_changes_nothing() -> None:
    lab = ProducerLab()
    producer = lab.producer()
    lab.carrier.run(producer.shutdown())
    assert producer.state.name == "CREATE_JUST"
    assert lab.carrier.calls == []


@pytest.mark.parametrize("state", ["CREATE_JUST", "SHUTDOWN_ALREADY"])
def test_calls_are_refused_unless_the_producer_runs(state: str) -> None:
    lab = ProducerLab()
    producer = lab.producer()
    if state == "SHUTDOWN_ALREADY":
        lab.carrier.run(producer.start())
        lab.carrier.run(producer.shutdown())
    tasks = (
        producer.send(order()),
        producer.send(order(), sharding_key="k"),
        producer.send_oneway(order()),
        producer.send_batch([order()]),
        producer.send_batches([order()]),
        producer.send_in_transaction(order(), lambda message: None),
        producer.request(order(), 100),
        producer.queues("orders"),
    )
    for task in tasks:
        with pytest.raises(MQClientError) as caught:
            lab.carrier.run(task)
        assert str(caught.value) == f"The producer service state not OK, {state}{FAQ}"


def test_routes_of_topics_that_were_sent_to_are_kept_fresh() -> None:
    lab = ProducerLab(topics=("orders", "TBW102"))
    producer = lab.started()
    lab.carrier.run(producer.send(order()))
    assert set(producer.topics()) == {"TBW102", "orders"}
    lab.carrier.calls.clear()
    lab.carrier.advance(31_000)
    asked = [
        one.command.ext_fields["topic"]
        for one in lab.carrier.calls
        if one.command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
    ]
    assert asked.count("orders") >= 1
    lab.carrier.calls.clear()
    lab.carrier.run(producer.send(order()))
    assert lab.carrier.codes() == [RequestCode.SEND_MESSAGE_V2]
