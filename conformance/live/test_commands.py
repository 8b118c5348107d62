"""The commands of fakemq at a real cluster: the figures are those of RocketMQ's own mqadmin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.live.groups import WAITING
from conformance.mqadmin.program import Mqadmin
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST
from conformance.targets.runtime_info import wait_sampled
from fakemq.client import Client
from tests.support.command_line import rows, run

# Slow: a real cluster and a JVM for mqadmin.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC, GROUP = "OrdersOfCommands", "BillingOfCommands"
BODIES = [f"body {number}" for number in range(12)]


def all_in_queues(client: Client) -> bool:
    """Whether the queues have all messages: a Java broker fills them after it has answered."""
    return sum(map(client.max_offset, client.subscribe_queues(TOPIC))) == len(BODIES)


@pytest.fixture(scope="module")
def real(java: None) -> Iterator[tuple[str, Mqadmin]]:
    """The name server of a real cluster with a topic and a group that is behind, and mqadmin."""
    with JavaCluster(masters=2) as cluster, Mqadmin() as mqadmin:
        addr = cluster.namesrv_addr
        with Client(addr, consumer_group=GROUP) as client:
            client.create_topic(TOPIC, 3, cluster="DefaultCluster")
            sent = rows("send", TOPIC, *BODIES, "--tags", "paid", "-n", addr)
            assert [row["status"] for row in sent] == ["SEND_OK"] * len(BODIES)
            client.subscribe(TOPIC)
            client.heartbeat()
            wait_until(lambda: all_in_queues(client), 30)
            for queue in client.subscribe_queues(TOPIC):
                done = min(queue.queue_id, client.max_offset(queue))
                client.update_offset(queue, done, oneway=False)
            wait_sampled(client)
            yield addr, mqadmin


def test_commands_work_at_a_real_cluster_of_5_5_0(java: None) -> None:
    with (
        JavaCluster(version=NEWEST) as cluster,
        Client(cluster.namesrv_addr, consumer_group=GROUP) as client,
    ):
        at = ("-n", cluster.namesrv_addr)
        client.create_topic(TOPIC, 3, cluster="DefaultCluster")
        sent = rows("send", TOPIC, *BODIES, *at)
        client.subscribe(TOPIC)
        client.heartbeat()
        wait_until(lambda: all_in_queues(client), 30)
        for queue in client.subscribe_queues(TOPIC):
            client.update_offset(queue, 1, oneway=False)
        wait_sampled(client)
        assert sorted(row["body"] for row in rows("tail", TOPIC, "-c", "100", *at)) == sorted(
            BODIES
        )
        assert sum(row["messages"] for row in rows("queues", TOPIC, *at)) == len(BODIES)
        assert [row["topic"] for row in rows("topics", *at)] == [TOPIC]
        assert sum(row["lag"] for row in rows("lag", GROUP, *at)) == len(BODIES) - 3
        (group,) = rows("groups", *at)
        assert (group["group"], group["members"], group["lag"]) == (GROUP, 1, len(BODIES) - 3)
        assert [row["version"] for row in rows("brokers", *at)] == ["V5_5_0"]
        assert [row["role"] for row in rows("clients", GROUP, *at)] == ["consumer"]
        (message,) = rows("browse", sent[0]["message_id"], *at)
        assert message["body"] == BODIES[0]
        steps = rows("trace", sent[0]["message_id"], *at)
        assert [row.get("step", row.get("group")) for row in steps] == ["stored", GROUP]


def printed(mqadmin: Mqadmin, *arguments: str) -> list[list[str]]:
    """Return the words of each line that mqadmin prints."""
    return [words for line in mqadmin.run(arguments) if (words := line.split())]


def test_lag_is_that_of_consumer_progress(real: tuple[str, Mqadmin]) -> None:
    addr, mqadmin = real
    lines = printed(mqadmin, "consumerProgress", "-g", GROUP, "-n", addr)
    ours = [
        [row["topic"], row["broker"], *(str(row[name]) for name in FIGURES)]
        for row in rows("lag", GROUP, "-n", addr)
    ]
    theirs = [line[:6] for line in lines if line[0] in (TOPIC, f"%RETRY%{GROUP}")]
    assert sorted(ours) == sorted(theirs)
    (total,) = (line[-1] for line in lines if line[:2] == ["Diff", "Total:"])
    note = run("lag", GROUP, "-n", addr).stdout.splitlines()[-1]
    assert note.startswith(f"{GROUP}: lag {total}, ")
    (group,) = rows("groups", GROUP, "-n", addr)
    assert (str(group["lag"]), group["members"]) == (total, 1)


FIGURES = ("queue_id", "broker_offset", "consumer_offset", "lag")


def test_queues_are_those_of_topic_status(real: tuple[str, Mqadmin]) -> None:
    addr, mqadmin = real
    lines = printed(mqadmin, "topicStatus", "-t", TOPIC, "-n", addr)
    theirs = [line[:4] for line in lines if line[0].startswith("broker-")]
    ours = [
        [row["broker"], *(str(row[name]) for name in ("queue_id", "min_offset", "max_offset"))]
        for row in rows("queues", TOPIC, "-n", addr)
    ]
    assert sorted(ours) == sorted(theirs)
    (topic,) = rows("topics", TOPIC, "-n", addr)
    assert topic["messages"] == len(BODIES)


def test_tail_shows_what_print_msg_prints(real: tuple[str, Mqadmin]) -> None:
    addr, mqadmin = real
    lines = mqadmin.run(["printMsg", "-t", TOPIC, "-d", "true", "-n", addr])
    theirs = sorted(line.rpartition("BODY: ")[2] for line in lines if "BODY: " in line)
    found = rows("tail", TOPIC, "-c", "100", "-n", addr)
    assert sorted(row["body"] for row in found) == theirs == sorted(BODIES)
    line = next(line for line in lines if found[0]["message_id"] in line)
    assert "paid" in line
    (message,) = rows("browse", found[0]["message_id"], "-n", addr)
    assert message == found[0]
    steps = rows("trace", found[0]["message_id"], "-n", addr)
    assert [row["step"] for row in steps if row["kind"] == "step"] == ["stored"]
    assert [row["group"] for row in steps if row["kind"] == "consumed"] == [GROUP]


def test_brokers_and_clients_are_those_of_mqadmin(real: tuple[str, Mqadmin]) -> None:
    addr, mqadmin = real
    lines = printed(mqadmin, "clusterList", "-n", addr)
    theirs = [line[:5] for line in lines if line[0] == "DefaultCluster"]
    ours = [
        [*(str(row[name]) for name in ("cluster", "broker", "id", "addr", "version"))]
        for row in rows("brokers", "-n", addr)
    ]
    assert sorted(ours) == sorted(theirs)
    lines = printed(mqadmin, "consumerConnection", "-g", GROUP, "-n", addr)
    (member,) = rows("clients", GROUP, "-n", addr)
    # Its connection to each broker has another address.
    theirs = [[line[0], *line[2:]] for line in lines if len(line) == 4]
    assert [member["client_id"], member["language"], member["version"]] in theirs
