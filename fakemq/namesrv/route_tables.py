"""The five tables of a name server, as Java names them.

Nothing here has rules: `registration` changes the tables, `route_query` reads them. Inner maps and
sets are dicts in insertion order; `route_query` makes the order that clients see.

Source: namesrv/routeinfo/RouteInfoManager.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fakemq.protocol.bodies.route import BrokerData, QueueData
    from fakemq.protocol.bodies.topic import DataVersion

MASTER_ID = 0


class Channel(Protocol):
    """A broker's connection, as the tables use it; `fakemq.net.session.Session` is one."""

    outside: bool

    def close(self, why: str) -> None: ...


class BrokerLiveInfo:
    """A broker's last registration: its time, its data version and its connection.

    ``last_update_ms`` is elapsed time on the axis of the channel: the cluster's, or that of
    outside peers.
    """

    __slots__ = (
        "broker_id",
        "broker_name",
        "channel",
        "data_version",
        "ha_server_addr",
        "last_update_ms",
    )

    def __init__(
        self,
        broker_name: str,
        broker_id: int,
        data_version: DataVersion | None,
        channel: Channel,
        ha_server_addr: str,
    ) -> None:
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

    def clear(self) -> None:
        self.topic_queue_table.clear()
        self.broker_addr_table.clear()
        self.cluster_addr_table.clear()
        self.broker_live_table.clear()
        self.filter_server_table.clear()
