"""GET_PRODUCER_CONNECTION_LIST."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import GetProducerConnectionListRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import beat
from tests.support.peer import Peer

HEADER = GetProducerConnectionListRequestHeader(producer_group="p")


def test_group_without_connections_is_empty(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    other = lab.peer(broker.addr)
    beat(other, "one", producers=["p"])
    other.close()
    response = peer.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, HEADER)
    assert json.loads(response.body) == {"connectionSet": []}
