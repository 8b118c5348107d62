"""A gRPC client that does nothing wrong, and must not notice an attack beside it."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.table import BY_NAME
from tests.support.grpc_client import GrpcClient, grpc_client

TOPIC, GROUP = "Honest", "GHonest"
PAUSE_S = 0.005
TIMEOUT_S = 30.0
"""Long: on a machine with much to do every process waits."""
LATE_S = 20.0
"""How long the last messages may take to arrive."""
INVISIBLE_S = 600
"""So long that no message comes again by right."""
HEADERS = (
    ("x-mq-client-id", "honest"),
    ("x-mq-language", "PYTHON"),
    ("x-mq-client-version", "5.1.2"),
)


class Honest:
    """Asks for routes and sends on one thread, receives and acknowledges on another.

    At the end all that was sent has arrived, once. ``findings`` has what failed.
    """

    def __init__(self, addr: str) -> None:
        self.findings: list[str] = []
        self.sent: set[str] = set()
        self.received: Counter[str] = Counter()
        self.acknowledged = 0
        self.slowest_s = 0.0
        """Of a route or a send."""
        self._addr = addr
        self._over = threading.Event()
        self._enough = threading.Event()
        self._held: Any = None
        """The receive that waits for messages."""
        self._threads = [
            threading.Thread(target=self._run, args=(act,), name="honest")
            for act in (self._send_all, self._receive_all)
        ]

    def __enter__(self) -> Honest:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        sender, receiver = self._threads
        sender.join()
        late_s = time.monotonic() + LATE_S
        while not (self.findings or self._has_all() or time.monotonic() > late_s):
            receiver.join(PAUSE_S)
        self._enough.set()
        if self._held is not None:
            self._held.cancel()
        receiver.join()
        self.findings += self._wrong()

    def _wrong(self) -> Iterator[str]:
        """Yield what is wrong about all messages together."""
        if not self.sent or not self.acknowledged:
            yield f"the honest client sent {len(self.sent)}, acknowledged {self.acknowledged}"
        if lost := self.sent - self.received.keys():
            yield f"{len(lost)} of {len(self.sent)} honest messages did not arrive"
        if twice := [one for one, times in self.received.items() if times > 1]:
            yield f"{len(twice)} honest messages arrived more than once"

    def _run(self, act: Callable[[GrpcClient], None]) -> None:
        try:
            with grpc_client(self._addr) as client:
                act(client)
        except (grpc.RpcError, AssertionError) as error:
            done = f"{len(self.sent)} sends and {self.acknowledged} acknowledgements"
            self.findings.append(f"the honest client failed after {done}: {error}")
            self._over.set()

    # -- sending ------------------------------------------------------------------------------

    def _send_all(self, client: GrpcClient) -> None:
        route = m.QueryRouteRequest(topic=m.Resource(name=TOPIC))
        while not self._over.wait(PAUSE_S):
            message = m.Message(topic=m.Resource(name=TOPIC), body=b"honest")
            message.system_properties.message_id = name = f"01{len(self.sent):030X}"
            self._ask(client, "QueryRoute", route)
            self._ask(client, "SendMessage", m.SendMessageRequest(messages=[message]))
            self.sent.add(name)

    def _ask(self, client: GrpcClient, rpc: str, request: Any) -> None:
        began_s = time.monotonic()
        answer = _call(client, rpc, request)
        self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)
        assert answer.status.code == m.Code.OK, answer.status

    # -- receiving ----------------------------------------------------------------------------

    def _receive_all(self, client: GrpcClient) -> None:
        said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        said.put(_settings())
        answers = _method(client, "Telemetry", client.channel.stream_stream)(
            iter(said.get, None), metadata=HEADERS
        )
        assert next(answers).status.code == m.Code.OK
        while not self._enough.is_set():
            self._receive(client)
        said.put(None)

    def _has_all(self) -> bool:
        return self.sent <= self.received.keys()

    def _receive(self, client: GrpcClient) -> None:
        request = m.ReceiveMessageRequest(
            group=m.Resource(name=GROUP),
            message_queue=m.MessageQueue(topic=m.Resource(name=TOPIC), id=-1),
            filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
            batch_size=32,
            invisible_duration=m.Duration(seconds=INVISIBLE_S),
            long_polling_timeout=m.Duration(seconds=5),
        )
        receive = _method(client, "ReceiveMessage", client.channel.unary_stream)
        self._held = receive(request, timeout=TIMEOUT_S, metadata=HEADERS)
        try:
            answers = list(self._held)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.CANCELLED and self._enough.is_set():
                return
            raise
        statuses = [one.status.code for one in answers if one.WhichOneof("content") == "status"]
        assert set(statuses) <= {m.Code.OK, m.Code.MESSAGE_NOT_FOUND}, answers
        messages = [one.message for one in answers if one.WhichOneof("content") == "message"]
        if messages:
            self._acknowledge(client, messages)

    def _acknowledge(self, client: GrpcClient, messages: list[Any]) -> None:
        entries = []
        for message in messages:
            system = message.system_properties
            self.received[system.message_id] += 1
            assert system.delivery_attempt == 1, system
            entries.append(
                m.AckMessageEntry(
                    message_id=system.message_id, receipt_handle=system.receipt_handle
                )
            )
        request = m.AckMessageRequest(
            topic=m.Resource(name=TOPIC), group=m.Resource(name=GROUP), entries=entries
        )
        answer = _call(client, "AckMessage", request)
        assert answer.status.code == m.Code.OK, answer
        self.acknowledged += len(entries)


def _settings() -> Any:
    everything = m.FilterExpression(type=m.FilterType.TAG, expression="*")
    subscription = m.Subscription(
        group=m.Resource(name=GROUP),
        subscriptions=[m.SubscriptionEntry(topic=m.Resource(name=TOPIC), expression=everything)],
    )
    settings = m.Settings(client_type=m.ClientType.SIMPLE_CONSUMER, subscription=subscription)
    return m.TelemetryCommand(settings=settings)


def _call(client: GrpcClient, rpc: str, request: Any) -> Any:
    return _method(client, rpc, client.channel.unary_unary)(
        request, timeout=TIMEOUT_S, metadata=HEADERS
    )


def _method(client: GrpcClient, rpc: str, kind: Callable[..., Any]) -> Any:
    """Return what calls an RPC; ``kind`` is the channel's method for its kind of calls."""
    row = BY_NAME[rpc]
    return kind(
        row.path,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=row.response.FromString,
    )
