"""The parts of POP at one broker, and what happens to them when messages arrive or locks end.

Source: broker/processor/PopMessageProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.popped import OutMessage
from fakemq.broker.tables.persistence import FIRST_TICK_MS, MODES, ORDERS
from fakemq.broker.v5.pop.inflight import InflightCounter
from fakemq.broker.v5.pop.locks import OrderLocks
from fakemq.broker.v5.pop.modes import RequestModes
from fakemq.broker.v5.pop.offsets import PopOffsets
from fakemq.broker.v5.pop.order import OrderTable
from fakemq.broker.v5.pop.polling import ALL_QUEUES, PopPolling
from fakemq.broker.v5.pop.revive import PopRevive
from fakemq.broker.v5.pop.revive_log import ReviveLog
from fakemq.config.v5.model import config5

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fakemq.broker.broker import Broker
    from fakemq.broker.v5.escape.reading import Take
    from fakemq.broker.v5.offsets import OffsetResets
    from fakemq.clock.slices import Steps
    from fakemq.later import Later
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.pop import (
        ConsumerOrderInfoTable,
        MessageRequestModeTable,
        PopCheckPoint,
    )
    from fakemq.protocol.headers.pop import PopMessageRequestHeader
    from fakemq.store.results import LogRecord


class PopService:
    """POP of one broker: which group has which message until when."""

    def __init__(
        self,
        broker: Broker,
        resets: OffsetResets,
        *,
        read: Callable[[PopCheckPoint, Take], Later[None]],
    ) -> None:
        self.node = node = broker.node
        self.config = config = config5(broker.config)
        self.clock = broker.clock
        self.journal = broker.journal
        self.store = broker.store
        self.stats = broker.stats
        self.committed = broker.offsets
        self.offsets = PopOffsets(config, broker.clock, broker.store, broker.offsets)
        self.order = OrderTable()
        self.modes = RequestModes()
        self.resets = resets
        self.mode_file = broker.persistence.add(MODES, _modes, field="messageRequestModeMap")
        self.mode_file.connect(self.modes, self.modes.reset, captured=self.modes.captured)
        self._order_file = broker.persistence.add(ORDERS, _orders, field="table", late=True)
        order = self.order
        self._order_file.connect(order, order.reset, self._order_in_file, order.captured)
        self._topics, self._groups = broker.topics, broker.groups
        self._cleaned_ms = 0
        self.inflight = InflightCounter()
        self.polling = PopPolling(node, config)
        self.notifications = PopPolling(node, config, newest_first=True)
        if config.enable_slave_acting_master:
            from fakemq.broker.v5.pop.escaping_log import EscapingReviveLog  # few clusters do

            put = broker.puts.put_message_to_specific_queue
            self.log: ReviveLog = EscapingReviveLog(node, broker.store.role, put=put)
        else:
            self.log = ReviveLog(node, broker.store.role, put=broker.put)
        self.revive = PopRevive(
            node,
            config,
            broker.store,
            broker.topics,
            broker.groups,
            broker.offsets,
            self.inflight,
            self.log,
            put=broker.put,
            read=read,
        )
        self._pops = 0
        self._locks = OrderLocks(self.clock, config, free_at_ms=order.free_at_ms, freed=self._freed)

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to revive, and wait for the queues that are blocked in order."""
        self.stop()
        self.offsets.reset()
        self.inflight.start(self.clock.now_ms())
        self.revive.start()
        for topic, group, queue_id in self.order.queues():
            self._locks.watch(topic, group, queue_id)

    def persist(self) -> None:
        """Write what is out in order, as a broker that stops does, a slave too.

        Source: BrokerController.java#shutdownBasicService (5.5.0)
        """
        self._order_file.finish()

    def stop(self) -> None:
        """Revive nothing more, and wait for no queue."""
        self._locks.clear()
        self.log.stop()
        self.revive.stop()

    def reset(self, *, running: bool) -> None:
        """Forget everything but connections, as the broker's other tables do."""
        self.stop()
        self.order.reset()
        self.modes.reset()
        if running:
            self.start()

    def forget_closed(self) -> None:
        """Remove the held requests of connections that were closed."""
        self.polling.forget_closed()
        self.notifications.forget_closed()

    def session_closed(self, session: Session) -> None:
        """Remove the held requests of a closed connection."""
        self.polling.session_closed(session)
        self.notifications.session_closed(session)

    # -- arrivals -----------------------------------------------------------------------------

    def popped(self, group: str | None) -> Iterator[OutMessage]:
        """Yield the messages that are out, of one group or of all."""
        for ck in self.revive.waiting():
            for offset in ck.unacknowledged() if group in (None, ck.group) else ():
                yield OutMessage(
                    ck.group or "", ck.topic or "", ck.queue_id, offset, ck.revive_time
                )
        yield from self.order.all_out(group)

    @property
    def has_held(self) -> bool:
        """Whether a pop or a notification waits for messages."""
        return len(self.polling) > 0 or len(self.notifications) > 0

    def arrived(self, records: Sequence[LogRecord]) -> None:
        """Take note of the records of a put, which have just reached their queue."""
        if records[0].topic == self.log.topic:
            self.revive.arrived(records[0].queue_id)
            return
        self.polling.arrived(records)
        self.notifications.arrived(records)

    # -- pops ---------------------------------------------------------------------------------

    def next_revive_queue(self) -> int:
        """Return the revive queue of the next pop: they take turns."""
        queue_id = self._pops % self.config.revive_queue_num
        self._pops += 1
        return queue_id

    def is_too_much_inflight(self, topic: str, group: str, queue_id: int) -> bool:
        """Source: PopMessageProcessor.java#isPopShouldStop (5.5.0)"""
        config = self.config
        if not config.enable_pop_message_threshold:
            return False
        return self.inflight.count(topic, group, queue_id) > config.pop_inflight_message_threshold

    # -- order --------------------------------------------------------------------------------

    def _clean_order(self) -> Steps[None]:
        """Forget what is out of topics, queues and groups that are gone, and what is a day old."""
        self._cleaned_ms = self.clock.now_ms()
        yield from self.order.clean(self._topics.select, self._groups, self._cleaned_ms)

    def _order_in_file(self) -> Steps[ConsumerOrderInfoTable]:
        """Return what consumerOrderInfo.json is to contain.

        Source: pop/orderly/QueueLevelConsumerManager.java#encode (5.5.0)
        """
        yield from self._clean_order()
        yield
        return self.order.persisted()

    def is_blocked(self, header: PopMessageRequestHeader, topic: str, queue_id: int) -> bool:
        """Return whether messages of a queue are out, so that a pop in order must wait.

        Java writes the file, and cleans the table before, every ten seconds. Here the first pop
        after such a time cleans it.
        """
        if abs(self.clock.now_ms() - self._cleaned_ms) >= FIRST_TICK_MS:
            self._cleaned_ms = self.clock.now_ms()
            self.clock.carry_out(self._clean_order(), peer=self)
        return self.order.is_blocked(
            header.attempt_id,
            topic,
            header.consumer_group,
            queue_id,
            header.invisible_time,
            self.clock.now_ms(),
        )

    def in_order(
        self,
        header: PopMessageRequestHeader,
        topic: str,
        queue_id: int,
        pop_time_ms: int,
        offsets: Sequence[int],
    ) -> list[str]:
        """Note that a pop in order took these messages; return its entries of orderCountInfo."""
        group = header.consumer_group
        entries = self.order.update(
            header.attempt_id,
            topic,
            group,
            queue_id,
            pop_time_ms=pop_time_ms,
            invisible_time_ms=header.invisible_time,
            offsets=offsets,
            now_ms=self.clock.now_ms(),
        )
        self.order_changed(topic, group, queue_id)
        return entries

    def start_of_pop(
        self,
        topic: str,
        group: str,
        queue_id: int,
        init_mode: int,
        order: OrderTable | None = None,
    ) -> int:
        """Return where a pop of a queue begins; a reset by an operator comes first.

        ``order`` has what is out in order of the queue, if not the table of POP itself has it.
        Source: PopMessageProcessor.java#getPopOffset, #resetPopOffset (5.5.0)
        """
        offset = self.offsets.start_of_pop(topic, group, queue_id, init_mode)
        resets = self.resets
        reset_to = None if resets.is_empty else resets.take(topic, group, queue_id)
        if reset_to is None:
            return offset
        (order or self.order).clear(topic, group, queue_id)
        self.offsets.forget(topic, group, queue_id)
        self.committed.commit(group, topic, queue_id, reset_to)
        return reset_to

    def order_changed(self, topic: str, group: str, queue_id: int) -> None:
        """Follow a change of what is out in order: in the file, and with the end of the lock."""
        self._order_file.changed()
        self._locks.watch(topic, group, queue_id)

    def _freed(self, topic: str, group: str, queue_id: int) -> None:
        """Source: PopMessageProcessor.java#notifyLongPollingRequestIfNeed (5.5.0)"""
        offset = self.offsets.next_offset(topic, group, queue_id)
        if self.store.max_offset_in_queue(topic, queue_id) <= offset:
            return
        if not self.polling.notify(topic, group, ALL_QUEUES):
            self.polling.notify(topic, group, queue_id)
        self.notifications.notify_topic(topic, queue_id)


def _modes() -> type[MessageRequestModeTable]:
    from fakemq.protocol.bodies.pop import MessageRequestModeTable

    return MessageRequestModeTable


def _orders() -> type[ConsumerOrderInfoTable]:
    from fakemq.protocol.bodies.pop import ConsumerOrderInfoTable

    return ConsumerOrderInfoTable
