"""UNREGISTER_CLIENT: always 0."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import UnregisterClientRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, beat, consumer_data
from tests.support.peer import Peer


def test_client_leaves_producer_and_consumer_group(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    beat(peer, "one", consumers=[consumer_data()], producers=["p"])
    header = UnregisterClientRequestHeader(
        client_id="one", producer_group="p", consumer_group=GROUP
    )
    response = peer.ask(RequestCode.UNREGISTER_CLIENT, header)
    assert (response.code, response.remark, response.ext_fields) == (0, None, {})
    assert broker.consumers.snapshot() == {}
    assert broker.producers.snapshot() == {}
    assert not peer.closed
    assert [timer for timer in lab.clock.timers() if timer.kind == "client_expiry"] == []


def test_unknown_and_missing_groups_succeed(peer: Peer) -> None:
    header = UnregisterClientRequestHeader(
        client_id="one", producer_group="p", consumer_group=GROUP
    )
    assert peer.ask(RequestCode.UNREGISTER_CLIENT, header).code == 0
    assert peer.ask(RequestCode.UNREGISTER_CLIENT).code == 0


def test_client_without_an_id_may_leave_groups_without_producers(
    broker: Broker, peer: Peer
) -> None:
    beat(peer, "one", consumers=[consumer_data()], producers=["p"])
    fields = {"producerGroup": "none", "consumerGroup": GROUP}
    assert peer.ask(RequestCode.UNREGISTER_CLIENT, ext_fields=fields).code == 0
    assert broker.consumers.snapshot() == {}
    response = peer.ask(RequestCode.UNREGISTER_CLIENT, ext_fields={"producerGroup": "p"})
    assert (response.remark or "").startswith("java.lang.NullPointerException: ")
