"""Telemetry: a stream by which a client says what it is, and is notified later.

Behaviour: settings are answered with the settings that hold. What the front has to tell a client
goes to its newest stream: orphaned transactions, what admins ask for, and lite topics that it no
longer has. With a stream that is cancelled, brokers forget to which lite topics its client
subscribed.
Refused, with the end of the stream: settings of neither kind, or with names that no client may use.

Source: proxy/grpc/v2/client/ClientActivity.java#telemetry (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fakemq.events.grpc import RpcReceived
from fakemq.faults.points import BEFORE_RPC_REPLY
from fakemq.journal.journal import shortened
from fakemq.protocol.grpc.messages import TelemetryCommand
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.proxy import dispatcher
from fakemq.proxy.checks import MOST_ENTRIES, checked_group, checked_topic, count_parts
from fakemq.proxy.clients import LITE_PUSH_CONSUMER_TYPE
from fakemq.proxy.registration import register_consumer, register_producer
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK, Code, RpcError

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.later import Later
    from fakemq.protocol.grpc.messages import Settings
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy

_STEP_BYTES: Final = 80
"""Settings of this size are about one step of work, such as a topic or a group."""
_SIZE_IN_MEMORY: Final = 10
"""How much larger settings are in memory than they were on their way, at most about."""


@handles("Telemetry")
def telemetry(proxy: Proxy, context: Context, command: TelemetryCommand) -> None:
    call, stream = context.call, ClientStream(proxy, context)

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

    def on_closed() -> None:
        settings = proxy.settings.raw(context.client_id)
        if settings is not None and settings.client_type == LITE_PUSH_CONSUMER_TYPE:
            from fakemq.proxy.lite import client_gone  # few clients use lite topics

            client_gone(proxy, None, context.client_id, settings)
        stream.over()

    call.on_message = on_message
    call.on_half_close = on_half_close
    call.on_closed = on_closed
    _take(stream, command)


class ClientStream:
    """The stream of a client, by which the front sends commands to it at any time."""

    __slots__ = ("context", "proxy", "unfinished")

    def __init__(self, proxy: Proxy, context: Context) -> None:
        self.proxy, self.context = proxy, context
        self.unfinished = 0
        """How many settings are not answered yet."""

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


def _take(stream: ClientStream, command: TelemetryCommand) -> None:
    kind, relay = command.WhichOneof("command"), stream.proxy.relay
    client_id = stream.context.client_id
    if kind == "settings":
        _take_settings(stream, command.settings)
    elif kind == "thread_stack_trace":
        relay.stack_trace(client_id, command.status, command.thread_stack_trace)
    elif kind == "verify_message_result":
        relay.verified(client_id, command.status, command.verify_message_result)


def _take_settings(stream: ClientStream, settings: Settings) -> None:
    kind, proxy, context = settings.WhichOneof("pub_sub"), stream.proxy, stream.context
    if kind is None:
        _end(
            stream,
            GrpcStatus.INVALID_ARGUMENT,
            "there is no publishing or subscription data in settings",
        )
        return
    within, held_bytes = proxy.journal.resume(), 0

    def taken() -> None:
        with within():
            context.call.hold(-held_bytes)
            stream.unfinished -= 1
            _answer(stream, later)

    size_bytes = settings.ByteSize()
    count = size_bytes // _STEP_BYTES
    stream.unfinished += 1
    if stream.unfinished > 1:
        count = MOST_ENTRIES  # it waits for those before it
    later = context.sliced(proxy.clock, _settings_taken(stream, settings), count)
    if not later.done:
        held_bytes = size_bytes * _SIZE_IN_MEMORY
        context.call.hold(held_bytes)
    later.when_done(taken)


def _settings_taken(stream: ClientStream, settings: Settings) -> Steps[Settings]:
    """Register a client, keep its settings, and return those that hold."""
    proxy, context = stream.proxy, stream.context
    parts = yield from count_parts(settings)
    if settings.HasField("publishing"):
        topics = (checked_topic(topic) for topic in settings.publishing.topics)
        yield from register_producer(proxy, context, topics, stream)
    else:
        group = checked_group(settings.subscription.group)
        client = yield from register_consumer(
            proxy, context, group, settings.client_type, settings.subscription.subscriptions
        )
        client.stream = stream
    proxy.settings.put(context.client_id, settings, parts, context.account)
    raw = proxy.settings.raw(context.client_id)
    assert raw is not None
    return proxy.settings.merged(raw)


def _answer(stream: ClientStream, taken: Later[Settings]) -> None:
    try:
        settings = taken.result()
    except Exception as raised:
        error = dispatcher.as_rpc_error(stream.proxy, raised)
        is_argument = Code.BAD_REQUEST <= error.code < Code.INTERNAL_ERROR
        status = GrpcStatus.INVALID_ARGUMENT if is_argument else GrpcStatus.INTERNAL
        _end(stream, status, f"process client telemetryCommand failed. {error.message}")
        return
    dispatcher.note(stream.proxy, stream.context, Code.OK.name)
    stream.context.call.send(TelemetryCommand(status=OK, settings=settings))
    if stream.closed:
        stream.over()  # meanwhile


def _end(stream: ClientStream, status: GrpcStatus, text: str) -> None:
    dispatcher.note(stream.proxy, stream.context, status.name)
    stream.context.call.end(status, text)
    stream.over()
