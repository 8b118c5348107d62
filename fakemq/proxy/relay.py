"""What an admin asks a consumer behind the front: a stack trace, or to consume one message.

In cluster mode Java's brokers do not know these consumers, and so answer that they are not online;
in local mode they pass the request on, as here.

Source: proxy/grpc/v2/channel/GrpcClientChannel.java, GrpcChannelManager.java,
proxy/grpc/v2/client/ClientActivity.java#reportThreadStackTrace, #reportVerifyMessageResult,
proxy/service/relay/LocalProxyRelayService.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.dispatch.answers import Parked, Refused, Reply
from fakemq.later import Later
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.grpc.messages import (
    PrintThreadStackTraceCommand,
    TelemetryCommand,
    VerifyMessageCommand,
)
from fakemq.protocol.message import decode_records
from fakemq.proxy.messages import received_message
from fakemq.proxy.status import Code

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.protocol.command import RemotingCommand
    from fakemq.protocol.grpc.messages import Status, ThreadStackTrace, VerifyMessageResult
    from fakemq.protocol.table import NoHeader
    from fakemq.proxy.clients import Client, Clients

TIMEOUT_MS: Final = 5_000
"""grpcProxyRelayRequestTimeoutInSeconds. Source: proxy/config/ProxyConfig.java (5.5.0)"""
_RESULTS: Final = {
    int(Code.OK): "CR_SUCCESS",
    int(Code.FAILED_TO_CONSUME_MESSAGE): "CR_LATER",
    int(Code.MESSAGE_CORRUPTED): "CR_RETURN_NULL",
}


_STACK_TRACE, _VERIFY = "stack trace", "verify"

_Asked = tuple[str, str, str]
"""The client id, the kind of what it was asked for, and the nonce that the answer repeats."""


class Relay:
    """The requests of admins that clients have not answered yet.

    Only the client that was asked can answer, and only what it was asked. To Java's proxy the nonce
    is enough, which is a number that counts up.
    """

    def __init__(self, clock: NodeClock, clients: Clients) -> None:
        self._clock = clock
        self._clients = clients
        self._nonce = 0
        self._waiting: dict[_Asked, tuple[Parked[NoHeader], Timer]] = {}

    def relay(
        self, command: RemotingCommand, group: str, client_id: str | None
    ) -> Parked[NoHeader] | None:
        """Pass a request on; return None if the group has no such client here."""
        client = self._clients.consumer(group, client_id)
        if client is None:
            return None
        if command.code == RequestCode.GET_CONSUMER_RUNNING_INFO:
            if command.ext_fields.get("jstackEnable") != "true":
                return None  # Java's proxy does not answer: a client says nothing else of itself
            asked, parked = self._wait(client, _STACK_TRACE)
            telemetry = TelemetryCommand(
                print_thread_stack_trace_command=PrintThreadStackTraceCommand(nonce=asked[2])
            )
        elif command.code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            try:
                (stored,) = decode_records(command.body)
            except (ProtocolError, ValueError):
                return None
            asked, parked = self._wait(client, _VERIFY)
            telemetry = TelemetryCommand(
                verify_message_command=VerifyMessageCommand(
                    nonce=asked[2], message=received_message(stored, self._clock.now_ms())
                )
            )
        else:
            return None
        self._send(client, asked, telemetry)
        return parked

    def _send(self, client: Client, asked: _Asked, telemetry: TelemetryCommand) -> None:
        if not client.write(telemetry):
            self._answer(
                asked, Refused(ResponseCode.SYSTEM_ERROR, "the client has no telemetry stream")
            )

    def _wait(self, client: Client, kind: str) -> tuple[_Asked, Parked[NoHeader]]:
        asked = client.client_id, kind, str(self._nonce)
        self._nonce += 1
        parked: Parked[NoHeader] = Later()
        late = Refused(ResponseCode.SYSTEM_BUSY, "call remote timeout")
        timer = self._clock.call_later(
            TIMEOUT_MS,
            lambda: self._answer(asked, late),
            kind="rpc_timeout",
            outside=client.connection.outside,
        )
        self._waiting[asked] = parked, timer
        return asked, parked

    def _answer(self, asked: _Asked, outcome: Reply[NoHeader] | Refused) -> None:
        waiting = self._waiting.pop(asked, None)
        if waiting is not None:
            parked, timer = waiting
            self._clock.cancel(timer)
            parked.resolve(outcome)

    # -- answers of clients -------------------------------------------------------------------

    def stack_trace(self, client_id: str, status: Status, trace: ThreadStackTrace) -> None:
        """Take the stack trace of a client."""
        code = int(status.code)
        outcome: Reply[NoHeader] | Refused
        if code == Code.OK:
            body = fastjson.encode({"jstack": trace.thread_stack_trace})
            outcome = Reply(body=body, remark="")
        elif code == Code.VERIFY_FIFO_MESSAGE_UNSUPPORTED:
            outcome = Refused(ResponseCode.NO_PERMISSION, "forbidden to verify message")
        else:
            outcome = Refused(ResponseCode.SYSTEM_ERROR, "verify message failed")
        self._answer((client_id, _STACK_TRACE, trace.nonce), outcome)

    def verified(self, client_id: str, status: Status, result: VerifyMessageResult) -> None:
        """Take what became of a message that a client consumed for an admin."""
        fields = {
            "autoCommit": True,
            "consumeResult": _RESULTS.get(int(status.code)),
            "order": False,
            "remark": "from gRPC client",
            "spentTimeMills": 0,
        }
        body = fastjson.encode({name: value for name, value in fields.items() if value is not None})
        self._answer((client_id, _VERIFY, result.nonce), Reply(body=body, remark=""))

    def clear(self) -> None:
        """Forget what waits; no caller is answered."""
        for _, timer in self._waiting.values():
            self._clock.cancel(timer)
        self._waiting.clear()
