"""Requests that a fault holds end with their node or with the cluster."""

from __future__ import annotations

import threading
import time

import pytest

import fakemq
from fakemq.events import BrokerGone, RequestHandled
from fakemq.events.faults import FaultHit
from fakemq.protocol.codes import RequestCode
from tests.support.tcp import TcpPeer
from tests.support.tcp_clients import SEND, bodies, send


def test_held_requests_of_a_node_end_with_it(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    gate = mq.faults.park(SEND)
    mq.faults.delay(SEND, "1s")
    for _ in range(2):
        send(peer)
    mq.wait_for(lambda: len(mq.journal.find(FaultHit)) == 2)
    mq.broker("broker-a").kill()
    mq.broker("broker-a").restart()
    assert (gate.waiting, gate.release()) == (0, 0)
    mq.clock.advance("2s")
    assert bodies(mq) == []


@pytest.mark.parametrize("kind", ["park", "delay"])
def test_requests_made_by_a_node_end_with_it(mq: fakemq.Cluster, kind: str) -> None:
    faults, farewell = mq.faults, RequestCode.UNREGISTER_BROKER
    fault = faults.park(farewell) if kind == "park" else faults.delay(farewell, "1h")
    stop = threading.Thread(target=mq.broker("broker-a").stop)
    stop.start()
    mq.wait_for(lambda: fault.fired)
    mq.clock.advance("3s")
    stop.join()
    mq.broker("broker-a").restart()
    fault.remove()
    mq.clock.advance("1h")
    (gone,) = mq.journal.find(BrokerGone)
    assert gone.why == "channel closed"
    assert not mq.journal.find(RequestHandled, code=farewell)


def test_cluster_stops_without_answered_unregistrations() -> None:
    with fakemq.Cluster(clock="frozen") as mq:
        fault = mq.faults.drop("UNREGISTER_BROKER", always=True, must_fire=False)
        gate = mq.faults.park("REGISTER_BROKER", at="before_reply", must_fire=False)
        before_s = time.monotonic()
    assert time.monotonic() - before_s < 2
    assert (fault.fired, fault.placed, gate.placed) == (0, False, False)
