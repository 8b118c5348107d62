"""What clients write for others to read: traces, and what a consumer reports of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from conformance.drivers.drivers import Consuming, Observing
from conformance.drivers.java_program import JavaConsumer, JavaProgram
from conformance.drivers.python_program import PythonConsumer, PythonProgram
from conformance.live.groups import WAITING
from conformance.python.operating import Operator
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.processes import together
from conformance.targets.quick_pair import QUICK
from fakemq.client import Client, Message, PullStatus
from fakemq.protocol import fastjson_reader
from fakemq.protocol.message import MessageExt

# Seconds: a real broker, and a JVM and a Python process for each kind of client.
pytestmark = [pytest.mark.slow, WAITING]

TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
TOPIC, QUEUES, MESSAGES = "Bodies", 2, 10
FIELD, RECORD = "\x01", "\x02"
TRACED = {"Pub": 3, "SubBefore": 3, "SubAfter": 3}
"""The events of three messages that are sent and consumed."""
COSTS = {"Pub": 10, "SubAfter": 3}
"""By kind of event: which field has a duration. Source: client/trace/TraceDataEncoder.java"""
JAVAS_OWN = {
    *("adjustThreadPoolNumsThreshold", "awaitTerminationMillisWhenShutdown", "consumeTimestamp"),
    *("defaultMQPushConsumerImpl", "log", "messageListener", "offsetStore", "subscription"),
}
"""Fields of Java's consumer that are Java objects, or settings that the Python client has not."""
VARYING = {"PROP_CONSUMER_START_TIMESTAMP", "allocateMessageQueueStrategy", "consumerGroup"}
"""Properties that two consumers of two groups have different values of."""


class Traces(NamedTuple):
    """The traces of one program's clients."""

    records: list[str]
    """What the events say, without what no two runs share."""
    names: set[tuple[str, ...]]
    """The names of the properties of each message that brought some."""


@pytest.fixture(scope="module")
def cluster(java: None) -> Iterator[JavaCluster]:
    with JavaCluster(masters=1, config=QUICK, topics={TOPIC: QUEUES}) as real:
        yield real


def stored(client: Client, topic: str) -> list[MessageExt]:
    """Return every message of a topic."""
    found: list[MessageExt] = []
    for queue in client.subscribe_queues(topic):
        result = client.pull(queue, 0)
        while result.status is PullStatus.FOUND:
            found += result.messages
            result = client.pull(queue, result.next_begin_offset)
    return found


def neutral(record: str, suffix: str) -> str:
    """Return an event without times, ids, ports and what a run is named by."""
    fields = record.split(FIELD)
    cost = COSTS.get(fields[0])
    if cost is not None:
        assert int(fields[cost]) >= 0
        fields[cost] = "COST"
    text = "|".join(fields).replace(suffix, "")
    text = re.sub(r"\b[0-9A-F]{32,}\b", "ID", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    return re.sub(r"\b1\d{12}\b", "TIME", text)


def traces(messages: list[MessageExt], suffix: str) -> Traces:
    """Return what a program's clients have traced."""
    records: list[str] = []
    names: set[tuple[str, ...]] = set()
    for message in messages:
        body = message.body.decode()
        if suffix not in body:
            continue
        names.add(tuple(sorted(message.properties)))
        assert body.endswith(RECORD)
        events = body.removesuffix(RECORD).split(RECORD)
        records += [neutral(event, suffix) for event in events]
        # A trace is found by the ids and keys of the messages that it is about.
        words = set(re.findall(r"\b[0-9A-F]{32,}\b", body))
        about = {event.split(FIELD)[2 if event.startswith("SubAfter") else 5] for event in events}
        assert about <= set((message.keys or "").split(" "))
        assert about <= words
    return Traces(sorted(records), names)


def test_traces_are_written_as_javas(cluster: JavaCluster) -> None:
    programs: tuple[Observing, ...] = (
        JavaProgram(cluster.namesrv_addr),
        PythonProgram(cluster.namesrv_addr),
    )
    with together(*programs), Client(cluster.namesrv_addr) as client:
        for program in programs:
            program.begin("trace")
        for program in programs:
            program.observe("trace")
        messages = stored(client, TRACE_TOPIC)
        by_java, by_python = (traces(messages, one.suffixes["trace"]) for one in programs)
    kinds = [record.split("|")[0] for record in by_java.records]
    assert {kind: kinds.count(kind) for kind in TRACED} == TRACED
    assert by_python == by_java


def without_times(info: Mapping[str, object]) -> dict[str, object]:
    """Return a queue's numbers without those that are times of the run."""
    return {name: value for name, value in info.items() if not name.endswith("Timestamp")}


class Running(NamedTuple):
    """What a consumer reports of itself, without what no two consumers share."""

    parts: set[str]
    names: set[str]
    """Of its properties."""
    properties: dict[str, str]
    queues: list[dict[str, object]]
    subscriptions: list[dict[str, object]]
    counted: dict[str, list[str]]
    """The names of the counters of each topic."""


def running(cluster: JavaCluster, group: str, consumer: Consuming) -> Running:
    """Return what a consumer that has consumed reports of itself."""
    consumer.wait_assigned(QUEUES)
    consumer.wait_for(lambda: len(consumer.received) >= MESSAGES, "messages")
    with Client(cluster.namesrv_addr) as client:
        operator = Operator(client, [broker.addr for broker in cluster.brokers])
        client_id = operator.consumers(group).connection_set[0].client_id or ""
        body = operator.running_info_body(group, client_id)
    reported: dict[str, Any] = fastjson_reader.read(body.decode())
    names = reported["properties"].keys()
    retries = f"%RETRY%{group}"
    return Running(
        parts=set(reported),
        names=set(names),
        properties={name: reported["properties"][name] for name in names - JAVAS_OWN - VARYING},
        queues=[
            without_times(info)
            for queue, info in reported["mqTable"].items()
            if queue["topic"] == TOPIC
        ],
        subscriptions=[
            {**one, "subVersion": 0, "topic": one["topic"].replace(retries, "retries")}
            for one in reported["subscriptionSet"]
        ],
        counted={
            topic.replace(retries, "retries"): sorted(counters)
            for topic, counters in reported["statusTable"].items()
        },
    )


def test_consumers_report_of_themselves_as_javas_do(cluster: JavaCluster) -> None:
    with Client(cluster.namesrv_addr) as client:
        for number in range(MESSAGES):
            client.send(Message(TOPIC, f"body {number}", keys=f"k{number}"))
    with ExitStack() as stack:
        java = JavaConsumer(cluster.namesrv_addr, TOPIC, "GJava")
        python = PythonConsumer(cluster.namesrv_addr, TOPIC, "GPython")
        stack.enter_context(together(java, python))
        by_java = running(cluster, "GJava", java)
        by_python = running(cluster, "GPython", python)
    assert by_java.names - by_python.names == JAVAS_OWN
    assert by_python == by_java._replace(names=by_python.names & by_java.names)
