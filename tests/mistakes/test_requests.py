"""Faults for requests that a client sends by another code, or with other values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.client import Client, Message
from fakemq.client.errors import MQBrokerError
from fakemq.handles.faults import Fault


@pytest.fixture
def started() -> Iterator[list[fakemq.Cluster]]:
    """A cluster that the plugin does not know: unused faults are no failures here."""
    with fakemq.Cluster(topics={"orders": 1}) as cluster:
        yield [cluster]


def send(mq: fakemq.Cluster, times: int = 1) -> None:
    with Client(mq.namesrv_addr) as client:
        for _ in range(times):
            client.send(Message("orders", b"one"))


@pytest.mark.parametrize("name", ["send", "SEND", "Send"])
@pytest.mark.parametrize("form", ["SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE"])
def test_send_covers_every_code_of_sends(
    started: list[fakemq.Cluster], name: str, form: str
) -> None:
    (mq,) = started
    fault = mq.faults.error(name, code="SYSTEM_BUSY", topic="orders")  # type: ignore[arg-type]
    assert fault.what == "error SYSTEM_BUSY send, topic=orders, before_store"
    code = fakemq.RequestCode[form]
    assert isinstance(fault._placed.scope.code, frozenset)
    assert code in fault._placed.scope.code
    mq.faults.clear()


def test_send_acts_on_single_messages_and_batches(started: list[fakemq.Cluster]) -> None:
    (mq,) = started
    mq.faults.error("send", code="MESSAGE_ILLEGAL", times=2)
    with Client(mq.namesrv_addr) as client:
        with pytest.raises(MQBrokerError, match="MESSAGE_ILLEGAL"):
            client.send(Message("orders", b"one"))
        with pytest.raises(MQBrokerError, match="MESSAGE_ILLEGAL"):
            client.send_batch([Message("orders", b"one")])
        client.send(Message("orders", b"two"))
    assert not mq.faults.unused()


def test_pull_covers_both_codes_of_pulls(started: list[fakemq.Cluster]) -> None:
    (mq,) = started
    mq.seed("orders", ["one"])
    fault = mq.faults.drop("pull", group="billing")
    with mq.consumer(group="billing", subscribe="orders"):
        mq.settle()
    assert fault.used


@pytest.mark.parametrize("at", ["before_store", "before_reply"])
def test_unused_fault_names_the_similar_code_that_came(
    started: list[fakemq.Cluster], at: str
) -> None:
    (mq,) = started
    fault = mq.faults.drop("SEND_MESSAGE", at=at)  # type: ignore[arg-type]  # both are of At
    send(mq, 3)
    came = 'similar requests came: SEND_MESSAGE_V2 3 times ("send" covers them all)'
    assert mq.faults.unused() == [fault]
    assert fault.missed == came


@pytest.mark.parametrize(
    ("limits", "came"),
    [
        ({"topic": "refunds"}, "with topic=orders 1 time"),
        ({"queue": 5}, "with queue=0 1 time"),
        ({"node": "namesrv-0"}, "no similar request came"),
    ],
)
def test_unused_fault_names_the_value_that_came(
    started: list[fakemq.Cluster], limits: dict[str, object], came: str
) -> None:
    (mq,) = started
    fault: Fault
    if "node" in limits:
        fault = mq.faults.drop("DELETE_TOPIC_IN_NAMESRV")
    else:
        fault = mq.faults.drop("send", **limits)  # type: ignore[arg-type]  # names of Where
    send(mq)
    assert came in fault.missed


def test_fault_of_another_kind_has_no_similar_requests(started: list[fakemq.Cluster]) -> None:
    (mq,) = started
    fault = mq.faults.silence("broker-a")
    send(mq)
    assert fault.missed == ""
