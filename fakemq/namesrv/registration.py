"""Changes of the five tables: by registrations, silence, lost channels and admins.

All steps are in Java's order, because edge cases follow from it: an address has only one id, a
topic that a broker no longer has stays in routes, and a lost channel removes the first address that
was registered over it.

Source: namesrv/routeinfo/RouteInfoManager.java (4.9.7)
"""

# Over 400 lines: each rule changes several tables, in Java's order.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from fakemq.events.core import BrokerGone, BrokerRegistered
from fakemq.namesrv.expiry import Expiry
from fakemq.namesrv.route_tables import (
    BROKER_CHANNEL_EXPIRED_TIME_MS,
    MASTER_ID,
    BrokerLiveInfo,
    Channel,
    RouteTables,
    StandingTopics,
)
from fakemq.protocol.bodies.route import BrokerData, QueueData
from fakemq.protocol.sysflag import PermName

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.journal.journal import Journal
    from fakemq.protocol.bodies.topic import DataVersion, TopicConfig


class RegisterBrokerResult:
    """The master's addresses for a slave; both None for a master, and without a live master."""

    __slots__ = ("ha_server_addr", "master_addr")

    def __init__(self, ha_server_addr: str | None = None, master_addr: str | None = None) -> None:
        self.ha_server_addr = ha_server_addr
        self.master_addr = master_addr


