"""What can be asked of the five tables: routes, the cluster, lists of topics.

Everything given is a copy, ready to be encoded. Maps and sets are in the order in which Java's
hash tables would walk them, which is what clients see.

Source: namesrv/routeinfo/RouteInfoManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fakemq.namesrv.route_tables import RouteTables
from fakemq.protocol.bodies.route import BrokerData, ClusterInfo, TopicList, TopicRouteData
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.sysflag import TopicSysFlag

_UNIT, _UNIT_SUB = TopicSysFlag.UNIT, TopicSysFlag.UNIT_SUB


class RouteQuery:
    """Reads one name server's tables."""

    def __init__(self, tables: RouteTables) -> None:
        self._tables = tables

    def topic_route(self, topic: str) -> TopicRouteData | None:
        """The route of a topic; None unless it has queues and at least one broker's address.

        Source: RouteInfoManager#pickupTopicRouteData
        """
        tables = self._tables
        queues = tables.topic_queue_table.get(topic)
        if queues is None:
            return None
        names = java_hash_map_order(queues)
        broker_datas = [
            _copy(tables.broker_addr_table[name])
            for name in names
            if name in tables.broker_addr_table
        ]
        if not broker_datas:
            return None
        filter_servers = {
            addr: list(tables.filter_server_table[addr])
            for broker_data in broker_datas
            for addr in broker_data.broker_addrs.values()
            if addr in tables.filter_server_table
        }
        return TopicRouteData(
            queue_datas=[queues[name] for name in names],
            broker_datas=broker_datas,
            filter_server_table={
                addr: filter_servers[addr] for addr in java_hash_map_order(filter_servers)
            },
        )

    def cluster_info(self) -> ClusterInfo:
        """All brokers, and which cluster has which.

        Source: RouteInfoManager#getAllClusterInfo
        """
        broker_addr_table = self._tables.broker_addr_table
        cluster_addr_table = self._tables.cluster_addr_table
        return ClusterInfo(
            broker_addr_table={
                name: _copy(broker_addr_table[name])
                for name in java_hash_map_order(broker_addr_table, 128)
            },
            cluster_addr_table={
                name: java_hash_map_order(cluster_addr_table[name])
                for name in java_hash_map_order(cluster_addr_table, 32)
            },
        )

    def all_topics(self) -> TopicList:
        """Every topic with queues. Source: RouteInfoManager#getAllTopicList"""
        return _topic_list(self._topics())

    def topics_by_cluster(self, cluster: str) -> TopicList:
        """Topics that a broker of the cluster has; an unknown cluster has none.

        Source: RouteInfoManager#getTopicsByCluster
        """
        names = self._tables.cluster_addr_table.get(cluster, {})
        return _topic_list(
            topic
            for topic in self._topics()
            if any(name in names for name in self._tables.topic_queue_table[topic])
        )

    def system_topics(self) -> TopicList:
        """Names of clusters and brokers, for each is a topic too, and some broker's address.

        Source: RouteInfoManager#getSystemTopicList
        """
        info = self.cluster_info()
        names: list[str] = []
        for cluster_name, broker_names in info.cluster_addr_table.items():
            names += [cluster_name, *broker_names]
        addrs = [
            addr
            for broker_data in info.broker_addr_table.values()
            for addr in broker_data.broker_addrs.values()
        ]
        return _topic_list(names, addrs[0] if addrs else None)

    def unit_topics(self) -> TopicList:
        """Source: RouteInfoManager#getUnitTopics"""
        return self._topics_whose(lambda flag: flag & _UNIT != 0)

    def has_unit_sub_topics(self) -> TopicList:
        """Source: RouteInfoManager#getHasUnitSubTopicList"""
        return self._topics_whose(lambda flag: flag & _UNIT_SUB != 0)

    def has_unit_sub_un_unit_topics(self) -> TopicList:
        """Source: RouteInfoManager#getHasUnitSubUnUnitTopicList"""
        return self._topics_whose(lambda flag: flag & (_UNIT | _UNIT_SUB) == _UNIT_SUB)

    def _topics(self) -> list[str]:
        return java_hash_map_order(self._tables.topic_queue_table, 1024)

    def _topics_whose(self, picks: Callable[[int], bool]) -> TopicList:
        # Java looks at the first queue data it meets, and at no other.
        table = self._tables.topic_queue_table
        return _topic_list(
            topic
            for topic in self._topics()
            if picks(table[topic][java_hash_map_order(table[topic])[0]].topic_sys_flag)
        )


def _copy(broker_data: BrokerData) -> BrokerData:
    return BrokerData(
        cluster=broker_data.cluster,
        broker_name=broker_data.broker_name,
        broker_addrs=dict(sorted(broker_data.broker_addrs.items())),
        enable_acting_master=broker_data.enable_acting_master,
    )


def _topic_list(topics: Iterable[str], broker_addr: str | None = None) -> TopicList:
    return TopicList(topic_list=java_hash_map_order(dict.fromkeys(topics)), broker_addr=broker_addr)
