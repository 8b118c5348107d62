"""What a link on hold keeps: as much as its sockets would, and in its order until the end."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator

import pytest

import fakemq
from fakemq.events import HandlerFailed, LinkClosed, LinkOpened, RequestReceived, Warned
from fakemq.net import memory
from fakemq.net.faults.lane import FULL_BYTES
from fakemq.net.faults.links import plan_of
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection
from tests.support.tcp import TcpPeer

CODE = RequestCode.GET_BROKER_CONFIG
ENOUGH_BYTES = 64 << 20
"""More than the kernel keeps for both sockets."""


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster() as mq:
        yield mq


@pytest.fixture
def peer(mq: fakemq.Cluster) -> Iterator[TcpPeer]:
    peer = TcpPeer(mq.broker("broker-a").addr)
    mq.wait_for(lambda: mq.journal.find(LinkOpened, outside=True))
    yield peer
    peer.sock.close()


def held_bytes(mq: fakemq.Cluster) -> int:
    """What the cluster says that it holds for all its peers."""
    return mq._running().server._held.total_bytes


def came(mq: fakemq.Cluster) -> int:
    return len(mq.journal.find(RequestReceived, code=CODE))


def poll(true: Callable[[], bool]) -> None:
    """Poll until it is true, where the journal has no entry of it."""
    until_s = time.monotonic() + 30
    while not true():
        assert time.monotonic() < until_s
        time.sleep(0.005)


def wires(mq: fakemq.Cluster) -> int:
    """How many connections have lanes."""
    return mq.inspect(lambda core: len(plan_of(core)._wires))


def send_until_full(peer: TcpPeer, frame: bytes) -> int:
    """Write frames until no more are taken. Return how many were complete."""
    peer.sock.settimeout(0.2)
    sent = 0
    try:
        while sent * len(frame) < ENOUGH_BYTES:
            rest = memoryview(frame)
            while rest:
                rest = rest[peer.sock.send(rest) :]
            sent += 1
    except TimeoutError:
        pass
    else:
        pytest.fail("somebody reads it all")
    return sent


def test_writer_into_a_held_link_is_not_read_from(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    hold = mq.faults.hold("clients", "broker-a", one_way=True)
    frame = Connection().encode(RemotingCommand(CODE, body=bytes(100_000)))
    sent = send_until_full(peer, frame)
    assert FULL_BYTES < held_bytes(mq) < 4 * FULL_BYTES
    assert came(mq) == 0
    hold.release()
    mq.wait_for(lambda: came(mq) >= sent)
    assert held_bytes(mq) < FULL_BYTES


def test_unread_broker_gets_no_more_requests(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    hold = mq.faults.hold("broker-a", "clients", one_way=True)
    count = 3000
    frames = Connection().encode(RemotingCommand(CODE)) * count
    peer.sock.settimeout(5)
    peer.sock.sendall(frames)
    poll(lambda: held_bytes(mq) > FULL_BYTES)
    asked = came(mq)
    assert asked < count
    hold.release()
    answers, connection = 0, Connection()
    while answers < count:
        answers += len(connection.receive_data(peer.sock.recv(1 << 18)))
    assert came(mq) == count
    poll(lambda: held_bytes(mq) == 0)


@pytest.mark.parametrize("end", ["closes", "resets"])
def test_peer_that_leaves_meanwhile_is_noticed_after_the_hold(
    mq: fakemq.Cluster, peer: TcpPeer, end: str
) -> None:
    hold = mq.faults.hold("clients", "broker-a", one_way=True)
    peer.send(CODE, oneway=True)
    mq.wait_for(lambda: hold.used)
    poll(lambda: held_bytes(mq) > 0)
    if end == "resets":
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.sock.close()
    with TcpPeer(mq.namesrv_addr) as other:  # a round trip later, it has gone for the kernel
        other.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
    assert not mq.journal.find(LinkClosed, node="broker-a-0")
    hold.release()
    mq.wait_for(lambda: mq.journal.find(LinkClosed, node="broker-a-0"))
    assert came(mq) == 1
    poll(lambda: held_bytes(mq) == 0)


def test_data_before_the_end_arrive_before_it(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    hold = mq.faults.hold("broker-a", "clients", one_way=True)
    peer.send(CODE)
    mq.wait_for(lambda: hold.used)
    mq.broker("broker-a").kill()
    hold.release()
    received = b""
    while data := peer.sock.recv(1 << 16):
        received += data
    (answer,) = Connection().receive_data(received)
    assert answer.is_response


def test_paused_broker_takes_late_data_after_resume(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    hold = mq.faults.hold("clients", "broker-a", one_way=True)
    opaque = peer.send(CODE)
    mq.wait_for(lambda: hold.used)
    mq.broker("broker-a").pause()
    hold.release()
    assert came(mq) == 0
    mq.broker("broker-a").resume()
    assert came(mq) == 1
    assert peer.receive(opaque).body


def test_cluster_stops_with_a_held_connection() -> None:
    with fakemq.Cluster() as mq:
        peer = TcpPeer(mq.broker("broker-a").addr)
        hold = mq.faults.hold("broker-a", "clients", one_way=True)
        peer.send(CODE)
        mq.wait_for(lambda: hold.used)
    with peer:
        assert peer.sock.recv(1 << 16), "what was held"
        while peer.sock.recv(1 << 16):
            pass


def test_node_that_writes_too_much_into_a_hold_closes(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "UNREAD_MAX_BYTES", 10_000)
    mq.faults.hold("broker-a", "namesrv-0")
    for number in range(30):
        mq.create_topic(f"T{number}")
    (warned,) = mq.journal.find(Warned)
    assert "bytes unread; 10000 is the most" in warned.text
    mq.faults.clear()
    mq.create_topic("Last")
    with TcpPeer(mq.namesrv_addr) as other:
        assert b"Last" in other.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body


@pytest.mark.parametrize("bytes_", [1, 1000])
def test_client_leaves_an_idle_link_at_once(mq: fakemq.Cluster, peer: TcpPeer, bytes_: int) -> None:
    mq.faults.slice("clients", "broker-a", bytes=bytes_)
    peer.ask(CODE)
    peer.sock.close()
    mq.wait_for(lambda: mq.journal.find(LinkClosed, node="broker-a-0"))
    # `HandlerFailed` would be in the journal by now.
    poll(lambda: held_bytes(mq) == 0)
    mq.clock.advance("1s")
    assert mq.journal.find(HandlerFailed) == []


def test_last_bytes_before_a_cut_are_held_like_others(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    hold = mq.faults.hold("clients", "broker-a", one_way=True)
    frame = Connection().encode(RemotingCommand(CODE))
    cut = mq.faults.cut("clients", "broker-a", after_bytes=len(frame))
    peer.send(CODE)
    mq.wait_for(lambda: cut.fired)
    mq.faults.latency("clients", "broker-a", "1ms", must_fire=False)  # is for no other lanes
    peer.send(CODE)
    hold.release()
    mq.wait_for(lambda: mq.journal.find(LinkClosed, node="broker-a-0"))
    assert came(mq) == 1


def clients_that_go(mq: fakemq.Cluster, count: int) -> None:
    """Clients that send a request into a fault and are gone, for the kernel, on return."""
    for _ in range(count):
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            peer.send(CODE, oneway=True)
    mq.wait_for(lambda: len(mq.journal.find(LinkOpened, node="broker-a-0", outside=True)) == count)
    with TcpPeer(mq.namesrv_addr) as other:
        other.ask(RequestCode.GET_BROKER_CLUSTER_INFO)


@pytest.mark.parametrize("end", ["idle", "kill", "pause and kill"])
def test_peer_that_left_behind_a_partition_is_dropped(mq: fakemq.Cluster, end: str) -> None:
    mq.clock.freeze()
    with mq.faults.partition("clients", "broker-a"):
        clients_that_go(mq, 5)
        assert wires(mq) == 5  # what they sent is still to come
        if end == "idle":
            mq.clock.advance("300s", outside_peers=True)
        else:
            if "pause" in end:
                mq.broker("broker-a").pause()
            mq.broker("broker-a").kill()
        poll(lambda: wires(mq) == 0)
        assert held_bytes(mq) == 0
    assert came(mq) == 0
    assert mq.journal.find(HandlerFailed) == []


def test_kill_is_noticed_after_the_partition_or_when_the_peer_leaves(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    partition = mq.faults.partition("clients", "broker-a")
    with TcpPeer(mq.broker("broker-a").addr) as other:
        other.send(CODE)
        mq.wait_for(lambda: wires(mq) == 2 and held_bytes(mq) > 0)
        mq.broker("broker-a").kill()
        assert (wires(mq), held_bytes(mq)) == (2, 0)  # its end to come, and nothing else
        other.send(CODE)
    poll(lambda: wires(mq) == 1)
    peer.sock.settimeout(0.05)
    with pytest.raises(TimeoutError):
        peer.sock.recv(1)
    partition.remove()
    peer.sock.settimeout(5)
    assert peer.sock.recv(1) == b""
    poll(lambda: wires(mq) == 0)


def test_internal_link_ends_when_both_ends_have(mq: fakemq.Cluster) -> None:
    mq.clock.freeze()
    mq.faults.hold("broker-a", "namesrv-0")
    mq.clock.advance("31s")
    assert wires(mq) == 1
    mq.broker("broker-a").kill()
    assert wires(mq) == 1  # the name server does not know it
    mq.clock.advance("200s")
    assert wires(mq) == 0


def test_pending_cut_ends_with_its_node(mq: fakemq.Cluster) -> None:
    mq.faults.hold("clients", "broker-a", one_way=True)
    cut = mq.faults.cut("clients", "broker-a", after_bytes=10)
    clients_that_go(mq, 1)
    mq.wait_for(lambda: cut.fired)
    assert wires(mq) == 1
    mq.broker("broker-a").kill()
    poll(lambda: wires(mq) == 0)


def test_spent_fault_keeps_no_lanes(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    with TcpPeer(mq.broker("broker-a").addr) as other:
        mq.wait_for(lambda: len(mq.journal.find(LinkOpened, node="broker-a-0", outside=True)) == 2)
        fault = mq.faults.latency("clients", "broker-a", "1ms", times=1)
        for one in (peer, other):
            assert one.ask(CODE).code == 0
        assert (fault.fired, wires(mq)) == (1, 1)
