"""Attacks on the gRPC front: a peer gathers much, and then triggers what walks over it.

Each peer is a socket that speaks HTTP/2 by hand: it says how much it reads, and when it leaves.
"""

# Over 400 lines: the table of attacks, and what each does.

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bench.stall_lab import TIMEOUT_MS, Attack, Lab, nothing, until_idle
from fakemq.broker.broker import Broker
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.framing import MessageReader, framed
from fakemq.protocol.grpc.table import BY_NAME
from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.hpack import encode
from fakemq.protocol.signature import Credentials
from fakemq.proxy.proxy import Proxy
from fakemq.proxy.status import RpcError
from fakemq.store.inner_message import inner_message

CLIENT, GROUP, TOPIC = "attacker@1", "GAttack", "attacked"
TOPICS = [f"topic-{number}" for number in range(9_900)]
MESSAGES = 20_000
ENTRIES = 10_000
STREAMS = 968
EACH = 32
"""What a receive gets at most."""
QUEUES = 4
BODY_BYTES, BLOCKING_BYTES = 20, 66_000
"""Of small messages, and of a large one: no other of its answer is written before it is read."""
WINDOW_MAX = (1 << 31) - 1


class Peer:
    """A connection to the front; with ``window`` 0 it reads no message of any answer."""

    def __init__(
        self, addr: str, window: int = WINDOW_MAX, credentials: Credentials | None = None
    ) -> None:
        host, _, port = addr.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), TIMEOUT_MS / 1000)
        more = (WINDOW_MAX - f.FIRST_WINDOW_BYTES).to_bytes(4, "big")
        settings = f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, window))
        self.send(f.PREFACE + settings + f.frame(f.WINDOW_UPDATE, 0, 0, more))
        self._signed = [] if credentials is None else _signed(credentials)
        self._next_id = 1
        self._rest = b""

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def call(self, rpc: str, *requests: Any, end: bool = True, client_id: str = CLIENT) -> int:
        """Begin a call, and return the number of its stream."""
        stream_id, self._next_id = self._next_id, self._next_id + 2
        fields = [(":method", "POST"), (":scheme", "http"), (":path", BY_NAME[rpc].path)]
        fields += [("content-type", "application/grpc"), ("te", "trailers")]
        fields += [("grpc-timeout", "60S"), ("x-mq-language", "PYTHON")]
        fields += [("x-mq-client-id", client_id), ("x-mq-client-version", "5.1.2")]
        fields += self._signed
        data = b"".join(framed(request.SerializeToString()) for request in requests)
        out = [f.frame(f.HEADERS, f.END_HEADERS, stream_id, encode(fields))]
        out += [
            f.frame(f.DATA, 0, stream_id, data[at : at + f.FRAME_MAX_BYTES])
            for at in range(0, len(data), f.FRAME_MAX_BYTES)
        ]
        if end:
            out.append(f.frame(f.DATA, f.END_STREAM, stream_id))
        self.send(b"".join(out))
        return stream_id

    def answers(self, stream_id: int, rpc: str, count: int | None = None) -> list[Any]:
        """Read a call's answers up to its end, or ``count`` of them."""
        reader, found = MessageReader(), list[Any]()
        while count is None or len(found) < count:
            kind, flags, number, payload = self._frame()
            if number == stream_id and kind == f.DATA:
                found += [BY_NAME[rpc].response.FromString(one) for one in reader.receive(payload)]
            if number == stream_id and (flags & f.END_STREAM or kind == f.RST_STREAM):
                break
        return found

    def ask(self, rpc: str, request: Any) -> Any:
        """Call an RPC, and return its answer, which has to be a good one."""
        (answer,) = self.answers(self.call(rpc, request), rpc)
        assert answer.status.code == m.Code.OK, answer.status
        return answer

    def _frame(self) -> tuple[int, int, int, bytes]:
        head = self._read(f.HEAD_BYTES)
        payload = self._read(int.from_bytes(head[:3], "big"))
        return head[3], head[4], int.from_bytes(head[5:], "big") & WINDOW_MAX, payload

    def _read(self, size_bytes: int) -> bytes:
        while len(self._rest) < size_bytes:
            data = self._socket.recv(1 << 18)
            assert data, "the front has closed the connection"
            self._rest += data
        found, self._rest = self._rest[:size_bytes], self._rest[size_bytes:]
        return found

    def leave(self) -> None:
        self._socket.close()


