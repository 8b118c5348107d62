"""POLLING_INFO: how many pops are held."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.headers.pop import PollingInfoRequestHeader
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.peer import Peer
from tests.support.pops import GROUP, TOPIC, held_pops, long_pop


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def test_polling_info_counts_held_pops_of_one_queue(peer: Peer) -> None:
    for queue_id in (-1, 0, 0):
        long_pop(peer, queue_id=queue_id)
    assert [held_pops(peer, queue_id) for queue_id in (-1, 0, 1)] == [1, 2, 0]


def test_polling_info_of_an_unknown_queue_is_refused(peer: Peer) -> None:
    header = PollingInfoRequestHeader(consumer_group=GROUP, topic=TOPIC, queue_id=2)
    assert peer.ask(RequestCode5.POLLING_INFO, header).code == 29
