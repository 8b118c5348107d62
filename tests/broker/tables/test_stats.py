"""Counters of a broker: by topic, group and queue; when they begin and end."""

from __future__ import annotations

from fakemq.broker.tables.stats import BrokerStatsManager
from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.model import BrokerConfig
from fakemq.store.counters import CounterSnapshot


class StatsLab:
    def __init__(self, **config: bool) -> None:
        self.clock = Clock(frozen=True, start_at_ms=1_700_000_000_000)
        self.stats = BrokerStatsManager(NodeClock(self.clock, "a"), BrokerConfig(**config))

    def minute(self, name: str, key: str) -> CounterSnapshot | None:
        """Sum, rate and average, ten seconds from now."""
        self.clock.advance("10s")
        snapshots = self.stats.snapshots(name, key)
        return None if snapshots is None else snapshots[0]


def test_sends_are_counted_by_topic_and_broker() -> None:
    world = StatsLab()
    world.stats.put("orders", 3, 300)
    assert world.minute("TOPIC_PUT_NUMS", "orders") == (3, 0.3, 3.0)
    assert world.minute("TOPIC_PUT_SIZE", "orders") == (300, 15.0, 300.0)
    # Java adds to this one without saying how many times.
    assert world.minute("BROKER_PUT_NUMS", "DefaultCluster") == (3, 0.1, 0.0)
    assert world.minute("QUEUE_PUT_NUMS", "orders@1") is None


def test_delayed_messages_are_counted_by_queue_too() -> None:
    world = StatsLab()
    world.stats.put("SCHEDULE_TOPIC_XXXX", 1, 100)
    world.stats.scheduled(2, 1, 100)
    world.stats.delivered(3, "orders", 90)
    schedule = "SCHEDULE_TOPIC_XXXX"
    assert world.minute("QUEUE_PUT_SIZE", f"{schedule}@2") == (100, 10.0, 100.0)
    assert world.minute("QUEUE_GET_SIZE", f"{schedule}@2@SCHEDULE_CONSUMER") == (90, 4.5, 90.0)
    assert world.minute("GROUP_GET_NUMS", f"{schedule}@SCHEDULE_CONSUMER") == (1, 1 / 30, 1.0)
    assert world.minute("TOPIC_PUT_SIZE", "orders") == (90, 2.25, 90.0)
    assert world.minute("BROKER_GET_NUMS", "DefaultCluster") is None


def test_messages_sent_back_are_counted() -> None:
    world = StatsLab()
    world.stats.sent_back("g", "orders", "SCHEDULE_TOPIC_XXXX", 2, 100)
    world.stats.sent_back("g", "orders", "%DLQ%g", 0, 100)
    assert world.minute("SNDBCK_PUT_NUMS", "orders@g") == (2, 0.2, 1.0)
    assert world.minute("TOPIC_PUT_NUMS", "SCHEDULE_TOPIC_XXXX") == (1, 0.05, 1.0)
    assert world.minute("TOPIC_PUT_NUMS", "%DLQ%g") is None
    assert world.minute("BROKER_PUT_NUMS", "DefaultCluster") is None


def test_pulls_are_counted_by_group() -> None:
    world = StatsLab()
    world.stats.pulled("g", "orders", 7, 4, 400)
    assert world.minute("GROUP_GET_NUMS", "orders@g") == (4, 0.4, 4.0)
    assert world.stats.tps_group_get_nums("g", "orders") == 0.4
    assert world.stats.tps_group_get_nums("other", "orders") == 0.0
    assert world.minute("GROUP_GET_SIZE", "orders@g") == (400, 20.0, 400.0)
    assert world.minute("GROUP_GET_LATENCY", "7@orders@g") == (0, 0.0, 0.0)
    assert world.minute("BROKER_GET_NUMS", "DefaultCluster") == (4, 0.1, 0.0)


def test_latency_is_not_counted_without_the_heap() -> None:
    world = StatsLab(transfer_msg_by_heap=False)
    world.stats.pulled("g", "orders", 7, 4, 400)
    assert world.minute("GROUP_GET_NUMS", "orders@g") == (4, 0.4, 4.0)
    assert world.minute("GROUP_GET_LATENCY", "7@orders@g") is None


def test_queues_are_not_counted_when_details_are_disabled() -> None:
    world = StatsLab(enable_detail_stat=False)
    world.stats.put("SCHEDULE_TOPIC_XXXX", 1, 100)
    world.stats.scheduled(2, 1, 100)
    world.stats.pulled("g", "orders", 7, 4, 400)
    assert world.minute("QUEUE_PUT_NUMS", "SCHEDULE_TOPIC_XXXX@2") is None
    assert world.minute("GROUP_GET_LATENCY", "orders@g") == (0, 0.0, 0.0)


def test_hours_and_days_have_their_own_samples() -> None:
    world = StatsLab()
    world.stats.put("orders", 1, 10)
    world.clock.advance("2h")
    world.stats.put("orders", 1, 10)
    world.clock.advance("50m")
    snapshots = world.stats.snapshots("TOPIC_PUT_NUMS", "orders")
    assert snapshots is not None
    minute, hour, day = snapshots
    assert minute == (0, 0.0, 0.0)
    assert hour == (1, 1 / 3600, 1.0)
    assert day == (1, 1 / 7200, 1.0)


def test_counters_of_deleted_topics_end() -> None:
    world = StatsLab()
    stats = world.stats
    for topic, group in (("a", "g"), ("aa", "g"), ("a", "gg")):
        stats.put(topic, 1, 1)
        stats.pulled(group, topic, 0, 1, 1)
        stats.sent_back(group, topic, "SCHEDULE_TOPIC_XXXX", 0, 1)
    before = set(stats._table)
    stats.on_topic_deleted("a")
    assert {key for name, key in before - set(stats._table)} == {
        *("a", "a@g", "a@gg", "0@a@g", "0@a@gg")
    }
    stats.on_group_deleted("g")
    assert not [key for _, key in stats._table if key.endswith("@g")]
    assert ("TOPIC_PUT_NUMS", "aa") in stats._table
    assert ("QUEUE_PUT_NUMS", "SCHEDULE_TOPIC_XXXX@0") in stats._table


def test_counters_are_empty_at_start() -> None:
    world = StatsLab()
    world.stats.put("orders", 1, 10)
    world.clock.advance("7s")
    world.stats.start()
    assert world.stats.snapshots("TOPIC_PUT_NUMS", "orders") is None
    world.stats.put("orders", 1, 10)
    world.clock.advance("9999ms")
    snapshots = world.stats.snapshots("TOPIC_PUT_NUMS", "orders")
    assert snapshots is not None
    assert snapshots[0].sum == 0
    world.clock.advance("1ms")
    assert world.stats.tps_group_get_nums("g", "orders") == 0.0


def test_pulls_are_counted_anew_after_their_counters_are_dropped() -> None:
    world = StatsLab()
    world.stats.pulled("g", "orders", 7, 4, 400)
    world.stats.on_group_deleted("g")
    assert world.minute("GROUP_GET_NUMS", "orders@g") is None
    world.stats.pulled("g", "orders", 7, 5, 500)
    assert world.minute("GROUP_GET_NUMS", "orders@g") == (5, 0.5, 5.0)
    assert world.minute("BROKER_GET_NUMS", "DefaultCluster") is not None
