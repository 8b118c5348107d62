"""Tables that a slave of 5.5.0 copies from its master.

Source: broker/slave/SlaveSynchronize.java, broker/out/BrokerOuterAPI.java,
broker/BrokerController.java#initializeBrokerScheduledTasks (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fakemq.ha.metadata_sync import Fetch, SlaveSynchronize, Taking
from fakemq.protocol.bodies.group import SubscriptionGroupWrapper
from fakemq.protocol.bodies.pop import MessageRequestModeTable
from fakemq.protocol.bodies.topic import DataVersion, TopicConfigSerializeWrapper
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import BodyError
from fakemq.protocol.header import parse_int
from fakemq.protocol.v5.bodies.tables import (
    ConsumerOffsetSerializeWrapper5,
    DelayOffsetSerializeWrapper5,
    SubscriptionGroupWrapper5,
    TopicConfigAndMappingSerializeWrapper,
)
from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper
from fakemq.protocol.v5.codes import RequestCode5

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.slices import Steps
    from fakemq.ha.node import ReplicatedBroker
    from fakemq.ha.v5.node import Tables5
    from fakemq.protocol.v5.bodies.version import DataVersion5

ALL_FIRST_MS = 61_000
"""The first tick that is over a minute after the start: it fetches all tables."""
ALL_PERIOD_MS = 63_000
"""The first tick that is over a minute after such a one."""
PAGE_SIZE = 2_000
PAGES_TIMEOUT_MS = 30_000
"""How long a slave waits for a page; 3 s for other answers."""
MAX_PAGES = 1_000
PAGES_MAX_BYTES = 64 << 20
"""All pages of a table; 100,000 topics have 20 MB."""

W = TypeVar("W", TopicConfigAndMappingSerializeWrapper, SubscriptionGroupWrapper5)


class PagedFetch(Fetch, Generic[W]):
    """A table that comes in pages, or all at once from a broker that knows no pages.

    Java also ends after 60 s, and one entry before the end: then it never asks for a last page
    with a single entry, and the slave loses that one. This does the same.
    Differs: an empty page, over 64 MiB or 1,000 pages are errors; Java asks on for 60 s.
    Source: broker/out/BrokerOuterAPI.java#getAllTopicConfig, #getAllSubscriptionGroupConfig (5.5.0)
    """

    def __init__(
        self,
        code: int,
        what: str,
        wrapper: type[W],
        entries: Callable[[W], dict[str, Any]],
        take: Callable[[W], Steps[None]],
        *,
        fast: bool = False,
    ) -> None:
        super().__init__(code, lambda body: take(wrapper.decode(body)), fast=fast)
        self.timeout_ms = PAGES_TIMEOUT_MS
        self._what = what
        """The name in the fields of headers: Topic or Group."""
        self._wrapper: type[W] = wrapper
        self._entries: Callable[[W], dict[str, Any]] = entries
        self._take_all: Callable[[W], Steps[None]] = take
        self._first: W | None = None
        """The first page of the present version, with the entries of all others so far."""
        self._pages = 0

    def request(self) -> RemotingCommand:
        first = self._first
        fields = {
            "dataVersion": "" if first is None else first.data_version.encode().decode(),
            f"{self._what.lower()}Seq": "0" if first is None else str(len(self._entries(first))),
            f"max{self._what}Num": str(PAGE_SIZE),
        }
        return RemotingCommand(self.code, ext_fields=fields)

    def received(self, response: RemotingCommand) -> Taking | None:
        page = self._wrapper.decode(response.body)
        total = response.ext_fields.get(f"total{self._what}Num")
        first = self._first
        self.size_bytes += len(response.body)
        if total is None:  # a broker that knows no pages
            return lambda: self._take_all(page)
        if first is not None and first.data_version != page.data_version:
            first = self._first = None  # the table has changed: begin again
            page = self._wrapper(data_version=page.data_version)
        elif not self._entries(page) and parse_int(total) > 1:
            raise BodyError(f"an empty page of {total} entries")
        self._pages += 1
        if self._pages > MAX_PAGES or self.size_bytes > PAGES_MAX_BYTES:
            raise BodyError(f"over {MAX_PAGES} pages or {PAGES_MAX_BYTES} bytes")
        if first is None:
            first = self._first = page
        else:
            self._entries(first).update(self._entries(page))
        if len(self._entries(first)) < parse_int(total) - 1:
            return None
        whole = first
        return lambda: self._take_all(whole)


class SlaveSynchronize5(SlaveSynchronize):
    """Copies the master's tables every 63 s, and the progress of its timers every 3 s."""

    first_ms = 10_000
    period_ms = 3_000
    all_first_ms = ALL_FIRST_MS
    all_period_ms = ALL_PERIOD_MS
    """When all tables are fetched; at the other ticks it is the progress alone."""

    def __init__(self, broker: ReplicatedBroker, tables: Tables5) -> None:
        super().__init__(broker)
        self._tables5 = tables
        self._ran_ms = 0
        """How long it ran at its last tick."""

    def start(self) -> None:
        super().start()
        self._ran_ms = 0

    def _skip(self, ms: int) -> None:
        self._ran_ms += ms

    def _tables(self) -> list[Fetch]:
        tables: list[Fetch] = [
            PagedFetch(
                RequestCode.GET_ALL_TOPIC_CONFIG,
                "Topic",
                TopicConfigAndMappingSerializeWrapper,
                lambda wrapper: wrapper.topic_config_table,
                self._take_topics5,
                fast=True,
            ),
            Fetch(RequestCode.GET_ALL_CONSUMER_OFFSET, self._take_offsets),
            Fetch(RequestCode.GET_ALL_DELAY_OFFSET, self._take_delays),
            PagedFetch(
                RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
                "Group",
                SubscriptionGroupWrapper5,
                lambda wrapper: wrapper.subscription_group_table,
                self._take_groups5,
            ),
            Fetch(RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE, self._take_modes),
        ]
        if self._tables5.follows_timers:
            tables.append(
                Fetch(RequestCode5.GET_TIMER_METRICS, self._take_timer_metrics, fast=True)
            )
        return tables + self._progress()

    def _progress(self) -> list[Fetch]:
        if not self._tables5.follows_timers:
            return []
        return [Fetch(RequestCode5.GET_TIMER_CHECK_POINT, self._take_timer_checkpoint, fast=True)]

    def _due_tables(self) -> list[Fetch]:
        addr = self._master_addr
        outside = addr is not None and not self._broker.outbound.is_inside(addr)
        before = self._rounds()
        self._ran_ms = self._broker.clock.elapsed_ms(outside=outside) - self._started_ms[outside]
        return self._tables() if self._rounds() > before else self._progress()

    def _rounds(self) -> int:
        """Return how many ticks up to the last one fetched all tables; 0 or less before them."""
        return (self._ran_ms - self.all_first_ms) // self.all_period_ms + 1

    # -- what is taken ------------------------------------------------------------------------

    def _take_topics5(self, wrapper: TopicConfigAndMappingSerializeWrapper) -> Steps[None]:
        version = _plain(wrapper.data_version)
        if version != self._broker.topics.data_version:
            topics = TopicConfigSerializeWrapper(
                topic_config_table=wrapper.topic_config_table, data_version=version
            )
            yield from self._broker.topics.replace(topics)
            self._took("topics")
        if wrapper.mapping_data_version is not None:
            self._tables5.take_mappings_version(wrapper.mapping_data_version)

    def _take_offsets(self, body: bytes) -> Steps[None]:
        wrapper = yield from ConsumerOffsetSerializeWrapper5.decode_in_steps(body)
        if wrapper.data_version is not None:
            self._tables5.take_offsets_version(wrapper.data_version)
        yield from self._broker.offsets.put_all(wrapper)

    def _take_delays(self, body: bytes) -> Steps[None]:
        wrapper = DelayOffsetSerializeWrapper5.decode(body)
        self._broker.keep_delays(wrapper, body.decode())
        self._tables5.take_delays(wrapper, wrapper.data_version)
        yield

    def _take_groups5(self, wrapper: SubscriptionGroupWrapper5) -> Steps[None]:
        version = _plain(wrapper.data_version)
        if version != self._broker.groups.data_version:
            groups = SubscriptionGroupWrapper(
                subscription_group_table=wrapper.subscription_group_table, data_version=version
            )
            yield from self._broker.groups.replace(groups)
            self._took("groups")

    def _take_modes(self, body: bytes) -> Steps[None]:
        yield from self._tables5.take_modes(MessageRequestModeTable.decode(body))

    def _take_timer_metrics(self, body: bytes) -> Steps[None]:
        self._tables5.take_timer_metrics(TimerMetricsSerializeWrapper.decode(body))
        yield

    def _take_timer_checkpoint(self, body: bytes) -> Steps[None]:
        self._tables5.take_timer_checkpoint(body)
        yield


def _plain(version: DataVersion5) -> DataVersion:
    return DataVersion(
        timestamp=version.timestamp,
        counter=version.counter,
        state_version=version.state_version or None,
    )