def _signed(credentials: Credentials) -> list[tuple[str, str]]:
    when = "20260101T000000Z"
    found = hmac.digest(credentials.secret_key.encode(), when.encode(), "sha1").hex()
    how = f"MQv2-HMAC-SHA1 Credential={credentials.access_key}/a/b, Signature={found}"
    return [("authorization", how), ("x-mq-date-time", when)]


@contextmanager
def peer(
    lab: Lab, window: int = WINDOW_MAX, credentials: Credentials | None = None
) -> Iterator[Peer]:
    one = Peer(lab.mq.grpc_addr, window, credentials)
    try:
        yield one
    finally:
        one.leave()


def front(core: ClusterCore) -> Proxy:
    assert core.proxy is not None
    return core.proxy


def wait(lab: Lab, holds: Callable[[ClusterCore], object]) -> None:
    """Wait for something, and until no work is left."""
    lab.mq.wait_for(lambda: bool(lab.mq.inspect(holds)), timeout="120s")
    until_idle(lab)


def resource(name: str) -> m.Resource:
    return m.Resource(name=name)


# -- clients that name many topics ----------------------------------------------------------------


def topics_of_transactions(lab: Lab) -> None:
    number = lab.many(len(TOPICS))

    def create(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        attributes = {"message.type": "TRANSACTION"}
        with broker.persistence.at_once():
            for topic in TOPICS[:number]:
                broker.topics.update(TopicConfig(topic, 1, 1, 6, attributes=attributes))
        broker.register_all()

    lab.mq.inspect(create)
    wait(
        lab,
        lambda core: TOPICS[number - 1] in core.name_servers[0].tables.topic_queue_table,
    )


def telemetry(lab: Lab, to: Peer) -> None:
    topics = [resource(topic) for topic in TOPICS[: lab.many(len(TOPICS))]]
    settings = m.Settings(client_type=m.ClientType.PRODUCER, publishing=m.Publishing(topics=topics))
    say(to, settings)


def say(to: Peer, settings: m.Settings) -> None:
    """Send settings, and wait for the answer; the stream stays open."""
    stream_id = to.call("Telemetry", m.TelemetryCommand(settings=settings), end=False)
    (answer,) = to.answers(stream_id, "Telemetry", 1)
    assert answer.status.code == m.Code.OK, answer.status


def producer(lab: Lab) -> None:
    topics_of_transactions(lab)
    lab.peer = Peer(lab.mq.grpc_addr)
    telemetry(lab, lab.peer)
    until_idle(lab)


def tell_topics(lab: Lab) -> None:
    with peer(lab) as one:
        telemetry(lab, one)
        until_idle(lab)


def tell_subscriptions(lab: Lab) -> None:
    everything = m.FilterExpression(type=m.FilterType.TAG, expression="a||b")
    entries = [
        m.SubscriptionEntry(topic=resource(topic), expression=everything)
        for topic in TOPICS[: lab.many(len(TOPICS))]
    ]
    subscription = m.Subscription(group=resource(GROUP), subscriptions=entries)
    settings = m.Settings(client_type=m.ClientType.PUSH_CONSUMER, subscription=subscription)
    with peer(lab) as one:
        say(one, settings)
        until_idle(lab)


def tell_small_settings(lab: Lab) -> None:
    """Say thousands of times in a few frames that it has nothing to say."""
    command = m.TelemetryCommand(settings=m.Settings(publishing=m.Publishing()))
    count = lab.many(5_000)
    with peer(lab) as one:
        stream_id = one.call("Telemetry", *[command] * count, end=False)
        one.answers(stream_id, "Telemetry", count)


def beat(lab: Lab) -> None:
    lab.peer.ask("Heartbeat", m.HeartbeatRequest())
    until_idle(lab)


def terminate(lab: Lab) -> None:
    request = m.NotifyClientTerminationRequest(group=resource(GROUP))
    lab.peer.ask("NotifyClientTermination", request)
    wait(lab, lambda core: not front(core).clients.snapshot())
    wait(lab, lambda core: not [*front(core).renewals.renewed()])


# -- messages -------------------------------------------------------------------------------------


def messages(lab: Lab, number: int) -> None:
    """Have small messages in a topic."""

    def fill(broker: Broker) -> None:
        for one in range(number):
            put(broker, one)

    create_topic(lab, fill)


def put(broker: Broker, number: int, size_bytes: int = BODY_BYTES) -> None:
    text = f"UNIQ_KEY\x017F0000010000{number:020}\x02"
    properties = {"UNIQ_KEY": f"7F0000010000{number:020}"}
    broker.put(inner_message(TOPIC, number % QUEUES, bytes(size_bytes), properties, text))


def consumer(to: Peer) -> None:
    everything = m.FilterExpression(type=m.FilterType.TAG, expression="*")
    subscription = m.Subscription(
        group=resource(GROUP),
        subscriptions=[m.SubscriptionEntry(topic=resource(TOPIC), expression=everything)],
    )
    say(to, m.Settings(client_type=m.ClientType.PUSH_CONSUMER, subscription=subscription))


def receive_request(**more: Any) -> Any:
    return m.ReceiveMessageRequest(
        group=resource(GROUP),
        message_queue=m.MessageQueue(topic=resource(TOPIC), id=-1),
        filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
        batch_size=EACH,
        long_polling_timeout=m.Duration(seconds=20),
        **more,
    )


def renewed(lab: Lab) -> None:
    """Receive messages whose time the front prolongs."""
    number = lab.many(MESSAGES)
    messages(lab, number)
    lab.peer = Peer(lab.mq.grpc_addr)
    consumer(lab.peer)
    lab.entries = []
    while len(lab.entries) < number:
        stream_id = lab.peer.call("ReceiveMessage", receive_request(auto_renew=True))
        for one in lab.peer.answers(stream_id, "ReceiveMessage"):
            if one.WhichOneof("content") == "message":
                system = one.message.system_properties
                lab.entries.append((system.message_id, system.receipt_handle))
    wait(lab, lambda core: len([*front(core).renewals.renewed()]) >= number)


def acknowledge(lab: Lab) -> None:
    number = lab.many(ENTRIES)
    entries = [
        m.AckMessageEntry(message_id=one, receipt_handle=handle)
        for one, handle in lab.entries[:number]
    ]
    assert len(entries) == number
    lab.peer.ask(
        "AckMessage",
        m.AckMessageRequest(topic=resource(TOPIC), group=resource(GROUP), entries=entries),
    )
    until_idle(lab)


def unread(lab: Lab) -> None:
    """Receive messages, and read none of them: the first of each answer blocks the others."""
    number = lab.many(STREAMS)

    def fill(broker: Broker) -> None:
        for one in range(number * EACH):
            put_large(broker, one)

    create_topic(lab, fill)
    lab.peer = Peer(lab.mq.grpc_addr, window=0)
    with peer(lab) as other:
        consumer(other)
        request = receive_request(invisible_duration=m.Duration(seconds=600))
        for _ in range(number):
            lab.peer.call("ReceiveMessage", request)
        wait(lab, lambda core: front(core).unwritten_bytes >= number * (EACH - 1) * BODY_BYTES)


def put_large(broker: Broker, number: int) -> None:
    """Store a message: of those that a receive gets, the first is large."""
    size_bytes = BODY_BYTES if number // QUEUES % EACH else BLOCKING_BYTES
    put(broker, number, size_bytes)


def create_topic(lab: Lab, fill: Callable[[Broker], object], queues: int = QUEUES) -> None:
    """Create the topic, and let something fill it."""

    def create(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        broker.put_topic(TopicConfig(TOPIC, queues, queues, 6))
        fill(broker)

    lab.mq.inspect(create)
    wait(lab, lambda core: TOPIC in core.name_servers[0].tables.topic_queue_table)


def unread_bytes(core: ClusterCore) -> int:
    return max(one.unfinished_bytes for one in front(core).sessions)


def leave(lab: Lab) -> None:
    lab.peer.leave()
    wait(lab, lambda core: not front(core).sessions)
    wait(lab, lambda core: not front(core).unwritten_bytes)


def open_windows(lab: Lab) -> None:
    """Let all calls write what they have, by one frame."""
    window = f.SETTING.pack(f.INITIAL_WINDOW_SIZE, 1 << 20)
    lab.peer.send(f.frame(f.SETTINGS, 0, 0, window))
    while lab.mq.inspect(unread_bytes):
        lab.peer._frame()
    until_idle(lab)


def change_windows(lab: Lab) -> None:
    """Open 1,000 streams, and change their windows as often as the front lets it."""
    with peer(lab) as one:
        for _ in range(lab.many(1_000)):
            one.call("Telemetry", end=False)
        settings = b"".join(
            f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, number % 2))
            for number in range(17_000)
        )
        with suppress(OSError):
            one.send(settings)
        wait(lab, lambda core: not front(core).sessions)


