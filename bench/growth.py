"""Processor time of a request in clusters of growing size: 10,000 topics should cost as one does.

Clusters of all sizes exist at the same time and are measured in turn, so that the machine's other
load affects all of them; of many runs the cheapest counts. No sockets.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import process_time

from bench.measure import Figure, Plan, best_cpu_s
from bench.requests import BODY, Sink, frames, held_pull_fields, send_fields
from fakemq.config.checked import TopicSpec
from fakemq.config.spec import cluster_spec
from fakemq.core import inspection
from fakemq.core.cluster import ClusterCore
from fakemq.net.session import Session
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import SerializeType

REQUESTS = 100
"""Requests in each measured run."""
FLAT = 1.3
"""The allowed ratio of a flat curve: data of thousands of topics is less often in the cache."""
QUEUES_PER_TOPIC = 100
BATCH = 1_000
GROUP = "growing"
_JSON = SerializeType.JSON

Place = tuple[str, int]
"""A topic and a queue id."""


class Lab:
    """A cluster of one size; requests go to ``places``, which are spread over all its queues."""

    def __init__(self, topics: Mapping[str, int], places: Sequence[Place]) -> None:
        spec = cluster_spec(topics=topics, memory_limit="8GiB", clock="frozen", seed=1)
        self.core = ClusterCore(spec, ["127.0.0.1:9876"], [10911])
        self.core.start()
        self.broker = self.core.broker("broker-a")
        self.places = [places[at * len(places) // REQUESTS] for at in range(REQUESTS)]
        self.step = 0
        """The distance between the messages of a queue that successive pulls request."""
        self.client = self.broker.accept(Sink())
        self.namesrv_client = self.core.name_servers[0].accept(Sink())
        self.ask(heartbeat("192.0.2.2@1", GROUP, {topic for topic, _ in self.places}))

    def ask(self, data: bytes) -> None:
        self.client.data_received(data)

    def fill(self, places: Sequence[Place], each: int) -> None:
        """Store ``each`` messages in each of these queues."""
        for topic, queue_id in places:
            for begin in range(0, each, BATCH):
                members = map(_member, range(begin, min(begin + BATCH, each)))
                fields = send_fields(0) | {"b": topic, "e": str(queue_id), "i": "", "m": "true"}
                body = encode_batch(members)
                self.ask(frames(RequestCode.SEND_BATCH_MESSAGE, [fields], _JSON, body)[0])
                assert self.broker.store.max_offset_in_queue(topic, queue_id) > begin


def _member(number: int) -> BatchMember:
    properties = f"UNIQ_KEY\x01FD0000000000000000000000000000024{number:015X}\x02"
    return BatchMember(flag=0, body=BODY, properties=properties.encode())


def heartbeat(client_id: str, group: str, topics: set[str]) -> bytes:
    """Return a heartbeat of a consumer of these topics."""
    data = ConsumerData(
        group_name=group,
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        subscription_data_set=[
            SubscriptionData(topic=topic, sub_string="*") for topic in sorted(topics)
        ],
    )
    body = HeartbeatData(client_id=client_id, consumer_data_set=[data]).encode()
    return frames(RequestCode.HEART_BEAT, [{}], _JSON, body)[0]


# -- how a cluster grows ------------------------------------------------------------------------


def topics(count: int) -> Lab:
    """Return a cluster with ``count`` topics, with one message each."""
    places = [(f"topic-{number}", 0) for number in range(count)]
    lab = Lab(dict.fromkeys(dict(places), 1), places)
    lab.fill(places, 1)
    return lab


def queues(count: int) -> Lab:
    """Return a cluster with ``count`` queues, with one message each."""
    each = min(count, QUEUES_PER_TOPIC)
    names = [f"topic-{number}" for number in range(count // each)]
    places = [(name, queue_id) for name in names for queue_id in range(each)]
    lab = Lab(dict.fromkeys(names, each), places)
    lab.fill(places, 1)
    return lab


def messages(count: int) -> Lab:
    """Return a cluster with ``count`` messages in one queue."""
    places = [("topic", 0)]
    lab = Lab(dict.fromkeys(["topic"], 1), places)
    lab.fill(places, count)
    lab.step = count // REQUESTS
    return lab


def connections(count: int) -> Lab:
    """Return a cluster with ``count`` connections, each with a consumer of a group of ten."""
    lab = messages(1)
    for number in range(count):
        _consumer(lab, number, "topic")
    return lab


def _consumer(lab: Lab, number: int, topic: str) -> tuple[Session, str]:
    session, group = lab.broker.accept(Sink()), f"idle-{number // 10}"
    session.data_received(heartbeat(f"192.0.2.3@{number}", group, {topic}))
    return session, group


def held_pulls(count: int) -> Lab:
    """Return a cluster with ``count`` held pulls, each for its own queue on its own connection."""
    lab = messages(1)
    lab.core.create_topic("waiting", TopicSpec(count))
    for number in range(count):
        session, group = _consumer(lab, number, "waiting")
        session.data_received(_pull_frames([("waiting", number)], [0], group)[0])
    assert len(lab.broker.holds.snapshot()) == count
    return lab


SIZES: Mapping[str, tuple[Callable[[int], Lab], tuple[int, ...]]] = {
    "topics": (topics, (1, 100, 1_000, 10_000)),
    "queues": (queues, (1, 100, 10_000, 100_000)),
    "messages": (messages, (1, 1_000, 100_000, 1_000_000)),
    "connections": (connections, (1, 10, 100, 1_000)),
    "held pulls": (held_pulls, (1, 10, 100, 1_000)),
}


# -- what is asked ------------------------------------------------------------------------------


def _sends(lab: Lab) -> list[bytes]:
    fields = [send_fields(0) | {"b": topic, "e": str(queue)} for topic, queue in lab.places]
    return frames(RequestCode.SEND_MESSAGE_V2, fields, _JSON, BODY)


def _pull_frames(places: Sequence[Place], offsets: Sequence[int], group: str) -> list[bytes]:
    fields = [
        held_pull_fields(place, offset, consumerGroup=group, maxMsgNums=1)
        for place, offset in zip(places, offsets, strict=True)
    ]
    return frames(RequestCode.PULL_MESSAGE, fields, _JSON)


def _pulls(lab: Lab) -> list[bytes]:
    return _pull_frames(lab.places, [lab.step * number for number in range(REQUESTS)], GROUP)


def _held_and_woken(lab: Lab) -> list[bytes]:
    """Each part is a pull at the end of its queue and, after it, the message that wakes it."""
    ends = {place: lab.broker.store.max_offset_in_queue(*place) for place in lab.places}
    offsets = []
    for place in lab.places:
        offsets.append(ends[place])
        ends[place] += 1
    pulls = _pull_frames(lab.places, offsets, GROUP)
    return [pull + send for pull, send in zip(pulls, _sends(lab), strict=True)]


def _offsets(code: RequestCode, lab: Lab) -> list[bytes]:
    fields = [
        {"consumerGroup": GROUP, "topic": topic, "queueId": str(queue_id), "commitOffset": "1"}
        for topic, queue_id in lab.places
    ]
    return frames(code, fields, _JSON)


def _routes(lab: Lab) -> list[bytes]:
    fields = [{"topic": topic} for topic, _ in lab.places]
    return frames(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields, _JSON)


def _heartbeats(lab: Lab) -> list[bytes]:
    return [heartbeat("192.0.2.2@1", "beating", {lab.places[-1][0]})] * REQUESTS


def _new_topics(lab: Lab) -> list[bytes]:
    fields = [
        {
            "topic": f"new-{number}",
            "defaultTopic": "TBW102",
            "readQueueNums": "4",
            "writeQueueNums": "4",
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "order": "false",
        }
        for number in range(REQUESTS)
    ]
    return frames(RequestCode.UPDATE_AND_CREATE_TOPIC, fields, _JSON)


def _connects(lab: Lab) -> list[bytes]:
    return [b""] * REQUESTS


ASKED: Mapping[str, Callable[[Lab], list[bytes]]] = {
    "send": _sends,
    "pull": _pulls,
    "held pull and wake": _held_and_woken,
    "query offset": partial(_offsets, RequestCode.QUERY_CONSUMER_OFFSET),
    "update offset": partial(_offsets, RequestCode.UPDATE_CONSUMER_OFFSET),
    "route": _routes,
    "heartbeat": _heartbeats,
    "create topic": _new_topics,
    "connect and close": _connects,
}


def _asker(lab: Lab, what: str) -> Callable[[bytes], None]:
    """Return what takes a request to the cluster."""
    if what == "connect and close":
        return lambda _: lab.broker.accept(Sink()).connection_lost()
    return (lab.namesrv_client if what == "route" else lab.client).data_received


def run_us(lab: Lab, what: str) -> float:
    """Return the processor time of one run, in microseconds per request."""
    requests, ask, settle = ASKED[what](lab), _asker(lab, what), lab.core.network.settle
    begin = process_time()
    for request in requests:
        ask(request)
        settle()
    return (process_time() - begin) / REQUESTS * 1e6


def each_us(lab: Lab, what: str) -> list[float]:
    """Return the processor time of each request of one run, in microseconds."""
    requests, ask, settle = ASKED[what](lab), _asker(lab, what), lab.core.network.settle
    costs_us = []
    for request in requests:
        begin = process_time()
        ask(request)
        settle()
        costs_us.append((process_time() - begin) * 1e6)
    return costs_us


def cheapest_us(labs: Sequence[Lab], what: str, runs: int) -> list[float]:
    """Return microseconds per request in each cluster, from the cheapest of ``runs`` runs."""
    best = [float("inf")] * len(labs)
    for _ in range(runs):
        for at, lab in enumerate(labs):
            best[at] = min(best[at], run_us(lab, what))
    return best


# -- what is done now and then ------------------------------------------------------------------


def _registers(lab: Lab) -> None:
    lab.broker.register_all()
    lab.core.network.settle()


RARE: Mapping[str, Callable[[Lab], object]] = {
    "registration, each 30 s": _registers,
    "advance of 1 s": lambda lab: lab.core.advance(1_000),
    "clock.timers": lambda lab: lab.core.clock.timers(),
    "queues of a topic": lambda lab: inspection.queues(lab.core, lab.places[0][0]),
    "lag of a group": lambda lab: inspection.lag(lab.core, GROUP, lab.places[0][0]),
    "reset": lambda lab: lab.core.reset(),
}
"""Periodic work that blocks the loop, and operations of tests; the last one empties the cluster."""


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield curves of CPU time per request and whether they are flat; then of rarer work."""
    for unit, (grow, sizes) in SIZES.items():
        flat = {what: f"{what}: {sizes[-1]:,} {unit} beside 1" for what in ASKED}
        asked = {what: name for what, name in flat.items() if plan.wants(name)}
        rare = {what: do for what, do in RARE.items() if plan.wants(f"{what}, {unit}")}
        if not asked and not rare:
            continue
        labs = [grow(size) for size in sizes]
        gc.collect()
        gc.freeze()  # as the server does when it is ready
        try:
            for what, name in asked.items():
                costs_us = cheapest_us(labs, what, plan.runs)
                yield from _curve(what, unit, sizes, costs_us, "µs")
                yield Figure(
                    group="growth",
                    name=name,
                    value=costs_us[-1] / costs_us[0],
                    unit="times",
                    at_most=FLAT,
                    note=f"{costs_us[0]:.1f} to {costs_us[-1]:.1f} µs of CPU",
                )
            for what, do in rare.items():
                runs = 1 if what == "reset" else min(plan.runs, 5)  # only one reset is possible
                costs_ms = [best_cpu_s(partial(do, lab), runs) * 1e3 for lab in labs]
                yield from _curve(what, unit, sizes, costs_ms, "ms")
        finally:
            gc.unfreeze()


def _curve(
    what: str, x_unit: str, sizes: Sequence[int], costs: Sequence[float], unit: str
) -> Iterator[Figure]:
    for x, value in zip(sizes, costs, strict=True):
        yield Figure(group="growth", name=what, x=x, x_unit=x_unit, value=value, unit=unit)
