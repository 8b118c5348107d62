"""``python -m bench.grpc_load ADDR TOPIC KIND THREADS SECONDS``: calls of grpcio's own client.

KIND is ``sends`` or ``receives``: a receive asks for one message, and acknowledges it. Half of the
time warms up. The last line of stdout is JSON with calls per second and the 99th percentile in ms.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from time import monotonic, perf_counter, sleep
from typing import Any

import grpc

from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.table import BY_NAME

GROUP = "GBench"
METADATA = (
    *(("x-mq-client-id", "bench@1@1@a"), ("x-mq-language", "PYTHON"), ("x-mq-protocol", "v2")),
    ("x-mq-client-version", "5.1.2"),
)
TIMEOUT_S = 30.0
ROUTE_TIMEOUT_S = 60.0
BODY = b"x" * 128


class Load:
    """One channel, and the calls of its threads."""

    def __init__(self, addr: str, topic: str) -> None:
        self._channel = grpc.insecure_channel(addr)
        self._topic = m.Resource(name=topic)
        self._group = m.Resource(name=GROUP)
        self._over = threading.Event()
        host, _, port = addr.rpartition(":")
        address = m.Address(host=host, port=int(port))
        self._endpoints = m.Endpoints(scheme=m.AddressScheme.IPv4, addresses=[address])
        self._send = self._method("SendMessage")
        self._receive = self._method("ReceiveMessage")
        self._ack = self._method("AckMessage")

    def _method(self, name: str) -> Callable[[Any], Any]:
        rpc = BY_NAME[name]
        make = self._channel.unary_stream if rpc.response_stream else self._channel.unary_unary
        method = make(
            rpc.path,
            request_serializer=rpc.request.SerializeToString,
            response_deserializer=rpc.response.FromString,
        )
        return lambda request: method(request, timeout=TIMEOUT_S, metadata=METADATA)

    def wait_for_route(self) -> None:
        """Wait until the topic is known; raise TimeoutError."""
        request = m.QueryRouteRequest(topic=self._topic, endpoints=self._endpoints)
        route, until_s = self._method("QueryRoute"), monotonic() + ROUTE_TIMEOUT_S
        while route(request).status.code != m.Code.OK:
            if monotonic() > until_s:
                raise TimeoutError(f"no route for {self._topic.name}")
            sleep(0.2)

    def subscribe(self) -> m.MessageQueue:
        """Become a simple consumer of the group; return the queue that it receives from."""
        entry = m.SubscriptionEntry(
            topic=self._topic,
            expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
        )
        settings = m.Settings(
            client_type=m.ClientType.SIMPLE_CONSUMER,
            subscription=m.Subscription(group=self._group, subscriptions=[entry]),
        )

        def commands() -> Iterator[m.TelemetryCommand]:
            yield m.TelemetryCommand(settings=settings)
            self._over.wait()

        rpc = BY_NAME["Telemetry"]
        telemetry = self._channel.stream_stream(
            rpc.path,
            request_serializer=rpc.request.SerializeToString,
            response_deserializer=rpc.response.FromString,
        )
        next(telemetry(commands(), metadata=METADATA))
        answer = self._method("QueryAssignment")(
            m.QueryAssignmentRequest(
                topic=self._topic, group=self._group, endpoints=self._endpoints
            )
        )
        queue: m.MessageQueue = answer.assignments[0].message_queue
        return queue

    def send(self) -> None:
        """Send one message. Raise ValueError for any answer but OK."""
        message = m.Message(topic=self._topic, body=BODY)
        message.system_properties.message_id = "01AB"
        _require(self._send(m.SendMessageRequest(messages=[message])).status)

    def receiver(self) -> Callable[[], None]:
        """Return what receives and acknowledges one message."""
        queue = self.subscribe()
        request = m.ReceiveMessageRequest(
            group=self._group,
            message_queue=queue,
            filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
            batch_size=1,
        )
        request.invisible_duration.FromSeconds(600)
        request.long_polling_timeout.FromSeconds(5)

        def receive() -> None:
            for part in self._receive(request):
                if part.WhichOneof("content") == "message":
                    properties = part.message.system_properties
                    entry = m.AckMessageEntry(
                        message_id=properties.message_id, receipt_handle=properties.receipt_handle
                    )
                    ack = m.AckMessageRequest(group=self._group, topic=self._topic, entries=[entry])
                    _require(self._ack(ack).status)
                    return
            raise ValueError("no message is left to be received")

        return receive

    def close(self) -> None:
        """End the stream of settings, and the connection."""
        self._over.set()
        self._channel.close()


def _require(status: m.Status) -> None:
    if status.code != m.Code.OK:
        raise ValueError(f"answered {status}")


def measured(act: Callable[[], None], threads: int, seconds: float) -> dict[str, float]:
    """Call ``act`` from threads; return calls a second and the 99th percentile, of the 2nd half."""
    begin_s = perf_counter()
    warm_s, end_s = begin_s + seconds / 2, begin_s + seconds
    took: list[list[float]] = [[] for _ in range(threads)]
    failed: list[Exception] = []

    def work(mine: list[float]) -> None:
        try:
            # One measured call at least: on a busy machine a call may take as long as all.
            while ((start_s := perf_counter()) < end_s or not mine) and not failed:
                act()
                if start_s >= warm_s:
                    mine.append(perf_counter() - start_s)
        except Exception as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(mine,)) for mine in took]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]
    times = sorted(one for mine in took for one in mine)
    return {"rate": len(times) / (end_s - warm_s), "p99_ms": 1000 * times[len(times) * 99 // 100]}


def main() -> None:
    """Measure what the command line names."""
    addr, topic, kind, threads, seconds = sys.argv[1:]
    load = Load(addr, topic)
    try:
        load.wait_for_route()
        act = load.send if kind == "sends" else load.receiver()
        print(json.dumps(measured(act, int(threads), float(seconds))))
    finally:
        load.close()


if __name__ == "__main__":
    main()
