"""Admin requests that a broker passes on to a consumer, and the answers on their way back.

Source: broker/processor/AdminBrokerProcessor.java#callConsumer (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.clients.client_channel import CALL_TIMEOUT_MS
from fakemq.dispatch.answers import Parked, Refused, Reply
from fakemq.later import Later
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.table import NoHeader
from fakemq.protocol.versions import V3_1_8_SNAPSHOT, version_name

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.broker.clients.client_channel import ClientChannelInfo


def call_consumer(
    broker: Broker, command: RemotingCommand, group: str, client_id: str | None
) -> Parked[NoHeader]:
    """Pass an admin's command with fields and body on to a consumer, and the answer back."""
    if broker.front is not None:
        relayed = broker.front(command, group, client_id)
        if relayed is not None:
            return relayed
    channel = _find_consumer(broker, group, client_id)
    parked: Parked[NoHeader] = Later()

    def answered(answer: RemotingCommand | None) -> None:
        parked.resolve(
            _timed_out(broker, channel, group)
            if answer is None
            else Reply(
                body=answer.body,
                code=answer.code,
                remark=answer.remark,
                ext_fields=answer.ext_fields,
                relayed=answer,
            )
        )

    fields, body = dict(command.ext_fields), command.body
    broker.calls.call(
        channel.session,
        RemotingCommand(command.code, ext_fields=fields, body=body),
        answered,
    )
    return parked


def _find_consumer(broker: Broker, group: str, client_id: str | None) -> ClientChannelInfo:
    channel = None if client_id is None else broker.consumers.find_channel(group, client_id)
    if channel is None:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"The Consumer <{group}> <{'null' if client_id is None else client_id}> not online",
        )
    if channel.version < V3_1_8_SNAPSHOT:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"The Consumer <{client_id}> Version <{_name(channel.version)}> too low"
            " to finish, please upgrade it to V3_1_8_SNAPSHOT",
        )
    return channel


def too_old(version: int) -> Refused:
    """Return the refusal for a client that is too old for requests about offsets."""
    return Refused(
        ResponseCode.SYSTEM_ERROR,
        f"the client does not support this feature. version={_name(version)}",
    )


def _name(version: int) -> str:
    """Return the version's name; raise Refused below zero, where Java has no name."""
    if version < 0:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"java.lang.ArrayIndexOutOfBoundsException: Index {version} out of bounds for length"
            " 613, org.apache.rocketmq.common.MQVersion.getVersionDesc(MQVersion.java:29)",
        )
    return version_name(version)


def _timed_out(broker: Broker, channel: ClientChannelInfo, group: str) -> Refused:
    waited = broker.reference.call_timed_out.format(
        addr=channel.session.remote_addr, timeout_ms=CALL_TIMEOUT_MS
    )
    return Refused(
        ResponseCode.CONSUME_MSG_TIMEOUT,
        f"consumer <{group}> <{channel.client_id}> Timeout:"
        f" org.apache.rocketmq.remoting.exception.RemotingTimeoutException: {waited}",
    )
