"""Groups of replicas, as a controller of 5.5.0 and its brokers tell each other of them."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.v5.bodies.route import BrokerMemberGroup


class SyncStateSet(Body):
    """The ids of the replicas that are in sync, ascending, and how often the set has changed.

    Source: remoting/protocol/body/SyncStateSet.java (5.5.0)
    """

    sync_state_set: list[Long] | None = None
    sync_state_set_epoch: Int = 0


class ElectMasterResponseBody(Body):
    """Source: remoting/protocol/body/ElectMasterResponseBody.java (5.5.0)"""

    broker_member_group: BrokerMemberGroup | None = None
    sync_state_set: list[Long] | None = None


class ReplicaIdentity(Body):
    """Source: remoting/protocol/body/BrokerReplicasInfo.java#ReplicaIdentity (5.5.0)"""

    broker_name: str | None = None
    broker_id: Long | None = None
    broker_address: str | None = None
    alive: bool | None = None


class ReplicasInfo(Body):
    """Source: remoting/protocol/body/BrokerReplicasInfo.java#ReplicasInfo (5.5.0)"""

    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: Int | None = None
    sync_state_set_epoch: Int | None = None
    in_sync_replicas: list[ReplicaIdentity] | None = None
    not_in_sync_replicas: list[ReplicaIdentity] | None = None


class BrokerReplicasInfo(Body):
    """Groups by broker name.

    Source: remoting/protocol/body/BrokerReplicasInfo.java (5.5.0)
    """

    replicas_info_table: dict[str, ReplicasInfo] = field(default_factory=dict)
