"""Several name servers, each with its own lag, its own past and its own view; and their lives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import fakemq
from fakemq.client import Client, Message, MQClientError, RemotingError
from fakemq.errors import ConfigError
from fakemq.events import BrokerGone, NodeStopped, RequestHandled, RouteRefused
from fakemq.events.faults import FaultHit
from fakemq.protocol.bodies.route import ClusterInfo, TopicRouteData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader, UnRegisterBrokerRequestHeader
from tests.support.tcp import TcpPeer, refuses


@pytest.fixture
def three() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        namesrvs=3, masters=2, slaves=1, clock="frozen", topics={"orders": 4}
    ) as cluster:
        yield cluster


def route(mq: fakemq.Cluster, number: int, topic: str = "orders") -> TopicRouteData | None:
    with TcpPeer(mq.name_server(number).addr) as peer:
        header = GetRouteInfoRequestHeader(topic=topic)
        answer = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
    return TopicRouteData.decode(answer.body) if answer.code == 0 else None


def queues(mq: fakemq.Cluster, number: int, topic: str = "orders") -> dict[str | None, int]:
    found = route(mq, number, topic)
    if found is None:
        return {}
    return {data.broker_name: data.read_queue_nums for data in found.queue_datas}


def addrs(mq: fakemq.Cluster, number: int) -> dict[str, str]:
    """Node → address, as a name server shows the cluster."""
    with TcpPeer(mq.name_server(number).addr) as peer:
        info = ClusterInfo.decode(peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body)
    return {
        f"{name}-{broker_id}": addr
        for name, data in info.broker_addr_table.items()
        for broker_id, addr in data.broker_addrs.items()
    }


BOTH = {"broker-a": 4, "broker-b": 4}


# -- what they hear ---------------------------------------------------------------------------


def test_broker_is_silent_to_one_name_server(three: fakemq.Cluster) -> None:
    mq = three
    fault = mq.faults.silence("broker-a", namesrv=1)
    assert not fault.used
    mq.clock.advance("131s")
    assert ["broker-a-0" in addrs(mq, number) for number in range(3)] == [True, False, True]
    hits = mq.journal.find(FaultHit)
    assert {hit.on for hit in hits} == {f"registration with {mq.name_server(1).addr}"}
    fault.remove()
    mq.clock.advance("30s")
    assert "broker-a-0" in addrs(mq, 1)


def test_silence_survives_a_restart_and_sends_no_unregistration(three: fakemq.Cluster) -> None:
    mq = three
    mq.faults.silence("broker-b")
    mq.broker("broker-b").restart()
    assert mq.journal.find(BrokerGone, why="unregistered") == []


def test_registrations_become_effective_later(three: fakemq.Cluster) -> None:
    mq = three
    fault = mq.faults.lag_registrations("20s", namesrv="namesrv-2", broker="broker-a")
    mq.create_topic("new", 1)
    assert [queues(mq, n, "new") for n in (1, 2)] == [
        {"broker-a": 1, "broker-b": 1},
        {"broker-b": 1},
    ]
    mq.clock.advance("19s")
    assert queues(mq, 2, "new") == {"broker-b": 1}
    mq.clock.advance("1s")
    assert queues(mq, 2, "new") == {"broker-a": 1, "broker-b": 1}
    mq.broker("broker-a").stop()  # a lost connection is noticed at once
    assert ["broker-a-0" in addrs(mq, n) for n in (1, 2)] == [False, False]
    assert fault.fired >= 3


def test_delayed_registration_is_answered_once(mq: fakemq.Cluster) -> None:
    with TcpPeer(mq.namesrv_addr) as peer:
        mq.faults.lag_registrations("20s")
        opaque = peer.send(
            RequestCode.UNREGISTER_BROKER,
            UnRegisterBrokerRequestHeader(
                broker_name="broker-a",
                broker_addr=mq.broker("broker-a").addr,
                cluster_name="DefaultCluster",
                broker_id=0,
            ),
        )
        assert peer.receive(opaque).code == 0
        assert not mq.journal.find(RequestHandled, code=RequestCode.UNREGISTER_BROKER)
        mq.clock.advance("20s")
        peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
        assert peer._answers == {}  # no second one has come before that
    assert len(mq.journal.find(RequestHandled, code=RequestCode.UNREGISTER_BROKER)) == 1
    assert len(mq.journal.find(BrokerGone, why="unregistered")) == 1


def test_slave_of_a_lagging_name_server_keeps_its_master(three: fakemq.Cluster) -> None:
    mq = three
    mq.faults.lag_registrations("1h")
    mq.clock.advance("60s")
    mq.seed("orders", [b"one"])
    mq.clock.advance("1s")
    mq.broker("broker-a").kill()
    mq.broker("broker-b").kill()
    assert [message.body for message in mq.messages("orders")] == [b"one"]


# -- what they show ---------------------------------------------------------------------------


def test_one_name_server_shows_the_past(three: fakemq.Cluster) -> None:
    mq = three
    fault = mq.faults.stale_routes(namesrv=0)
    assert queues(mq, 0) == BOTH
    assert fault.fired == 0  # that is still so
    mq.broker("broker-a-1").stop()
    mq.broker("broker-a-0").stop()
    mq.create_topic("new", 1)
    assert (queues(mq, 0), queues(mq, 1)) == (BOTH, {"broker-b": 4})
    assert (queues(mq, 0, "new"), queues(mq, 1, "new")) == ({}, {"broker-b": 1})
    assert fault.fired == 2
    entries = list(mq.journal)
    for hit in (one for one in entries if isinstance(one.event, FaultHit)):
        kinds = [type(one.event) for one in entries if one.cause == hit.seq]
        assert kinds in ([RequestHandled], [RouteRefused, RequestHandled])
    fault.remove()
    assert queues(mq, 0) == {"broker-b": 4}


def test_one_name_server_hides_a_broker(three: fakemq.Cluster) -> None:
    mq = three
    with mq.faults.hide_broker("broker-a", namesrv=0):
        assert (queues(mq, 0), queues(mq, 1)) == ({"broker-b": 4}, BOTH)
        assert set(addrs(mq, 0)) == {"broker-b-0", "broker-b-1"}
    with mq.faults.hide_broker("broker-a-1") as fault:
        assert queues(mq, 0) == BOTH
        assert set(addrs(mq, 2)) == {"broker-a-0", "broker-b-0", "broker-b-1"}
        assert fault.fired == 2
    assert len(addrs(mq, 0)) == 4


def test_one_name_server_hides_a_topic_or_some_queues(three: fakemq.Cluster) -> None:
    mq = three
    with mq.faults.hide_topic("orders", namesrv=0):
        assert (queues(mq, 0), queues(mq, 1)) == ({}, BOTH)
    with mq.faults.hide_topic("orders", broker="broker-b"):
        assert queues(mq, 0) == {"broker-a": 4}
    with mq.faults.show_queues("orders", 2, broker="broker-b"), mq.faults.hide_broker("broker-a"):
        assert queues(mq, 0) == {"broker-b": 2}
    assert queues(mq, 0) == BOTH
    assert mq.faults.unused() == []


def test_one_name_server_shows_another_address(three: fakemq.Cluster) -> None:
    mq = three
    with mq.faults.show_addr("broker-a", "127.0.0.1:1", namesrv=0):
        assert addrs(mq, 0)["broker-a-0"] == "127.0.0.1:1"
        found = route(mq, 0)
        assert found is not None
        assert "127.0.0.1:1" in [data.broker_addrs[0] for data in found.broker_datas]
    assert addrs(mq, 0)["broker-a-0"] == mq.broker("broker-a").addr


# -- their lives ------------------------------------------------------------------------------


def test_one_name_server_is_killed_and_restarted(three: fakemq.Cluster) -> None:
    mq = three
    one = mq.name_server(1)
    one.kill()
    assert refuses(int(one.addr.split(":")[1]))
    assert (one.state, mq.name_servers[0].state) == ("stopped", "running")
    assert repr(one) == f"<name server namesrv-1 at {one.addr}, stopped>"
    mq.clock.advance("60s")
    one.restart()
    assert (one.state, queues(mq, 1), queues(mq, 0)) == ("running", {}, BOTH)
    mq.clock.advance("30s")
    assert queues(mq, 1) == BOTH
    assert [stop.how for stop in mq.journal.find(NodeStopped, node="namesrv-1")] == ["kill"]


def test_one_name_server_is_paused(three: fakemq.Cluster) -> None:
    mq = three
    one = mq.name_server("namesrv-1")
    one.pause()
    one.pause()
    assert one.state == "paused"
    with TcpPeer(one.addr) as peer:
        opaque = peer.send(RequestCode.GET_BROKER_CLUSTER_INFO)
        mq.clock.advance("10m")
        one.resume()
        assert peer.receive(opaque).code == 0
    assert queues(mq, 1) == BOTH  # what had come meanwhile was read before what was due


def test_broker_that_was_killed_during_a_pause_is_forgotten(three: fakemq.Cluster) -> None:
    mq = three
    one = mq.name_server("namesrv-1")
    one.pause()
    mq.broker("broker-b").kill()
    mq.broker("broker-b-1").kill()
    mq.clock.advance("1s")
    one.resume()
    assert queues(mq, 1) == {"broker-a": 4}


def test_clients_ask_the_next_name_server(three: fakemq.Cluster) -> None:
    mq = three
    for number in (0, 1):
        mq.name_server(number).stop()
    with Client(mq.namesrv_addr) as client:
        client.send(Message("orders", b"one"))
    mq.name_server(2).kill()
    with Client(mq.namesrv_addr) as client, pytest.raises((MQClientError, RemotingError)):
        client.send(Message("orders", b"two"))


def test_reset_restores_all_name_servers(three: fakemq.Cluster) -> None:
    mq = three
    mq.name_server(0).kill()
    mq.name_server(1).pause()
    mq.faults.hide_topic("orders")
    mq.reset()
    assert [queues(mq, number) for number in range(3)] == [BOTH] * 3


def test_asynchronous_cluster_has_the_same_methods(three: fakemq.Cluster) -> None:
    face = fakemq.AsyncCluster.of(three)
    face.name_server(0).kill()
    assert three.name_server(0).state == "stopped"
    assert face.faults.hide_topic("orders", must_fire=False).what == "hide topic orders"


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (lambda f: f.lag_registrations("0s"), "more than nothing"),
        (lambda f: f.stale_routes(), "name one name server"),
        (lambda f: f.show_queues("orders", 0), "see hide_topic"),
        (lambda f: f.show_addr("broker-a", "here"), "expected host:port"),
    ],
)
def test_contradicting_options_are_refused(three: fakemq.Cluster, place: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        place(three.faults)
    with pytest.raises(LookupError, match="no name server 7; there are: namesrv-0, namesrv-1"):
        three.faults.silence("broker-a", namesrv=7)