def send_batch(lab: Lab) -> None:
    batch = [
        m.Message(
            topic=resource(TOPIC),
            body=b"x",
            system_properties=m.SystemProperties(message_id=f"{number:032}"),
        )
        for number in range(lab.many(ENTRIES))
    ]
    with peer(lab) as one:
        one.ask("SendMessage", m.SendMessageRequest(messages=batch))


def queues(lab: Lab) -> None:
    """Have a topic of thousands of queues, and a group that reads each of them in order."""
    number = lab.many(5_000)

    config = SubscriptionGroupConfig(group_name=GROUP, consume_message_orderly=True)
    create_topic(lab, lambda broker: broker.groups.update(config), queues=number)


def ask_for_route(lab: Lab) -> None:
    with peer(lab) as one:
        one.ask("QueryRoute", m.QueryRouteRequest(topic=resource(TOPIC)))


def ask_for_assignment(lab: Lab) -> None:
    request = m.QueryAssignmentRequest(topic=resource(TOPIC), group=resource(GROUP))
    with peer(lab) as one:
        one.ask("QueryAssignment", request)


# -- what the front remembers ---------------------------------------------------------------------


def half_messages(lab: Lab) -> None:
    number = lab.many(100_000)

    def add(core: ClusterCore) -> None:
        for one in range(number):
            front(core).transactions.add("tx", f"id-{one}", "broker-a", one, one)

    lab.mq.inspect(add)


