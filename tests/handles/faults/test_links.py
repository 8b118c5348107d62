"""Every fault of links on every kind of link: broker–name server, slave–master, client–broker."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from typing import Literal

import pytest

import fakemq
from fakemq.events import LinkClosed, RequestReceived
from fakemq.events.faults import FaultHit, FaultPlaced, FaultRemoved
from fakemq.events.replication import Replicated, SlaveReported, Transferred
from fakemq.handles.faults.placing import Fault
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.connection import Connection
from tests.support.tcp import TcpPeer


class Link:
    """A link between ``a`` and ``b``; ``send`` has ``a`` ask something of ``b``."""

    a: str
    b: str
    language: Literal["ha", "remoting"] = "remoting"
    asker = "broker-a-0"

    def __init__(self, mq: fakemq.Cluster) -> None:
        self.mq = mq
        self.sent = 0

    def send(self) -> None:
        """Have one more question asked."""
        raise NotImplementedError

    def came(self) -> bool:
        """Whether all that was sent has come to ``b``."""
        raise NotImplementedError

    def answered(self) -> bool:
        """Whether ``a`` has all answers."""
        raise NotImplementedError

    def wait(self, predicate: Callable[[], object]) -> None:
        """Until sockets have brought what is on its way: at once, in memory."""
        self.mq.wait_for(predicate)

    def close(self) -> None:
        """The end of the test."""


class ToNameServer(Link):
    """A broker registers a topic."""

    a, b = "broker-a", "namesrv-0"

    def __init__(self, mq: fakemq.Cluster) -> None:
        super().__init__(mq)
        self._before = self._count()

    def send(self) -> None:
        self.sent += 1
        self.mq.create_topic(f"T{self.sent}")

    def _count(self) -> int:
        code = RequestCode.REGISTER_BROKER
        return len(self.mq.journal.find(RequestReceived, node="namesrv-0", code=code))

    def came(self) -> bool:
        return self._count() >= self._before + self.sent

    def answered(self) -> bool:
        timers = self.mq.clock.timers()
        return not any(one.owner == "broker-a-0" and one.kind == "rpc_timeout" for one in timers)


class ToSlave(Link):
    """A master sends its log to its slave, which reports."""

    a, b = "broker-a-0", "broker-a-1"
    language = "ha"

    def send(self) -> None:
        self.sent += 1
        self.mq.seed("orders", [b"%d" % self.sent])

    def _end(self) -> int:
        return self.mq.journal.find(Transferred, node="broker-a-0")[-1].end_offset

    def came(self) -> bool:
        ends = [one.end_offset for one in self.mq.journal.find(Replicated, node="broker-a-1")]
        return self._end() in ends

    def answered(self) -> bool:
        ends = [one.offset for one in self.mq.journal.find(SlaveReported, node="broker-a-0")]
        return self._end() in ends


class ToBroker(Link):
    """A client outside asks a broker over TCP."""

    a, b = "clients", "broker-a"
    asker = "peer"

    def __init__(self, mq: fakemq.Cluster) -> None:
        super().__init__(mq)
        self.peer = TcpPeer(mq.broker("broker-a").addr)
        self.received = b""

    def send(self) -> None:
        self.sent += 1
        self.peer.send(RequestCode.GET_BROKER_CONFIG)

    def came(self) -> bool:
        code = RequestCode.GET_BROKER_CONFIG
        return len(self.mq.journal.find(RequestReceived, code=code)) >= self.sent

    def answered(self) -> bool:
        self.read()
        return len(Connection().receive_data(self.received)) >= self.sent

    def wait(self, predicate: Callable[[], object]) -> None:
        until_s = time.monotonic() + 5
        while not predicate():  # what it receives is no event of the cluster
            assert time.monotonic() < until_s
            select.select([self.peer.sock], [], [], 0.01)

    def read(self) -> None:
        """Take what has come, without waiting for more."""
        self.peer.sock.setblocking(False)
        try:
            while data := self.peer.sock.recv(1 << 16):
                self.received += data
        except BlockingIOError:
            pass
        finally:
            self.peer.sock.settimeout(10)

    def close(self) -> None:
        self.peer.sock.close()


@pytest.fixture(params=[ToNameServer, ToSlave, ToBroker], ids=lambda link: link.__name__)
def link(request: pytest.FixtureRequest) -> Iterator[Link]:
    with fakemq.Cluster(
        slaves=1, role="SYNC_MASTER", clock="frozen", topics={"orders": 1}, seed=1
    ) as mq:
        link = request.param(mq)
        try:
            yield link
        finally:
            link.close()


BOTH = pytest.mark.parametrize("forth", [True, False], ids=["forth", "back"])


def ends(link: Link, forth: bool) -> tuple[str, str]:
    return (link.a, link.b) if forth else (link.b, link.a)


def assert_kept_back(link: Link, fault: Fault, forth: bool) -> None:
    """What was sent has not come, or its answer has not."""
    link.wait(lambda: fault.fired == 1)
    assert link.came() is not forth
    assert not link.answered()


@BOTH
def test_latency_delays_data(link: Link, forth: bool) -> None:
    mq = link.mq
    fault = mq.faults.latency(*ends(link, forth), "50ms", one_way=True)
    link.send()
    assert_kept_back(link, fault, forth)
    mq.clock.advance("49ms")
    assert_kept_back(link, fault, forth)
    fired = mq.clock.advance("1ms")
    assert "link_delivery" in [one.kind for one in fired]
    assert link.came()
    link.wait(lambda: link.answered())
    assert fault.used
    assert fault.pending


def test_latency_of_both_directions_and_jitter_add_up(link: Link) -> None:
    mq = link.mq
    fault = mq.faults.latency(link.a, link.b, "50ms", jitter="10ms")
    link.send()
    link.wait(lambda: fault.fired)
    assert not link.came()
    mq.clock.advance("60ms")
    assert link.came()
    assert not link.answered()
    mq.clock.advance("60ms")
    link.wait(lambda: link.answered())


@BOTH
def test_bandwidth_spreads_data_over_time(link: Link, forth: bool) -> None:
    mq = link.mq
    rate = "1KiB" if isinstance(link, ToBroker) and not forth else "40B"
    fault = mq.faults.bandwidth(*ends(link, forth), rate, one_way=True, link=link.language)
    link.send()
    assert_kept_back(link, fault, forth)
    fired = mq.clock.advance("1s")
    if isinstance(link, ToSlave) and not forth:
        assert link.answered(), "eight bytes take 200 ms"
        return
    assert [one.kind for one in fired].count("link_delivery") == 20, "bit by bit"
    assert_kept_back(link, fault, forth)
    mq.clock.advance("18s" if isinstance(link, ToSlave) else "60s")
    assert link.came()
    link.wait(lambda: link.answered())


def test_slices_cut_data(link: Link) -> None:
    fault = link.mq.faults.slice(link.a, link.b, bytes=1)
    link.send()
    link.wait(lambda: link.came())
    link.wait(lambda: link.answered())
    assert fault.fired == 1


@BOTH
@pytest.mark.parametrize("kind", ["hold", "partition"])
def test_held_data_arrive_when_the_hold_ends(link: Link, forth: bool, kind: str) -> None:
    mq = link.mq
    fault: Fault = getattr(mq.faults, kind)(*ends(link, forth), one_way=True)
    link.send()
    assert_kept_back(link, fault, forth)
    mq.clock.advance("500ms")
    assert_kept_back(link, fault, forth)
    if kind == "hold":
        mq.faults.placed()[0].remove()
    else:
        mq.heal()
    assert link.came()
    link.wait(lambda: link.answered())
    assert not fault.placed
    kinds = (FaultPlaced, FaultHit, FaultRemoved)
    assert [type(e.event) for e in mq.journal if isinstance(e.event, kinds)] == list(kinds)


def test_reset_closes_both_ends(link: Link) -> None:
    mq = link.mq
    link.send()
    link.wait(lambda: link.answered())
    fault = mq.faults.reset(link.a, link.b, link=link.language)
    assert fault.fired == 1
    assert not fault.pending
    link.wait(lambda: closed_by(mq, fault))
    if isinstance(link, ToBroker):
        with pytest.raises(ConnectionResetError):
            link.peer.sock.recv(1)
    else:
        assert {one.node for one in mq.journal.find(LinkClosed, why=fault.what)} == {
            "broker-a-0",
            "namesrv-0" if isinstance(link, ToNameServer) else "broker-a-1",
        }


def closed_by(mq: fakemq.Cluster, fault: Fault) -> list[LinkClosed]:
    return mq.journal.find(LinkClosed, why=fault.what)


@BOTH
def test_cut_closes_after_its_bytes(link: Link, forth: bool) -> None:
    mq = link.mq
    fault = mq.faults.cut(*ends(link, forth), after_bytes=5, link=link.language)
    assert not fault.used
    link.send()
    link.wait(lambda: closed_by(mq, fault))
    assert link.came() is not forth
    if isinstance(link, ToBroker):
        link.peer.sock.settimeout(5)
        received = b""
        while data := link.peer.sock.recv(100):
            received += data
        assert len(received) == (0 if forth else 5)
    assert fault.fired == 1
    (hit,) = [entry for entry in mq.journal if isinstance(entry.event, FaultHit)]
    closed = [entry for entry in mq.journal if isinstance(entry.event, LinkClosed)]
    assert {entry.cause for entry in closed if entry.event in closed_by(mq, fault)} == {hit.seq}
