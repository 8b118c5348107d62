"""Which connections a fault of links is for, how often, and what becomes of nodes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import fakemq
from fakemq.errors import ConfigError
from fakemq.events import RequestReceived
from fakemq.events.faults import FaultHit
from fakemq.events.replication import Replicated
from fakemq.handles.faults import Faults
from fakemq.handles.faults.placing import Fault, Often
from fakemq.net.faults.links import LinkPlan
from fakemq.net.memory import MemoryLink
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import send_header
from tests.support.tcp import TcpPeer

SEND = RequestCode.SEND_MESSAGE_V2
LINKS = (("clients", "broker-a"), ("broker-a", "namesrv-0"), ("broker-a-1", "broker-a"))


def sends_are(mq: fakemq.Cluster, number: int) -> bool:
    return len(mq.journal.find(RequestReceived, code=SEND)) == number


def with_slave() -> fakemq.Cluster:
    return fakemq.Cluster(slaves=1, role="SYNC_MASTER", clock="frozen", topics={"orders": 1})


def test_reset_applies_to_the_next_connection() -> None:
    with fakemq.Cluster(clock="frozen") as mq:
        fault = mq.faults.reset("clients", "broker-a")
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            assert not fault.used
            peer.send(RequestCode.GET_BROKER_CONFIG)
            with pytest.raises(ConnectionResetError):
                peer.sock.recv(1)
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            assert peer.ask(RequestCode.GET_BROKER_CONFIG).body
        assert fault.fired == 1


def test_late_data_are_caused_by_the_fault() -> None:
    with fakemq.Cluster(clock="frozen") as mq:
        mq.faults.latency("broker-a", "namesrv-0", "50ms")
        mq.create_topic("T1")
        mq.clock.advance("50ms")
        (hit,) = [entry for entry in mq.journal if isinstance(entry.event, FaultHit)]
        came = [e for e in mq.journal if isinstance(e.event, RequestReceived)]
        assert [entry.cause for entry in came].count(hit.seq) == 1


def test_later_data_keep_their_own_cause() -> None:
    with with_slave() as mq, TcpPeer(mq.broker("broker-a").addr) as peer:
        mq.faults.latency("broker-a", "broker-a-1", "50ms", link="ha")
        for number in (1, 2):
            opaque = peer.send(SEND, send_header(), b"x")
            mq.wait_for(partial(sends_are, mq, number))
            mq.clock.advance("1s")
            peer.receive(opaque)
        asked = mq.journal.entries(RequestReceived, code=SEND)
        (hit,) = mq.journal.entries(FaultHit)
        first, second = mq.journal.entries(Replicated, node="broker-a-1")
        assert (first.cause, second.cause) == (hit.seq, asked[1].seq)
        assert hit.cause == asked[0].seq


@pytest.mark.parametrize("limits", [{"on_call": 2}, {"probability": 1.0}])
def test_partition_of_chosen_connections_drops_no_connects(limits: Often) -> None:
    with with_slave() as mq:
        partition = mq.faults.partition("broker-a", "broker-a-1", link="ha", **limits)
        mq.broker("broker-a-1").restart()
        mq.clock.advance("20s")
        assert partition.used
        assert not [one for one in mq.journal.find(FaultHit) if one.on.startswith("connect")]


def test_dropped_connects_are_forgotten_after_failing() -> None:
    with with_slave() as mq:
        mq.faults.partition("broker-a", "broker-a-1", link="ha")
        mq.broker("broker-a-1").restart()
        mq.clock.advance("10m")
        plan = mq.inspect(lambda core: core.network).links.faults
        assert isinstance(plan, LinkPlan)
        assert len(mq.journal.find(FaultHit)) > 10
        assert len(plan._dials) <= 1


def test_connects_into_a_partition_time_out() -> None:
    """They fail after 3 s, and those under way are made when it heals."""
    with with_slave() as mq:
        partition = mq.partition("broker-a", "broker-a-1")
        mq.broker("broker-a-1").restart()
        mq.clock.advance("5s")
        on = [one.on for one in mq.journal.find(FaultHit, fault=partition.number)]
        assert f"connect to {mq.broker('broker-a').ha_addr}" in on
        (kind,) = {one.kind for one in mq.clock.timers() if one.kind == "connect_timeout"}
        mq.heal()
        assert kind not in {one.kind for one in mq.clock.timers()}
        mq.clock.advance("6s")
        mq.seed("orders", [b"1"])
        assert mq.journal.find(Replicated, node="broker-a-1")


def test_partition_can_be_limited_to_one_language() -> None:
    with with_slave() as mq:
        fault = mq.faults.partition("broker-a-0", "broker-a-1", link="remoting")
        mq.clock.advance("11s")  # metadata is asked for each 10 s
        mq.seed("orders", [b"1"])
        assert mq.journal.find(Replicated, node="broker-a-1")
        assert fault.used
        assert fault.what == "partition broker-a-0 – broker-a-1 (remoting)"


def test_broker_unheard_by_its_name_server_expires() -> None:
    with fakemq.Cluster(masters=2, clock="frozen", topics={"orders": 1}) as mq:
        partition = mq.partition("broker-a", "namesrv-0")

        def brokers() -> bytes:
            with TcpPeer(mq.namesrv_addr) as peer:
                return peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body

        mq.clock.advance("119s")
        assert b"broker-a" in brokers()
        mq.clock.advance("12s")
        assert b"broker-a" not in brokers()
        assert b"broker-b" in brokers()
        assert partition.fired
        mq.heal()
        mq.clock.advance("31s")
        assert b"broker-a" in brokers()


@pytest.mark.parametrize("what", ["stop", "kill", "pause"])
def test_partitioned_node_is_stopped_and_started(what: str) -> None:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}) as mq:
        mq.partition("broker-a", "broker-a-1")
        mq.partition("clients", "broker-a")
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            peer.send(RequestCode.GET_BROKER_CONFIG)
            getattr(mq.broker("broker-a"), what)()
            mq.broker("broker-a").resume() if what == "pause" else mq.broker("broker-a").restart()
        mq.heal()
        assert {broker.state for broker in mq.brokers} == {"running"}
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            assert peer.ask(RequestCode.GET_BROKER_CONFIG).body


@pytest.mark.slow  # 3.5 s, which name servers have to answer; the clock cannot count them
def test_broker_stops_without_reachable_name_servers() -> None:
    with fakemq.Cluster(clock="frozen") as mq:
        fault = mq.partition("broker-a", "namesrv-0")
        mq.broker("broker-a").stop()
        assert mq.broker("broker-a").state == "stopped"
        assert fault.used


def test_cluster_with_held_links_is_reset_and_stopped() -> None:
    with with_slave() as mq:
        for a, b in (
            ("clients", "broker-a"),
            ("broker-a", "namesrv-0"),
            ("broker-a-1", "broker-a"),
        ):
            mq.faults.hold(a, b)
            mq.faults.latency(a, b, "1h")
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            opaque = peer.send(RequestCode.GET_BROKER_CONFIG)
            mq.seed("orders", [b"1"])
            mq.wait_for(lambda: all(fault.used for fault in mq.faults.all()[:1]))
            mq.reset()
            assert mq.faults.all() == []
            assert peer.receive(opaque).body, "the connection has outlived it"
        mq.seed("orders", [b"1"])
        assert mq.journal.find(Replicated, node="broker-a-1")
        mq.faults.hold("broker-a", "namesrv-0", must_fire=False)


def test_fault_can_be_limited_to_a_client_id() -> None:
    beat = b'{"clientID":"c@1","producerDataSet":[{"groupName":"G"}],"consumerDataSet":[]}'
    with fakemq.Cluster() as mq, TcpPeer(mq.broker("broker-a").addr) as peer:
        early = mq.faults.slice("c@1", "broker-a", must_fire=False)
        other = mq.faults.slice("somebody@else", "broker-a", must_fire=False)
        peer.ask(RequestCode.GET_BROKER_CONFIG)
        assert (early.fired, other.fired) == (0, 0)
        peer.ask(RequestCode.HEART_BEAT, body=beat)
        late = mq.faults.slice("c@1", "broker-a", bytes=2)
        early.remove()
        peer.ask(RequestCode.GET_BROKER_CONFIG)
        assert (early.fired, late.fired, other.fired) == (1, 1, 0)


def test_narrowest_of_one_kind_and_all_of_other_kinds_apply() -> None:
    with fakemq.Cluster(clock="frozen") as mq, TcpPeer(mq.broker("broker-a").addr) as peer:
        own = "{}:{}".format(*peer.sock.getsockname())
        wide = mq.faults.latency("clients", "broker-a", "1h")
        narrow = mq.faults.latency(own, "broker-a", "1s")
        hosts = mq.faults.latency("127.0.0.1", "broker-a", "2h")
        sliced = mq.faults.slice("clients", "broker-a", bytes=3)
        opaque = peer.send(RequestCode.GET_BROKER_CONFIG)
        mq.wait_for(lambda: narrow.fired)
        mq.clock.advance("1s")
        mq.clock.advance("1s")
        assert peer.receive(opaque).body
        assert [one.fired for one in (wide, narrow, hosts, sliced)] == [0, 1, 0, 1]


def test_fault_can_be_limited_to_a_number_of_connections() -> None:
    with fakemq.Cluster() as mq:
        addr = mq.broker("broker-a").addr
        fault = mq.faults.cut("clients", "broker-a", after_bytes=0, times=2)
        second = mq.faults.slice("clients", "broker-a", on_call=3)
        answers = []
        for _ in range(4):
            with TcpPeer(addr) as peer:
                try:
                    answers.append(bool(peer.ask(RequestCode.GET_BROKER_CONFIG).body))
                except ConnectionError:
                    answers.append(False)
        assert answers == [False, False, True, True]
        assert (fault.fired, second.fired) == (2, 1)
        assert not mq.faults.pending()


def test_link_without_faults_has_no_lanes() -> None:
    with fakemq.Cluster(clock="frozen") as mq:
        links = list(mq.inspect(lambda core: core.network).links)
        assert [link.way for link in links if isinstance(link, MemoryLink)] == [None]
        fault = mq.faults.latency("broker-a", "namesrv-0", "1s")
        mq.create_topic("T1")
        fault.remove()
        assert [link.way for link in links if isinstance(link, MemoryLink)] == [None]
        assert "link_delivery" not in {timer.kind for timer in mq.clock.timers()}


@pytest.mark.parametrize(
    ("place", "error", "text"),
    [
        (lambda f: f.hold("broker-a", "brokr-b"), LookupError, "did you mean broker-"),
        (lambda f: f.hold("broker-a", "client"), LookupError, "did you mean clients"),
        (lambda f: f.hold("broker-a", "broker-a-0"), ConfigError, "expected two different ends"),
        (lambda f: f.hold("clients", "a@b"), ConfigError, "expected a node at one of the ends"),
        (lambda f: f.latency("broker-a", "clients", 0), ConfigError, "more than nothing"),
        (
            lambda f: f.bandwidth("broker-a", "clients", 0),
            ConfigError,
            "expected a whole number, 1 or more",
        ),
        (
            lambda f: f.slice("broker-a", "clients", bytes=0),
            ConfigError,
            "expected a whole number, 1 or more",
        ),
        (lambda f: f.cut("broker-a", "clients", after_bytes=-1), ConfigError, "after_bytes=-1"),
        (lambda f: f.reset("broker-a", "clients", one_way=True), ConfigError, "leave out one_way"),
        (
            lambda f: f.hold("broker-a", "clients", link="raft"),
            ConfigError,
            "expected ha or remoting",
        ),
        (lambda f: f.hold("broker-a", "clients", times=0), ConfigError, "times=0"),
    ],
)
def test_contradicting_options_are_refused(
    place: Callable[[Faults], Fault], error: type[Exception], text: str
) -> None:
    with fakemq.Cluster(masters=2) as mq, pytest.raises(error, match=text):
        place(mq.faults)
