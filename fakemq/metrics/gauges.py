"""What the metrics of a broker read at the moment of a scrape.

Source: broker/metrics/BrokerMetricsManager.java, PopMetricsManager.java,
store/metrics/DefaultStoreMetricsManager.java (5.5.0)
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from fakemq.broker.v5.pop.revive_log import ACK_TIME_INTERVAL_MS
from fakemq.clock.slices import A_STEP
from fakemq.metrics.counted import STORAGE, is_system_group
from fakemq.metrics.lags import GroupLag, lags
from fakemq.protocol.message import record_store_timestamp_ms
from fakemq.protocol.versions import version_name
from fakemq.store.commitlog import FOLDER as LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fakemq.broker.clients.client_channel import ClientChannelInfo
    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.slices import Steps
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.metrics.instruments import Family, Meter

    Rows = Iterable[tuple[Mapping[str, str], int]]

MS: Final = "milliseconds"
_POOLS: Final = {
    "send": "send",
    "async_put": None,
    "pull": "pull",
    "ack": None,
    "query_message": "query",
    "client_manager": "client",
    "heartbeat": "heartbeat",
    "lite_pull": None,
    "transaction": "transaction",
    "consumer_manager": "consumer",
    "admin": "admin",
    "reply": "reply",
}
"""Java's name of a thread pool → ours; None for one that no fault keeps busy."""
_MODES: Final = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}
_LAGS: Final[tuple[tuple[str, Callable[[GroupLag], int], str], ...]] = (
    ("lag_messages", lambda lag: lag.behind, ""),
    ("lag_latency", lambda lag: lag.behind_ms, MS),
    ("inflight_messages", lambda lag: lag.out, ""),
    ("queueing_latency", lambda lag: lag.queueing_ms, MS),
    ("ready_messages", lambda lag: lag.ready, ""),
)
_TIMER_BOUNDS_S: Final = (5, 60, 300, 900, 3_600, 14_400, 28_800, 86_400)


def gauges(
    broker: Broker5, config: BrokerConfig5, meter: Meter, halves: Mapping[str, int]
) -> Steps[list[Family]]:
    """Return the gauges that a config wants; ``halves`` are half messages by topic."""
    found = list[Any]()
    if config.enable_stats_metrics:
        found += yield from _stats(broker, meter)
    if config.enable_connection_metrics:
        for role, clients in (("producer", _producers(broker)), ("consumer", _consumers(broker))):
            counts = yield from _counted(clients)
            found.append((yield from meter.gauge(f"rocketmq_{role}_connections", counts)))
    if config.enable_lag_and_dlq_metrics:
        found += yield from _lags(broker, meter)
    if config.enable_transaction_metrics:
        rows = [({"topic": topic}, count) for topic, count in halves.items()]
        found.append((yield from meter.gauge("rocketmq_half_messages", rows)))
    if config.enable_message_store_metrics:
        found += yield from _storage(broker, meter)
        if broker.timers.running:
            found += yield from _timers(broker, meter)
    if config.enable_pop_metrics:
        found += yield from _pops(broker, meter)
    return found


def _each(meter: Meter, metrics: Iterable[tuple[str, Rows, str]]) -> Steps[list[Family]]:
    """Return metrics of these names, rows and units."""
    found = []
    for name, rows, unit in metrics:
        found.append((yield from meter.gauge(name, rows, unit)))
    return found


def _stats(broker: Broker5, meter: Meter) -> Steps[list[Family]]:
    pools = broker.pools
    watermarks = [
        ({"processor": name}, 0 if pools is None or pool is None else pools.size(pool))
        for name, pool in _POOLS.items()
    ]
    numbers = (
        ("rocketmq_broker_permission", broker.config.broker_permission),
        ("rocketmq_topic_number", len(broker.topics.snapshot())),
        ("rocketmq_consumer_group_number", len(broker.groups.names())),
    )
    return (
        yield from _each(
            meter,
            [
                ("rocketmq_processor_watermark", watermarks, ""),
                *((name, [({}, value)], "") for name, value in numbers),
            ],
        )
    )


def _counted(clients: Iterator[dict[str, str]]) -> Steps[Rows]:
    """Return how many clients have the same labels."""
    counts = Counter[tuple[tuple[str, str], ...]]()
    for number, labels in enumerate(clients, 1):
        counts[tuple(labels.items())] += 1
        if not number % A_STEP:
            yield
    return ((dict(labels), count) for labels, count in counts.items())


def _producers(broker: Broker5) -> Iterator[dict[str, str]]:
    for members in broker.producers.snapshot().values():
        yield from map(_client, members)


def _consumers(broker: Broker5) -> Iterator[dict[str, str]]:
    for name in broker.consumers.names():
        group = broker.consumers.group(name)
        if group is not None:
            of_group = {
                "consumer_group": name,
                "consume_mode": _MODES.get(group.consume_type or "", "null"),
                "is_system": str(is_system_group(name)).lower(),
            }
            for one in broker.consumers.members(name):
                yield of_group | _client(one)


