"""Telemetry: a stream by which a client says what it is, and is notified later.

Behaviour: settings are answered with the settings that hold. What the front has to tell a client
goes to its newest stream: orphaned transactions, and what admins ask for.
Refused, with the end of the stream: settings of neither kind, or with names that no client may use.

Source: proxy/grpc/v2/client/ClientActivity.java#telemetry (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.events.grpc import RpcReceived
from fakemq.faults.points import BEFORE_RPC_REPLY
from fakemq.journal.journal import shortened
from fakemq.protocol.grpc.messages import TelemetryCommand
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.proxy import dispatcher
from fakemq.proxy.checks import checked_group, checked_topic, count_parts
from fakemq.proxy.codes import Code
from fakemq.proxy.registration import register_consumer, register_producer
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK, RpcError

if TYPE_CHECKING:
    from fakemq.protocol.grpc.messages import Settings
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy


@handles("Telemetry")
def telemetry(proxy: Proxy, context: Context, command: TelemetryCommand) -> None:
    call, stream = context.call, Stream(proxy, context)

    def on_message(command: Any) -> None:
        received = proxy.journal.add(
            RpcReceived(
                node=proxy.name,
                rpc=call.rpc.name,
                peer=context.remote_addr,
                client_id=shortened(context.client_id),
            )
        )
        with proxy.journal.because(received):
            try:
                dispatcher.check(proxy, context, command)
            except RpcError as error:
                dispatcher.fail(proxy, context, command, error)
            else:
                dispatcher.intercepted(proxy, context, command, lambda: _take(stream, command))

    def on_half_close() -> None:
        call.end()
        stream.over()

    call.on_message = on_message
    call.on_half_close = on_half_close
    call.on_closed = stream.over
    _take(stream, command)


class Stream:
    """The stream of a client, by which the front sends commands to it at any time."""

    __slots__ = ("context", "proxy")

    def __init__(self, proxy: Proxy, context: Context) -> None:
        self.proxy, self.context = proxy, context

    @property
    def closed(self) -> bool:
        return self.context.call.closed

    def send(self, command: TelemetryCommand) -> None:
        if self.proxy.before_rpc_reply:
            BEFORE_RPC_REPLY.intercept(self.proxy, self.context, command)
        self.context.call.send(command)

    def over(self) -> None:
        """Let nothing remember the stream, and its connection: the client may stay for long."""
        client = self.proxy.clients.find(self.context.client_id)
        if client is not None and client.stream is self:
            client.stream = None


def _take(stream: Stream, command: TelemetryCommand) -> None:
    kind, relay = command.WhichOneof("command"), stream.proxy.relay
    client_id = stream.context.client_id
    if kind == "settings":
        _take_settings(stream, command.settings)
    elif kind == "thread_stack_trace":
        relay.stack_trace(client_id, command.status, command.thread_stack_trace)
    elif kind == "verify_message_result":
        relay.verified(client_id, command.status, command.verify_message_result)


def _take_settings(stream: Stream, settings: Settings) -> None:
    kind, proxy, context = settings.WhichOneof("pub_sub"), stream.proxy, stream.context
    if kind is None:
        _end(
            stream,
            GrpcStatus.INVALID_ARGUMENT,
            "there is no publishing or subscription data in settings",
        )
        return
    try:
        count_parts(settings)
        if kind == "publishing":
            for topic in settings.publishing.topics:
                name = checked_topic(topic)
                register_producer(proxy, context, name).stream = stream
        else:
            group = checked_group(settings.subscription.group)
            register_consumer(
                proxy,
                context,
                group,
                settings.client_type,
                settings.subscription.subscriptions,
            ).stream = stream
        proxy.settings.put(context.client_id, settings)
        raw = proxy.settings.raw(context.client_id)
        assert raw is not None
        merged = proxy.settings.merged(raw)
    except RpcError as error:
        is_argument = Code.BAD_REQUEST <= error.code < Code.INTERNAL_ERROR
        status = GrpcStatus.INVALID_ARGUMENT if is_argument else GrpcStatus.INTERNAL
        text = f"process client telemetryCommand failed. {error.message}"
        _end(stream, status, text)
        return
    dispatcher.note(proxy, context, Code.OK.name)
    context.call.send(TelemetryCommand(status=OK, settings=merged))


def _end(stream: Stream, status: GrpcStatus, text: str) -> None:
    dispatcher.note(stream.proxy, stream.context, status.name)
    stream.context.call.end(status, text)
    stream.over()
