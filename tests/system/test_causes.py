"""The cause of each entry of the journal, across timers, nodes and links."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.client import Client, Message
from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.events import (
    BrokerGone,
    BrokerRegistered,
    ClockMoved,
    Dispatched,
    LinkClosed,
    LogAppended,
    NodeStarted,
    NodeStopped,
    RequestHandled,
    RequestReceived,
    ScheduledDelivered,
    Warned,
)
from fakemq.events.replication import Replicated
from fakemq.faults.plan import FaultPlan, Point, Scope
from fakemq.journal.entries import Entry, TimerFired
from fakemq.journal.journal import Journal
from fakemq.net.memory import MemoryNetwork


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        clock="frozen", topics={"orders": 1}, slaves=1, role="SYNC_MASTER"
    ) as cluster:
        yield cluster


def causes(mq: fakemq.Cluster, entry: Entry) -> list[type]:
    return [type(one.event) for one in mq.journal.cause_chain(entry)]


def send(mq: fakemq.Cluster, **properties: str) -> None:
    with Client(mq.namesrv_addr) as client:
        client.send(Message("orders", b"hello", properties=properties))


def test_effects_of_a_send_are_caused_by_its_request(mq: fakemq.Cluster) -> None:
    send(mq)
    (request,) = mq.journal.entries(RequestReceived, code="SEND_MESSAGE_V2")
    assert request.cause == 0
    caused = [entry.event for entry in mq.journal if entry.cause == request.seq]
    kinds = [type(event) for event in caused]
    # Replication at another node, and the answer that waited for it, among them.
    for kind in (LogAppended, Dispatched, Replicated, RequestHandled):
        assert kind in kinds
    assert {event.node for event in caused} == {"broker-a-0", "broker-a-1"}


def test_effects_of_a_clock_jump_are_caused_by_it(mq: fakemq.Cluster) -> None:
    send(mq, DELAY="3")
    mq.clock.advance("10s")
    (delivered,) = mq.journal.entries(ScheduledDelivered)
    fired, moved = mq.journal.cause_chain(delivered)
    assert fired.event == TimerFired(node="broker-a-0", kind="delay_level_3")
    assert moved.event == ClockMoved(node="cluster", how="advance", by_ms=10_000)
    # The timer is written down once, and none that did nothing is.
    assert len(mq.journal.find(TimerFired, kind="delay_level_3")) == 1
    assert mq.journal.find(TimerFired, kind="ha_housekeeping") == []


def test_expiry_of_a_silent_broker_is_caused_by_the_jump(mq: fakemq.Cluster) -> None:
    mq.broker("broker-a-1").pause()
    mq.clock.advance("131s")
    (gone,) = mq.journal.entries(BrokerGone)
    assert causes(mq, gone) == [TimerFired, ClockMoved]


def test_closed_connections_are_caused_by_a_kill(mq: fakemq.Cluster) -> None:
    mq.broker("broker-a-0").kill()
    (killed,) = mq.journal.entries(NodeStopped, how="kill")
    closed = mq.journal.entries(LinkClosed, since=killed)
    assert closed
    assert {entry.cause for entry in closed} == {killed.seq}
    # At the other ends, too: the slave's and the name server's.
    assert {entry.event.node for entry in closed} == {"broker-a-0", "broker-a-1", "namesrv-0"}
    mq.broker("broker-a-0").restart()
    registered = mq.journal.entries(BrokerRegistered, since=killed)[0]
    assert causes(mq, registered)[-1] is NodeStarted


def test_effects_of_a_resumed_broker_are_caused_by_the_resume(mq: fakemq.Cluster) -> None:
    mq.broker("broker-a-0").pause()
    mq.clock.advance("31s")
    mq.broker("broker-a-0").resume()
    (resumed,) = mq.journal.entries(NodeStopped, how="resume")
    late = mq.journal.entries(TimerFired, since=resumed)
    assert {entry.cause for entry in late} == {resumed.seq}


def test_effects_of_a_resumed_name_server_are_caused_by_the_resume(mq: fakemq.Cluster) -> None:
    mq.name_server().pause()
    mq.create_topic("late")
    mq.name_server().resume()
    (resumed,) = mq.journal.entries(NodeStopped, how="resume")
    late = mq.journal.entries(RequestReceived, since=resumed)
    assert late
    assert {entry.cause for entry in late} == {resumed.seq}


def test_timer_on_a_running_clock_has_no_cause() -> None:
    clock = Clock(frozen=True)
    journal = Journal(clock)
    node = NodeClock(clock, "a", journal)
    node.call_later(5, lambda: None, kind="heartbeat")

    def warn() -> None:
        journal.add(Warned(node="a", text="due"))

    node.call_later(5, warn, kind="offences")
    clock.advance_ms(5)
    assert [(entry.event, entry.cause) for entry in journal] == [
        (TimerFired(node="a", kind="offences"), 0),
        (Warned(node="a", text="due"), 1),
    ]
    assert journal.cause == 0


def test_cause_of_a_timer_is_kept_over_a_link() -> None:
    clock = Clock(frozen=True)
    journal = Journal(clock)
    network = MemoryNetwork(journal)
    clock.settle = network.settle

    def arrive() -> None:
        journal.add(Warned(node="b", text="there"))

    NodeClock(clock, "a", journal).call_later(5, lambda: network.post(arrive), kind="heartbeat")
    clock.advance_ms(5)
    assert [(entry.event.node, entry.cause) for entry in journal] == [("a", 0), ("b", 1)]


def test_effects_of_a_fault_are_caused_by_its_hit() -> None:
    journal = Journal(Clock(frozen=True))
    placed = FaultPlan(journal).place(Point("test"), None, "drop it", Scope())
    with journal.because(placed.hit("a", "a request")):
        journal.add(Warned(node="a", text="dropped"))
    dropped = journal.tail(1)[0]
    assert [type(one.event).__name__ for one in journal.cause_chain(dropped)] == ["FaultHit"]
    assert journal.cause == 0


def test_cause_chain_ends_where_the_journal_has_forgotten() -> None:
    journal = Journal(Clock(frozen=True), capacity=2)
    with journal.because(journal.add(Warned(node="a", text="first"))):
        second = journal.add(Warned(node="a", text="second"))
    with journal.because(second):
        journal.add(Warned(node="a", text="third"))
    third = journal.tail(1)[0]
    assert [one.seq for one in journal.cause_chain(third)] == [2]
    assert journal.at(1) is None
    assert journal.at(4) is None
