"""A cluster with a gRPC front on a frozen clock, and calls to the front without bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.net.grpc_call import GrpcCall
from fakemq.net.link import Link
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.framing import MessageReader
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.grpc.table import BY_NAME
from fakemq.proxy.proxy import Proxy
from tests.support.session_lab import RecordingLink

MIB = 1 << 20
PORT = 18_081
DOOR_PORT = 18_080
TYPES = {
    "normal": "NORMAL",
    "fifo": "FIFO",
    "delay": "DELAY",
    "tx": "TRANSACTION",
    "mixed": "MIXED",
    "prio": "PRIORITY",
}


class Fronted(Protocol):
    """What has a core with a front: a `ProxyLab`, for example."""

    @property
    def core(self) -> ClusterCore: ...
    @property
    def proxy(self) -> Proxy: ...


class FrontConnection:
    """A connection of a client, as its calls use it."""

    def __init__(self, lab: Fronted, remote_addr: str, outside: bool) -> None:
        self.link: Link = RecordingLink(outside)
        self.remote_addr = remote_addr
        self.outside = outside
        self.closed = False
        self._lab = lab
        self.calls: list[Asked] = []

    def elapsed_ms(self) -> int:
        return self._lab.core.clock.elapsed_ms(outside=self.outside)

    def send_message(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        self._asked(call).data += data

    def reply_to_call(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        self.send_message(call, data)
        self.end_call(call, GrpcStatus.OK, "")

    def end_call(self, call: GrpcCall[Any, Any], status: GrpcStatus, text: str) -> None:
        call.closed = True
        asked = self._asked(call)
        asked.status, asked.text = status, text

    def reset_call(self, call: GrpcCall[Any, Any], code: int) -> None:
        asked = self._asked(call)
        asked.reset_code = code
        asked.cancel()

    def close(self, why: str) -> None:
        self.closed = True
        for asked in self.calls:
            asked.cancel()

    def hold(self, call: GrpcCall[Any, Any], more_bytes: int) -> None:
        pass

    def is_blocked(self, call: GrpcCall[Any, Any]) -> bool:
        return self._asked(call).blocked

    def _asked(self, call: GrpcCall[Any, Any]) -> Asked:
        return next(asked for asked in self.calls if asked.call is call)


class Asked:
    """One call, and what came back."""

    def __init__(self, call: GrpcCall[Any, Any]) -> None:
        self.call = call
        self.data = b""
        self.status: GrpcStatus | None = None
        self.text = ""
        self.blocked = False
        self.reset_code: int | None = None

    @property
    def answers(self) -> list[Any]:
        """The messages that came back."""
        return [
            self.call.rpc.response.FromString(data) for data in MessageReader().receive(self.data)
        ]

    @property
    def answer(self) -> Any:
        """The only message that came back."""
        (answer,) = self.answers
        return answer

    @property
    def code(self) -> int:
        """The code of the first message that came back."""
        return int(self.answers[0].status.code)

    @property
    def message(self) -> str:
        """The text of the first message that came back."""
        return str(self.answers[0].status.message)

    @property
    def received(self) -> list[Any]:
        """The messages of an answer to ReceiveMessage."""
        return [one.message for one in self.answers if one.WhichOneof("content") == "message"]

    def cancel(self) -> None:
        """Give the call up, as a caller does."""
        if not self.call.closed:
            self.call.closed = True
            self.call.on_closed()


class ProxyLab:
    """A started cluster of RocketMQ 5 with a front, and a topic of each type with four queues.

    With ``door``, the front has its port for remoting, too.
    """

    def __init__(
        self, *, queues: int = 4, reference: str = "5.5.0", door: bool = False, **options: Any
    ) -> None:
        config = {"recallMessageEnable": "true", "enableMixedMessageType": "true"}
        spec = cluster_spec(
            reference=reference,
            clock="frozen",
            start_at="2026-01-01T00:00:00Z",
            seed=7,
            memory_limit=64 * MIB,
            config=config | options.pop("config", {}),
            free_ports=True,
            **options,
        )
        ports = [20_000 + 10 * number for number in range(len(spec.broker_configs))]
        door_port = DOOR_PORT if door else None
        self.core = ClusterCore(
            spec, ["127.0.0.1:19876"], ports, grpc_port=PORT, door_port=door_port
        )
        self.core.start()
        for topic, message_type in TYPES.items():
            self.create_topic(topic, message_type, queues)

    def create_topic(
        self,
        topic: str,
        message_type: str = "NORMAL",
        queues: int = 4,
        *,
        read: int | None = None,
        perm: int = 6,
    ) -> None:
        """Create a topic on every master; ``read`` is the number of queues that can be read."""
        reads = queues if read is None else read
        for broker in self.core.running_masters():
            attributes = {"message.type": message_type}
            config = TopicConfig(topic, reads, queues, perm, attributes=attributes)
            broker.put_topic(config)
        self.core.network.settle()

    @property
    def proxy(self) -> Proxy:
        assert self.core.proxy is not None
        return self.core.proxy

    @property
    def broker(self) -> Any:
        return next(iter(self.core.brokers.values()))

    def client(
        self, client_id: str = "c1", *, outside: bool = False, **metadata: str
    ) -> FrontClient:
        return FrontClient(self, client_id, outside=outside, metadata=metadata)

    def free(self) -> None:
        self.core.stop()
        self.core.free()


class FrontClient:
    """One client: a connection, and what each of its calls says of it."""

    def __init__(
        self, lab: Fronted, client_id: str, *, outside: bool, metadata: Mapping[str, str]
    ) -> None:
        self.lab = lab
        self.connection = FrontConnection(lab, f"10.0.0.9:{4000 + len(client_id)}", outside)
        said = {"client_id": client_id, "language": "PYTHON", "client_version": "5.1.2"}
        self.metadata = {
            f"x-mq-{name.replace('_', '-')}" if name != "authorization" else name: value
            for name, value in (said | dict(metadata)).items()
        }

    def ask(self, rpc: str, request: Any, *, timeout_ms: int | None = 30_000) -> Asked:
        """Call an RPC; return what came back so far."""
        row = BY_NAME[rpc]
        deadline_ms = None if timeout_ms is None else self.connection.elapsed_ms() + timeout_ms
        route = self.lab.proxy.paths[row.path]
        call: GrpcCall[Any, Any] = GrpcCall(self.connection, 1, route, self.metadata, deadline_ms)
        asked = Asked(call)
        self.connection.calls.append(asked)
        call.dispatch(call, request)
        return asked

    # -- what clients do ----------------------------------------------------------------------

    def send(self, *messages: Any) -> Asked:
        return self.ask("SendMessage", m.SendMessageRequest(messages=messages))

    def settings(self, command: Any) -> Asked:
        return self.ask("Telemetry", command, timeout_ms=None)

    def produce(self, *topics: str) -> Asked:
        """Say that this client is a producer of topics."""
        publishing = m.Publishing(topics=[resource(topic) for topic in topics])
        settings = m.Settings(client_type=m.ClientType.PRODUCER, publishing=publishing)
        return self.settings(m.TelemetryCommand(settings=settings))

    def consume(self, group: str = "g", *topics: str, push: bool = False) -> Asked:
        """Say that this client is a consumer of topics."""
        everything = m.FilterExpression(type=m.FilterType.TAG, expression="*")
        entries = [
            m.SubscriptionEntry(topic=resource(topic), expression=everything)
            for topic in topics or ("normal",)
        ]
        settings = m.Settings(
            client_type=m.ClientType.PUSH_CONSUMER if push else m.ClientType.SIMPLE_CONSUMER,
            request_timeout=m.Duration(seconds=3),
            subscription=m.Subscription(group=resource(group), subscriptions=entries),
        )
        return self.settings(m.TelemetryCommand(settings=settings))

    def receive(
        self,
        topic: str = "normal",
        group: str = "g",
        *,
        invisible_s: int = 30,
        most: int = 32,
        timeout_ms: int | None = 30_000,
        **fields: Any,
    ) -> Asked:
        queue = m.MessageQueue(
            topic=resource(topic), id=-1, broker=m.Broker(name=fields.pop("broker", "broker-a"))
        )
        fields.setdefault("invisible_duration", m.Duration(seconds=invisible_s))
        request = m.ReceiveMessageRequest(
            group=resource(group), message_queue=queue, batch_size=most, **fields
        )
        return self.ask("ReceiveMessage", request, timeout_ms=timeout_ms)

    def ack(self, *handles: str, topic: str = "normal", group: str = "g", id: str = "m1") -> Asked:
        entries = [m.AckMessageEntry(message_id=id, receipt_handle=handle) for handle in handles]
        request = m.AckMessageRequest(topic=resource(topic), group=resource(group), entries=entries)
        return self.ask("AckMessage", request)

    def change(self, handle: str, seconds: int, *, topic: str = "normal", **fields: Any) -> Asked:
        request = m.ChangeInvisibleDurationRequest(
            topic=resource(topic),
            group=resource(fields.pop("group", "g")),
            receipt_handle=handle,
            message_id=fields.pop("id", "m1"),
            invisible_duration=m.Duration(seconds=seconds),
            **fields,
        )
        return self.ask("ChangeInvisibleDuration", request)


def resource(name: str) -> m.Resource:
    return m.Resource(name=name)


def message(topic: str = "normal", body: bytes = b"x", id: str = "m1", **system: Any) -> m.Message:
    """A message with these system properties; ``user`` are its own."""
    user = system.pop("user", {})
    return m.Message(
        topic=resource(topic),
        body=body,
        user_properties=user,
        system_properties=m.SystemProperties(message_id=id, **system),
    )


def handle_of(received: Any) -> str:
    """The receipt handle of a received message."""
    return str(received.system_properties.receipt_handle)
