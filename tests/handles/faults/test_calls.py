"""Faults of requests that brokers send to their clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fakemq
from fakemq.broker.faults import ClientRequest, ReorderCalls
from fakemq.errors import ConfigError
from fakemq.events import RequestHandled
from fakemq.events.faults import FaultHit
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import TO_CLIENT
from fakemq.handles.faults import Faults
from fakemq.handles.faults.placing import Fault
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import GetConsumerRunningInfoRequestHeader
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.tcp import TcpPeer
from tests.support.tcp_clients import beat
from tests.support.transactions import PRODUCERS, asked, producer, send_half

NOTIFY = RequestCode.NOTIFY_CONSUMER_IDS_CHANGED


def notices(peer: TcpPeer) -> list[str]:
    """The groups of its notifications, in order; everything sent has been read."""
    peer.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    notified = [one.ext_fields["consumerGroup"] for one in peer.requests if one.code == NOTIFY]
    peer.requests.clear()
    return notified


def test_notification_is_lost_for_one_member(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.drop_call("NOTIFY_CONSUMER_IDS_CHANGED", group="g", client="one", times=2)
    with TcpPeer(mq.broker("broker-a").addr) as other:
        beat(peer, "10.0.0.1@one", "g")
        beat(other, "10.0.0.1@two", "g")
        assert (notices(peer), notices(other)) == ([], ["g"])
        other.sock.close()
        mq.wait_for(lambda: len(mq.group("g").members()) == 1)
        assert notices(peer) == ["g"]


def test_notification_is_delayed(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.delay_call(NOTIFY, "10s")
    beat(peer, "one", "g")
    assert notices(peer) == []
    mq.clock.advance("10s")
    assert notices(peer) == ["g"]


def test_notification_is_repeated(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.duplicate_call(40, copies=3)
    beat(peer, "one", "g")
    assert notices(peer) == ["g"] * 3


def test_notifications_are_reordered(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    fault = mq.faults.reorder_calls(NOTIFY, 3)
    beat(peer, "one", "g1", "g2")
    assert (notices(peer), fault.waiting) == ([], 2)
    beat(peer, "one", "g1", "g2", "g3", "g4")
    assert notices(peer) == ["g3", "g2", "g1", "g4"]
    assert (fault.fired, fault.waiting, fault.pending) == (3, 0, False)


def test_removing_the_fault_sends_held_notifications(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    with mq.faults.reorder_calls(NOTIFY, 3, times=2) as fault:
        beat(peer, "one", "g1", "g2")
        mq.wait_for(lambda: fault.waiting == 2)
    assert notices(peer) == ["g1", "g2"]


def test_held_calls_end_with_their_broker(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    fault = mq.faults.reorder_calls(NOTIFY, 2, always=True)
    beat(peer, "one", "g1")
    mq.wait_for(lambda: fault.waiting == 1)
    mq.broker("broker-a").kill()
    assert fault.waiting == 0
    mq.broker("broker-a").restart()
    with TcpPeer(mq.broker("broker-a").addr) as again:
        beat(again, "one", "g2")
        assert (notices(again), fault.waiting) == ([], 1)
        beat(again, "one", "g2", "g3")
        assert notices(again) == ["g3", "g2"]


@pytest.mark.parametrize(
    "place",
    [
        lambda faults: faults.drop_call("GET_CONSUMER_RUNNING_INFO", group="g"),
        lambda faults: faults.delay_call("GET_CONSUMER_RUNNING_INFO", "1h", group="g"),
        lambda faults: faults.reorder_calls("GET_CONSUMER_RUNNING_INFO", group="g"),
    ],
)
def test_dropped_call_times_out_as_usual(
    mq: fakemq.Cluster, peer: TcpPeer, place: Callable[[Faults], Fault]
) -> None:
    mq.clock.unfreeze()
    beat(peer, "one", "g")
    place(mq.faults)
    header = GetConsumerRunningInfoRequestHeader(consumer_group="g", client_id="one")
    with TcpPeer(mq.broker("broker-a").addr) as admin:
        opaque = admin.send(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
        mq.wait_for(lambda: mq.journal.find(FaultHit))
        mq.clock.advance("10s", outside_peers=True)
        answer = admin.receive(opaque)
    assert (answer.code, "timeout" in (answer.remark or "")) == (207, True)
    assert RequestCode.GET_CONSUMER_RUNNING_INFO not in [one.code for one in peer.requests]


def test_repeated_push_stores_the_reply_once(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    beat(peer, "asker", produces="p")
    mq.faults.duplicate_call("PUSH_REPLY_MESSAGE_TO_CLIENT", topic="orders", client="asker")
    header = send_header(properties="REPLY_TO_CLIENT\x01asker\x02")
    with TcpPeer(mq.broker("broker-a").addr) as replier:
        replier.send(RequestCode.SEND_REPLY_MESSAGE_V2, header, b"yes")
        mq.wait_for(lambda: mq.journal.find(FaultHit))
        peer.ask(RequestCode.GET_ALL_DELAY_OFFSET)
        pushes = [one for one in peer.requests if one.code == 326]
        assert [one.body for one in pushes] == [b"yes", b"yes"]
        for push in reversed(pushes):
            answer = fakemq_answer(push.opaque)
            peer.sock.sendall(answer)
        mq.wait_for(lambda: mq.journal.find(RequestHandled, code=RequestCode.SEND_REPLY_MESSAGE_V2))
        peer.ask(RequestCode.GET_ALL_DELAY_OFFSET)
        assert len(mq.messages("orders")) == 1


def fakemq_answer(opaque: int) -> bytes:
    from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
    from fakemq.protocol.connection import Connection

    return Connection().encode(RemotingCommand(0, flag=FLAG_RESPONSE, opaque=opaque))


def test_check_fault_is_scoped_by_topic() -> None:
    lab = BrokerLab()
    broker = lab.broker()
    peer = producer(lab, broker)
    send_half(peer)
    action = ReorderCalls(2)
    scope = Scope(code=39, topic="orders", group=PRODUCERS)
    placed = broker.faults.place(TO_CLIENT, action, "reorder", scope, ALWAYS)
    lab.clock.advance("60s")
    assert (asked(peer), action.waiting, placed.fired) == ([], 1, 1)
    action.release()
    lab.network.settle()
    assert len(asked(peer)) == 1


@given(st.integers(2, 4), st.lists(st.integers(), max_size=20), st.integers(0, 20))
@settings(max_examples=50)
def test_reordering_loses_nothing(count: int, calls: list[int], released_after: int) -> None:
    sent: list[int] = []
    lab = BrokerLab()
    broker = lab.broker()
    lab.peer(broker.addr)
    (session,) = broker.sessions
    action = ReorderCalls(count)
    for number, call in enumerate(calls):
        if number == released_after:
            action.release()
        action.apply(ClientRequest(broker.node, session, partial(sent.append, call), lambda: None))
    assert len(sent) == len(calls) - action.waiting
    assert action.waiting < count
    action.release()
    assert sorted(sent) == sorted(calls)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (lambda f: f.drop_call("SEND_MESSAGE"), "they send CHECK_TRANSACTION_STATE, NOTIFY"),
        (lambda f: f.duplicate_call(40, 1), "copies=1"),
        (lambda f: f.reorder_calls(40, on_call=2), "takes several calls"),
        (lambda f: f.delay_call(40, "-2s"), "from now on"),
        (lambda f: f.drop_call(40, topic="orders"), "names no topic"),
    ],
)
def test_contradicting_options_are_refused(mq: fakemq.Cluster, place: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        place(mq.faults)
