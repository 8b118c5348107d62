"""What controllers send to brokers: that their group has another master."""

from __future__ import annotations

from fakemq.dispatch.answers import Reply
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.bodies.controller import ElectMasterResponseBody, SyncStateSet
from fakemq.protocol.v5.bodies.route import BrokerMemberGroup
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.controller import (
    ElectMasterResponseHeader,
    NotifyBrokerRoleChangedRequestHeader,
)


def notification_of(
    reply: Reply[ElectMasterResponseHeader], version: int
) -> tuple[RemotingCommand, BrokerMemberGroup]:
    """Return the notification of an election, and the group; without members for a failed one.

    Source: remoting/protocol/body/RoleChangeNotifyEntry.java#convert,
    controller/ControllerManager.java#doNotifyBrokerRoleChanged (5.5.0)
    """
    command = RemotingCommand(RequestCode5.NOTIFY_BROKER_ROLE_CHANGED, version=version)
    elected, data = reply.header, reply.body
    if reply.code != ResponseCode.SUCCESS or elected is None or not isinstance(data, bytes):
        return command, BrokerMemberGroup()
    body = ElectMasterResponseBody.decode(data)
    command.ext_fields = NotifyBrokerRoleChangedRequestHeader(
        master_address=elected.master_address,
        master_epoch=elected.master_epoch,
        sync_state_set_epoch=elected.sync_state_set_epoch,
        master_broker_id=elected.master_broker_id,
    ).encode()
    command.body = SyncStateSet(
        sync_state_set=body.sync_state_set,
        sync_state_set_epoch=elected.sync_state_set_epoch or 0,
    ).encode()
    return command, body.broker_member_group or BrokerMemberGroup()
