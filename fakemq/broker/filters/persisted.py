"""The filters of a broker as consumerFilter.json has them: in Java's order, with their bits.

Source: broker/filter/ConsumerFilterManager.java#encode, #decode (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.broker.filters.bloom import BloomFilter
from fakemq.broker.filters.consumer_filter import ConsumerFilter
from fakemq.protocol.bodies.filter import (
    BloomFilterData,
    ConsumerFilterData,
    ConsumerFilterTable,
    FilterDataMapByTopic,
)
from fakemq.protocol.java import java_hash_map_order_in_steps

if TYPE_CHECKING:
    from fakemq.broker.filters.sql_expressions import Expression
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps

_TOPICS_CAPACITY = 512
"""The capacity of Java's map of topics, which decides the order in the file."""

Compile = Callable[["str | None", "str | None"], "Expression"]
"""Returns a condition for a type and a text; raises MQFilterError for one that cannot be read."""


def table_of(found: list[ConsumerFilterData], bloom: BloomFilter) -> Steps[ConsumerFilterTable]:
    """Return filters as the file has them; they get their bits."""
    by_topic: dict[str, dict[str, ConsumerFilterData]] = {}
    for data in found:
        groups = by_topic.setdefault(str(data.topic), {})
        groups[str(data.consumer_group)] = with_bits(data, bloom)
        yield
    table = ConsumerFilterTable()
    for topic in (yield from java_hash_map_order_in_steps(by_topic, _TOPICS_CAPACITY)):
        names = yield from java_hash_map_order_in_steps(by_topic[topic])
        table.filter_data_by_topic[topic] = FilterDataMapByTopic(
            topic=topic, group_filter_data={group: by_topic[topic][group] for group in names}
        )
    return table


def with_bits(data: ConsumerFilterData, bloom: BloomFilter) -> ConsumerFilterData:
    """Set the bits of a filter, and return it."""
    positions = bloom.bit_positions(f"{data.consumer_group}#{data.topic}")
    data.bloom_filter_data = BloomFilterData(bit_pos=tuple(positions), bit_num=bloom.bits)
    return data


def filters_of(
    table: ConsumerFilterTable, bloom: BloomFilter, clock: NodeClock, compiled: Compile
) -> dict[str, dict[str, ConsumerFilter]]:
    """Return the filters of a file by group and topic; none if its bits have another size.

    Differs: Java keeps an expression that cannot be compiled, and every message matches it.
    """
    from fakemq.broker.filters.sql_tokens import MQFilterError  # few files have expressions

    by_group: dict[str, dict[str, ConsumerFilter]] = {}
    for topic, of_topic in table.filter_data_by_topic.items():
        for group, data in of_topic.group_filter_data.items():
            bits = data.bloom_filter_data
            # Bits of another size mean other positions: Java drops the whole file.
            if bits is None or (bits.bit_num, len(bits.bit_pos or ())) != bloom.size:
                return {}
            try:
                expression = compiled(data.expression_type, data.expression)
            except MQFilterError:
                continue
            found = by_group.setdefault(group, {})[topic] = ConsumerFilter(data, expression)
            if data.dead_time >= data.born_time:
                found.died_ms = clock.elapsed_ms() - (clock.now_ms() - data.dead_time)
    return by_group
