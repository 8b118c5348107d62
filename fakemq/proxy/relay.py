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
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.grpc.messages import (
    PrintThreadStackTraceCommand,
    TelemetryCommand,
    VerifyMessageCommand,
)
from fakemq.protocol.message import decode_records
from fakemq.proxy.codes import Code
from fakemq.proxy.messages import received_message

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


class Relay:
    """The requests of admins that clients have not answered yet, by their nonces."""

    def __init__(self, clock: NodeClock, clients: Clients) -> None:
        self._clock = clock
        self._clients = clients
        self._nonce = 0
        self._waiting: dict[str, tuple[Parked[NoHeader], Timer]] = {}

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
            nonce, parked = self._wait(client)
            telemetry = TelemetryCommand(
                print_thread_stack_trace_command=PrintThreadStackTraceCommand(nonce=nonce)
            )
        elif command.code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            try:
                (stored,) = decode_records(command.body)
            except (ProtocolError, ValueError):
                return None
            nonce, parked = self._wait(client)
            telemetry = TelemetryCommand(
                verify_message_command=VerifyMessageCommand(
                    nonce=nonce, message=received_message(stored, self._clock.now_ms())
                )
            )
        else:
            return None
        self._send(client, nonce, telemetry)
        return parked

    def _send(self, client: Client, nonce: str, telemetry: TelemetryCommand) -> None:
        if not client.write(telemetry):
            self._answer(
                nonce, Refused(ResponseCode.SYSTEM_ERROR, "the client has no telemetry stream")
            )

    def _wait(self, client: Client) -> tuple[str, Parked[NoHeader]]:
        nonce = str(self._nonce)
        self._nonce += 1
        parked: Parked[NoHeader] = Parked()
        late = Refused(ResponseCode.SYSTEM_BUSY, "call remote timeout")
        timer = self._clock.call_later(
            TIMEOUT_MS,
            lambda: self._answer(nonce, late),
            kind="rpc_timeout",
            outside=client.connection.outside,
        )
        self._waiting[nonce] = parked, timer
        return nonce, parked

    def _answer(self, nonce: str, outcome: Reply[NoHeader] | Refused) -> None:
        waiting = self._waiting.pop(nonce, None)
        if waiting is not None:
            parked, timer = waiting
            self._clock.cancel(timer)
            parked.resolve(outcome)

    # -- answers of clients -------------------------------------------------------------------

    def stack_trace(self, status: Status, trace: ThreadStackTrace) -> None:
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
        self._answer(trace.nonce, outcome)

    def verified(self, status: Status, result: VerifyMessageResult) -> None:
        """Take what became of a message that a client consumed for an admin."""
        fields = {
            "autoCommit": True,
            "consumeResult": _RESULTS.get(int(status.code)),
            "order": False,
            "remark": "from gRPC client",
            "spentTimeMills": 0,
        }
        body = fastjson.encode({name: value for name, value in fields.items() if value is not None})
        self._answer(result.nonce, Reply(body=body, remark=""))

    def clear(self) -> None:
        """Forget what waits; no caller is answered."""
        for _, timer in self._waiting.values():
            self._clock.cancel(timer)
        self._waiting.clear()
