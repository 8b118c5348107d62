"""The counters of a broker: messages stored and pulled, by topic and group.

Source: store/stats/BrokerStatsManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from fakemq.clock.slices import removed_where
from fakemq.protocol.topics import LMQ_PREFIX, SCHEDULE_TOPIC
from fakemq.store.counters import Counter, CounterSnapshot, Grid

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.config.model import BrokerConfig

GRIDS: Final = (Grid(10_000, 6), Grid(600_000, 6), Grid(3_600_000, 24))
"""How Java samples the last minute, hour and day: period in ms and number of samples."""
_MINUTE: Final = 0
_HOUR: Final = 1
_DAY: Final = 2
SCHEDULE_CONSUMER_GROUP: Final = "SCHEDULE_CONSUMER"
"""The group under which Java counts the delivery of delayed messages."""


class BrokerStatsManager:
    """Counters by name and key, since the broker's start.

    Keys are a topic, ``topic@group``, ``topic@queueId``, ``topic@queueId@group``,
    ``queueId@topic@group`` or the cluster's name, as in Java. A counter exists once it has
    counted something. Java's other counters (COMMERCIAL_*, *_FROM_DISK_*) never count here.
    """

    def __init__(self, clock: NodeClock, config: BrokerConfig) -> None:
        self._clock = clock
        self._axis = clock.cluster.axis
        self._config = config
        self._light = config.enable_lmq
        """Whether all light topics, and all light groups, count as one.

        Source: store/stats/LmqBrokerStatsManager.java (4.9.7)
        """
        self._began_ms = 0
        self._table: dict[tuple[str, str], Counter] = {}
        self._puts: dict[str, tuple[Counter, Counter, Counter]] = {}
        """The counters that a send adds to, by topic: one look-up instead of three."""
        self._pulls: dict[tuple[str, str, int | None, bool], tuple[Counter, ...]] = {}
        """The counters that a pull adds to, by group, topic, queue (None: not counted), and whether
        its latency is counted."""
        self.start()

    def start(self) -> None:
        """Remove all counters, and count from now on."""
        self._began_ms = self._clock.elapsed_ms()
        self._table.clear()
        self._puts.clear()
        self._pulls.clear()

    # -- what happens -------------------------------------------------------------------------

    def put(self, topic: str, num: int, size_bytes: int) -> None:
        """Count messages that were stored in this topic: one, or those of a batch.

        Java counts so what a client sends, a client's reply, and a delayed message that is due.
        Source: broker/processor/SendMessageProcessor.java#handlePutMessageResult,
        ReplyMessageProcessor.java#handlePutMessageResult (4.9.7)
        """
        at_ms = self._axis.at_ms  # the first half of `elapsed_ms`, repeated: saves a call
        now_ms = (self._clock.elapsed_ms() if at_ms is None else at_ms) - self._began_ms
        counters = self._puts.get(topic)
        if counters is None:
            counters = self._puts[topic] = (
                self._counter(now_ms, "TOPIC_PUT_NUMS", topic),
                self._counter(now_ms, "TOPIC_PUT_SIZE", topic),
                self._counter(now_ms, "BROKER_PUT_NUMS", self._config.broker_cluster_name),
            )
        nums, sizes, of_broker = counters
        # `Counter.add` of each, repeated: saves three calls a message.
        if now_ms >= nums.next_ms or now_ms >= sizes.next_ms or now_ms >= of_broker.next_ms:
            for counter in counters:
                if now_ms >= counter.next_ms:
                    counter.pass_to(now_ms)
        nums.value += num
        nums.times += 1
        sizes.value += size_bytes
        sizes.times += 1
        of_broker.value += num

    def scheduled(self, queue_id: int, num: int, size_bytes: int) -> None:
        """Count messages of a client that wait in the schedule topic: Java counts only these by
        queue.
        """
        self._add_queue(self._now_ms(), "PUT", f"{SCHEDULE_TOPIC}@{queue_id}", num, size_bytes)

    def sent_back(
        self, group: str, origin_topic: str, topic: str, queue_id: int, size_bytes: int
    ) -> None:
        """Count a message of ``origin_topic`` that a consumer returned; it is in ``topic`` now.

        Source: broker/processor/SendMessageProcessor.java#asyncConsumerSendMsgBack (4.9.7)
        """
        now_ms = self._now_ms()
        if topic == SCHEDULE_TOPIC:
            self._add(now_ms, "TOPIC_PUT_NUMS", topic, 1)
            self._add(now_ms, "TOPIC_PUT_SIZE", topic, size_bytes)
            self._add_queue(now_ms, "PUT", f"{topic}@{queue_id}", 1, size_bytes)
        self._add(now_ms, "SNDBCK_PUT_NUMS", self._of_group(group, origin_topic), 1)

    def delivered(self, level: int, topic: str, size_bytes: int) -> None:
        """Count a delayed message that went from the queue of its level to ``topic``.

        Source: store/schedule/ScheduleMessageService.java#onSuccess (4.9.7)
        """
        now_ms, group = self._now_ms(), SCHEDULE_CONSUMER_GROUP
        self._add_queue(now_ms, "GET", f"{SCHEDULE_TOPIC}@{level - 1}@{group}", 1, size_bytes)
        self._get(now_ms, group, SCHEDULE_TOPIC, 1, size_bytes)
        self.put(topic, 1, size_bytes)

    def pulled(self, group: str, topic: str, queue_id: int, num: int, size_bytes: int) -> None:
        """Count the messages of a pull answer; its latency is 0, as handlers take no cluster time.

        Java does not know the latency of an answer whose bytes go from the file to the socket.
        Source: broker/processor/PullMessageProcessor.java#processRequest (4.9.7)
        """
        now_ms = self._now_ms()
        config = self._config
        by_heap = config.transfer_msg_by_heap
        key = (group, topic, queue_id if config.enable_detail_stat else None, by_heap)
        counters = self._pulls.get(key)
        if counters is None:
            counters = self._pulls[key] = self._counters_of_pull(now_ms, *key)
        counters[0].add(now_ms, num)
        counters[1].add(now_ms, size_bytes)
        counters[2].add(now_ms, num, 0)
        if by_heap:
            counters[3].add(now_ms, 0)

    def read_for_check(self, group: str, topic: str, num: int, size_bytes: int) -> None:
        """Count half or op messages that the transaction check read.

        Source: broker/transaction/queue/TransactionalMessageBridge.java#getMessage (4.9.7)
        """
        now_ms = self._now_ms()
        self._get(now_ms, group, topic, num, size_bytes)
        self._add(now_ms, "BROKER_GET_NUMS", self._config.broker_cluster_name, num, 0)

    # -- counting -----------------------------------------------------------------------------

    def _get(self, now_ms: int, group: str, topic: str, num: int, size_bytes: int) -> None:
        key = f"{topic}@{group}"
        self._add(now_ms, "GROUP_GET_NUMS", key, num)
        self._add(now_ms, "GROUP_GET_SIZE", key, size_bytes)

    def _counters_of_pull(
        self, now_ms: int, group: str, topic: str, queue_id: int | None, by_heap: bool
    ) -> tuple[Counter, ...]:
        key = self._of_group(group, topic)
        counters = (
            self._counter(now_ms, "GROUP_GET_NUMS", key),
            self._counter(now_ms, "GROUP_GET_SIZE", key),
            self._counter(now_ms, "BROKER_GET_NUMS", self._config.broker_cluster_name),
        )
        if not by_heap:
            return counters
        of_queue = key if queue_id is None else f"{queue_id}@{key}"
        return (*counters, self._counter(now_ms, "GROUP_GET_LATENCY", of_queue))

    def _of_group(self, group: str, topic: str) -> str:
        if self._light:
            group, topic = _without_name(group), _without_name(topic)
        return f"{topic}@{group}"

    def _add_queue(self, now_ms: int, what: str, key: str, num: int, size_bytes: int) -> None:
        if self._config.enable_detail_stat:
            self._add(now_ms, f"QUEUE_{what}_NUMS", key, num)
            self._add(now_ms, f"QUEUE_{what}_SIZE", key, size_bytes)

    def _now_ms(self) -> int:
        return self._clock.elapsed_ms() - self._began_ms

    def _add(self, now_ms: int, name: str, key: str, value: int, times: int = 1) -> None:
        self._counter(now_ms, name, key).add(now_ms, value, times)

    def _counter(self, now_ms: int, name: str, key: str) -> Counter:
        counter = self._table.get((name, key))
        if counter is None:
            counter = self._table[name, key] = Counter(GRIDS, now_ms)
        return counter

    # -- reading ------------------------------------------------------------------------------

    def snapshots(
        self, name: str, key: str
    ) -> tuple[CounterSnapshot, CounterSnapshot, CounterSnapshot] | None:
        """Return what a counter gained in the last minute, hour and day; None if unknown."""
        counter = self._table.get((name, key))
        if counter is None:
            return None
        now_ms = self._now_ms()
        minute, hour, day = (counter.snapshot(which, now_ms) for which in (_MINUTE, _HOUR, _DAY))
        return minute, hour, day

    def put_nums(self) -> dict[str, int]:
        """Return how many messages each topic got since the start."""
        table = self._table.items()
        return {key: counter.value for (name, key), counter in table if name == "TOPIC_PUT_NUMS"}

    def tps_topic_put_nums(self, topic: str) -> float:
        """Return how many messages per second a topic got in the last minute."""
        counter = self._table.get(("TOPIC_PUT_NUMS", topic))
        return 0.0 if counter is None else counter.snapshot(_MINUTE, self._now_ms()).tps

    def tps_group_get_nums(self, group: str, topic: str) -> float:
        """Return how many messages per second a group pulled of a topic in the last minute."""
        counter = self._table.get(("GROUP_GET_NUMS", self._of_group(group, topic)))
        return 0.0 if counter is None else counter.snapshot(_MINUTE, self._now_ms()).tps

    # -- forgetting ---------------------------------------------------------------------------

    def on_topic_deleted(self, topic: str) -> None:
        """Remove the counters of a topic; called if autoDeleteUnusedStats is on."""

        def counts_topic(name: str, key: str) -> bool:
            if name.startswith("TOPIC_"):
                return key == topic
            if name == "GROUP_GET_LATENCY":
                return f"@{topic}@" in key
            return key.startswith(f"{topic}@")

        self._drop(counts_topic)

    def on_group_deleted(self, group: str) -> None:
        """Remove the counters of a group; called if autoDeleteUnusedStats is on."""
        self._drop(
            lambda name, key: not name.startswith("QUEUE_PUT_") and key.endswith(f"@{group}")
        )

    def _drop(self, unwanted: Callable[[str, str], bool]) -> None:
        def removed(*_: object) -> None:  # what they name counts no more
            self._puts.clear()
            self._pulls.clear()

        steps = removed_where(self._table, lambda at: unwanted(*at), removed)
        self._clock.carry_out(steps, peer=self)


def _without_name(name: str) -> str:
    return LMQ_PREFIX if name.startswith(LMQ_PREFIX) else name