def routes(lab: Lab) -> None:
    number = lab.many(20_000)

    def ask(core: ClusterCore) -> None:
        for one in range(number):
            with suppress(RpcError):
                front(core).routes.route(f"unknown-{one}")

    lab.mq.inspect(ask)


def clients(lab: Lab) -> None:
    """Have 10,000 clients of one group, each of which says what it is."""
    number = lab.many(10_000)
    everything = m.FilterExpression(type=m.FilterType.TAG, expression="*")
    entry = m.SubscriptionEntry(topic=resource(TOPIC), expression=everything)
    subscription = m.Subscription(group=resource(GROUP), subscriptions=[entry])
    settings = m.Settings(client_type=m.ClientType.SIMPLE_CONSUMER, subscription=subscription)
    command = m.TelemetryCommand(settings=settings)
    lab.peer = Peer(lab.mq.grpc_addr)
    for one in range(number):
        stream_id = lab.peer.call("Telemetry", command, client_id=f"client-{one}")
        lab.peer.answers(stream_id, "Telemetry")


def asked_while_paused(lab: Lab) -> None:
    """Acknowledge twice 10,000 messages at a broker that is paused."""
    renewed(lab)
    lab.mq.inspect(lambda core: next(iter(core.brokers.values())).pause())
    entries = [
        m.AckMessageEntry(message_id=one, receipt_handle=handle)
        for one, handle in lab.entries[: lab.many(ENTRIES)]
    ]
    request = m.AckMessageRequest(topic=resource(TOPIC), group=resource(GROUP), entries=entries)
    lab.peer.call("AckMessage", request)
    wait(
        lab, lambda core: len([*front(core).renewals.renewed()]) <= len(lab.entries) - len(entries)
    )


