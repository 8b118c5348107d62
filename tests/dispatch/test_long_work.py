"""Long requests of peers outside: limits, and what becomes of them when a connection ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

import fakemq
from fakemq.broker.broker import Broker
from fakemq.clock.slices import SLICE_MS, Steps, Work
from fakemq.core.cluster import ClusterCore
from fakemq.dispatch import long_work
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.dispatch.long_work import Answer as Outcome
from fakemq.events import HandlerFailed
from fakemq.later import Later
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.topic import GetTopicStatsInfoRequestHeader
from fakemq.protocol.table import NoHeader
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Answer, Peer
from tests.support.slices import take_turns, work_in_turns

if TYPE_CHECKING:
    from fakemq.net.session import Session


@pytest.fixture
def lab() -> BrokerLab:
    return BrokerLab()


@pytest.fixture
def broker(lab: BrokerLab, monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = lab.broker()
    broker.topics.update(TopicConfig(topic_name="wide", read_queue_nums=100, write_queue_nums=100))
    work_in_turns(lab.clock, monkeypatch)
    return broker


def ask_long(peer: Peer) -> Answer:
    return peer.send(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader(topic="wide"))


def response(answer: Answer) -> RemotingCommand:
    assert answer.response is not None
    return answer.response


def test_work_of_a_closed_connection_is_dropped(lab: BrokerLab, broker: Broker) -> None:
    leaves, stays = lab.outside_peer(broker, "leaves"), lab.outside_peer(broker, "stays")
    for peer in (leaves, leaves, stays):
        ask_long(peer)
    assert broker.clock.unfinished_count == 3
    leaves.close()
    lab.network.settle()
    assert broker.clock.unfinished_count == 1
    answer = ask_long(stays)
    take_turns(lab.clock)
    lab.network.settle()
    assert response(answer).code == ResponseCode.SUCCESS
    assert not lab.journal.find(HandlerFailed)


class Outside:
    """The session of a peer outside, for `in_slices`."""

    for_outside = True


@pytest.mark.parametrize("count", [0, 3 * SLICE_MS])
def test_answer_of_long_work_may_come_after_it(lab: BrokerLab, broker: Broker, count: int) -> None:
    parked: Parked[NoHeader] = Later()

    def handler(node: Broker, request: Request[NoHeader]) -> Steps[Outcome]:
        for _ in range(count):
            yield
        return parked

    session = cast("Session", Outside())
    request = Request(RemotingCommand(RequestCode.GET_BROKER_CONFIG), NoHeader(), session)
    answer = long_work.in_slices(handler)(broker, request)
    take_turns(lab.clock)
    assert isinstance(answer, Later)
    assert not answer.done
    assert broker.clock.unfinished_count == 0
    reply: Reply[NoHeader] = Reply()
    parked.resolve(reply)
    assert answer.result() is reply


def test_unfinished_requests_of_a_node_are_limited(
    lab: BrokerLab, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_work, "MAX_UNFINISHED_OF_NODE", 3)
    peers = [lab.outside_peer(broker, f"peer-{number}") for number in range(4)]
    answers = [ask_long(peer) for peer in peers]
    lab.network.settle()
    assert response(answers[3]).code == ResponseCode.SYSTEM_BUSY
    take_turns(lab.clock)
    lab.network.settle()
    assert [response(one).code for one in answers[:3]] == [ResponseCode.SUCCESS] * 3


def test_dropped_request_is_refused(lab: BrokerLab, broker: Broker) -> None:
    answer = ask_long(lab.outside_peer(broker))
    broker.clock.end_all()
    lab.network.settle()
    assert response(answer).code == ResponseCode.SYSTEM_BUSY
    assert response(answer).remark == "the node was reset or restored meanwhile"
    assert broker.clock.unfinished_count == 0
    assert not lab.clock.slices.waiting


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("how", ["reset", "restore"])
def test_work_ends_when_its_store_goes(how: str, paused: bool) -> None:
    def endless() -> Steps[None]:
        while True:
            yield

    with fakemq.Cluster(clock="frozen") as mq:
        snapshot = mq.snapshot()

        def begin(core: ClusterCore) -> Work[None]:
            (broker,) = core.brokers.values()
            work = broker.clock.begin(endless(), peer="session")
            if paused:
                broker.pause()
            return work

        work = mq.inspect(begin)
        if how == "reset":
            mq.reset()
        else:
            mq.restore(snapshot)
        assert work.dropped
        assert not mq.inspect(lambda core: core.clock.slices.waiting)
