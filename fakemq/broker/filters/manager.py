"""The filter expressions that consumers have sent in heartbeats.

When the last member of a group leaves, its filters are dead; they are removed a day later. Java
removes dead filters when it writes its file, every 10 s. Here a timer on that grid is set for the
filter that is removed next.

`persisted.py` has the form of the file.

Source: broker/filter/ConsumerFilterManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from math import ceil, e, log
from typing import TYPE_CHECKING

from fakemq.clock.slices import finished
from fakemq.clock.timers import next_tick_ms
from fakemq.events.core import FilterChanged

if TYPE_CHECKING:
    from fakemq.broker.filters.bloom import BloomFilter
    from fakemq.broker.filters.consumer_filter import ConsumerFilter
    from fakemq.broker.filters.sql_expressions import Expression
    from fakemq.broker.tables.persistence import ConfigFile
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.protocol.bodies.filter import ConsumerFilterData, ConsumerFilterTable
    from fakemq.protocol.bodies.heartbeat import SubscriptionData
    from fakemq.store.queue_extension import ExtensionUnit

PERSIST_PERIOD_MS = 10_000
"""The period of Java's writes, and the time before the first one."""

LOADED_DEAD_FOR_MS = 30_000
"""How long a filter that was alive at a stop counts as dead at the next start."""


def bloom_size(error_rate: int, expected: int) -> tuple[int, int]:
    """Return the bits of a Bloom filter, and how many of them each text sets.

    It is for ``expected`` texts and an ``error_rate`` in percent, from 1 to 99.
    Source: filter/util/BloomFilter.java#BloomFilter (4.9.7)
    """
    rate = error_rate / 100.0
    hashes = ceil(_log(0.5, rate))
    return 8 * ceil(ceil(expected * _log(2, 1 / rate) * _log(2, e)) / 8.0), hashes


def _log(base: float, value: float) -> float:
    return log(value) / log(base)


