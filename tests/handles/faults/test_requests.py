"""Faults of requests: each at each point, scoped, counted and journalled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import fakemq
from fakemq.client import Client, Message, MQBrokerError, SendStatus
from fakemq.errors import ConfigError, FakemqError
from fakemq.events import LinkClosed, LogAppended, RequestHandled
from fakemq.events.faults import FaultHit
from fakemq.handles.faults.requests import At
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.send import SendMessageResponseHeader
from tests.support.broker_lab import send_header
from tests.support.clients import pull_header
from tests.support.tcp import TcpPeer, refuses
from tests.support.tcp_clients import SEND, bodies, send, status_of

# -- what a reset makes of it ---------------------------------------------------------------


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("fault", ["delay", "park", "pause"])
def test_request_delayed_before_a_reset_is_dropped(
    mq: fakemq.Cluster, peer: TcpPeer, fault: str, paused: bool
) -> None:
    place: dict[str, Callable[[], object]] = {
        "delay": lambda: mq.faults.delay(SEND, "10s"),
        "park": lambda: mq.faults.park(SEND),
        "pause": lambda: mq.faults.pause(SEND),
    }
    place[fault]()
    send(peer)
    mq.wait_for(lambda: mq.journal.find(FaultHit))
    if paused:
        mq.broker("broker-a").pause()
    mq.reset()
    assert not [timer for timer in mq.clock.timers() if timer.kind == "late_by_fault"]
    mq.clock.advance("20s")
    assert bodies(mq) == []
    assert status_of(peer) == 0


# -- what happens -----------------------------------------------------------------------------


def test_error_applies_twice_and_no_more(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    fault = mq.faults.error("SEND_MESSAGE_V2", topic="orders", code="SYSTEM_BUSY", times=2)
    assert [status_of(peer) for _ in range(3)] == [2, 2, 0]
    assert bodies(mq) == [b"one"]
    assert (fault.fired, fault.pending, mq.faults.unused()) == (2, False, [])
    assert fault.what == "error SYSTEM_BUSY SEND_MESSAGE_V2, topic=orders, before_store"


@pytest.mark.parametrize("fault", ["pause", "kill"])
def test_paused_broker_stops_although_a_waiting_request_meets_a_fault(
    mq: fakemq.Cluster, peer: TcpPeer, fault: str
) -> None:
    placed = (
        mq.faults.pause("SEND_MESSAGE_V2")
        if fault == "pause"
        else mq.faults.kill("SEND_MESSAGE_V2")
    )
    broker = mq.broker("broker-a")
    broker.pause()
    send(peer)
    broker.stop()
    assert (broker.state, placed.fired) == ("stopped", 1)
    broker.restart()
    assert broker.state == "running"


@pytest.mark.parametrize("at", ["before_store", "before_reply"])
def test_node_pauses_with_a_request(mq: fakemq.Cluster, peer: TcpPeer, at: At) -> None:
    fault = mq.faults.pause("SEND_MESSAGE_V2", node="broker-a", on_call=2, at=at)
    assert status_of(peer) == 0
    opaque = send(peer, b"two")
    mq.wait_for(lambda: mq.broker("broker-a").state == "paused")
    assert fault.fired == 1
    assert bodies(mq) == [b"one", b"two"][: 1 if at == "before_store" else 2]
    mq.broker("broker-a").resume()
    assert peer.receive(opaque).code == 0
    assert bodies(mq) == [b"one", b"two"]


def test_error_carries_its_remark(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.error(SEND, code=ResponseCode.NO_PERMISSION, remark="not today")
    mq.faults.error(310, code=2)
    answers = [peer.ask(SEND, send_header(), b"x") for _ in range(2)]
    assert [(a.code, a.remark) for a in answers] == [
        (16, "not today"),
        (2, "SYSTEM_BUSY: a fault of the test"),
    ]


def test_error_before_the_reply_leaves_the_message_stored(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    mq.faults.error(SEND, code="FLUSH_DISK_TIMEOUT", at="before_reply")
    assert status_of(peer) == ResponseCode.FLUSH_DISK_TIMEOUT
    assert bodies(mq) == [b"one"]
    [hit] = mq.journal.find(FaultHit)
    assert hit.on.startswith("SEND_MESSAGE_V2 of 127.0.0.1:")


def test_fields_of_a_reply_are_replaced(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.reply(SEND, fields={"queueOffset": 77}, at="before_reply")
    answer = peer.ask(SEND, send_header(), b"one")
    header = SendMessageResponseHeader.decode(answer.ext_fields)
    assert (answer.code, header.queue_offset, header.queue_id) == (0, 77, 0)
    mq.faults.reply(SEND, code="SUCCESS", remark="made up", body="what", fields={"ok": True})
    answer = peer.ask(SEND, send_header(), b"two")
    assert (answer.code, answer.remark, answer.body) == (0, "made up", b"what")
    assert answer.ext_fields == {"ok": "true"}
    assert bodies(mq) == [b"one"]


def test_refusal_is_replaced_too(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.reply(SEND, remark="other words", at="before_reply")
    answer = peer.ask(SEND, send_header(topic="a b"), b"one")
    assert (answer.code, answer.remark) == (1, "other words")


@pytest.mark.parametrize(("at", "stored"), [("before_store", []), ("before_reply", [b"late"])])
def test_delay_does_not_end_while_the_clock_is_frozen(
    mq: fakemq.Cluster, peer: TcpPeer, at: Any, stored: list[bytes]
) -> None:
    mq.faults.delay(SEND, "3s", at=at)
    opaque = send(peer, b"late")
    assert status_of(peer, b"another") == 0  # only the first
    assert bodies(mq) == [*stored, b"another"]
    fired = mq.clock.advance("3s")
    assert [timer.kind for timer in fired if timer.kind == "late_by_fault"] == ["late_by_fault"]
    assert peer.receive(opaque).code == 0
    assert sorted(bodies(mq)) == [b"another", b"late"]


def test_delayed_request_is_handled_when_its_client_has_left(mq: fakemq.Cluster) -> None:
    mq.faults.delay(SEND, "1s")
    with TcpPeer(mq.broker("broker-a").addr) as gone:
        send(gone)
        mq.wait_for(lambda: mq.journal.find(FaultHit))
    mq.wait_for(lambda: mq.journal.find(LinkClosed))
    mq.clock.advance("1s")
    assert bodies(mq) == [b"one"]


@pytest.mark.parametrize(("at", "stored"), [("before_store", []), ("before_reply", [b"one"])])
def test_dropped_request_gets_no_answer(
    mq: fakemq.Cluster, peer: TcpPeer, at: Any, stored: list[bytes]
) -> None:
    mq.faults.drop(SEND, at=at)
    send(peer)
    assert status_of(peer, b"two") == 0
    assert bodies(mq) == [*stored, b"two"]
    handled = mq.journal.find(RequestHandled, code=SEND)
    assert [one.response_code for one in handled] == [None, 0]


@pytest.mark.parametrize(("at", "stored"), [("before_store", []), ("before_reply", [b"one"])])
def test_connection_is_closed(
    mq: fakemq.Cluster, peer: TcpPeer, at: Any, stored: list[bytes]
) -> None:
    mq.faults.close(SEND, at=at)
    send(peer)
    assert peer.at_end()
    assert bodies(mq) == stored
    [closed] = mq.journal.find(LinkClosed)
    assert closed.why == "a fault"


@pytest.mark.parametrize(("at", "stored"), [("before_store", 0), ("before_reply", 2)])
def test_gate_holds_requests_until_it_is_opened(
    mq: fakemq.Cluster, peer: TcpPeer, at: Any, stored: int
) -> None:
    gate = mq.faults.park(SEND, at=at, times=2)
    opaques = [send(peer, body) for body in (b"one", b"two")]
    mq.wait_for(lambda: gate.waiting == 2)
    assert len(bodies(mq)) == stored
    assert status_of(peer, b"three") == 0
    assert gate.release() == 2
    assert [peer.receive(opaque).code for opaque in opaques] == [0, 0]
    assert (gate.waiting, gate.release()) == (0, 0)
    assert sorted(bodies(mq)) == [b"one", b"three", b"two"]


def test_removing_a_gate_opens_it(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    with mq.faults.park(SEND) as gate:
        opaque = send(peer)
        mq.wait_for(lambda: gate.waiting == 1)
    assert peer.receive(opaque).code == 0


def test_paused_node_handles_released_requests_after_resume(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    gate = mq.faults.park(SEND)
    opaque = send(peer)
    mq.wait_for(lambda: gate.waiting == 1)
    mq.broker("broker-a").pause()
    gate.release()
    mq.clock.advance(0)
    assert bodies(mq) == []
    mq.broker("broker-a").resume()
    assert peer.receive(opaque).code == 0


def test_held_pull_is_affected_when_answered(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    opaque = peer.send(RequestCode.PULL_MESSAGE, pull_header(sys_flag=6))
    mq.wait_for(lambda: mq.inspect(lambda core: core.broker("broker-a")).holds.snapshot())
    gate = mq.faults.park(
        "PULL_MESSAGE", at="before_reply", topic="orders", queue=0, group="billing"
    )
    mq.seed("orders", [b"one"])
    mq.wait_for(lambda: gate.waiting == 1)
    gate.release()
    answer = peer.receive(opaque)
    assert (answer.code, b"one" in answer.body) == (0, True)


def test_fault_applies_to_an_unknown_code(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.error(999, code="SYSTEM_BUSY")
    assert [peer.ask(999).code for _ in range(2)] == [2, 3]


def test_fault_applies_at_a_name_server(mq: fakemq.Cluster) -> None:
    mq.faults.error("GET_ROUTEINFO_BY_TOPIC", node="namesrv-0", topic="orders", code=17)
    with TcpPeer(mq.namesrv_addr) as peer:
        from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader

        header = GetRouteInfoRequestHeader(topic="orders")
        codes = [peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, header).code for _ in range(2)]
    assert codes == [17, 0]


def test_oneway_request_is_dropped(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.error(SEND, code="SYSTEM_BUSY")
    peer.send(SEND, send_header(), b"lost", oneway=True)
    peer.send(SEND, send_header(), b"kept", oneway=True)
    mq.wait_for(lambda: mq.journal.find(LogAppended))
    assert bodies(mq) == [b"kept"]


def test_request_with_an_unreadable_header_is_affected(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.error(SEND, code="SYSTEM_BUSY")
    header = send_header()
    vars(header)["queue_id"] = "none"
    assert [peer.ask(SEND, header, b"x").code for _ in range(2)] == [2, 1]


# -- the client core sees it ------------------------------------------------------------------


def test_lost_answer_makes_a_client_send_twice(mq: fakemq.Cluster) -> None:
    mq.clock.unfreeze()
    mq.faults.close(SEND, at="before_reply")
    with Client(mq.namesrv_addr) as client:
        assert client.send(Message("orders", b"one")).status is SendStatus.SEND_OK
    assert bodies(mq) == [b"one", b"one"]


def test_error_reaches_the_sender(mq: fakemq.Cluster) -> None:
    mq.faults.error(SEND, code="MESSAGE_ILLEGAL", remark="no")
    with (
        Client(mq.namesrv_addr) as client,
        pytest.raises(MQBrokerError, match=r"no$"),
    ):
        client.send(Message("orders", b"one"))


# -- death at a point -------------------------------------------------------------------------


@pytest.fixture
def pair() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(slaves=1, clock="frozen", topics={"orders": 1}) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("at", "notified", "on_master", "on_slave"),
    [
        ("before_store", False, [], []),
        ("before_reply", False, [b"one"], []),
        ("before_replicate", True, [b"one"], []),
    ],
)
def test_master_is_killed_at_a_request(
    pair: fakemq.Cluster, at: Any, notified: bool, on_master: list[bytes], on_slave: list[bytes]
) -> None:
    mq = pair
    mq.faults.kill(SEND, at=at, node="broker-a", topic="orders")
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        opaque = send(peer)
        if notified:
            assert peer.receive(opaque).code == 0
        assert peer.at_end()
    assert mq.broker("broker-a-0").state == "stopped"
    assert refuses(int(mq.broker("broker-a-0").addr.split(":")[1]))
    mq.clock.advance("1s")
    assert bodies(mq) == on_slave  # of the running brokers, and there is only the slave
    mq.broker("broker-a-0").restart()
    assert bodies(mq) == on_master


def test_sync_master_is_killed_before_its_answer() -> None:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", clock="frozen", topics={"orders": 1}) as mq:
        mq.faults.kill(SEND, at="before_reply")
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            send(peer)
            assert peer.at_end()
        assert bodies(mq) == [b"one"]
        with pytest.raises(ConfigError, match="broker-a-0 is no ASYNC_MASTER"):
            mq.faults.kill(SEND, at="before_replicate", node="broker-a")


@pytest.mark.parametrize("role", ["ASYNC_MASTER", "SYNC_MASTER"])
def test_duplicated_send_is_stored_each_time(role: Literal["ASYNC_MASTER", "SYNC_MASTER"]) -> None:
    """Also where the answer waits for a slave."""
    with fakemq.Cluster(slaves=1, role=role, clock="frozen", topics={"orders": 1}) as mq:
        fault = mq.faults.duplicate(SEND, 3)
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            assert status_of(peer) == 0
        assert bodies(mq) == [b"one"] * 3
        assert fault.fired == 1


def test_name_server_is_killed_at_a_request(mq: fakemq.Cluster) -> None:
    mq.faults.kill("GET_ROUTEINFO_BY_TOPIC")
    with Client(mq.namesrv_addr) as client, pytest.raises(FakemqError):
        client.send(Message("orders", b"one"))
    assert mq.name_server(0).state == "stopped"


# -- any history ------------------------------------------------------------------------------


class Gates(RuleBasedStateMachine):
    """Sends, delays, gates and time in any order: nothing is lost, nothing is stored twice."""

    def __init__(self) -> None:
        super().__init__()
        self.mq = fakemq.Cluster(clock="frozen", topics={"orders": 1}).start()
        self.peer = TcpPeer(self.mq.broker("broker-a").addr)
        self.sent: list[int] = []
        self.faults: list[Any] = []

    @rule(
        kind=st.sampled_from(["park", "delay"]),
        at=st.sampled_from(["before_store", "before_reply"]),
        times=st.integers(1, 3),
    )
    def place(self, kind: str, at: Any, times: int) -> None:
        faults = self.mq.faults
        if kind == "park":
            self.faults.append(faults.park(SEND, at=at, times=times))
        else:
            self.faults.append(faults.delay(SEND, "5s", at=at, times=times))

    @rule()
    def send(self) -> None:
        self.sent.append(send(self.peer, b"%d" % len(self.sent)))

    @rule()
    def advance(self) -> None:
        self.mq.clock.advance("5s")

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.faults:
            self.faults.pop(data.draw(st.integers(0, len(self.faults) - 1))).remove()

    @invariant()
    def none_twice(self) -> None:
        stored = bodies(self.mq)
        assert len(stored) == len(set(stored))

    def teardown(self) -> None:
        try:
            self.peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG)  # all that was sent has been read
            for fault in self.faults:
                fault.remove()
            self.mq.clock.advance("5s")
            self.mq.clock.advance("5s")  # one that was delayed twice
            assert [self.peer.receive(opaque).code for opaque in self.sent] == [0] * len(self.sent)
            assert sorted(map(int, bodies(self.mq))) == list(range(len(self.sent)))
        finally:
            self.peer.sock.close()
            self.mq.stop()


TestGates = Gates.TestCase
TestGates.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
