"""A cluster in a test's hands, over real sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakemq.cluster import Cluster
from fakemq.errors import ConfigError, FakemqError, WaitTimeout
from fakemq.events import BrokerGone, BrokerRegistered, LogAppended, NodeStarted, NodeStopped
from fakemq.protocol.codes import RequestCode
from tests.support.tcp import TcpPeer


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with Cluster(masters=2, topics={"orders": 4}) as cluster:
        yield cluster


@pytest.fixture
def mq(running: Cluster) -> Cluster:
    running.reset()
    return running


def refused(addr: str) -> bool:
    host, _, port = addr.rpartition(":")
    with socket.socket() as sock:
        try:
            sock.connect((host, int(port)))
        except ConnectionRefusedError:
            return True
        return False


# -- start and stop ---------------------------------------------------------------------------


def test_start_returns_when_everything_listens_and_is_registered(mq: Cluster) -> None:
    with TcpPeer(mq.namesrv_addr) as peer:
        response = peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
    for broker in mq.brokers:
        assert broker.addr.encode() in response.body
        assert not refused(broker.addr)
        assert not refused(broker.vip_addr)


def test_stop_leaves_nothing_behind() -> None:
    before = set(threading.enumerate())
    cluster = Cluster()
    assert not cluster.running
    assert cluster.start() is cluster
    addrs = [cluster.namesrv_addr, *(broker.addr for broker in cluster.brokers)]
    with TcpPeer(cluster.namesrv_addr) as peer:
        cluster.stop()
        cluster.stop()
        assert peer.at_end()
    assert not cluster.running
    assert not set(threading.enumerate()) - before
    assert all(refused(addr) for addr in addrs)


def test_stopped_cluster_refuses_use() -> None:
    cluster = Cluster()
    assert repr(cluster) == "<fakemq cluster, not running>"
    for use in (
        lambda: cluster.namesrv_addr,
        lambda: cluster.broker("broker-a"),
        lambda: cluster.messages("orders"),
        lambda: cluster.clock.now_ms(),
        cluster.reset,
        lambda: len(cluster.journal),
    ):
        with pytest.raises(RuntimeError, match="the cluster is not running"):
            use()


def test_cluster_can_be_started_again() -> None:
    cluster = Cluster(topics={"orders": 2})
    with cluster:
        cluster.seed("orders", [b"one"])
        broker = cluster.broker("broker-a")
    with cluster:
        assert cluster.messages("orders") == []
        assert len(cluster.queues("orders")) == 2
        broker.kill()
        assert cluster.broker("broker-a").state == "stopped"


def test_two_clusters_run_side_by_side(mq: Cluster) -> None:
    with Cluster(topics={"orders": 1}) as other:
        other.seed("orders", [b"theirs"])
        assert mq.messages("orders") == []
        assert other.namesrv_addr != mq.namesrv_addr


def test_ready_file_is_written_for_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    with Cluster(ready_file=path) as mq:
        ready = json.loads(path.read_text())
        assert ready["namesrv"] == mq.namesrv_addr
        (broker,) = ready["brokers"]
        assert broker["addr"] == mq.broker("broker-a").addr
        assert broker["ha"] == mq.broker("broker-a").ha_addr
    nowhere = Cluster(ready_file=tmp_path / "no folder" / "ready.json")
    with pytest.raises(FakemqError, match="cannot write the ready file"):
        nowhere.start()
    assert not nowhere.running


def test_fixed_ports_are_used_and_conflicts_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            FakemqError,
            match=rf"port {port} on 127\.0\.0\.1 \(name server 0\) is in use by .*;"
            " choose another port, or 0 for a free one",
        ):
            Cluster(namesrv_port=port).start()
    with Cluster(namesrv_port=port) as cluster:
        assert cluster.namesrv_addr == f"127.0.0.1:{port}"
        with pytest.raises(FakemqError, match=f"port {port} .* in use"):
            Cluster(namesrv_port=port).start()


def test_two_name_servers_know_the_brokers() -> None:
    with Cluster(namesrvs=2) as cluster:
        first, second = cluster.namesrv_addr.split(";")
        for addr in (first, second):
            with TcpPeer(addr) as peer:
                response = peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
            assert cluster.broker("broker-a").addr.encode() in response.body


def test_invalid_options_are_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigError, match="masters=0"):
        Cluster(masters=0)
    with pytest.raises(ConfigError, match="control_port=-1: expected a whole number"):
        Cluster(control_port=-1)


def test_seed_value_is_shown_and_reproducible() -> None:
    with Cluster(seed=42) as cluster:
        assert cluster.seed_value == 42
    with Cluster() as one, Cluster() as two:
        assert one.seed_value != two.seed_value


# -- brokers ----------------------------------------------------------------------------------


def test_names_of_brokers_are_configurable(mq: Cluster) -> None:
    assert [broker.name for broker in mq.brokers] == ["broker-a-0", "broker-b-0"]
    assert mq.broker("broker-b").name == mq.broker("broker-b-0").name == "broker-b-0"
    with pytest.raises(LookupError, match=r"no broker 'broker-c'; there are: broker-a-0, brok"):
        mq.broker("broker-c")


def test_killed_broker_refuses_connections_and_keeps_its_port(mq: Cluster) -> None:
    broker = mq.broker("broker-a")
    with TcpPeer(broker.addr) as peer:
        broker.kill()
        assert peer.at_end()
    assert broker.state == "stopped"
    assert refused(broker.addr)
    assert refused(broker.vip_addr)
    port = int(broker.addr.rpartition(":")[2])
    with socket.socket() as thief, pytest.raises(OSError, match="in use"):
        thief.bind(("127.0.0.1", port))
    # No node was notified: to the name server it is there until it expires, or its link closes.
    assert not mq.journal.find(BrokerGone, why="unregistered")
    broker.restart()
    assert broker.state == "running"
    assert not refused(broker.addr)


def test_stopped_broker_unregisters_at_once(mq: Cluster) -> None:
    broker = mq.broker("broker-b")
    broker.stop()
    (gone,) = mq.journal.find(BrokerGone)
    assert (gone.broker_name, gone.why) == ("broker-b", "unregistered")
    assert refused(broker.addr)
    broker.stop()
    broker.restart()
    assert mq.journal.find(BrokerRegistered)[-1].broker_name == "broker-b"


def test_restarted_broker_has_its_messages(mq: Cluster) -> None:
    mq.seed("orders", [b"one", b"two", b"three", b"four", b"five"])
    mq.broker("broker-a").kill()
    mq.broker("broker-a").restart()
    assert len(mq.messages("orders")) == 5


def test_running_broker_can_be_restarted(mq: Cluster) -> None:
    broker = mq.broker("broker-a")
    with TcpPeer(broker.addr) as peer:
        broker.restart()
        assert peer.at_end()
    assert [one.how for one in mq.journal.find(NodeStopped)] == ["stop"]
    assert [one.node for one in mq.journal.find(NodeStarted)] == ["broker-a-0"]
    assert not refused(broker.addr)


def test_paused_broker_answers_after_resume(mq: Cluster) -> None:
    broker = mq.broker("broker-a")
    with TcpPeer(broker.addr) as peer:
        peer.ask(RequestCode.GET_BROKER_CONFIG)
        broker.pause()
        assert broker.state == "paused"
        opaque = peer.send(RequestCode.GET_BROKER_CONFIG)
        peer.sock.settimeout(0.05)
        with pytest.raises(TimeoutError):
            peer.receive(opaque)
        with TcpPeer(broker.addr) as late:  # the socket is there, as that of a stopped process
            late_opaque = late.send(RequestCode.GET_BROKER_CONFIG)
            broker.resume()
            late.receive(late_opaque)
        peer.sock.settimeout(10)
        assert peer.receive(opaque).code == 0


def test_route_of_a_paused_broker_is_gone_after_120_seconds(mq: Cluster) -> None:
    mq.clock.freeze()
    mq.broker("broker-a").pause()
    mq.clock.advance("110s")
    assert not mq.journal.find(BrokerGone)
    mq.clock.advance("20s")
    (gone,) = mq.journal.find(BrokerGone)
    assert (gone.broker_name, gone.why) == ("broker-a", "channel closed")  # idle for 120 s


# -- reset ------------------------------------------------------------------------------------


def test_reset_restores_the_start_state_with_live_connections(mq: Cluster) -> None:
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        peer.ask(RequestCode.GET_BROKER_CONFIG)
        mq.seed("bills", [b"one"])
        mq.clock.freeze()
        mq.clock.advance("1h")
        mq.broker("broker-b").kill()
        mq.faults.silence("broker-a")
        mq.reset()
        assert "bills" not in mq.topics()
        assert len(mq.queues("orders")) == 8
        assert not mq.clock.frozen
        assert mq.broker("broker-b").state == "running"
        assert mq.faults.placed() == []
        assert [type(entry.event).__name__ for entry in mq.journal] == ["ClockMoved"]
        assert peer.ask(RequestCode.GET_BROKER_CONFIG).code == 0


# -- waiting ----------------------------------------------------------------------------------


def test_wait_for_returns_the_predicates_value(mq: Cluster) -> None:
    assert mq.wait_for(lambda: "at once") == "at once"


def test_wait_for_is_woken_by_the_journal(mq: Cluster) -> None:
    asked = threading.Event()
    calls = []

    def stored() -> int:
        calls.append(1)
        asked.set()
        return len(mq.journal.find(LogAppended))

    def send() -> None:
        asked.wait(5)
        mq.seed("orders", [b"one"])

    sender = threading.Thread(target=send)
    sender.start()
    assert mq.wait_for(stored) == 1
    sender.join()
    assert 2 <= len(calls) < 20, "it asks when something happened, not all the time"


def test_wait_for_raises_with_the_journals_tail(mq: Cluster) -> None:
    mq.seed("orders", [b"one"])
    with pytest.raises(WaitTimeout) as raised:
        mq.wait_for(list, timeout=0.01)
    lines = str(raised.value).splitlines()
    cause = "b'one' of orders: never delivered: no group has asked for orders"
    assert lines[:3] == [
        "still [] after 10 ms of real time; most likely:",
        f"  {cause}",
        "the journal ends with",
    ]
    assert "Dispatched" in lines[-1]
    assert isinstance(raised.value, TimeoutError)
    assert raised.value.diagnosis == [cause]


def test_run_until_raises_with_a_few_likely_causes(mq: Cluster) -> None:
    topics = [f"orders-{number}" for number in range(5)]
    for topic in topics:
        mq.seed(topic, ["one"])
    with pytest.raises(WaitTimeout) as raised:
        mq.run_until(lambda: False, at_most="1ms")
    lines = str(raised.value).splitlines()
    assert lines[0] == "not after 1 ms of the cluster's time; most likely:"
    assert [line.rpartition(" ")[2] for line in lines[1:4]] == topics[:3]
    assert lines[4:6] == ["  and 2 more", "the journal ends with"]
    assert len(raised.value.diagnosis) == 5


def test_wait_for_leaves_no_listener(mq: Cluster) -> None:
    before = len(mq.inspect(lambda core: core.journal)._listeners)
    mq.wait_for(lambda: True)
    with pytest.raises(ZeroDivisionError):
        mq.wait_for(lambda: 1 // 0)
    assert len(mq.inspect(lambda core: core.journal)._listeners) == before


def test_run_until_moves_time_no_further_than_needed(mq: Cluster) -> None:
    mq.clock.freeze()
    start_ms = mq.clock.now_ms()
    mq.faults.silence("broker-a")
    gone = mq.run_until(lambda: mq.journal.find(BrokerGone), at_most="1h")
    assert gone[0].broker_name == "broker-a"
    assert 119_000 < mq.clock.now_ms() - start_ms <= 130_000


def test_run_until_stops_at_its_bound(mq: Cluster) -> None:
    mq.clock.freeze()
    start_ms = mq.clock.now_ms()
    with pytest.raises(WaitTimeout, match="the journal ends with"):
        mq.run_until(lambda: False, at_most="25s")
    assert mq.clock.now_ms() - start_ms == 25_000


# -- seeding and looking ----------------------------------------------------------------------


def test_seed_takes_the_queues_in_turn(mq: Cluster) -> None:
    stored = mq.seed("orders", [str(n) for n in range(9)], tags="paid", keys="k1 k2")
    assert [(one.broker, one.queue_id, one.offset) for one in stored][:5] == [
        *(("broker-a", queue_id, 0) for queue_id in range(4)),
        ("broker-b", 0, 0),
    ]
    assert stored == mq.messages("orders")
    assert [one.body for one in stored] == [str(n).encode() for n in range(9)]
    assert {(one.tags, one.keys) for one in stored} == {("paid", "k1 k2")}
    assert len({one.msg_id for one in stored}) == 9


def test_seed_creates_the_topic(mq: Cluster) -> None:
    mq.seed("bills", [b"one"])
    assert "bills" in mq.topics()
    assert sum(queue.max_offset for queue in mq.queues("bills")) == 1


def test_create_topic_makes_a_route(mq: Cluster) -> None:
    mq.create_topic("bills", queues=3)
    assert len(mq.queues("bills")) == 6
    with TcpPeer(mq.namesrv_addr) as peer:
        from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader

        header = GetRouteInfoRequestHeader(topic="bills")
        assert peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, header).code == 0


def test_topic_is_created_where_a_broker_runs(mq: Cluster) -> None:
    mq.broker("broker-a").pause()
    mq.create_topic("bills", queues=3)
    assert {queue.broker for queue in mq.queues("bills")} == {"broker-b"}
    mq.broker("broker-b").kill()
    with pytest.raises(FakemqError, match="no broker runs"):
        mq.seed("tickets", [b"one"])


def test_repr_shows_the_address(mq: Cluster) -> None:
    a, b = mq.brokers
    assert repr(mq) == (
        f"<fakemq cluster, name server {mq.namesrv_addr}, broker-a-0 {a.addr}, broker-b-0 {b.addr}>"
    )
