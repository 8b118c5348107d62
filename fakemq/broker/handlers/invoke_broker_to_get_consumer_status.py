"""INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223): return how far consumers have pulled a topic.

Behaviour: the broker asks the members one after the other (code 221, 5 s each), or only
``clientAddr``, which is a client id. A member that does not answer is left out of the result. The
remark is not cleared.
Refused: a member before 3.0.7, when it is asked, and a group without members: SYSTEM_ERROR.

Source: broker/client/net/Broker2Client.java#getConsumeStatus (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.broker.clients.relay import too_old
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Reply, Request
from fakemq.dispatch.outcomes import outcome_of, readable_json, required
from fakemq.later import Later
from fakemq.protocol import table
from fakemq.protocol.bodies.offset import GetConsumerStatusBody
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.headers.client import GetConsumerStatusRequestHeader
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader
from fakemq.protocol.versions import V3_0_7_SNAPSHOT

if TYPE_CHECKING:
    from fakemq.broker.clients.client_channel import ClientChannelInfo

TIMEOUT_MS = 5_000


@handles(table.INVOKE_BROKER_TO_GET_CONSUMER_STATUS)
def invoke_broker_to_get_consumer_status(
    broker: Broker, request: Request[GetConsumerStatusRequestHeader]
) -> Parked[NoHeader]:
    header = request.header
    info = required(broker.consumers.group(header.group), "ConsumerGroupInfo", "channelInfoTable")
    fields = header.encode()
    fields.pop("clientAddr", None)
    only = header.client_addr
    if only is None or not only.strip():
        only = ""
    return _Inquiry(broker, fields, list(info.channels.values()), only).parked


class _Inquiry:
    """One admin request: asks a member, waits for its answer, and then asks the next member."""

    def __init__(
        self,
        broker: Broker,
        fields: dict[str, str],
        channels: list[ClientChannelInfo],
        only: str,
    ) -> None:
        self.parked: Parked[NoHeader] = Later()
        self._broker = broker
        self._fields = fields
        self._channels = channels
        self._only = only
        self._body = GetConsumerStatusBody()
        self._ask_next()

    def _ask_next(self) -> None:
        while self._channels:
            channel = self._channels.pop(0)
            if channel.version < V3_0_7_SNAPSHOT:
                self._refuse(channel.version)
                return
            if self._only in ("", channel.client_id):
                self._ask(channel)
                return
        self.parked.resolve(Reply(body=self._body.encode(), remark=NOTHING_SAID))

    def _refuse(self, version: int) -> None:
        code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
        self.parked.resolve(outcome_of(self._broker, code, lambda: too_old(version)))

    def _ask(self, channel: ClientChannelInfo) -> None:
        if self._only:
            self._channels = []

        def answered(answer: RemotingCommand | None) -> None:
            self._take(channel.client_id, answer)
            self._ask_next()

        command = RemotingCommand(
            RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ext_fields=dict(self._fields)
        )
        self._broker.calls.call(channel.session, command, answered, TIMEOUT_MS)

    def _take(self, client_id: str, answer: RemotingCommand | None) -> None:
        if answer is None or answer.code != ResponseCode.SUCCESS or not answer.body:
            return
        try:
            status = GetConsumerStatusBody.decode(readable_json(answer.body))
        except ProtocolError:
            return  # Java logs it
        offsets = status.message_queue_table
        self._body.consumer_table[client_id] = {
            queue: offsets[queue] for queue in java_hash_map_order(offsets)
        }
