"""How a simulated client speaks gRPC: one connection to the front, its settings, its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.client.tasks import Signal, Sleep, Wait
from fakemq.errors import FakemqError
from fakemq.net.grpc_channel import GrpcChannel
from fakemq.protocol.grpc.messages import (
    Address,
    AddressScheme,
    Endpoints,
    HeartbeatRequest,
    MessageQueue,
    QueryRouteRequest,
    Resource,
    TelemetryCommand,
)
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.grpc.table import BY_NAME
from fakemq.proxy.status import Code

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.client.tasks import Task
    from fakemq.net.grpc_channel import ClientCall
    from fakemq.protocol.grpc.messages import Settings
    from fakemq.sim.client import SimulatedClient

CONNECT_MS = 3_000
ASK_MS = 3_000
"""How long a client waits for most answers."""
HEARTBEAT_MS = 10_000
AGAIN_MS = 1_000
"""The pause before a lost stream of telemetry is opened again."""


class FrontError(FakemqError):
    """A call has no answer, or one that refuses; ``status`` is the name of a code."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


class Front:
    """The front, as one client program uses it; ``settings`` are what it says of itself.

    ``on_command`` gets what the front sends to the client by its stream of telemetry.
    """

    def __init__(
        self,
        client: SimulatedClient,
        settings: Settings,
        on_command: Callable[[Any], None] = lambda command: None,
    ) -> None:
        self._client = client
        self._addr = client.core.proxy_addr
        host, _, port = self._addr.rpartition(":")
        self.endpoints = Endpoints(
            scheme=AddressScheme.IPv4, addresses=[Address(host=host, port=int(port))]
        )
        self._settings = settings
        self._on_command = on_command
        self._channel: GrpcChannel | None = None
        self._opening: Signal | None = None
        self._metadata = {
            "x-mq-client-id": client.name,
            "x-mq-language": "PYTHON",
            "x-mq-client-version": "5.1.2",
        }
        self.known = Signal()
        """Set while the front knows the client's settings."""

    # -- calls --------------------------------------------------------------------------------

    def ask(self, name: str, request: Any, timeout_ms: int = ASK_MS) -> Task[list[Any]]:
        """Call an RPC; return its answers. Raise FrontError unless its status is OK."""
        call = yield from self._begin(name, timeout_ms)
        over = Signal()
        call.on_end = over.set
        call.send(request)
        if not (yield Wait(over, timeout_ms)):
            call.cancel()
            raise FrontError("DEADLINE_EXCEEDED", f"no answer within {timeout_ms} ms")
        if call.status is not GrpcStatus.OK:
            assert call.status is not None
            raise FrontError(call.status.name, call.text)
        return call.answers

    def ask_ok(self, name: str, request: Any, timeout_ms: int = ASK_MS) -> Task[Any]:
        """Call a unary RPC; return its answer. Raise FrontError if its code is not OK."""
        answers = yield from self.ask(name, request, timeout_ms)
        status = answers[0].status
        if status.code != Code.OK:
            raise FrontError(Code(status.code).name, status.message)
        return answers[0]

    def brokers(self, topic: str) -> Task[list[str]]:
        """Return the names of the brokers that have a topic."""
        request = QueryRouteRequest(topic=resource(topic), endpoints=self.endpoints)
        answer = yield from self.ask_ok("QueryRoute", request)
        return list(dict.fromkeys(queue.broker.name for queue in answer.message_queues))

    def _begin(self, name: str, timeout_ms: int | None) -> Task[ClientCall]:
        channel = self._channel
        if channel is None or channel.closed:
            channel = yield from self._open()
        return channel.call(BY_NAME[name], self._metadata, timeout_ms)

    def _open(self) -> Task[GrpcChannel]:
        client = self._client
        if self._opening is None:
            opening = self._opening = Signal()

            def opened(channel: GrpcChannel | None) -> None:
                self._channel, self._opening = channel, None
                if channel is not None and not client.alive:
                    channel.vanish()
                opening.set()

            client.carrier.outbound.dial(
                self._addr, lambda link: GrpcChannel(link, client.name, self._addr), opened
            )
            waiting = opening
        else:
            waiting = self._opening
        yield Wait(waiting, CONNECT_MS)
        if self._channel is None or self._channel.closed:
            raise FrontError("UNAVAILABLE", f"no connection to {self._addr}")
        return self._channel

    # -- what runs by itself ------------------------------------------------------------------

    def telemetry(self) -> Task[None]:
        """Keep a stream open by which the front knows the client."""
        while True:
            try:
                call = yield from self._begin("Telemetry", None)
            except FrontError:
                yield Sleep(AGAIN_MS)
                continue
            over = Signal()
            call.on_end = over.set
            call.on_message = self._on_telemetry
            call.send(TelemetryCommand(settings=self._settings), end=False)
            yield Wait(over)
            self.known.clear()
            yield Sleep(AGAIN_MS)

    def _on_telemetry(self, command: Any) -> None:
        if command.WhichOneof("command") == "settings":
            self.known.set()
        else:
            self._on_command(command)

    def heartbeats(self) -> Task[None]:
        """Say every 10 s that the client is there; open a new connection if nothing answers."""
        settings = self._settings
        request = HeartbeatRequest(client_type=settings.client_type)
        if settings.HasField("subscription"):
            request.group.CopyFrom(settings.subscription.group)
        while True:
            yield Sleep(HEARTBEAT_MS)
            channel = self._channel
            try:
                yield from self.ask("Heartbeat", request)
            except FrontError as error:
                if error.status == "DEADLINE_EXCEEDED" and channel is not None:
                    channel.close("no answer")

    def end(self, how: str) -> None:
        """End the connection, with the client: ``vanish`` is what no peer sees."""
        channel = self._channel
        if channel is None:
            return
        if how == "vanish":
            channel.vanish()
        else:
            channel.close(f"client {how}")


def resource(name: str) -> Resource:
    """Return the name of a topic or group, as calls have it."""
    return Resource(name=name)


def queue_of(topic: str, broker_name: str, queue_id: int = -1) -> MessageQueue:
    """Return a queue to receive from; -1 is any of its broker."""
    queue = MessageQueue(topic=resource(topic), id=queue_id)
    queue.broker.name = broker_name
    return queue
