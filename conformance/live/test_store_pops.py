"""What is popped, and what waits for its second, goes over to the other's broker of 5.5.0.

A broker that opens the directory of another one brings again what was popped there and not
acknowledged, delivers timers that were set there, and leaves alone what was acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.compare import waiting
from conformance.live.groups import WAITING
from conformance.live.store_walk import fake_config, java_config
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST
from conformance.targets.processes import FakemqProcess
from conformance.wire.pops import handles, pop_fields
from conformance.wire.raw import RawConnection, create_topic, frame, json_header, split
from conformance.wire.requests import properties, send_v2_fields, texts
from fakemq.protocol.message import decode_records

# Slow: a JVM and a process, and seconds until what was popped comes again.
pytestmark = [pytest.mark.slow, WAITING]

LACKS = waiting(f"{NEWEST}-stores")
TOPIC, GROUP = "Popped", "GPopped"
SEND, POP, ACK = 310, 200_050, 200_051
INVISIBLE_MS, TIMER_S = 5_000, 8
AGAIN_S = 60.0
TIMER_LOG = {"mappedFileSizeTimerLog": str(1 << 20)}
"""As `JavaCluster` has it: a broker opens no timer log of another size."""


class Node(NamedTuple):
    """A broker on the store, and how it ends."""

    addr: str
    stop: Callable[[], object]


@contextmanager
def fake_on(store: Path) -> Iterator[Node]:
    ports = ("--namesrv-port", "0", "--broker-port", "0", "--reference", NEWEST)
    with FakemqProcess(*ports, config=fake_config(store, TIMER_LOG)) as ours:
        yield Node(ours.broker_addrs[0], ours.terminate)


@contextmanager
def java_on(store: Path) -> Iterator[Node]:
    with JavaCluster(config=java_config(store), version=NEWEST) as real:
        broker = real.broker("broker-a")
        yield Node(broker.addr, broker.stop)


WAYS = {"java-opens-ours": (fake_on, java_on), "we-open-javas": (java_on, fake_on)}


@pytest.mark.parametrize("way", WAYS)
def test_pops_and_timers_go_over(java: None, way: str, tmp_path: Path) -> None:
    if way in LACKS:
        pytest.skip(f"waiting: {LACKS[way]}")
    first, second = WAYS[way]
    store = tmp_path / "broker-a"
    with first(store) as node:
        create_topic(node.addr, TOPIC, 1)
        with RawConnection(node.addr) as connection:
            for body in (b"acknowledged", b"popped", b"timed", b"left"):
                text = properties(TIMER_DELAY_SEC=str(TIMER_S)) if body == b"timed" else ""
                fields = texts(send_v2_fields(TOPIC, i=text))
                assert json_header(connection.call(frame(SEND, fields, body)))["code"] == 0
            found: list[tuple[bytes, dict[str, object]]] = []
            while len(found) < 2:  # a Java broker fills its queues a moment later
                found += popped(connection, GROUP, maxMsgNums=2 - len(found))
            assert [body for body, _ in found] == [b"acknowledged", b"popped"]
            fields = texts(found[0][1])
            assert json_header(connection.call(frame(ACK, fields)))["code"] == 0
        node.stop()
    with second(store) as node, RawConnection(node.addr) as connection:
        came: list[bytes] = []

        def has_all() -> bool:
            came.extend(body for body, _ in popped(connection, GROUP, invisibleTime=60_000))
            return len(came) >= 3

        wait_until(has_all, AGAIN_S)
        assert sorted(came) == [b"left", b"popped", b"timed"]


def popped(
    connection: RawConnection, group: str, **more: object
) -> list[tuple[bytes, dict[str, object]]]:
    """Pop; return each body with the fields that acknowledge it."""
    fields = pop_fields(TOPIC, consumerGroup=group, invisibleTime=INVISIBLE_MS) | more
    answer = connection.call(frame(POP, texts(fields)))
    header, (_, _, records) = json_header(answer), split(answer)
    if header["code"] != 0:
        return []
    said = header["extFields"]
    assert isinstance(said, dict)
    bodies = [one.body for one in decode_records(records)]
    acks = [one.fields(TOPIC, consumerGroup=group) for one in handles(said, records)]
    return list(zip(bodies, acks, strict=True))
