"""Biographies of messages whose answers a fault changes, withholds or loses."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.client import Message, MQBrokerError, RemotingError
from fakemq.errors import FakemqError
from fakemq.handles.values import Message as View
from tests.support.consumer import consuming, normalised

PEER = "billing@CLIENT (ADDR)"
TIMEOUT_MS = 50
"""How long a client waits for an answer that does not come."""


@pytest.fixture
def alone() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        clock="frozen", start_at="2024-02-29T12:00:00Z", topics={"orders": 1}
    ) as cluster:
        yield cluster


def lines(message: View) -> list[str]:
    return [line.strip() for line in normalised(str(message.biography)).splitlines()]


@pytest.mark.parametrize("place", ["drop", "close", "error", "kill"])
def test_lost_answer_is_no_delivery(alone: fakemq.Cluster, place: str) -> None:
    alone.seed("orders", ["x"])
    options = {"code": "SYSTEM_BUSY"} if place == "error" else {}
    fault = getattr(alone.faults, place)(
        "PULL_MESSAGE", at="before_reply", group="billing", **options
    )
    with consuming(alone) as client, pytest.raises((RemotingError, MQBrokerError)):
        client.take("orders", timeout_ms=TIMEOUT_MS)
    (message,) = alone.messages("orders")
    assert not message.deliveries
    assert lines(message)[-1].endswith(
        f"answer with it withheld from {PEER} — fault 1 {fault.what}"
    )
    with pytest.raises(AssertionError, match="b'x' 0 times"):
        alone.assert_delivered_once("orders", "billing")
    if place == "kill":
        return
    with consuming(alone) as client:
        client.take("orders")
    alone.assert_delivered_once("orders", "billing")
    (message,) = alone.messages("orders")
    assert [step.because for step in message.biography.of(steps.Delivered)] == [""]


def test_parked_answer_is_a_delivery_when_it_leaves(alone: fakemq.Cluster) -> None:
    alone.seed("orders", ["x"])
    fault = alone.faults.park("PULL_MESSAGE", at="before_reply")
    with consuming(alone) as client, ThreadPoolExecutor(1) as pool:
        taken = pool.submit(client.take, "orders", commit=False)
        alone.wait_for(lambda: fault.waiting)
        assert not alone.messages("orders")[0].deliveries
        fault.release()
        assert len(taken.result()) == 1
    (message,) = alone.messages("orders")
    assert len(message.deliveries) == 1
    withheld, delivered = lines(message)[-2:]
    assert withheld.endswith(f"answer with it withheld from {PEER} — fault 1 {fault.what}")
    assert delivered.endswith(f"delivered 1st time to {PEER} — fault 1 {fault.what}")


def test_answer_with_changed_fields_is_a_delivery(alone: fakemq.Cluster) -> None:
    alone.seed("orders", ["x"])
    alone.faults.reply("PULL_MESSAGE", at="before_reply", fields={"suggestWhichBrokerId": 1})
    with consuming(alone) as client:
        client.take("orders")
    (message,) = alone.messages("orders")
    assert not message.biography.of(steps.Withheld)
    alone.assert_delivered_once("orders", "billing")


def test_woken_pull_names_its_wake_up_when_a_fault_is_for_others(alone: fakemq.Cluster) -> None:
    alone.faults.drop("PULL_MESSAGE", at="before_reply", group="others", must_fire=False)
    with consuming(alone) as client:
        client.send(Message("orders", b"later", properties={"DELAY": "1"}))
        alone.clock.advance("1s")
        client.take("orders")
    (entry,) = alone.journal.entries("Delivered")
    assert [type(one.event).__name__ for one in alone.journal.cause_chain(entry)] == [
        "RequestReceived"
    ]
    (message,) = alone.messages("orders")
    assert message.biography.of(steps.Delivered)[0].because == "after clock advanced 1s"


def test_lost_answer_is_not_the_cause_of_the_dispatch(alone: fakemq.Cluster) -> None:
    alone.faults.drop("SEND_MESSAGE_V2", at="before_reply")
    with consuming(alone) as client, pytest.raises(FakemqError):
        client.send(Message("orders", b"x"), timeout_ms=TIMEOUT_MS)
    stored, dispatched = alone.messages("orders")[0].biography
    assert stored.because == "fault 1 drop SEND_MESSAGE_V2, before_reply"
    assert dispatched.because == ""
