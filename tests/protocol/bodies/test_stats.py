"""What a real broker answered, read and written again; queues as keys of maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.protocol.bodies.body import Body
from fakemq.protocol.bodies.group import GroupList
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.bodies.offset import QueryCorrectionOffsetBody
from fakemq.protocol.bodies.queue import MessageQueue, QueryConsumeQueueResponseBody
from fakemq.protocol.bodies.route import TopicList
from fakemq.protocol.bodies.stats import (
    BrokerStatsData,
    BrokerStatsItem,
    ConsumeStats,
    ConsumeStatsList,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    TopicOffset,
    TopicStatsTable,
)
from fakemq.protocol.errors import BodyError
from fakemq.protocol.frame import decode_frame
from fakemq.protocol.java import java_hash_map_order

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "broker_queries.txt"
ANSWERS = {
    name: decode_frame(memoryview(bytes.fromhex(text))).body
    for name, way, text in (line.split() for line in GOLDEN.read_text().splitlines())
    if way == "<" and text != "-"
}
"""Bodies by the name of the request."""


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("GET_CONSUME_STATS", ConsumeStats),
        ("GET_CONSUME_STATS.topic", ConsumeStats),
        ("GET_CONSUME_STATS.none", ConsumeStats),
        ("GET_TOPIC_STATS_INFO", TopicStatsTable),
        ("QUERY_CONSUME_TIME_SPAN", QueryConsumeTimeSpanBody),
        ("QUERY_TOPIC_CONSUME_BY_WHO", GroupList),
        ("GET_SYSTEM_TOPIC_LIST_FROM_BROKER", TopicList),
        ("GET_BROKER_CONSUME_STATS", ConsumeStatsList),
        ("GET_BROKER_CONSUME_STATS.order", ConsumeStatsList),
        ("GET_BROKER_RUNTIME_INFO", KVTable),
        ("VIEW_BROKER_STATS_DATA", BrokerStatsData),
        ("QUERY_CONSUME_QUEUE", QueryConsumeQueueResponseBody),
        ("QUERY_CONSUME_QUEUE.group", QueryConsumeQueueResponseBody),
        ("QUERY_CONSUME_QUEUE.offline", QueryConsumeQueueResponseBody),
        ("QUERY_CONSUME_QUEUE.nothing", QueryConsumeQueueResponseBody),
        ("QUERY_CORRECTION_OFFSET", QueryCorrectionOffsetBody),
    ],
)
def test_real_answer_is_written_again_unchanged(name: str, cls: type[Body]) -> None:
    assert cls.decode(ANSWERS[name]).encode() == ANSWERS[name]


def test_map_of_queues_is_read_and_written() -> None:
    table = ConsumeStats.decode(ANSWERS["GET_CONSUME_STATS"]).offset_table
    assert list(table) == [MessageQueue("GoldenQuery", "broker-a", one) for one in (1, 0, 2)]
    assert list(table) == java_hash_map_order(sorted(table))
    (empty, filled, _) = table.values()
    assert empty == OffsetWrapper()
    assert (filled.broker_offset, filled.consumer_offset) == (3, 2)
    assert ConsumeStats(offset_table=table).compute_total_diff() == 1


def test_queue_key_is_read_from_any_equivalent_text() -> None:
    text = b"{offsetTable:{{queueId:'1',topic:\"t\"}:{maxOffset:5}}}"
    assert TopicStatsTable.decode(text).offset_table == {
        MessageQueue("t", None, 1): TopicOffset(max_offset=5)
    }
    with pytest.raises(BodyError, match="TopicStatsTable"):
        TopicStatsTable.decode(b'{"offsetTable":{"t":{}}}')


def test_double_is_read_from_everything_fastjson_accepts() -> None:
    items = (
        b'{"statsMinute":{"tps":"1,000.5","avgpt":3},"statsHour":{tps:null},"statsDay":{tps:""}}'
    )
    assert BrokerStatsData.decode(items) == BrokerStatsData(
        BrokerStatsItem(tps=1000.5, avgpt=3.0), BrokerStatsItem(), BrokerStatsItem()
    )
    for bad in (b'{statsDay:{tps:"x"}}', b"{statsDay:{tps:true}}", b"{statsDay:{tps:[]}}"):
        with pytest.raises(BodyError, match="expected a number"):
            BrokerStatsData.decode(bad)
