"""A group of replicas under one controller on a frozen clock, over memory links."""

from __future__ import annotations

from typing import Unpack

from fakemq.broker.v5.broker import Broker5
from fakemq.broker.v5.replicas.manager import ReplicasManager
from fakemq.config.option_types import ClusterOptions
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.core.replicas import ReplicaGroup, group_of
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import broker5, send_header
from tests.support.peer import Answer, Peer

ALL_ACK = {"allAckInSyncStateSet": "true"}
PATIENT_MS = 60_000
NAME = "broker-a"


class Replicas:
    """A cluster with controllers: three replicas that have elected, unless ``options`` differ."""

    def __init__(self, **options: Unpack[ClusterOptions]) -> None:
        given: ClusterOptions = {
            "clock": "frozen",
            "start_at": "2023-11-14T22:13:20Z",
            "seed": 1,
            "slaves": 2,
            "controllers": 1,
            "topics": {"orders": 2},
            "config": ALL_ACK,
        }
        spec = cluster_spec(**(given | options))
        ports = [10911 + 20 * number for number in range(len(spec.broker_configs))]
        controllers = [f"127.0.0.1:{9870 + number}" for number in range(len(spec.controllers))]
        self.core = ClusterCore(spec, ["127.0.0.1:9876"], ports, controller_addrs=controllers)
        self.core.start()

    @property
    def group(self) -> ReplicaGroup:
        return group_of(self.core.brokers, NAME)

    @property
    def master(self) -> Broker5:
        return broker5(self.core.broker(NAME))

    def node(self, number: int) -> Broker5:
        """The replica ``broker-a@…``."""
        return broker5(self.core.brokers[f"{NAME}@{number}"])

    def manager(self, number: int) -> ReplicasManager:
        found = self.node(number).replicas
        assert found is not None
        return found

    def peer(self, broker: Broker5, name: str = "peer") -> Peer:
        core = self.core
        return Peer(core.network, core.clock, core.journal, broker.addr, name=name)

    def send(self, body: bytes, broker: Broker5 | None = None) -> Answer:
        """Send to the master, or to another, and do not wait."""
        peer = self.peer(broker or self.master)
        header = send_header("orders")
        return peer.send(RequestCode.SEND_MESSAGE_V2, header, body, timeout_ms=PATIENT_MS)

    def sent(self, body: bytes, broker: Broker5 | None = None) -> int:
        """Send, and return the code of the answer, which must be there."""
        answer = self.send(body, broker)
        assert answer.response is not None
        return answer.response.code

    def bodies(self, number: int) -> list[bytes]:
        """What can be read of the queue 0 of a replica."""
        store = self.node(number).store
        return [message.body for message in store.messages_in_queue("orders", 0)]

    def kill(self, number: int) -> None:
        self.node(number).kill()
        self.core.network.settle()

    def start(self, number: int) -> None:
        """Start a replica that is down."""
        self.core.start_broker(self.node(number))
        self.core.network.settle()

    def routed(self) -> dict[int, str]:
        """Id and address of each replica, as the name server says."""
        return self.core.name_servers[0].tables.broker_addr_table[NAME].broker_addrs
