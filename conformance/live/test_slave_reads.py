"""A master sends consumers that are far behind to its slave, which serves them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import CROWDED
from conformance.targets.java_cluster import wait_until
from conformance.targets.master_slave_pairs import (
    QUICK_REPORT,
    Pair,
    gets,
    make_topic,
    max_offset,
    side_by_side,
)
from conformance.targets.processes import wait_received
from conformance.wire.raw import call, frame, json_header
from conformance.wire.requests import send_fields, texts

# A slave connects after 5 s, beside four JVMs.
pytestmark = [pytest.mark.slow, CROWDED]

TOPIC = "Behind"
CONFIG = {
    **QUICK_REPORT,
    "brokerRole": "ASYNC_MASTER",
    "slaveReadEnable": "true",
    "accessMessageInMemoryMaxRatio": "0",  # every pull counts as far behind
}
MESSAGES = 100
ON_DISK = 8
"""The most messages in one answer to a consumer that is far behind."""
IN_STEP_S = 60.0
_SEND_MESSAGE = 10


def refusal(addr: str) -> str:
    """Return what a broker says to a send, without the figures of its disk."""
    fields = texts(send_fields(TOPIC))
    header = json_header(call(addr, frame(_SEND_MESSAGE, fields, b"body")))
    return re.sub(r" *-?\d+\.\d+", " N", f"code {header['code']}: {header['remark']}")


def ask(nodes: Pair) -> list[str]:
    """Return how many messages each broker serves a consumer, and the slave's answer to a send."""
    namesrv_addr, master, slave = nodes
    make_topic(nodes, TOPIC, 1)
    with JavaProducer(namesrv_addr, TOPIC) as producer:
        ids = [producer.send(f"m{number}").id for number in range(MESSAGES)]
        slave.start()
        wait_until(lambda: max_offset(slave.addr, TOPIC) == MESSAGES, IN_STEP_S)
        with JavaConsumer(namesrv_addr, TOPIC) as consumer:
            wait_received(consumer, ids)
            seen = [f"behind: {gets(master.addr)} of the master, {gets(slave.addr)} of the slave"]
            producer.send("at-once")
            wait_received(consumer, ["at-once"])
            seen.append(f"then: {gets(master.addr)} of the master, {gets(slave.addr)} of the slave")
            assert len(consumer.received) == MESSAGES + 1
    return [*seen, refusal(slave.addr)]


def test_slave_serves_a_consumer_that_is_far_behind(java: None, tmp_path: Path) -> None:
    said = (
        "code 14: service not available now. It may be caused by one of the following reasons: "
        "the broker's disk is full [CL: N CQ: N INDEX: N], messages are put to the slave, "
        "message store has been shut down, etc."
    )
    for name, seen in side_by_side(ask, tmp_path, CONFIG).items():
        assert seen == [
            f"behind: {ON_DISK} of the master, {MESSAGES - ON_DISK} of the slave",
            f"then: {ON_DISK} of the master, {MESSAGES - ON_DISK + 1} of the slave",
            said,
        ], name
