"""Programs in other languages steer a fake over its control port, and find it there.

What they do is written in Java and Go; the real cluster has nothing to compare it with.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from conformance.drivers.go_program import observe
from conformance.drivers.java_program import JavaProgram
from conformance.live.groups import WAITING
from conformance.targets.java_jars import CLIENT_VERSIONS

# Seconds: a JVM for each version, maybe Maven or a build in Go, and clients' own timers.
pytestmark = [pytest.mark.slow, WAITING]


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(control_port=0) as cluster:
        yield cluster


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_java_program_steers_a_fake(java: None, mq: fakemq.Cluster, version: str) -> None:
    assert mq.control_url is not None
    domain = mq.control_url.removeprefix("http://")
    with JavaProgram("none", version, domain=domain) as program:
        assert program.observe("steered") == [
            "sent: SEND_OK",
            "waits: body of in two hours at level 18",
            "received: in two hours",
            'caught up: {"lag":0,"messages":1}',
            "while it is silent: MQClientException code=10005 No route info of this topic: Steered",
            "when it speaks again: SEND_OK",
            "killed: stopped",
            "sent to a dead broker: RemotingConnectException",
            "restarted: running",
            "sent to the same: SEND_OK",
            "stored: 3",
        ]


def test_go_program_steers_a_fake(go: None, mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    observed = observe(mq.namesrv_addr, "steered", CONTROL=mq.control_url)
    assert observed == [
        "sent: 0",
        "waits: body of in two hours at level 18",
        "received: [in two hours]",
        'delivered: {"delivered":1}',
        "while it is silent: failure, the topic=Steered route info not found",
        "route again: [broker-a perm=6 read=1 write=1]",
        "stopped: fails true",
        "running: stored 2",
    ]
