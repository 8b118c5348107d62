"""One client id in two processes: both connections are listed, and the diagnosis names them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from tests.support.consumer import GROUP, Consumer
from tests.support.grpc_caller import Caller
from tests.support.proxy_lab import handle_of

ONE_ID = "10.0.0.1@worker"


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as cluster:
        yield cluster


def consumer(mq: fakemq.Cluster, client_id: str) -> Consumer:
    client = Consumer(mq.namesrv_addr, consumer_group=GROUP, client_id=client_id)
    client.subscribe("orders")
    client.heartbeat()
    return client


def test_two_processes_with_one_client_id_are_named(mq: fakemq.Cluster) -> None:
    with consumer(mq, ONE_ID) as one, consumer(mq, ONE_ID) as other:
        mq.seed("orders", ["tea", "milk"])
        members = mq.group(GROUP).members()
        assert [member.client_id for member in members] == [ONE_ID, ONE_ID]
        assert len({member.peer for member in members}) == 2
        for client in (one, other):
            client.take("orders", commit=False)
            client.heartbeat()
        with pytest.raises(AssertionError) as failed:
            mq.assert_delivered_once("orders", GROUP)
        said = str(failed.value)
        first, second = members
        named = f"two connections have one client id in group {GROUP}: {ONE_ID}, from"
        assert f"{named} {first.peer} and {second.peer}; members divide" in said or (
            f"{named} {second.peer} and {first.peer}; members divide" in said
        )
    assert any(line.startswith(named) for line in mq.diagnosis("orders", GROUP))


def test_client_of_several_brokers_is_listed_once() -> None:
    two = {"masters": 2, "topics": {"orders": 1}}
    with fakemq.Cluster(clock="frozen", **two) as mq, consumer(mq, ONE_ID):  # type: ignore[arg-type]
        assert [member.client_id for member in mq.group(GROUP).members()] == [ONE_ID]


def test_process_that_takes_the_place_of_another_is_not_named(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["tea"])
    for _ in range(2):
        with consumer(mq, ONE_ID) as client:
            assert len(mq.group(GROUP).members()) == 1
            client.take("orders", commit=False)
    assert not any("one client id" in line for line in mq.diagnosis("orders", GROUP))


def test_connection_that_was_lost_and_replaced_is_not_named(mq: fakemq.Cluster) -> None:
    with consumer(mq, ONE_ID) as lost, consumer(mq, ONE_ID) as client:
        mq.seed("orders", ["tea"])
        client.take("orders", commit=False)
        assert not any("one client id" in line for line in mq.diagnosis("orders", GROUP))
        lost.heartbeat()
        assert any("one client id" in line for line in mq.diagnosis("orders", GROUP))


def test_twins_of_an_earlier_test_are_named(mq: fakemq.Cluster) -> None:
    with consumer(mq, ONE_ID) as one, consumer(mq, ONE_ID) as other:
        mq.reset()
        mq.create_topic("orders", queues=1)
        mq.seed("orders", ["tea"])
        for client in (one, other):
            client.heartbeat()
            client.take("orders", commit=False)
        assert any("one client id" in line for line in mq.diagnosis("orders", GROUP))


def test_two_grpc_processes_with_one_client_id_are_named() -> None:
    with fakemq.Cluster(grpc=True, clock="frozen", topics={"normal": 1}) as mq:
        mq.seed("normal", ["tea", "milk"])
        callers = [Caller(mq, ONE_ID) for _ in range(2)]
        callers[1].client.connection.remote_addr = "10.0.0.10:4000"
        for caller in callers:
            caller(lambda client: client.consume("g"))
        for caller in callers:
            found = caller(lambda client: client.receive(most=1))
            for message in found.received:
                caller(lambda client, one=message: client.ack(handle_of(one)))  # type: ignore[misc]
        members = mq.group("g").members()
        assert [member.client_id for member in members] == [ONE_ID, ONE_ID]
        assert len({member.peer for member in members}) == 2
        (line,) = [line for line in mq.diagnosis("normal", "g") if "one client id" in line]
        assert "the front takes them for one client" in line
