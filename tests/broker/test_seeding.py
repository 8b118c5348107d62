"""Messages that a test seeds: stored like sent ones, or refused with an error."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.seeding import seed
from fakemq.errors import FakemqError
from fakemq.events import LogAppended
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.query import ViewMessageRequestHeader
from fakemq.protocol.message_id import decode_unique_id
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer


def test_seeded_message_is_stored_like_a_sent_one(broker: Broker, peer: Peer) -> None:
    broker.create_topic("orders", 2)
    seed(broker, "orders", 1, b"a", "red", "k1 k2")
    seed(broker, "orders", 1, b"b")
    first, second = broker.journal.find(LogAppended)
    assert (first.queue_id, first.queue_offset, second.queue_offset) == (1, 0, 1)
    assert first.msg_id != second.msg_id
    assert decode_unique_id(first.msg_id).ip == "127.0.0.1"
    header = ViewMessageRequestHeader(offset=first.phy_offset)
    record = peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, header).body
    for part in (b"KEYS\x01k1 k2", b"TAGS\x01red", b"CLUSTER\x01DefaultCluster"):
        assert part in record


def test_message_ids_begin_again_after_a_reset(broker: Broker) -> None:
    ids = []
    for _ in range(2):
        seed(broker, "orders", 0, b"a")
        ids.append(broker.journal.find(LogAppended)[-1].msg_id)
        broker.reset()
    assert ids[0] == ids[1]


def test_refusal_of_the_store_is_an_error(lab: BrokerLab) -> None:
    broker = lab.broker(memory_limit_bytes=100)
    with pytest.raises(FakemqError, match="SERVICE_NOT_AVAILABLE"):
        seed(broker, "orders", 0, b"x" * 100)
