"""The five tables of a name server, as Java names them.

Nothing here has rules: `registration` changes the tables, `route_query` reads them. Inner maps and
sets are dicts in insertion order; `route_query` makes the order that clients see.

Source: namesrv/routeinfo/RouteInfoManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from fakemq.protocol.bodies.topic import RegisterBrokerBody, TopicConfig, find_topics

if TYPE_CHECKING:
    from fakemq.protocol.bodies.route import BrokerData, QueueData
    from fakemq.protocol.bodies.topic import DataVersion

MASTER_ID = 0
BROKER_CHANNEL_EXPIRED_TIME_MS = 120_000

K = TypeVar("K")
V = TypeVar("V")


class Channel(Protocol):
    """A broker's connection, as the tables use it; `fakemq.net.session.Session` is one."""

    outside: bool

    def close(self, why: str) -> None: ...


class BrokerLiveInfo:
    """A broker's last registration: its time, its data version and its connection.

    ``last_update_ms`` is elapsed time on the axis of the channel: the cluster's, or that of
    outside peers. A broker that is silent for longer than ``timeout_ms`` is removed.
    """

    __slots__ = (
        "broker_id",
        "broker_name",
        "channel",
        "data_version",
        "ha_server_addr",
        "last_update_ms",
        "timeout_ms",
    )

    def __init__(
        self,
        broker_name: str,
        broker_id: int,
        data_version: DataVersion | None,
        channel: Channel,
        ha_server_addr: str,
        timeout_ms: int = BROKER_CHANNEL_EXPIRED_TIME_MS,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.broker_name = broker_name
        self.broker_id = broker_id
        self.data_version = data_version
        self.channel = channel
        self.ha_server_addr = ha_server_addr
        self.last_update_ms = 0


class RouteTables:
    """topicQueueTable, brokerAddrTable, clusterAddrTable, brokerLiveTable, filterServerTable."""

    def __init__(self) -> None:
        self.topic_queue_table: dict[str, dict[str, QueueData]] = {}
        """Topic → broker name → queues."""
        self.broker_addr_table: dict[str, BrokerData] = {}
        """Broker name → cluster and address per broker id."""
        self.cluster_addr_table: dict[str, dict[str, None]] = {}
        """Cluster name → broker names, as a set: the values are unused."""
        self.broker_live_table: dict[str, BrokerLiveInfo] = {}
        """Broker address → when it last registered."""
        self.filter_server_table: dict[str, list[str]] = {}
        """Broker address → filter servers."""
        # What follows finds what is in the tables above without a walk over them: peers may
        # register thousands of brokers and topics.
        self.topics_of: dict[str, dict[str, None]] = {}
        """Broker name → the topics that have queues of it, as a set."""
        self.places_of: dict[str, dict[tuple[str, int], None]] = {}
        """Broker address → the broker names and ids that have it, as a set."""
        self.addrs_of: dict[Channel, dict[str, None]] = {}
        """Connection → the addresses of the brokers that registered over it last, as a set."""

    def enter_queues(self, topic: str, queues: QueueData) -> None:
        """Give a topic queues of a broker, or other ones."""
        name = queues.broker_name or ""
        self.topic_queue_table.setdefault(topic, {})[name] = queues
        self.topics_of.setdefault(name, {})[topic] = None

    def remove_queues(self, topic: str, broker_name: str) -> None:
        """Remove the queues that a topic has of a broker, and the topic with its last ones."""
        queues = self.topic_queue_table.get(topic)
        if queues is not None:
            queues.pop(broker_name, None)
            if not queues:
                del self.topic_queue_table[topic]
        _discard(self.topics_of, broker_name, topic)

    def enter_addr(self, broker_name: str, broker_id: int, addr: str) -> None:
        """Give an id of a broker name an address, or another one."""
        addrs = self.broker_addr_table[broker_name].broker_addrs
        if broker_id in addrs:
            _discard(self.places_of, addrs[broker_id], (broker_name, broker_id))
        addrs[broker_id] = addr
        self.places_of.setdefault(addr, {})[broker_name, broker_id] = None

    def remove_addr(self, broker_name: str, broker_id: int) -> None:
        """Remove an id of a broker name, if it has it."""
        addr = self.broker_addr_table[broker_name].broker_addrs.pop(broker_id, None)
        if addr is not None:
            _discard(self.places_of, addr, (broker_name, broker_id))

    def enter_live(self, addr: str, live: BrokerLiveInfo) -> None:
        """Note the last registration of a broker."""
        self.remove_channel(addr)
        self.broker_live_table[addr] = live
        self.addrs_of.setdefault(live.channel, {})[addr] = None

    def remove_live(self, addr: str) -> BrokerLiveInfo | None:
        """Remove the last registration of a broker, and return it if there is one."""
        self.remove_channel(addr)
        return self.broker_live_table.pop(addr, None)

    def remove_channel(self, addr: str) -> None:
        """Forget over which connection a broker registered."""
        live = self.broker_live_table.get(addr)
        if live is not None:
            _discard(self.addrs_of, live.channel, addr)

    def clear(self) -> None:
        self.topic_queue_table.clear()
        self.broker_addr_table.clear()
        self.cluster_addr_table.clear()
        self.broker_live_table.clear()
        self.filter_server_table.clear()
        self.topics_of.clear()
        self.places_of.clear()
        self.addrs_of.clear()


def _discard(sets: dict[K, dict[V, None]], key: K, value: V) -> None:
    """Remove a value from the set of a key, and the set with its last one."""
    found = sets.get(key)
    if found is not None:
        found.pop(value, None)
        if not found:
            del sets[key]


# The last registered topics of brokers in the cluster, so that only new ones are decoded.
#
# A broker registers all its topics each time; mostly they are the same as before, or one more. To
# decode ten thousand topics takes 20 ms, in which nothing else is answered. This works for brokers
# inside the cluster, whose bodies `register_broker_json` writes.


class StandingTopics:
    """Broker name → the JSON of each topic whose queues are in the table exactly so."""

    def __init__(self) -> None:
        self._said: dict[str, bytes] = {}

    def read(
        self, broker_name: str, body: bytes
    ) -> tuple[RegisterBrokerBody, Iterator[TopicConfig]] | None:
        """Return a body without its topics, and the topics that are new or changed.

        Return None if the body has another form. The caller must enter each topic over which it
        iterates: the topic then counts as known.
        """
        found = find_topics(body)
        if found is None:
            return None
        begin, end = found
        content = RegisterBrokerBody.decode(body[:begin] + body[end:])
        return content, self._new_topics(broker_name, body, begin, end)

    def _new_topics(
        self, broker_name: str, body: bytes, begin: int, end: int
    ) -> Iterator[TopicConfig]:
        said = self._said.get(broker_name)
        new = begin
        if said and body.startswith(said, begin):
            after = begin + len(said)
            if after == end or body[after : after + 1] == b",":
                new = min(after + 1, end)
        content = RegisterBrokerBody.decode(body[:begin] + body[new:])
        yield from content.topic_config_serialize_wrapper.topic_config_table.values()
        self._said[broker_name] = body[begin:end]

    def forget(self, broker_name: str) -> None:
        """Forget the topics of a broker that registered in another form."""
        self._said.pop(broker_name, None)

    def clear(self) -> None:
        """Forget all topics: something other than a registration changes the queues."""
        self._said.clear()
