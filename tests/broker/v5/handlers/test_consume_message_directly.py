"""CONSUME_MESSAGE_DIRECTLY (309): the system flags that the consumer gets."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import send_header
from tests.support.clients import GROUP, TOPIC, consume
from tests.support.peer import Peer


def test_consumer_gets_the_flags_of_topic_and_group(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    consume(peer)
    peer.requests.clear()
    sent = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(TOPIC), b"x")
    fields = {
        "consumerGroup": GROUP,
        "clientId": "client-1",
        "msgId": sent.ext_fields["msgId"],
        "topic": TOPIC,
    }
    peer.send(RequestCode.CONSUME_MESSAGE_DIRECTLY, ext_fields=fields)
    request = peer.answer(0, b"{}")
    assert (request.ext_fields["topicSysFlag"], request.ext_fields["groupSysFlag"]) == ("0", "0")
    assert request.ext_fields["brokerName"] == "broker-a"
