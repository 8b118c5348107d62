"""QUERY_CONSUME_QUEUE: entries of a consume queue, with the group's filter beside them."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.protocol.bodies.queue import ConsumeQueueData, QueryConsumeQueueResponseBody
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.query import QueryConsumeQueueRequestHeader
from fakemq.store import image
from tests.support.broker_lab import BrokerLab
from tests.support.clients import (
    GROUP,
    TOPIC,
    beat,
    consume,
    consumer_data,
    java_hash,
    send,
    subscription,
)
from tests.support.peer import Peer
from tests.support.time import START_MS


def ask(
    peer: Peer, index: int = 0, count: int = 9, queue_id: int = 0, group: str | None = None
) -> RemotingCommand:
    header = QueryConsumeQueueRequestHeader(
        topic=TOPIC, queue_id=queue_id, index=index, count=count, consumer_group=group
    )
    return peer.ask(RequestCode.QUERY_CONSUME_QUEUE, header)


def look(peer: Peer, **fields: int | str) -> QueryConsumeQueueResponseBody:
    response = ask(peer, **fields)  # type: ignore[arg-type]
    assert (response.code, response.remark) == (0, "not set any response code")
    return QueryConsumeQueueResponseBody.decode(response.body)


def test_entries_are_listed_as_stored(broker: Broker, peer: Peer) -> None:
    send(peer, "a")
    middle = broker.store.max_phy_offset
    send(peer, "b")
    end = broker.store.max_phy_offset
    body = look(peer)
    assert (body.min_queue_index, body.max_queue_index) == (0, 2)
    assert body.queue_data == [
        ConsumeQueueData(physic_offset=0, physic_size=middle, tags_code=java_hash("a")),
        ConsumeQueueData(physic_offset=middle, physic_size=end - middle, tags_code=java_hash("b")),
    ]
    assert body.filter_data is None
    assert look(peer, index=1).queue_data == body.queue_data[1:]
    assert look(peer, count=1).queue_data == body.queue_data[:1]


def test_counts_overflow_as_in_java(peer: Peer) -> None:
    send(peer)
    assert look(peer, count=0).queue_data == []
    assert look(peer, count=-1).queue_data == []
    assert look(peer, count=(1 << 31) - 1).queue_data == []
    assert len(look(peer, count=1 << 20).queue_data or ()) == 1


def test_missing_entry_is_a_success(peer: Peer) -> None:
    send(peer)
    for index in (1, 5, -1):
        response = ask(peer, index)
        assert (response.code, response.body) == (0, b"")
        assert response.remark == f"Index {index} of 0@orders is not exist!"


def test_unknown_queue_is_refused(peer: Peer) -> None:
    send(peer)
    response = ask(peer, queue_id=3)
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "3@orders is not exist!",
    )
    none = peer.ask(RequestCode.QUERY_CONSUME_QUEUE)
    assert none.code == ResponseCode.SYSTEM_ERROR
    assert (none.remark or "").startswith("java.lang.NullPointerException")


def test_groups_expression_is_printed_as_java_stores_it() -> None:
    lab = BrokerLab()
    broker = lab.broker(BrokerConfig(enable_property_filter=True))
    peer = lab.peer(broker.addr)
    send(peer)
    by_sql = subscription(expressionType="SQL92", subString="a > 1", subVersion=7)
    beat(peer, consumers=[consumer_data("G", [by_sql | {"topic": TOPIC}])])
    assert look(peer, group="G").filter_data == (
        "{\n"
        '\t"bloomFilterData":{\n\t\t"bitNum":112,\n\t\t"bitPos":[9,86,70]\n\t},\n'
        f'\t"bornTime":{START_MS},\n\t"clientVersion":7,\n\t"consumerGroup":"G",\n'
        '\t"dead":false,\n\t"deadTime":0,\n\t"expression":"a > 1",\n'
        '\t"expressionType":"SQL92",\n\t"topic":"orders"\n'
        "}"
    )


def test_groups_subscription_is_listed(peer: Peer) -> None:
    send(peer)
    assert look(peer, group=GROUP).filter_data == "billing@orders is not online!"
    consume(peer)
    body = look(peer, group=GROUP)
    assert body.filter_data == "null"
    assert body.subscription_data is not None
    assert body.subscription_data.sub_string == "*"


def test_unit_of_an_extension_is_shown_with_its_bits() -> None:
    lab = BrokerLab()
    config = BrokerConfig(
        enable_property_filter=True, enable_consume_queue_ext=True, enable_calc_filter_bit_map=True
    )
    peer = lab.peer(lab.broker(config).addr)
    by_sql = subscription(expressionType="SQL92", subString="TAGS = 'TagA'", subVersion=7)
    send(peer)
    beat(peer, consumers=[consumer_data("G", [by_sql | {"topic": TOPIC}])])
    lab.clock.advance("1s")
    send(peer)
    send(peer, "TagA")
    before, none, all_set = look(peer, group="G", count=3).queue_data or []
    assert before.extend_data_json == f'{{"msgStoreTime":{START_MS},"size":20,"tagsCode":0}}'
    assert (before.bit_map, before.eval, before.msg) == (None, True, None)
    assert (none.bit_map, none.eval) == ("0" * 48 + "\n" + "0" * 64 + "\n", False)
    text = (all_set.bit_map or "").replace("\n", "")
    bits = [at for at, bit in enumerate(reversed(text)) if bit == "1"]
    assert (bits, all_set.eval) == ([9, 70, 86], True)
    assert all_set.extend_data_json == (
        '{"filterBitMap":"AAIAAAAAAABAAEAAAAA=",'
        f'"msgStoreTime":{START_MS + 1000},"size":34,"tagsCode":2598919}}'
    )


def test_entry_without_its_unit_says_so() -> None:
    lab = BrokerLab()
    broker = lab.broker(BrokerConfig(enable_consume_queue_ext=True))
    peer = lab.peer(broker.addr)
    send(peer)
    broker.config.enable_consume_queue_ext = False
    image.restore(broker.store, image.take(broker.store), START_MS)  # as after a start without it
    (entry,) = look(peer).queue_data or []
    assert (entry.extend_data_json, entry.eval) == (None, False)
    assert entry.msg == f"Cq extend not exist!addr: {-(1 << 63)}"
