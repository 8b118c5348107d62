"""GET_ALL_PRODUCER_INFO."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import beat
from tests.support.peer import Peer
from tests.support.time import START_MS


def test_every_producer_is_listed_and_no_empty_group(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    gone = lab.peer(broker.addr)
    beat(gone, "gone", producers=["empty"])
    gone.close()
    beat(peer, "one", producers=["p"])
    lab.clock.advance("30s")
    beat(peer, "one", producers=["p"])
    response = peer.ask(RequestCode.GET_ALL_PRODUCER_INFO)
    assert (response.code, response.remark) == (0, None)
    assert json.loads(response.body) == {
        "data": {
            "p": [
                {
                    "clientId": "one",
                    "language": "JAVA",
                    "lastUpdateTimestamp": START_MS + 30_000,
                    "remoteIP": f"/{peer.session.link.local_addr}",
                    "version": 407,
                }
            ]
        }
    }
