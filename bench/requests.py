"""Processor time of a request without sockets: frames into a session, a write out of it.

The requests are those of org.apache.rocketmq.example.benchmark.Producer and Consumer of 5.5.0:
the same fields in the same order, bodies of 128 bytes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from bench.measure import Figure, Plan, best_cpu_s
from conformance.wire import requests
from fakemq.broker.broker import Broker
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.dispatch.answers import Reply
from fakemq.dispatch.dispatcher import response
from fakemq.events import RequestHandled, RequestReceived
from fakemq.net.session import Session
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.connection import Connection
from fakemq.protocol.headers.send import SendMessageRequestHeaderV2, SendMessageResponseHeader
from fakemq.reference import V4_9_7

REQUESTS = 64
"""Requests in each measured run: few, so that some runs are not disturbed by other processes."""
BATCHES = (1, 8, 64)
"""Frames that arrive at once: with 1, 16 and 64 threads of the benchmark on a connection."""
QUEUES = 8
VERSION_5_5_0 = 513
GROUP = "benchmark_consumer"
BODY = b"x" * 128
HEARTBEAT = (
    b'{"clientID":"192.0.2.2@1","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",'
    b'"consumeType":"CONSUME_PASSIVELY","groupName":"benchmark_consumer","messageModel":'
    b'"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,"codeSet":[],"expressionType":'
    b'"TAG","subString":"*","subVersion":1,"tagsSet":[],"topic":"Bench"}],"unitMode":false}],'
    b'"producerDataSet":[{"groupName":"benchmark_producer"}]}'
)


def send_fields(number: int) -> dict[str, str]:
    """Return the ext fields of the producer's SEND_MESSAGE_V2."""
    fields = requests.send_fields(
        "Bench",
        number % QUEUES,
        producerGroup="benchmark_producer",
        bornTimestamp=1_795_274_194_097 + number,
        properties=f"UNIQ_KEY\x01FD0000000000000000000000000000023{number:016X}\x02WAIT\x01true\x02",
        brokerName="broker-a",
    )
    return requests.texts(requests.short_names(fields))


def pull_fields(number: int, max_msg_nums: int) -> dict[str, str]:
    """Return the ext fields of the consumer's PULL_MESSAGE, which also commits."""
    place = ("Bench", number % QUEUES)
    return held_pull_fields(
        place, number, maxMsgNums=max_msg_nums, subVersion=1, maxMsgBytes=262_144, bname="broker-a"
    )


def held_pull_fields(place: tuple[str, int], offset: int, **more: object) -> dict[str, str]:
    """Return a PULL_MESSAGE that commits ``offset`` and may be held; a heartbeat has subscribed."""
    topic, queue_id = place
    fields = requests.pull_fields(
        topic,
        offset,
        queueId=queue_id,
        sysFlag=requests.SUSPEND_FLAG | requests.COMMIT_FLAG,
        commitOffset=offset,
        **{"consumerGroup": GROUP, **more},
    )
    del fields["subscription"]
    return requests.texts(fields)


class Sink:
    """A link that discards what is written but the last."""

    local_addr, remote_addr = "127.0.0.1:10911", "127.0.0.1:47046"
    outside = True
    write_blocked = False
    written = b""
    """What was written last."""

    def should_yield(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.written = data

    def close(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


class Lab:
    """A broker without a loop, and one client of it."""

    def __init__(self, reference: str = V4_9_7.name) -> None:
        topics = {"Bench": QUEUES}
        spec = cluster_spec(topics=topics, memory_limit="8GiB", reference=reference)
        core = ClusterCore(spec, ["127.0.0.1:9876"], [10911])
        core.start()
        self.broker: Broker = core.broker("broker-a")
        self.link = Sink()
        self.session: Session = self.broker.accept(self.link)
        self.receive(frames(RequestCode.HEART_BEAT, [{}], SerializeType.JSON, HEARTBEAT))

    def receive(self, batches: list[bytes]) -> None:
        for batch in batches:
            self.session.data_received(batch)


def frames(
    code: int,
    fields: list[dict[str, str]],
    serialize_type: SerializeType,
    body: bytes = b"",
    batch: int = 1,
) -> list[bytes]:
    """Return requests with these ext fields, ``batch`` frames in one piece."""
    encoded = [
        Connection().encode(
            RemotingCommand(
                code,
                ext_fields=one,
                body=body,
                opaque=opaque,
                version=VERSION_5_5_0,
                serialize_type=serialize_type,
            )
        )
        for opaque, one in enumerate(fields)
    ]
    return [b"".join(encoded[at : at + batch]) for at in range(0, len(encoded), batch)]


def cpu_us(function: Callable[[], object], runs: int) -> float:
    """Return the processor time of the cheapest run, in microseconds per request."""
    return best_cpu_s(function, runs) / REQUESTS * 1e6


def costs(runs: int) -> Iterator[tuple[str, float]]:
    """Yield name and microseconds: of whole requests, then of the parts of a send."""
    lab = Lab()
    gc.collect()
    gc.freeze()  # as the server does when it is ready
    try:
        sent = [send_fields(number) for number in range(REQUESTS)]
        for kind in SerializeType:
            for batch in BATCHES:
                batches = frames(RequestCode.SEND_MESSAGE_V2, sent, kind, BODY, batch)
                name = f"send, {kind.name}, {batch} at once"
                yield name, cpu_us(partial(lab.receive, batches), runs)
        for kind in SerializeType:
            for count in (1, 32):
                pulls = [pull_fields(number // QUEUES, count) for number in range(REQUESTS)]
                batches = frames(RequestCode.PULL_MESSAGE, pulls, kind)
                name = f"pull of {count}, {kind.name}"
                yield name, cpu_us(partial(lab.receive, batches), runs)
        handled = lab.broker.journal.find(RequestHandled)
        assert all(one.response_code == ResponseCode.SUCCESS for one in handled)
        for name, part in send_parts(lab, sent).items():
            yield f"of a send: {name}", cpu_us(part, runs)
    finally:
        gc.unfreeze()


def send_parts(lab: Lab, sent: list[dict[str, str]]) -> Mapping[str, Callable[[], object]]:
    """Return the parts of a send around its handler, as functions."""
    broker, connection = lab.broker, Connection()
    incoming = frames(
        RequestCode.SEND_MESSAGE_V2, sent, SerializeType.ROCKETMQ, BODY, batch=BATCHES[-1]
    )
    (request,) = connection.receive_data(incoming[0])[:1]

    def decode() -> None:
        for data in incoming:
            connection.receive_data(data)

    def header() -> None:
        for fields in sent:
            SendMessageRequestHeaderV2.decode(fields)

    def answer() -> None:
        for number in range(REQUESTS):
            answered = SendMessageResponseHeader(
                msg_id="7F00000100002A9F0000000000" + str(number),
                queue_id=number % QUEUES,
                queue_offset=number,
            )
            marks = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
            reply = Reply(answered, ext_fields=marks)
            connection.encode_start(response(request, reply), 0)

    def event() -> None:
        for number in range(REQUESTS):
            broker.journal.add(
                RequestReceived(node=broker.name, code=310, peer="127.0.0.1:47046", opaque=number)
            )

    return {
        "frame to command": decode,
        "ext fields to header": header,
        "reply to frame": answer,
        "one event": event,
    }


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield processor time per request and per part of it."""
    for name, us in costs(20 * plan.runs):
        yield Figure(group="requests", name=name, value=us, unit="µs", note="CPU, no sockets")