class BrokerRegistration:
    """The rules of one name server's tables, and the expiry of its brokers."""

    def __init__(self, tables: RouteTables, clock: NodeClock, journal: Journal) -> None:
        self._tables = tables
        self._node = clock.owner
        self._clock = clock
        self._journal = journal
        self.standing = StandingTopics()
        self.without_queues: dict[str, None] = {}
        """Topics that an admin registered without queues; they go with the next broker."""
        self.expiry = Expiry(clock, tables, self.expire)

    # -- registering --------------------------------------------------------------------------

    def register_broker(
        self,
        *,
        cluster_name: str,
        broker_addr: str,
        broker_name: str,
        broker_id: int,
        ha_server_addr: str,
        topic_configs: Iterable[TopicConfig],
        data_version: DataVersion | None,
        filter_server_list: list[str] | None,
        channel: Channel,
        enable_acting_master: bool | None = None,
        is_prime_allowed: bool = False,
        checks_state: bool = False,
        timeout_ms: int = BROKER_CHANNEL_EXPIRED_TIME_MS,
    ) -> RegisterBrokerResult:
        """Add a broker, or renew its registration.

        Only a master's registration changes the queues, and only if its data version differs from
        the last one or its address is new; otherwise ``topic_configs`` is not iterated over. With
        ``filter_server_list`` None that table does not change. Routes contain the broker's
        ``enable_acting_master``, as those of 5.x do. With ``is_prime_allowed`` the registration of
        the slave with the lowest id changes the queues, too, as long as there is no master. With
        ``checks_state`` an id stays with its broker if that knows of a later master: nothing else
        is entered, and the answer has no addresses. A broker that is silent for longer than
        ``timeout_ms`` expires.

        Source: RouteInfoManager#registerBroker (4.9.7, 5.5.0)
        """
        tables = self._tables
        addrs = self.enter_name(
            cluster_name=cluster_name,
            broker_addr=broker_addr,
            broker_name=broker_name,
            broker_id=broker_id,
            enable_acting_master=enable_acting_master,
        )
        if checks_state and self._is_outdated(addrs.get(broker_id), broker_addr, data_version):
            self._leave_live(broker_addr, "outdated")
            return RegisterBrokerResult()
        register_first = broker_id not in addrs
        tables.enter_addr(broker_name, broker_id, broker_addr)
        has_topics = broker_id == (min(addrs) if is_prime_allowed else MASTER_ID)
        if has_topics and (
            self.is_topic_config_changed(broker_addr, data_version) or register_first
        ):
            perms = self._perms_of(broker_name)
            for topic_config in topic_configs:
                self._create_and_update_queue_data(broker_name, topic_config, perms)
        self._enter_live(
            broker_addr,
            BrokerLiveInfo(
                broker_name, broker_id, data_version, channel, ha_server_addr, timeout_ms
            ),
        )
        if filter_server_list is not None:
            if filter_server_list:
                tables.filter_server_table[broker_addr] = filter_server_list
            else:
                tables.filter_server_table.pop(broker_addr, None)
        return self.master_for(broker_name, broker_id)

    def enter_name(
        self,
        *,
        cluster_name: str,
        broker_addr: str,
        broker_name: str,
        broker_id: int,
        enable_acting_master: bool | None,
    ) -> dict[int, str]:
        """Enter the names of a broker that registers; return the addresses under its name, by id.

        Its own address is not entered.
        """
        tables = self._tables
        tables.cluster_addr_table.setdefault(cluster_name, {})[broker_name] = None
        broker_data = tables.broker_addr_table.get(broker_name)
        if broker_data is None:
            broker_data = BrokerData(cluster=cluster_name, broker_name=broker_name, broker_addrs={})
            tables.broker_addr_table[broker_name] = broker_data
        broker_data.enable_acting_master = enable_acting_master
        addrs = broker_data.broker_addrs
        # A slave that became master: one address has only one id.
        for name, other_id in list(tables.places_of.get(broker_addr, ())):
            if name == broker_name and other_id != broker_id:
                tables.remove_addr(name, other_id)
        return addrs

    def _is_outdated(
        self, holder: str | None, broker_addr: str, data_version: DataVersion | None
    ) -> bool:
        """Return whether another broker has the id, and is of a later state."""
        live = self._tables.broker_live_table.get(holder or "")
        return (
            holder != broker_addr
            and live is not None
            and (_state_of(live.data_version) > _state_of(data_version))
        )

    def master_for(self, broker_name: str, broker_id: int) -> RegisterBrokerResult:
        """Return the master's addresses for the answer to a broker's registration."""
        tables = self._tables
        broker_data = tables.broker_addr_table.get(broker_name)
        if broker_id != MASTER_ID and broker_data is not None:
            master_addr = broker_data.broker_addrs.get(MASTER_ID)
            master = tables.broker_live_table.get(master_addr) if master_addr else None
            if master is not None:
                return RegisterBrokerResult(master.ha_server_addr, master_addr)
        return RegisterBrokerResult()

    def _enter_live(self, broker_addr: str, live: BrokerLiveInfo) -> None:
        live.last_update_ms = self.expiry.elapsed_ms(live)
        known = broker_addr in self._tables.broker_live_table
        self._tables.enter_live(broker_addr, live)
        self.expiry.watch(broker_addr)
        if not known:
            self._journal.add(
                BrokerRegistered(
                    node=self._node,
                    broker_name=live.broker_name,
                    broker_id=live.broker_id,
                    broker_addr=broker_addr,
                )
            )

    def _perms_of(self, broker_name: str) -> int:
        """Return which bits of the perm of its topics count."""
        return -1

    def _create_and_update_queue_data(
        self, broker_name: str, topic_config: TopicConfig, perms: int
    ) -> None:
        queues = QueueData(
            broker_name=broker_name,
            read_queue_nums=topic_config.read_queue_nums,
            write_queue_nums=topic_config.write_queue_nums,
            perm=topic_config.perm & perms,
            topic_sys_flag=topic_config.topic_sys_flag,
        )
        self._tables.enter_queues(topic_config.topic_name, queues)

    def query_topic_config(self, broker_addr: str) -> DataVersion | None:
        """Return the data version of a broker's last registration; None if it is not registered."""
        live = self._tables.broker_live_table.get(broker_addr)
        return None if live is None else live.data_version

    def is_topic_config_changed(self, broker_addr: str, data_version: DataVersion | None) -> bool:
        """Return whether this data version differs from the broker's last one."""
        known = self.query_topic_config(broker_addr)
        return known is None or known != data_version

    def update_timestamp(self, broker_addr: str) -> None:
        """Count the broker's silence from now; without a registration this does nothing."""
        live = self._tables.broker_live_table.get(broker_addr)
        if live is not None:
            live.last_update_ms = self.expiry.elapsed_ms(live)

    # -- leaving ------------------------------------------------------------------------------

    def unregister_broker(
        self, *, cluster_name: str, broker_addr: str, broker_name: str, broker_id: int
    ) -> None:
        """Remove a broker; with the last one of its name, the queues of that name.

        Source: RouteInfoManager#unregisterBroker
        """
        tables = self._tables
        self._leave_live(broker_addr, "unregistered")
        tables.filter_server_table.pop(broker_addr, None)
        broker_data = tables.broker_addr_table.get(broker_name)
        if broker_data is None:
            return
        tables.remove_addr(broker_name, broker_id)
        if broker_data.broker_addrs:
            self._reduced(broker_name, broker_id, broker_addr)
            return
        del tables.broker_addr_table[broker_name]
        names = tables.cluster_addr_table.get(cluster_name)
        if names is not None:
            names.pop(broker_name, None)
            if not names:
                del tables.cluster_addr_table[cluster_name]
        self._remove_topics_of(broker_name)

    def channel_destroyed(self, remote_addr: str, channel: Channel) -> None:
        """Remove the broker that registered over a closed connection, if there is one.

        Source: RouteInfoManager#onChannelDestroy
        """
        addr = next(iter(self._tables.addrs_of.get(channel, ())), remote_addr)
        self._remove(addr, "channel closed")

    def renewed_now(self, channel: Channel) -> bool:
        """Return whether a broker registered over this connection at this very moment."""
        lives = self._tables.broker_live_table
        return any(
            lives[addr].last_update_ms == self.expiry.elapsed_ms(lives[addr])
            for addr in self._tables.addrs_of.get(channel, ())
        )

    def expire(self, broker_addr: str) -> None:
        """Remove a registered broker that was silent for too long, and close its channel."""
        # Java closes the channel first, but the notification of that comes after the removal.
        live = self._tables.broker_live_table[broker_addr]
        self._remove(broker_addr, "expired")
        silent = f"for {live.timeout_ms / 1000:g} s"
        live.channel.close(f"the broker {broker_addr} has not registered {silent}")

    def _remove(self, broker_addr: str, why: str) -> None:
        tables = self._tables
        self._leave_live(broker_addr, why)
        tables.filter_server_table.pop(broker_addr, None)
        places = tables.places_of.get(broker_addr)
        if not places:
            return
        name, broker_id = next(iter(places))
        tables.remove_addr(name, broker_id)
        broker_data = tables.broker_addr_table[name]
        if broker_data.broker_addrs:
            self._reduced(name, broker_id, broker_addr)
            return
        del tables.broker_addr_table[name]
        # Mostly it is in its own cluster; after a move to another one the first that has it counts.
        own = broker_data.cluster or ""
        clusters = tables.cluster_addr_table
        found = own if name in clusters.get(own, ()) else _first_with(clusters, name)
        if found is not None:
            del clusters[found][name]
            if not clusters[found]:
                del clusters[found]
        self._remove_topics_of(name)

    def _reduced(self, broker_name: str, broker_id: int, broker_addr: str) -> None:
        """Follow the removal of a broker that leaves others of its name."""

    def _leave_live(self, broker_addr: str, why: str) -> None:
        self.expiry.forget(broker_addr)
        live = self._tables.remove_live(broker_addr)
        if live is not None:
            self._journal.add(
                BrokerGone(
                    node=self._node,
                    broker_name=live.broker_name,
                    broker_id=live.broker_id,
                    broker_addr=broker_addr,
                    why=why,
                )
            )

    def _remove_topics_of(self, broker_name: str) -> None:
        self.standing.clear()
        topics = self._tables.topics_of.pop(broker_name, {})
        topics |= dict.fromkeys(self.without_queues)
        self.without_queues.clear()
        steps = self._remove_queues(topics, broker_name)
        self._clock.carry_out(steps, peer=self, count=len(topics))

    def _remove_queues(self, topics: Iterable[str], broker_name: str) -> Steps[None]:
        tables = self._tables
        for topic in topics:
            if topic not in tables.topics_of.get(broker_name, ()):  # not registered again
                tables.remove_queues(topic, broker_name)
            yield

    # -- admins -------------------------------------------------------------------------------

    def wipe_write_perm(self, broker_name: str) -> Steps[int]:
        """Clear the write bit of all queues of a broker name; return how many topics it has.

        Source: RouteInfoManager#operateWritePermOfBroker
        """
        count = 0
        for queues in self._queues_of(broker_name):
            queues.perm &= ~PermName.WRITE
            count += 1
            yield
        return count

    def add_write_perm(self, broker_name: str) -> Steps[int]:
        """Make all queues of a broker name READ|WRITE, which loses the INHERIT bit, as in Java.

        Source: RouteInfoManager#operateWritePermOfBroker
        """
        count = 0
        for queues in self._queues_of(broker_name):
            queues.perm = PermName.READ_WRITE
            count += 1
            yield
        return count

    def _queues_of(self, broker_name: str) -> Iterator[QueueData]:
        self.standing.clear()  # the caller is about to change them
        table = self._tables.topic_queue_table
        for topic in list(self._tables.topics_of.get(broker_name, ())):
            queues = table.get(topic, {}).get(broker_name)
            if queues is not None:
                yield queues
        self.standing.clear()  # and what registered meanwhile

    def register_topic(self, topic: str, queue_datas: Sequence[QueueData]) -> None:
        """Give a topic queues; nothing from the first on of a broker that is not registered.

        Source: RouteInfoManager#registerTopic (5.5.0)
        """
        self.standing.clear()
        tables = self._tables
        known = list(takewhile(self._is_known, queue_datas))
        if len(known) < len(queue_datas) and topic not in tables.topic_queue_table:
            return
        for queue_data in known:
            tables.enter_queues(topic, queue_data)
        if not tables.topic_queue_table.setdefault(topic, {}):
            self.without_queues[topic] = None

    def _is_known(self, queue_data: QueueData) -> bool:
        return queue_data.broker_name in self._tables.broker_addr_table

    def delete_topic(self, topic: str, cluster_name: str | None = None) -> None:
        """Remove a topic's queues; with ``cluster_name`` only those of that cluster's brokers.

        Source: RouteInfoManager#deleteTopic
        """
        self.standing.clear()
        tables = self._tables
        queues = tables.topic_queue_table.get(topic)
        if queues is None:
            return
        if cluster_name:
            names = tables.cluster_addr_table.get(cluster_name)
            if not names:
                return
            of_cluster = [name for name in queues if name in names]
        else:
            of_cluster = list(queues)
        if not queues:
            del tables.topic_queue_table[topic]
        for broker_name in of_cluster:
            tables.remove_queues(topic, broker_name)


def _state_of(data_version: DataVersion | None) -> int:
    """Return the epoch of the master that a broker knows; 0 without a controller."""
    return (data_version and data_version.state_version) or 0


def _first_with(clusters: dict[str, dict[str, None]], broker_name: str) -> str | None:
    return next((cluster for cluster, names in clusters.items() if broker_name in names), None)
