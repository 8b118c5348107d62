"""QUERY_MESSAGE of 5.5.0: messages by their tags, from the index."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import decode_records
from fakemq.protocol.v5.headers.query import QueryMessageRequestHeader5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.peer import Peer


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lab.broker(reference=REFERENCE)


def send(peer: Peer, **properties: str) -> None:
    text = "\x02".join(f"{name}\x01{value}" for name, value in properties.items())
    header = send_header("orders", properties=text)
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"body").code == 0


def query(
    peer: Peer, key: str, index_type: str | None = None, *, unique: str | None = None
) -> RemotingCommand:
    header = QueryMessageRequestHeader5(
        topic="orders",
        key=key,
        max_num=32,
        begin_timestamp=0,
        end_timestamp=1 << 62,
        index_type=index_type,
    )
    fields = None if unique is None else {"_UNIQUE_KEY_QUERY": unique}
    return peer.ask(RequestCode.QUERY_MESSAGE, header, ext_fields=fields)


def offsets(answer: RemotingCommand) -> list[int]:
    return [one.queue_offset for one in decode_records(answer.body)]


def test_type_t_finds_messages_by_their_tags(peer: Peer) -> None:
    send(peer, TAGS="red", KEYS="k1")
    send(peer, TAGS="blue", KEYS="red")
    send(peer, TAGS="red")
    assert offsets(query(peer, "red", "T")) == [0, 2]
    assert query(peer, "k1", "T").code == ResponseCode.QUERY_NOT_FOUND


@pytest.mark.parametrize("index_type", [None, "", "K", "U", "X", "t"])
def test_any_other_type_finds_keys(peer: Peer, index_type: str | None) -> None:
    send(peer, TAGS="red", KEYS="k1", UNIQ_KEY="id")
    assert offsets(query(peer, "k1", index_type)) == [0]
    assert offsets(query(peer, "id", index_type)) == [0]
    assert query(peer, "red", index_type).code == ResponseCode.QUERY_NOT_FOUND


@pytest.mark.parametrize("unique", ["true", "TRUE"])
def test_flag_of_unique_keys_wins_over_the_type(peer: Peer, unique: str) -> None:
    send(peer, TAGS="red", UNIQ_KEY="id")
    assert offsets(query(peer, "id", "T", unique=unique)) == [0]
    assert query(peer, "red", "T", unique=unique).code == ResponseCode.QUERY_NOT_FOUND


def test_broker_of_4_9_7_indexes_no_tags(lab: BrokerLab) -> None:
    broker = lab.broker()
    peer = lab.peer(broker.addr)
    send(peer, TAGS="red", KEYS="k1")
    assert query(peer, "red", "T").code == ResponseCode.QUERY_NOT_FOUND
    assert broker.store.index.files[0].index_count == 2
    assert offsets(query(peer, "k1", "T")) == [0], "it does not know the field"


def test_tags_are_found_after_a_reset(broker: Broker, peer: Peer) -> None:
    broker.reset()
    send(peer, TAGS="red")
    assert offsets(query(peer, "red", "T")) == [0]