def _client(channel: ClientChannelInfo) -> dict[str, str]:
    return {
        "language": channel.language.name.lower(),
        "version": version_name(max(0, channel.version)).lower(),
        "protocol_type": "remoting",
    }


def _lags(broker: Broker5, meter: Meter) -> Steps[list[Family]]:
    rows: list[tuple[dict[str, str], GroupLag]] = []
    for number, lag in enumerate((yield from lags(broker)), 1):
        if not number % A_STEP:
            yield
        labels = {
            "consumer_group": lag.group,
            "topic": lag.topic,
            "is_retry": str(lag.is_retry).lower(),
            "is_system": str(
                broker.topics.is_system(lag.topic) or is_system_group(lag.group)
            ).lower(),
        }
        rows.append((labels, lag))
    return (
        yield from _each(
            meter,
            (
                (f"rocketmq_consumer_{name}", ((one, value(lag)) for one, lag in rows), unit)
                for name, value, unit in _LAGS
            ),
        )
    )


def _storage(broker: Broker5, meter: Meter) -> Steps[list[Family]]:
    store, space = broker.store, broker.store.disk_space
    used_bytes = round(space.total_bytes * space.used_ratio())
    unflushed = sum(file.position - file.flushed for file in store.files.dirty(LOG))
    first = store.select_one_message_by_offset(store.min_phy_offset)
    ages = []
    if first is not None:
        ages = [(STORAGE, broker.clock.now_ms() - record_store_timestamp_ms(first))]
    return (
        yield from _each(
            meter,
            [
                ("rocketmq_storage_size", [(STORAGE, used_bytes)], "bytes"),
                ("rocketmq_storage_flush_behind_bytes", [(STORAGE, unflushed)], "bytes"),
                ("rocketmq_storage_dispatch_behind_bytes", [(STORAGE, 0)], "bytes"),
                ("rocketmq_storage_message_reserve_time", ages, MS),
            ],
        )
    )


def _timers(broker: Broker5, meter: Meter) -> Steps[list[Family]]:
    service, wheel = broker.timers, broker.timers.timers.wheel
    now_ms = broker.clock.now_ms()
    read_ms = wheel.floor_ms(now_ms)
    waiting = wheel.messages(read_ms)
    found: list[tuple[str, Rows, str]] = [
        ("rocketmq_timer_enqueue_lag", [(STORAGE, 0)], ""),
        ("rocketmq_timer_enqueue_latency", [(STORAGE, 0)], MS),
        ("rocketmq_timer_dequeue_lag", [(STORAGE, waiting)], ""),
        ("rocketmq_timer_dequeue_latency", [(STORAGE, now_ms - read_ms)], MS),
    ]
    counts = []
    for number, topic in enumerate(service.metrics.topics(), 1):
        counts.append((STORAGE | {"topic": topic}, service.metrics.count(topic)))
        if not number % A_STEP:
            yield
    found.append(("rocketmq_timing_messages", counts, ""))
    sums = dict.fromkeys(_TIMER_BOUNDS_S, 0)
    for number, slot_ms in enumerate(wheel.times_ms(read_ms), 1):
        slot = wheel.slot(slot_ms)
        bound = next((one for one in sums if slot_ms - read_ms < one * 1_000), None)
        if slot is not None and bound is not None:
            sums[bound] += slot.messages
        if not number % A_STEP:
            yield
    rows = [(STORAGE | {"timer_bound_s": str(bound)}, total) for bound, total in sums.items()]
    found.append(("rocketmq_timer_message_snapshot", rows, ""))
    return (yield from _each(meter, found))


def _pops(broker: Broker5, meter: Meter) -> Steps[list[Family]]:
    """Return the metrics of POP.

    A checkpoint counts as behind from the time on at which Java's is read.
    """
    behind, latency = [], []
    now_ms = broker.clock.now_ms()
    for queue_id in range(broker.pop.log.queues):
        due_ms = [
            ck.revive_time - ACK_TIME_INTERVAL_MS for ck in broker.pop.revive.waiting_in(queue_id)
        ]
        overdue_ms = [ms for ms in due_ms if ms <= now_ms]
        labels = {"queue_id": str(queue_id)}
        behind.append((labels, len(overdue_ms)))
        latency.append((labels, now_ms - min(overdue_ms, default=now_ms)))
        yield
    return (
        yield from _each(
            meter,
            [
                # Each pop and each acknowledgement is a record at once: nothing is buffered.
                ("rocketmq_pop_offset_buffer_size", [({}, 0)], ""),
                ("rocketmq_pop_checkpoint_buffer_size", [({}, 0)], ""),
                ("rocketmq_pop_revive_lag", behind, MS),
                ("rocketmq_pop_revive_latency", latency, MS),
            ],
        )
    )