def wake_broker(lab: Lab) -> None:
    lab.mq.inspect(lambda core: next(iter(core.brokers.values())).resume())
    until_idle(lab)


def kill_broker(lab: Lab) -> None:
    lab.mq.inspect(lambda core: next(iter(core.brokers.values())).kill())
    until_idle(lab)


def end_of_time(duration: str) -> Attack:
    """Let time pass in parts, of the cluster and of its peers, as the control port does."""

    def advance(lab: Lab) -> None:
        body = {"duration": duration, "outside_peers": True}
        lab.control("POST", "/v1/clock/advance", body)
        until_idle(lab)

    return advance


def handle_names(lab: Lab) -> None:
    """Acknowledge with handles that are none."""
    entries = [m.AckMessageEntry(message_id="m", receipt_handle="x")] * lab.many(ENTRIES)
    request = m.AckMessageRequest(topic=resource(TOPIC), group=resource(GROUP), entries=entries)
    with peer(lab) as one:
        one.answers(one.call("AckMessage", request), "AckMessage")


FRONT: dict[str, tuple[Attack, Attack]] = {
    "settings of 9,900 topics of transactions at the front": (topics_of_transactions, tell_topics),
    "settings of 9,900 subscriptions at the front": (nothing, tell_subscriptions),
    "5,000 settings in one piece at the front": (nothing, tell_small_settings),
    "heartbeat of a client of 9,900 topics at the front": (producer, beat),
    "heartbeats to brokers for 9,900 topics at the front": (producer, end_of_time("45s")),
    "end of a client of 9,900 topics at the front": (producer, terminate),
    "expiry of a client of 9,900 topics at the front": (producer, end_of_time("135s")),
    "expiry of 10,000 clients at the front": (clients, end_of_time("135s")),
    "first renewal of 20,000 messages at the front": (renewed, end_of_time("55s")),
    "end of a client with 20,000 messages at the front": (renewed, terminate),
    "10,000 acknowledgements at the front": (renewed, acknowledge),
    "10,000 bad handles at the front": (nothing, handle_names),
    "end of a connection with 968 unread receives at the front": (unread, leave),
    "windows of 968 unread receives at the front": (unread, open_windows),
    "changes of 1,000 windows at the front": (nothing, change_windows),
    "batch of 10,000 messages at the front": (lambda lab: messages(lab, 1), send_batch),
    "route of 5,000 queues at the front": (queues, ask_for_route),
    "assignment of 5,000 queues at the front": (queues, ask_for_assignment),
    "end of the time of 100,000 half messages at the front": (half_messages, end_of_time("35s")),
    "end of the time of 20,000 routes at the front": (routes, end_of_time("305s")),
    "resumption of a broker with 10,000 requests at the front": (asked_while_paused, wake_broker),
    "kill of a broker with 10,000 requests at the front": (asked_while_paused, kill_broker),
}
"""As `bench.stall.ATTACKS`, at a cluster with a front."""
