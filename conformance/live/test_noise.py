"""Nonsense on every port, while a Java producer and a Java consumer notice nothing of it.

HOSTILE_SECONDS makes it last longer, HOSTILE_SEED makes it another run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.fill import fill_with_batches
from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import CROWDED
from conformance.targets.java_cluster import wait_until
from conformance.targets.processes import ROOT, FakemqProcess, together, wait_received
from conformance.wire.raw import call, frame, split
from fakemq.journal.journal import CAPACITY
from fakemq.journal.warnings import MAX_LINES

SECONDS = float(os.environ.get("HOSTILE_SECONDS", "10"))
SEED = int(os.environ.get("HOSTILE_SEED", "1"))
# 30 s of nonsense, and two JVMs before it.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + 2 * SECONDS), CROWDED]

TOPIC, QUEUES, PER_SECOND = "Hostile", 4, 100
FILLED = "Filled"
AT_LEAST_PER_SECOND = 5
"""It sends one after another, and the machine has other things to do as well."""
CONNECTIONS = 500
WARM_UP_S = 20.0
"""Until then entries of nonsense, each of its own size, take the places of others."""
AFTERWARDS_S = 60.0
NODES, KINDS = 2, 8
GET_BROKER_RUNTIME_INFO = 28

MESSAGE_BYTES = 100
"""What a message may take besides its record."""
SLACK_BYTES = 12 << 20
"""What allocators leave in between, and entries of the journal, which is full, that are larger."""


class Taken(NamedTuple):
    """What the process has of the system, and what is stored in it."""

    rss_bytes: int
    descriptors: int
    stored_bytes: int
    stored_messages: int

    @classmethod
    def by(cls, cluster: FakemqProcess) -> Taken:
        proc = Path(f"/proc/{cluster.process.pid}")
        (rss_kib,) = re.findall(r"VmRSS:\s+(\d+) kB", (proc / "status").read_text())
        descriptors = len(list((proc / "fd").iterdir()))
        answer = call(cluster.broker_addrs[0], frame(GET_BROKER_RUNTIME_INFO, {}))
        info = json.loads(split(answer)[2])["table"]
        return cls(
            int(rss_kib) << 10,
            descriptors,
            int(info["commitLogMaxOffset"]),
            int(info["msgPutTotalTodayNow"]),
        )


def ports(cluster: FakemqProcess) -> list[str]:
    """Return all ports: name server, main, VIP and HA, even if no socket listens there."""
    (broker,) = cluster.broker_addrs
    host, _, port = broker.rpartition(":")
    return [cluster.namesrv_addr, broker, *(f"{host}:{int(port) + shift}" for shift in (-2, 1))]


def make_noise(cluster: FakemqProcess, seconds: float, seed: int) -> Counter[str]:
    """Have a crowd in a process of its own talk to every port."""
    options = {"--seed": seed, "--seconds": seconds, "--connections": CONNECTIONS}
    command = [sys.executable, "-m", "conformance.wire.noise"]
    command += [str(part) for option in options.items() for part in option]
    done = subprocess.run(
        [*command, *ports(cluster)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Counter(json.loads(done.stdout))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc here")
def test_java_clients_notice_no_noise_on_any_port(java: None) -> None:
    with FakemqProcess(
        *("--namesrv-port", "0", "--broker-port", "0"),
        *("--topic", f"{TOPIC}:{QUEUES}", "--topic", f"{FILLED}:1"),
    ) as cluster:
        producer = JavaProducer(cluster.namesrv_addr, TOPIC, per_second=PER_SECOND)
        consumer = JavaConsumer(cluster.namesrv_addr, TOPIC)
        with together(producer, consumer):
            consumer.wait_assigned(QUEUES)
            producer.go()
            first = {producer.send(f"first-{number}").id for number in range(QUEUES)}
            wait_received(consumer, first)
            descriptors = Taken.by(cluster).descriptors
            print(f"{descriptors} descriptors")
            # What is imported and built when it is first needed is no leak, nor is a full journal.
            fill_with_batches(cluster.broker_addrs[0], FILLED, 1, CAPACITY)
            make_noise(cluster, WARM_UP_S, SEED + 1)
            wait_until(lambda: Taken.by(cluster).descriptors <= descriptors, AFTERWARDS_S)
            logged = Counter(producer.client_log() + consumer.client_log())
            before, sent, failed = Taken.by(cluster), len(producer.acks), len(producer.failures)
            did = make_noise(cluster, SECONDS, SEED)
            wait_until(lambda: Taken.by(cluster).descriptors <= descriptors, AFTERWARDS_S)
            after = Taken.by(cluster)
            producer.pause()
            wait_received(consumer, {ack.id for ack in producer.acks})
            print(f"seed {SEED}, {SECONDS} s: {dict(did)}")
            print(f"before {before}\nafter {after}, {len(producer.acks) - sent} sent meanwhile")
            # While the journal was filled, a send may have had to wait too long.
            assert producer.failures[failed:] == []
            assert {ack.status for ack in producer.acks} == {"SEND_OK"}
            assert len(producer.acks) - sent > SECONDS * AT_LEAST_PER_SECOND
            received = Counter(message.id for message in consumer.received)
            assert set(received.values()) == {1}
            assert Counter(producer.client_log() + consumer.client_log()) - logged == Counter()
        *served, _ = ports(cluster)  # no socket listens at the HA port yet
        assert not any(did[f"refused at {addr}"] for addr in served)
        assert_bounded(before, after)
        assert_quiet(cluster.output())
        assert cluster.terminate() == 0


def assert_bounded(before: Taken, after: Taken) -> None:
    """Memory grew by what was stored, and by what has a bound of its own."""
    stored_bytes = after.stored_bytes - before.stored_bytes
    messages = after.stored_messages - before.stored_messages
    grown_bytes = after.rss_bytes - before.rss_bytes
    print(f"grown by {grown_bytes >> 10} KiB for {stored_bytes >> 10} KiB in {messages} messages")
    assert grown_bytes <= stored_bytes + messages * MESSAGE_BYTES + SLACK_BYTES


def assert_quiet(output: str) -> None:
    """No traceback, no bug, and not a line for each of thousands."""
    assert "Traceback" not in output, output[-4000:]
    assert "a bug in fakemq" not in output, output[-4000:]
    minutes = 1 + int((SECONDS + WARM_UP_S) // 60)
    assert output.count("\n") < NODES * KINDS * (MAX_LINES + 1) * minutes + 50, output[-4000:]
