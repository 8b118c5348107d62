"""The time from the first process of a cluster until a client has sent a message."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from bench.measure import Figure, Plan, Round, compared
from bench.process import served
from fakemq.client.blocking import Client
from fakemq.client.messages import Message

TOPIC, QUEUES = "orders", 8
_NAME = "process start to first answered send"


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure in seconds: a name server and a master with a topic start, and a client sends."""
    if not plan.wants(_NAME):
        return
    if plan.java:
        from conformance.targets.java_jars import class_path

        class_path()  # so that compiling is not measured
        rounds = [Round(java=_java_s(), fake=_fake_s()) for _ in plan.turns()]
        note = "Java's two processes one after the other"
        yield compared("ready", _NAME, rounds, "s", at_most=1.0, note=note)
    else:
        value = min(_fake_s() for _ in range(plan.runs))
        yield Figure(group="ready", name=_NAME, value=value, unit="s")


def _java_s() -> float:
    from conformance.targets.java_cluster import JavaCluster

    begin = perf_counter()
    with JavaCluster(masters=1, topics={TOPIC: QUEUES}, jvm=()) as cluster:
        _send(cluster.namesrv_addr)
        return perf_counter() - begin


def _fake_s() -> float:
    begin = perf_counter()
    with served("--topic", f"{TOPIC}:{QUEUES}") as fake:
        _send(fake.namesrv_addr)
        return perf_counter() - begin


def _send(namesrv_addr: str) -> None:
    with Client(namesrv_addr) as client:
        client.send(Message(TOPIC, b"the first"))
