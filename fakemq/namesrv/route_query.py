"""Queries of the five tables: routes, the cluster, lists of topics.

Every result is a copy that can be encoded. Maps and sets have the order of Java's hash tables,
because clients see it. Lists of topics are long work: a topic that comes or goes meanwhile may be
in the list or not.

Source: namesrv/routeinfo/RouteInfoManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from fakemq.clock.slices import FEW_STEPS, Steps, finished
from fakemq.namesrv.route_tables import RouteTables
from fakemq.protocol.bodies.route import (
    BrokerData,
    ClusterInfo,
    QueueData,
    TopicList,
    TopicRouteData,
)
from fakemq.protocol.java import java_hash_map_order, java_hash_map_order_in_steps
from fakemq.protocol.sysflag import TopicSysFlag

_UNIT, _UNIT_SUB = TopicSysFlag.UNIT, TopicSysFlag.UNIT_SUB
_TOPICS_A_STEP = 200


class RouteQuery:
    """Reads one name server's tables."""

    def __init__(self, tables: RouteTables) -> None:
        self._tables = tables

    def is_wide(self, topic: str) -> bool:
        """Return whether the route of a topic has so much that it is made and written in slices."""
        tables = self._tables
        queues = tables.topic_queue_table.get(topic, {})
        places = 0
        for name in islice(queues, FEW_STEPS + 1):
            data = tables.broker_addr_table.get(name)
            places += 1 if data is None else len(data.broker_addrs)
        return places > FEW_STEPS

    def topic_route(self, topic: str) -> TopicRouteData | None:
        """Return the route of a topic; None if it has no queues or no broker has an address."""
        return finished(self.topic_route_steps(topic))

    def topic_route_steps(self, topic: str) -> Steps[TopicRouteData | None]:
        """As `topic_route`; a broker that comes or goes meanwhile may be in the route or not.

        Source: RouteInfoManager#pickupTopicRouteData
        """
        tables = self._tables
        queues = dict(tables.topic_queue_table.get(topic, {}))
        names = yield from java_hash_map_order_in_steps(queues)
        broker_datas = []
        filter_servers = {}
        for name in names:
            broker_data = tables.broker_addr_table.get(name)
            if broker_data is None:
                continue
            broker_datas.append(_copy(broker_data))
            for addr in broker_data.broker_addrs.values():
                if addr in tables.filter_server_table:
                    filter_servers[addr] = list(tables.filter_server_table[addr])
            yield
        if not broker_datas:
            return None
        return TopicRouteData(
            queue_datas=[queues[name] for name in names],
            broker_datas=broker_datas,
            filter_server_table={
                addr: filter_servers[addr]
                for addr in (yield from java_hash_map_order_in_steps(filter_servers))
            },
        )

    def cluster_info(self) -> Steps[ClusterInfo]:
        """Return all brokers, and the broker names of each cluster.

        Source: RouteInfoManager#getAllClusterInfo
        """
        broker_addr_table = self._tables.broker_addr_table
        cluster_addr_table = self._tables.cluster_addr_table
        info = ClusterInfo()
        for name in (yield from java_hash_map_order_in_steps(broker_addr_table, 128)):
            if name in broker_addr_table:
                info.broker_addr_table[name] = _copy(broker_addr_table[name])
            yield
        for name in (yield from java_hash_map_order_in_steps(cluster_addr_table, 32)):
            names = dict(cluster_addr_table.get(name, {}))
            if names:
                in_order = yield from java_hash_map_order_in_steps(names)
                info.cluster_addr_table[name] = in_order
            yield
        return info

    def all_topics(self) -> Steps[TopicList]:
        """Return every topic with queues. Source: RouteInfoManager#getAllTopicList"""
        topics = yield from self._topics()
        return (yield from _topic_list(topics))

    def topics_by_cluster(self, cluster: str) -> Steps[TopicList]:
        """Return the topics of a cluster's brokers; none for an unknown cluster.

        Source: RouteInfoManager#getTopicsByCluster
        """
        names = self._tables.cluster_addr_table.get(cluster, {})
        return self._topics_whose(lambda queues: any(name in names for name in queues))

    def system_topics(self) -> Steps[TopicList]:
        """Return the names of clusters and brokers, which are topics too, and one broker's address.

        Source: RouteInfoManager#getSystemTopicList
        """
        info = yield from self.cluster_info()
        names: list[str] = []
        for cluster_name, broker_names in info.cluster_addr_table.items():
            names += [cluster_name, *broker_names]
            yield
        addr = next(
            (
                addr
                for broker_data in info.broker_addr_table.values()
                for addr in broker_data.broker_addrs.values()
            ),
            None,
        )
        return (yield from _topic_list(names, addr))

    def unit_topics(self) -> Steps[TopicList]:
        """Source: RouteInfoManager#getUnitTopics"""
        return self._topics_whose(lambda queues: _flag(queues) & _UNIT != 0)

    def has_unit_sub_topics(self) -> Steps[TopicList]:
        """Source: RouteInfoManager#getHasUnitSubTopicList"""
        return self._topics_whose(lambda queues: _flag(queues) & _UNIT_SUB != 0)

    def has_unit_sub_un_unit_topics(self) -> Steps[TopicList]:
        """Source: RouteInfoManager#getHasUnitSubUnUnitTopicList"""
        return self._topics_whose(lambda queues: _flag(queues) & (_UNIT | _UNIT_SUB) == _UNIT_SUB)

    def _topics(self) -> Steps[list[str]]:
        return java_hash_map_order_in_steps(self._tables.topic_queue_table, 1024)

    def _topics_whose(self, picks: Callable[[dict[str, QueueData]], bool]) -> Steps[TopicList]:
        table, picked = self._tables.topic_queue_table, list[str]()
        for number, topic in enumerate((yield from self._topics()), 1):
            queues = table.get(topic)
            if queues and picks(queues):
                picked.append(topic)
            if not number % _TOPICS_A_STEP:
                yield
        return (yield from _topic_list(picked))


def _flag(queues: dict[str, QueueData]) -> int:
    # Java looks only at the first queue data in its map.
    return queues[java_hash_map_order(queues)[0]].topic_sys_flag


def _copy(broker_data: BrokerData) -> BrokerData:
    return BrokerData(
        cluster=broker_data.cluster,
        broker_name=broker_data.broker_name,
        broker_addrs=dict(sorted(broker_data.broker_addrs.items())),
        enable_acting_master=broker_data.enable_acting_master,
    )


def _topic_list(topics: Iterable[str], broker_addr: str | None = None) -> Steps[TopicList]:
    topic_list = yield from java_hash_map_order_in_steps(topics)
    return TopicList(topic_list=topic_list, broker_addr=broker_addr)
