"""The statuses of a Java producer while a slave comes, pauses, falls behind and comes back.

They are the same of Java's master and of ours, with a slave of either kind.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import pytest

from conformance.drivers.drivers import DriverError
from conformance.drivers.java_program import JavaProducer
from conformance.live.groups import WAITING
from conformance.targets.master_slave_pairs import Node, Pair, make_topic, side_by_side

# A send waits 3 s for a paused slave, whose link is closed after 20 s.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC = "Statuses"
CONFIG = {"brokerRole": "SYNC_MASTER", "haSlaveFallbehindMax": "60000"}
LARGE = secrets.token_hex(15_000)
"""As key and body, compressed, about 46 KB of the log: two of them are too far."""
SMALL = ""
SAFE, NO_SLAVE, TIMEOUT = "SEND_OK", "SLAVE_NOT_AVAILABLE", "FLUSH_SLAVE_TIMEOUT"
PATIENCE_S = 60.0
EXPECTED = [
    "no slave: SLAVE_NOT_AVAILABLE at once",
    "a slave that starts: FLUSH_SLAVE_TIMEOUT after 3 s, then SEND_OK",
    "in step: SEND_OK at once",
    "paused: FLUSH_SLAVE_TIMEOUT after 3 s",
    "too far behind: SLAVE_NOT_AVAILABLE at once",
    "it resumes: SEND_OK",
    "in step again: SEND_OK at once",
    "paused again: FLUSH_SLAVE_TIMEOUT after 3 s, then SLAVE_NOT_AVAILABLE",
    "put out: after 20 s",
    "without it: SLAVE_NOT_AVAILABLE at once",
    "it comes back: FLUSH_SLAVE_TIMEOUT after 3 s, then SEND_OK",
    "in step at last: SEND_OK at once",
]


class Sender:
    """A producer that notes what became of its sends."""

    def __init__(self, producer: JavaProducer) -> None:
        self._producer = producer
        self._sent = 0
        self.seen: list[str] = []

    def send(self, what: str, padding: str = SMALL) -> None:
        """Send one message and say how that ends, and when."""
        self.seen.append(f"{what}: {' '.join(self._send(padding))}")

    def send_until(self, status: str, what: str, before: str = "") -> None:
        """Send until that is the status; all before it had ``before``, if that is said.

        A master may not have noticed yet that a slave has just paused or resumed: the statuses of
        the first sends do not count.
        """
        end = time.monotonic() + PATIENCE_S
        others: list[str] = []
        while (sent := self._send())[0] != status:
            if sent[0] == before:
                others.append(" ".join(sent))
            elif others:
                raise DriverError(f"{what}: {sent} after {others}")
            if time.monotonic() > end:
                raise DriverError(f"{what}: no {status} but {sent} after {others}")
            time.sleep(0.1)
        said = [*sorted(set(others)), status]
        self.seen.append(f"{what}: {', then '.join(said)}")

    def _send(self, padding: str = SMALL) -> tuple[str, str]:
        self._sent += 1
        began = time.monotonic()
        status = self._producer.send(f"{self._sent:03}{padding}").status
        return status, roughly(time.monotonic() - began)


def roughly(took_s: float) -> str:
    """Java looks once a second whether a wait is over."""
    for name, least_s, most_s in (
        ("at once", 0, 2.9),
        ("after 3 s", 2.9, 10),
        ("after 20 s", 18, 40),
    ):
        if least_s <= took_s < most_s:
            return name
    return f"after {took_s:.1f} s"


def go_through(producer: JavaProducer, slave: Node) -> list[str]:
    """Let a slave come, pause and come back, with sends at every stage."""
    sender = Sender(producer)
    sender.send("no slave")
    slave.start()
    sender.send_until(SAFE, "a slave that starts", before=TIMEOUT)
    sender.send("in step")
    slave.pause()
    sender.send("paused", LARGE)
    sender.send("too far behind", LARGE)
    slave.resume()
    sender.send_until(SAFE, "it resumes")
    sender.send("in step again")
    slave.pause()
    began = time.monotonic()
    sender.send_until(NO_SLAVE, "paused again", before=TIMEOUT)
    sender.seen.append(f"put out: {roughly(time.monotonic() - began)}")
    sender.send("without it")
    slave.resume()
    sender.send_until(SAFE, "it comes back", before=TIMEOUT)
    sender.send("in step at last")
    return sender.seen


def ask(nodes: Pair) -> list[str]:
    """Return the statuses of a producer at a pair."""
    make_topic(nodes, TOPIC, 1)
    with JavaProducer(nodes.namesrv_addr, TOPIC) as producer:
        return go_through(producer, nodes.slave)


def test_producer_gets_the_same_statuses(java: None, tmp_path: Path) -> None:
    for name, seen in side_by_side(ask, tmp_path, CONFIG).items():
        assert seen == EXPECTED, name
