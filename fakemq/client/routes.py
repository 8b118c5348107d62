"""What a client knows of topics and brokers, from the routes of name servers."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData
from fakemq.protocol.header import parse_int
from fakemq.protocol.sysflag import PermName

_log = logging.getLogger("fakemq.client")

MASTER_ID = 0

QUEUES_MAX = 65_536
"""The most queues of one broker; the rest of a route is ignored. Java would fill its memory."""

ROUTE_QUEUES_MAX = 4 * QUEUES_MAX
"""The most queues of a route, of which a name server may send one with 100,000 brokers."""


class Route(NamedTuple):
    """One topic's route, fetched at ``fetched_at_ms`` of elapsed time."""

    data: TopicRouteData
    publish_queues: tuple[MessageQueue, ...]
    subscribe_queues: tuple[MessageQueue, ...]
    fetched_at_ms: int


class BrokerAddr(NamedTuple):
    """A broker to pull from."""

    addr: str
    is_slave: bool


class RouteTable:
    """Routes by topic, and addresses by broker name.

    Source: client/impl/factory/MQClientInstance.java#topicRouteTable, #brokerAddrTable (4.9.7)
    """

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.brokers: dict[str, dict[int, str]] = {}

    def put(self, topic: str, data: TopicRouteData, now_ms: int) -> Route:
        """Store a topic's route and the addresses of its brokers; return the route.

        A malformed order conf raises a `NumberFormatError`, once the addresses are stored.
        """
        self.put_brokers(data)
        route = Route(data, publish_queues(topic, data), subscribe_queues(topic, data), now_ms)
        self.routes[topic] = route
        return route

    def put_brokers(self, data: TopicRouteData) -> None:
        """Store the addresses of the brokers of a route."""
        for broker in data.broker_datas:
            if broker.broker_name is not None:
                self.brokers[broker.broker_name] = dict(broker.broker_addrs)

    def drop_offline(self) -> set[str]:
        """Forget the addresses that no route names any more; return those that are left.

        Source: MQClientInstance.java#cleanOfflineBroker (4.9.7)
        """
        named = {
            addr
            for route in self.routes.values()
            for broker in route.data.broker_datas
            for addr in broker.broker_addrs.values()
        }
        for name, addrs in list(self.brokers.items()):
            for broker_id, addr in list(addrs.items()):
                if addr not in named:
                    del addrs[broker_id]
                    _log.info("the broker addr[%s %s] is offline, remove it", name, addr)
            if not addrs:
                del self.brokers[name]
        return named

    def master_addr(self, broker_name: str | None) -> str | None:
        """Return the master's address; None if it is unknown."""
        return self.brokers.get(broker_name or "", {}).get(MASTER_ID)

    def any_addr(self, broker_name: str | None, broker_id: int = MASTER_ID) -> BrokerAddr | None:
        """Return the address of that broker, or of the next slave, or of any with the same name.

        Source: MQClientInstance.java#findBrokerAddressInSubscribe (4.9.7)
        """
        addrs = self.brokers.get(broker_name or "", {})
        wanted = (broker_id,) if broker_id == MASTER_ID else (broker_id, broker_id + 1)
        for one in (*wanted, *addrs):
            if one in addrs:
                return BrokerAddr(addrs[one], one != MASTER_ID)
        return None


def publish_queues(topic: str, data: TopicRouteData) -> tuple[MessageQueue, ...]:
    """Return the queues to send to: of every writable broker with a master, or of the order config.

    Source: MQClientInstance.java#topicRouteData2TopicPublishInfo (4.9.7)
    """
    if data.order_topic_conf:
        return _queues(
            topic,
            (
                (name, parse_int(count))
                for name, _, count in (
                    one.partition(":") for one in data.order_topic_conf.split(";")
                )
            ),
        )
    with_master = {one.broker_name for one in data.broker_datas if MASTER_ID in one.broker_addrs}
    return _queues(
        topic,
        (
            (one.broker_name, one.write_queue_nums)
            for one in sorted(data.queue_datas, key=_name)
            if one.perm & PermName.WRITE and one.broker_name in with_master
        ),
    )


def subscribe_queues(topic: str, data: TopicRouteData) -> tuple[MessageQueue, ...]:
    """Return the queues to pull from, sorted.

    Source: MQClientInstance.java#topicRouteData2TopicSubscribeInfo (4.9.7)
    """
    return _queues(
        topic,
        (
            (one.broker_name, one.read_queue_nums)
            for one in sorted(data.queue_datas, key=_name)
            if one.perm & PermName.READ
        ),
    )


def _queues(topic: str, counts: Iterable[tuple[str | None, int]]) -> tuple[MessageQueue, ...]:
    """Return the queues of brokers, each given with the number of its queues."""
    queues = (
        MessageQueue(topic=topic, broker_name=name, queue_id=queue_id)
        for name, count in counts
        for queue_id in range(min(count, QUEUES_MAX))
    )
    return tuple(islice(queues, ROUTE_QUEUES_MAX))


def masters(brokers: list[BrokerData]) -> list[str]:
    """Return the addresses of the masters among ``brokers``, sorted by broker name."""
    found = sorted(brokers, key=_name)
    return [one.broker_addrs[MASTER_ID] for one in found if MASTER_ID in one.broker_addrs]


def _name(one: QueueData | BrokerData) -> str:
    return one.broker_name or ""
