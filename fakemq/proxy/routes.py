"""Where a topic's queues are: what the cluster's name servers say, and which queue is next.

Source: proxy/service/route/TopicRouteService.java, MessageQueueSelector.java,
MessageQueueView.java, proxy/service/metadata/ClusterMetadataService.java (5.5.0)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, overload

from fakemq.dispatch.node import NodeState
from fakemq.protocol.message_types import MESSAGE_TYPE, NORMAL
from fakemq.protocol.sysflag import PermName
from fakemq.proxy.status import RpcError, java_error, topic_not_found

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from fakemq.broker.broker import Broker
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.namesrv.namesrv import NameServer
    from fakemq.protocol.bodies.group import SubscriptionGroupConfig
    from fakemq.protocol.bodies.route import BrokerData, QueueData

UNSPECIFIED: Final = "UNSPECIFIED"
"""The type of a topic that no broker knows."""
_INT32: Final = 1 << 32


class RouteQueue(NamedTuple):
    """A queue of a topic, or with the id -1 all queues of a broker."""

    broker_name: str
    queue_id: int
    broker_addr: str


class WriteQueues(Sequence[RouteQueue]):
    """Queues by their number; each is made when it is asked for, because a topic may have 2^31."""

    def __init__(self, of_brokers: Iterable[tuple[str, str, int]]) -> None:
        """``of_brokers`` has the name, the address and the number of queues of each broker."""
        self._of_brokers = tuple(of_brokers)

    def __len__(self) -> int:
        return sum(count for _, _, count in self._of_brokers)

    @overload
    def __getitem__(self, index: int) -> RouteQueue: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RouteQueue]: ...
    def __getitem__(self, index: int | slice) -> RouteQueue | Sequence[RouteQueue]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        left = index
        for name, addr, count in self._of_brokers:
            if 0 <= left < count:
                return RouteQueue(name, left, addr)
            left -= count
        raise IndexError(index)


class TopicRoute(NamedTuple):
    """Where the queues of a topic are."""

    topic: str
    queue_datas: Sequence[QueueData]
    broker_datas: Sequence[BrokerData]
    turns: dict[bool, int]
    """For reading, and for sending: whose turn it is among the queues."""

    def write_queues(self) -> WriteQueues:
        """Return the queues that can be sent to, in Java's order.

        Source: MessageQueueSelector.java#buildWrite
        """
        of_brokers = []
        masters = {data.broker_name: data.broker_addrs.get(0) for data in self.broker_datas}
        for data in sorted(self.queue_datas, key=_broker_name):
            name = data.broker_name or ""
            addr = masters.get(name)
            if addr is not None and data.perm & PermName.WRITE:
                of_brokers.append((name, addr, max(0, data.write_queue_nums)))
        return WriteQueues(of_brokers)

    def readable_brokers(self) -> list[RouteQueue]:
        """Return the brokers with queues that can be read, as one queue each.

        Source: MessageQueueSelector.java#buildRead, #buildBrokerActingQueues
        """
        found = []
        addrs = {data.broker_name: data.broker_addrs for data in self.broker_datas}
        for data in sorted(self.queue_datas, key=_broker_name):
            name = data.broker_name or ""
            of_broker = addrs.get(name)
            if of_broker and data.perm & PermName.READ and data.read_queue_nums > 0:
                first = next(iter(of_broker.values()))
                found.append(RouteQueue(name, -1, of_broker.get(0, first)))
        return found


def _broker_name(data: QueueData) -> str:
    return data.broker_name or ""


class Routes:
    """The routes of one cluster, and the types of its topics.

    The real proxy remembers what it was given for 20 s; here each call finds the present state, or
    the last one that was found, if no name server answers. So it is with groups and their brokers.
    Both are forgotten when they were not used for 300 s.
    """

    def __init__(
        self,
        clock: NodeClock,
        name_servers: Callable[[], Iterable[NameServer]],
        brokers: Callable[[], Iterable[Broker]],
        randomness: random.Random,
    ) -> None:
        self._name_servers = name_servers
        self._brokers = brokers
        self._randomness = randomness
        self._topics: Cache[TopicRoute] = Cache(clock)
        self._groups: Cache[SubscriptionGroupConfig] = Cache(clock)

    def clear(self) -> None:
        """Forget what name servers have said."""
        self._topics.clear()
        self._groups.clear()

    def route(self, topic: str) -> TopicRoute:
        """Return the route of a topic; raise RpcError if there is none.

        As Java's cache, it also remembers that there was none.
        """
        route = self._topics.get(topic)
        for name_server in self._name_servers():
            if name_server.state is NodeState.RUNNING:
                found = name_server.routes.topic_route(topic)
                turns = {} if route is None else route.turns
                if found is None:
                    route = TopicRoute(topic, (), (), turns)
                else:
                    route = TopicRoute(topic, found.queue_datas, found.broker_datas, turns)
                self._topics.put(topic, route)
                break
        if route is None:
            raise self._no_name_server()
        if not route.queue_datas:
            raise topic_not_found(f"No topic route info in name server for the topic: {topic}")
        return route

    def _no_name_server(self) -> RpcError:
        addr = next((one.addr for one in self._name_servers()), "null")
        return java_error(
            f"connect to {addr} failed",
            "RemotingConnectException",
            "org.apache.rocketmq.remoting.netty.NettyRemotingClient"
            ".invokeSync(NettyRemotingClient.java:589)",
        )

    def master_addr(self, broker_name: str) -> str | None:
        """Return the address of a broker's master; None for an unknown broker."""
        for name_server in self._name_servers():
            if name_server.state is NodeState.RUNNING:
                data = name_server.tables.broker_addr_table.get(broker_name)
                return None if data is None else data.broker_addrs.get(0)
        for broker in self._brokers():
            if broker.config.broker_name == broker_name and not broker.role.is_slave:
                return broker.addr
        return None

    def at(self, addr: str) -> Broker | None:
        """Return the broker of this cluster at an address."""
        return next((broker for broker in self._brokers() if broker.addr == addr), None)

    # -- choosing a queue ---------------------------------------------------------------------

    def next_write_queue(self, route: TopicRoute) -> RouteQueue | None:
        """Return the queues that can be sent to in turn; None if there are none."""
        return self._next(route, False, route.write_queues())

    def broker_to_read(self, route: TopicRoute, broker_name: str) -> RouteQueue | None:
        """Return a broker by its name, else each in turn; None if no queue can be read.

        Source: proxy/grpc/v2/consumer/ReceiveMessageActivity.java#select
        """
        brokers = route.readable_brokers()
        for one in brokers:
            if one.broker_name == broker_name:
                return one
        return self._next(route, True, brokers)

    def _next(
        self, route: TopicRoute, read: bool, queues: Sequence[RouteQueue]
    ) -> RouteQueue | None:
        if not queues:
            return None
        turn = route.turns.get(read)
        if turn is None:
            turn = self._randomness.randrange(_INT32)
        route.turns[read] = turn + 1
        return queues[turn % len(queues)]

    # -- topics and groups --------------------------------------------------------------------

    def message_type(self, topic: str) -> str:
        """Return which messages a topic takes; `UNSPECIFIED` for an unknown topic.

        Source: ClusterMetadataService.java#getTopicMessageType
        """
        for name_server in self._name_servers():
            if name_server.state is NodeState.RUNNING:
                if topic not in name_server.tables.topic_queue_table:
                    return UNSPECIFIED
                break
        for broker in self._brokers():
            config = broker.topics.select(topic)
            if config is not None:
                return (config.attributes or {}).get(MESSAGE_TYPE, NORMAL)
        return UNSPECIFIED

    def group_config(self, group: str) -> SubscriptionGroupConfig | None:
        """Return a group, which the broker that is asked may create; None if there is none.

        While no broker answers, what one said last counts, as in Java's cache: else members of a
        group would pop without its order.

        Source: ClusterMetadataService.java#getSubscriptionGroupConfig
        """
        for broker in self._brokers():
            if broker.state is NodeState.RUNNING and not broker.role.is_slave:
                found = broker.groups.find(group)
                if found is None:
                    self._groups.drop(group)
                else:
                    self._groups.put(group, found)
                return found
        return self._groups.get(group)


