"""The five tables under any history of registering, leaving, silence and admins."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import finished
from fakemq.journal.journal import Journal
from fakemq.namesrv.registration import BrokerRegistration
from fakemq.namesrv.route_tables import RouteTables
from fakemq.protocol.bodies.topic import DataVersion, TopicConfig
from tests.support.time import ManualTime

BROKERS = {
    "a1": ("broker-a", "east"),
    "a2": ("broker-a", "east"),
    "b1": ("broker-b", "east"),
    "c1": ("broker-c", "west"),
}
"""Address → name and cluster; two addresses quarrel over one name."""
TOPICS = ("T", "U", "V")
addrs = st.sampled_from(sorted(BROKERS))


class FakeChannel:
    """A connection that notifies the registration when it is closed, as a session does."""

    def __init__(self, registration: BrokerRegistration, addr: str, outside: bool) -> None:
        self._registration = registration
        self._addr = addr
        self.outside = outside
        self.closed = False

    def close(self, why: str) -> None:
        if not self.closed:
            self.closed = True
            self._registration.channel_destroyed(f"client-of-{self._addr}", self)


class TablesAgree(RuleBasedStateMachine):
    """Brokers come, go and fall silent; ``seen`` is a model of the live ones."""

    def __init__(self) -> None:
        super().__init__()
        self.time = ManualTime()
        self.clock = Clock(frozen=True, source=self.time)
        self.tables = RouteTables()
        self.registration = BrokerRegistration(
            self.tables, NodeClock(self.clock, "namesrv-0"), Journal(self.clock)
        )
        self.channels: dict[str, FakeChannel] = {}
        self.stale: list[FakeChannel] = []
        self.ids: dict[str, int] = {}
        self.seen: dict[str, tuple[bool, int]] = {}
        self.elapsed_ms = {False: 0, True: 0}
        """By whether the peer is outside."""

    # -- what brokers do ----------------------------------------------------------------------

    @rule(
        addr=addrs,
        broker_id=st.integers(0, 2),
        topics=st.sets(st.sampled_from(TOPICS)),
        counter=st.integers(0, 2),
        filters=st.sampled_from([None, [], ["f1"]]),
        outside=st.booleans(),
        reconnect=st.booleans(),
    )
    def register(
        self,
        addr: str,
        broker_id: int,
        topics: set[str],
        counter: int,
        filters: list[str] | None,
        outside: bool,
        reconnect: bool,
    ) -> None:
        name, cluster = BROKERS[addr]
        channel = self.channels.get(addr)
        if channel is None or channel.closed or reconnect:
            if channel is not None:
                self.stale.append(channel)
            channel = self.channels[addr] = FakeChannel(self.registration, addr, outside)
        live = self.tables.broker_live_table
        expects_queues = broker_id == 0 and (
            addr not in live or live[addr].data_version != DataVersion(counter=counter)
        )
        result = self.registration.register_broker(
            cluster_name=cluster,
            broker_addr=addr,
            broker_name=name,
            broker_id=broker_id,
            ha_server_addr=f"ha-{addr}",
            topic_configs=[TopicConfig(topic_name=topic) for topic in sorted(topics)],
            data_version=DataVersion(counter=counter),
            filter_server_list=filters,
            channel=channel,
        )
        self.ids[addr] = broker_id
        self.seen[addr] = (channel.outside, self.elapsed_ms[channel.outside])
        assert self.tables.broker_addr_table[name].broker_addrs[broker_id] == addr
        if expects_queues:
            assert all(name in self.tables.topic_queue_table[topic] for topic in topics)
        master = self.tables.broker_addr_table[name].broker_addrs.get(0)
        if broker_id != 0 and master is not None:
            assert (result.master_addr, result.ha_server_addr) == (master, f"ha-{master}")
        else:
            assert (result.master_addr, result.ha_server_addr) == (None, None)

    @rule(addr=addrs)
    def ask_about_the_data_version(self, addr: str) -> None:
        self.registration.update_timestamp(addr)
        if addr in self.seen:
            outside = self.channels[addr].outside
            self.seen[addr] = (outside, self.elapsed_ms[outside])

    @rule(addr=addrs)
    def unregister(self, addr: str) -> None:
        name, cluster = BROKERS[addr]
        self.registration.unregister_broker(
            cluster_name=cluster,
            broker_addr=addr,
            broker_name=name,
            broker_id=self.ids.get(addr, 0),
        )
        self.seen.pop(addr, None)

    @rule(addr=addrs)
    def close(self, addr: str) -> None:
        channel = self.channels.get(addr)
        if channel is not None and not channel.closed:
            channel.close("by the test")
            self.seen.pop(addr, None)

    @precondition(lambda self: self.stale)
    @rule()
    def close_an_old_connection(self) -> None:
        self.stale.pop().close("by the test")

    # -- time ---------------------------------------------------------------------------------

    @rule(
        ms=st.sampled_from([1, 4_999, 30_000, 59_999, 60_000, 120_000]),
        outside_peers=st.booleans(),
    )
    def advance(self, ms: int, outside_peers: bool) -> None:
        self.clock.advance(ms / 1000, outside_peers=outside_peers)
        self.elapsed_ms[False] += ms
        self.elapsed_ms[True] += ms if outside_peers else 0
        self._forget_the_silent()

    @rule(ms=st.sampled_from([1, 30_000, 60_000, 125_000]))
    def real_time_passes(self, ms: int) -> None:
        self.time.passed_ms += ms
        self.elapsed_ms[True] += ms
        self.clock.fire_due()
        self._forget_the_silent()

    def _forget_the_silent(self) -> None:
        for addr, (outside, last_ms) in list(self.seen.items()):
            # The first scan (5 s, then every 10 s) that finds it over 120 s old.
            scan_ms = 5_000
            while scan_ms <= last_ms + 120_000:
                scan_ms += 10_000
            if scan_ms <= self.elapsed_ms[outside]:
                del self.seen[addr]

    # -- admins -------------------------------------------------------------------------------

    @rule(addr=addrs, wipe=st.booleans())
    def change_write_perm(self, addr: str, wipe: bool) -> None:
        name = BROKERS[addr][0]
        change = self.registration.wipe_write_perm if wipe else self.registration.add_write_perm
        touched = finished(change(name))
        perms = [q[name].perm for q in self.tables.topic_queue_table.values() if name in q]
        assert perms == [4 if wipe else 6] * touched

    @rule(topic=st.sampled_from(TOPICS), cluster=st.sampled_from([None, "east", "west", "nowhere"]))
    def delete_topic(self, topic: str, cluster: str | None) -> None:
        self.registration.delete_topic(topic, cluster)
        left = self.tables.topic_queue_table.get(topic, {})
        gone = {name for name, of in BROKERS.values() if cluster in (None, of)}
        assert not gone & left.keys()

    # -- what always holds --------------------------------------------------------------------

    @invariant()
    def the_living_are_those_of_the_model(self) -> None:
        assert self.tables.broker_live_table.keys() == self.seen.keys()

    @invariant()
    def every_address_is_alive_and_under_one_id(self) -> None:
        table = self.tables.broker_addr_table
        listed = [addr for data in table.values() for addr in data.broker_addrs.values()]
        assert len(set(listed)) == len(listed)
        assert set(listed) <= self.tables.broker_live_table.keys()
        assert all(data.broker_addrs for data in table.values())
        assert all(data.broker_name == name for name, data in table.items())

    @invariant()
    def clusters_and_names_agree(self) -> None:
        expected: dict[str, set[str]] = {}
        for name, data in self.tables.broker_addr_table.items():
            assert data.cluster is not None
            expected.setdefault(data.cluster, set()).add(name)
        found = {cluster: set(names) for cluster, names in self.tables.cluster_addr_table.items()}
        assert found == expected

    @invariant()
    def queues_belong_to_names_that_are_there(self) -> None:
        for queues in self.tables.topic_queue_table.values():
            assert queues
            assert queues.keys() <= self.tables.broker_addr_table.keys()
            assert all(data.broker_name == name for name, data in queues.items())

    @invariant()
    def filter_servers_belong_to_the_living(self) -> None:
        assert self.tables.filter_server_table.keys() <= self.tables.broker_live_table.keys()
        assert all(self.tables.filter_server_table.values())

    @invariant()
    def the_living_have_one_timer_each(self) -> None:
        timers = [timer.outside for timer in self.clock.timers()]
        axes = [live.channel.outside for live in self.tables.broker_live_table.values()]
        assert sorted(timers) == sorted(axes)


TestTablesAgree = TablesAgree.TestCase
TestTablesAgree.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
