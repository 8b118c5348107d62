"""Requests to a controller of 5.5.0, and the one that it sends to brokers.

A field with ``= None`` is one that Java boxes. It may be absent: what a check says of it then has
the text ``null``.
"""

from __future__ import annotations

from fakemq.protocol.header import Header, Long


class AlterSyncStateSetRequestHeader(Header):
    """The set is in the body, a `SyncStateSet`.

    Source: remoting/protocol/header/controller/AlterSyncStateSetRequestHeader.java (5.5.0)
    """

    broker_name: str | None = None
    master_broker_id: Long | None = None
    master_epoch: int | None = None
    invoke_time: Long | None = None
    """When it was sent, in ms since the epoch."""


class AlterSyncStateSetResponseHeader(Header):
    """Source: remoting/protocol/header/controller/AlterSyncStateSetResponseHeader.java (5.5.0)"""

    new_sync_state_set_epoch: int = 0


class ElectMasterRequestHeader(Header):
    """A broker asks for itself, an admin with ``designate_elect``, the controller with id -1.

    Source: remoting/protocol/header/controller/ElectMasterRequestHeader.java (5.5.0)
    """

    cluster_name: str = ""
    broker_name: str = ""
    broker_id: Long = -1
    designate_elect: bool = False
    invoke_time: Long | None = None


class ElectMasterResponseHeader(Header):
    """Source: remoting/protocol/header/controller/ElectMasterResponseHeader.java (5.5.0)"""

    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: int | None = None
    sync_state_set_epoch: int | None = None


class GetNextBrokerIdRequestHeader(Header):
    """Source: …/header/controller/register/GetNextBrokerIdRequestHeader.java (5.5.0)"""

    cluster_name: str | None = None
    broker_name: str | None = None


class GetNextBrokerIdResponseHeader(Header):
    """Source: …/header/controller/register/GetNextBrokerIdResponseHeader.java (5.5.0)"""

    cluster_name: str | None = None
    broker_name: str | None = None
    next_broker_id: Long | None = None


class ApplyBrokerIdRequestHeader(Header):
    """Source: …/header/controller/register/ApplyBrokerIdRequestHeader.java (5.5.0)"""

    cluster_name: str | None = None
    broker_name: str | None = None
    applied_broker_id: Long | None = None
    register_check_code: str | None = None
    """``HOST:PORT;MS``: the applicant, and since when. The same text is the same applicant."""


class ApplyBrokerIdResponseHeader(Header):
    """Source: …/header/controller/register/ApplyBrokerIdResponseHeader.java (5.5.0)"""

    cluster_name: str | None = None
    broker_name: str | None = None


class RegisterBrokerToControllerRequestHeader(Header):
    """Source: …/header/controller/register/RegisterBrokerToControllerRequestHeader.java (5.5.0)"""

    cluster_name: str | None = None
    broker_name: str | None = None
    broker_id: Long | None = None
    broker_address: str | None = None
    invoke_time: Long | None = None


class RegisterBrokerToControllerResponseHeader(Header):
    """The four fields of the master are absent if none is alive.

    Source: …/header/controller/register/RegisterBrokerToControllerResponseHeader.java (5.5.0)
    """

    cluster_name: str | None = None
    broker_name: str | None = None
    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: int | None = None
    sync_state_set_epoch: int | None = None


class GetReplicaInfoRequestHeader(Header):
    """Source: remoting/protocol/header/controller/GetReplicaInfoRequestHeader.java (5.5.0)"""

    broker_name: str | None = None


class GetReplicaInfoResponseHeader(Header):
    """Source: remoting/protocol/header/controller/GetReplicaInfoResponseHeader.java (5.5.0)"""

    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: int | None = None


class GetMetaDataResponseHeader(Header):
    """Source: remoting/protocol/header/controller/GetMetaDataResponseHeader.java (5.5.0)"""

    group: str | None = None
    controller_leader_id: str | None = None
    controller_leader_address: str | None = None
    is_leader: bool = False
    peers: str | None = None


class CleanControllerBrokerDataRequestHeader(Header):
    """Source: …/header/controller/admin/CleanControllerBrokerDataRequestHeader.java (5.5.0)"""

    cluster_name: str | None = None
    broker_name: str
    broker_controller_ids_to_clean: str | None = None
    """Ids with a semicolon between two."""
    is_clean_living_broker: bool = False
    invoke_time: Long | None = None


class NotifyBrokerRoleChangedRequestHeader(Header):
    """The set is in the body, a `SyncStateSet`.

    Source: remoting/protocol/header/NotifyBrokerRoleChangedRequestHeader.java (5.5.0)
    """

    master_address: str | None = None
    master_epoch: int | None = None
    sync_state_set_epoch: int | None = None
    master_broker_id: Long | None = None