# Values that the front has asked for, and forgets when they were not used for a while.

T = TypeVar("T")

EXPIRED_MS: Final = 300_000
MOST: Final = 20_000


class Cache(Generic[T]):
    """Values by their names. One that was not used for 300 s is forgotten, and beyond 20,000 the
    one that was not used for the longest time.

    Source: proxy/config/ProxyConfig.java#topicRouteServiceCacheExpiredSeconds,
    #subscriptionGroupConfigCacheExpiredSeconds, and #…CacheMaxNum (5.5.0)
    """

    def __init__(self, clock: NodeClock) -> None:
        self._clock = clock
        self._values: OrderedDict[str, tuple[T, int]] = OrderedDict()
        """Each with the time of its last use, in ms; the one that was used last is at the end."""
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str) -> T | None:
        """Return a value, which is used by that; None for an unknown name."""
        found = self._values.get(name)
        if found is None:
            return None
        self._use(name, found[0])
        return found[0]

    def put(self, name: str, value: T) -> None:
        """Remember a value, which is used by that."""
        self._use(name, value)
        if len(self._values) > MOST:
            self.drop(next(iter(self._values)))
        if self._timer is None:
            self._wait(EXPIRED_MS)

    def drop(self, name: str) -> None:
        """Forget a value, if it is there."""
        self._values.pop(name, None)

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()
        self._clock.cancel(self._timer)
        self._timer = None

    def _use(self, name: str, value: T) -> None:
        self._values[name] = value, self._clock.elapsed_ms()
        self._values.move_to_end(name)

    def _wait(self, delay_ms: int) -> None:
        self._timer = self._clock.call_later(delay_ms, self._expire, kind="grpc_cache")

    def _expire(self) -> None:
        self._timer = None
        self._clock.carry_out(self._expire_each(), peer=self)

    def _expire_each(self) -> Steps[None]:
        """Forget what is over; the oldest of the rest is over next."""
        now_ms = self._clock.elapsed_ms()
        while self._values:
            oldest, (_, used_ms) = next(iter(self._values.items()))
            left_ms = used_ms + EXPIRED_MS - now_ms
            if left_ms > 0:
                if self._timer is None:
                    self._wait(left_ms)
                return
            self.drop(oldest)
            yield