class ConsumerFilterManager:
    """The filters of one broker, by group and topic. Filters by tags are not in it."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        file: ConfigFile[ConsumerFilterTable],
        *,
        subscriptions: Callable[[str], Mapping[str, SubscriptionData] | None],
    ) -> None:
        self._node = node
        self._file = file
        self._subscriptions = subscriptions
        """Returns what a group subscribes to, by topic; None for a group without members."""
        self._by_group: dict[str, dict[str, ConsumerFilter]] = {}
        self._timer: Timer | None = None
        """Removes the next dead filter."""
        self._started_ms = 0
        """The origin of the grid of clean-ups, in elapsed time."""
        # Java's constructor does so, too: operators see it.
        node.config.bit_map_length_consume_queue_ext = self._bloom_size()[0]

    # -- what consumers say -------------------------------------------------------------------

    def register(self, group: str, subscriptions: Collection[SubscriptionData]) -> Steps[None]:
        """Take over the filters of a group from a heartbeat; filters for other topics die.

        Source: ConsumerFilterManager.java#register (4.9.7)
        """
        from fakemq.protocol.subscription import is_tag_type  # a start has no consumer yet

        for subscription in subscriptions:
            if not is_tag_type(subscription.expression_type) and subscription.sub_string:
                self._register(group, subscription)
                yield
        named = {subscription.topic for subscription in subscriptions}
        for topic in list(self._by_group.get(group, ())):
            found = self.find(topic, group)
            if found is not None and topic not in named:
                self._die(found)
            yield

    def _register(self, group: str, subscription: SubscriptionData) -> None:
        """Source: ConsumerFilterManager.java#FilterDataMapByTopic.register (4.9.7)"""
        topic = str(subscription.topic)
        old = self.find(topic, group)
        if old is not None:
            version = subscription.sub_version
            if version < old.data.client_version:
                return
            is_newer = version > old.data.client_version
            if not is_newer or (old.data.expression, old.data.expression_type) == (
                subscription.sub_string,
                subscription.expression_type,
            ):
                old.data.client_version = version
                self._file.changed()
                self._revive(old)
                return
        self._compile(group, topic, subscription)

    def _compile(self, group: str, topic: str, subscription: SubscriptionData) -> None:
        from fakemq.broker.filters.sql_tokens import MQFilterError  # few clusters see an expression

        filters = self._by_group.setdefault(group, {})
        try:
            expression = self._compiled(subscription.expression_type, subscription.sub_string)
        except MQFilterError:
            # Remove the old one, too, so that the client notices the error.
            filters.pop(topic, None)
            self._forget_empty(group)
            self._changed(group, topic, "refused")
            return
        from fakemq.broker.filters.consumer_filter import ConsumerFilter  # few groups have filters
        from fakemq.protocol.bodies.filter import ConsumerFilterData

        data = ConsumerFilterData(
            consumer_group=group,
            topic=topic,
            expression=subscription.sub_string,
            expression_type=subscription.expression_type,
            born_time=self._node.clock.now_ms(),
            client_version=subscription.sub_version,
        )
        filters[topic] = ConsumerFilter(data, expression)
        self._changed(group, topic, "registered")

    def unregister(self, group: str) -> None:
        """Mark the filters of a group as dead: its last member has left.

        Source: ConsumerFilterManager.java#unRegister (4.9.7)
        """
        for found in self._by_group.get(group, {}).values():
            self._die(found)

    # -- reading ------------------------------------------------------------------------------

    def find(self, topic: str, group: str) -> ConsumerFilter | None:
        """Return the filter of a group for a topic, dead or alive; None if it has none."""
        return self._by_group.get(group, {}).get(topic)

    def expression(self, topic: str, group: str) -> Expression | None:
        """Return the compiled filter of a group for a topic, dead or alive; None if it has none."""
        found = self.find(topic, group)
        return None if found is None else found.expression

    def data(self, topic: str, group: str) -> ConsumerFilterData | None:
        """Return a filter with its bits, as Java shows it."""
        found = self.find(topic, group)
        if found is None:
            return None
        from fakemq.broker.filters.persisted import with_bits  # as in `captured`

        return with_bits(found.data, self._bloom_filter())

    def may_match(self, topic: str, group: str, unit: ExtensionUnit) -> bool:
        """Return whether the filter of a group may match a message, by its unit in an extension.

        Source: broker/filter/ExpressionMessageFilter.java#isMatchedByConsumeQueue (4.9.7)
        """
        found, bloom = self.find(topic, group), self._bloom_filter()
        if found is None or len(unit.bit_map) * 8 != bloom.bits:
            return True
        if unit.store_timestamp_ms <= found.data.born_time:  # it is older than the filter
            return True
        return bloom.hits(f"{group}#{topic}", unit.bit_map)

    def bit_map(self, topic: str, properties: Mapping[str, str]) -> bytes:
        """Return the bits of the filters for a topic that a message matches; b"" without a filter.

        Source: broker/filter/CommitLogDispatcherCalcBitMap.java#dispatch (4.9.7)
        """
        there = [found[topic] for found in self._by_group.values() if topic in found]
        if not there:
            return b""
        bloom = self._bloom_filter()
        return bloom.bit_map(
            f"{found.data.consumer_group}#{topic}"
            for found in there
            if found.expression.matches(properties)
        )

    def persisted(self) -> ConsumerFilterTable:
        """Return all filters as consumerFilter.json has them; remove expired ones first."""
        return finished(self.persisted_in_steps())

    def persisted_in_steps(self) -> Steps[ConsumerFilterTable]:
        """Return all filters as consumerFilter.json has them; remove expired ones first.

        Source: ConsumerFilterManager.java#encode (4.9.7)
        """
        yield from self.clean()
        return (yield from self.captured())

    def captured(self) -> Steps[ConsumerFilterTable]:
        """As `persisted` now, without those that have expired, which stay in the table.

        What changes between its steps is not in it.
        """
        now_ms = self._node.clock.elapsed_ms()
        found = [
            copy(one.data)
            for topics in self._by_group.values()
            for one in topics.values()
            if not self._is_expired(one, now_ms)
        ]
        from fakemq.broker.filters.persisted import table_of  # a start writes no filters

        return table_of(found, self._bloom_filter())

    def _compiled(self, expression_type: str | None, text: str | None) -> Expression:
        """Return a condition; raise MQFilterError for one that cannot be read."""
        from fakemq.broker.filters.expressions import compile_expression  # as in `_compile`

        text_conditions = self._node.reference.text_conditions
        return compile_expression(expression_type, text, text_conditions=text_conditions)

    def load(self, table: ConsumerFilterTable) -> None:
        """Take over the filters of a file, or none of them if its bits have another size.

        Source: ConsumerFilterManager.java#decode (4.9.7)
        """
        from fakemq.broker.filters.persisted import filters_of  # as in `captured`

        clock = self._node.clock
        by_group = filters_of(table, self._bloom_filter(), clock, self._compiled)
        # At a restored snapshot the filters of connected consumers win.
        self._by_group = by_group | self._by_group

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the grid of clean-ups. Filters of groups without members count as dead for 30 s.

        Source: ConsumerFilterManager.java#decode (4.9.7)
        """
        clock = self._node.clock
        self._started_ms = clock.elapsed_ms()
        for group, filters in self._by_group.items():
            if self._subscriptions(group) is None:
                for found in filters.values():
                    self._die(found, LOADED_DEAD_FOR_MS)
        self._watch()

    def reset(self) -> None:
        """Keep only the filters that connected consumers subscribe to."""
        for group, filters in list(self._by_group.items()):
            for topic in filters.keys() - (self._subscriptions(group) or ()):
                del filters[topic]
            self._forget_empty(group)

    def clean(self) -> Steps[None]:
        """Remove the filters that have been dead for filterDataCleanTimeSpan.

        Source: ConsumerFilterManager.java#clean (4.9.7)
        """
        now_ms = self._node.clock.elapsed_ms()
        for group in list(self._by_group):
            for topic in list(self._by_group.get(group, ())):
                found = self.find(topic, group)
                if found is not None and self._is_expired(found, now_ms):
                    del self._by_group[group][topic]
                    self._changed(group, topic, "removed")
                yield
            self._forget_empty(group)

    # -- inside -------------------------------------------------------------------------------

    def _is_expired(self, found: ConsumerFilter, now_ms: int) -> bool:
        return found.is_dead_for(self._node.config.filter_data_clean_time_span, now_ms)

    def _bloom_filter(self) -> BloomFilter:
        from fakemq.broker.filters.bloom import BloomFilter  # only the file needs it

        return BloomFilter(*self._bloom_size())

    def _bloom_size(self) -> tuple[int, int]:
        config = self._node.config
        return bloom_size(
            config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter
        )

    def _die(self, found: ConsumerFilter, ago_ms: int = 0) -> None:
        if found.died_ms is not None:
            return
        found.die(self._node.clock, ago_ms)
        data = found.data
        self._changed(str(data.consumer_group), str(data.topic), "dead")
        self._watch()

    def _revive(self, found: ConsumerFilter) -> None:
        if found.died_ms is not None:
            found.revive()
            self._changed(str(found.data.consumer_group), str(found.data.topic), "revived")

    def _forget_empty(self, group: str) -> None:
        if not self._by_group.get(group, True):
            del self._by_group[group]

    def _watch(self) -> None:
        if self._timer is not None and self._timer.pending:
            return  # the timer of a filter that died before
        died_ms = [
            found.died_ms
            for filters in self._by_group.values()
            for found in filters.values()
            if found.died_ms is not None
        ]
        if not died_ms:
            return
        clock = self._node.clock
        now_ms = clock.elapsed_ms()
        due_ms = next_tick_ms(
            max(now_ms + 1, min(died_ms) + self._node.config.filter_data_clean_time_span),
            self._started_ms,
            PERSIST_PERIOD_MS,
            PERSIST_PERIOD_MS,
        )
        self._timer = clock.call_later(due_ms - now_ms, self._tick, kind="filter_data_clean")

    def _tick(self) -> None:
        self._node.clock.carry_out(self._clean_and_watch(), peer=self)

    def _clean_and_watch(self) -> Steps[None]:
        yield from self.clean()
        self._watch()

    def _changed(self, group: str, topic: str, how: str) -> None:
        self._file.changed()
        self._node.journal.add(
            FilterChanged(node=self._node.name, group=group, topic=topic, how=how)
        )
