"""A real broker and ours are sent the same, and have the same in their store directories.

Our clock is frozen and moves when a delay has to pass. All files are compared byte by byte;
`LEFT_OUT` names the fields that are not; nothing else differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

import fakemq
from conformance.live.groups import WAITING
from conformance.live.store_traffic import CONFIG, Traffic
from conformance.live.store_walk import EXTENDED, SIZES, java_config
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.processes import wall_ms
from fakemq.protocol.message import MESSAGE_MAGIC_CODE
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import TRANS_OP_HALF_TOPIC

# A JVM, and seconds of delays in real time.
pytestmark = [pytest.mark.slow, WAITING]

Fields: TypeAlias = Iterator[tuple[int, int]]
"""Where bytes are that are not compared, and how many."""


def in_commit_log(data: bytes) -> Fields:
    """Of each record the store timestamp, and the client's port in the born host.

    Of the broker's own records, which say that a half message is through, the born timestamp, too.
    """
    at = 0
    while size := int.from_bytes(data[at : at + 4]):
        if int.from_bytes(data[at + 4 : at + 8], signed=True) == MESSAGE_MAGIC_CODE:
            sys_flag = int.from_bytes(data[at + 36 : at + 40])
            host = at + 48
            stored = host + (20 if sys_flag & MessageSysFlag.BORNHOST_V6 else 8)
            yield stored - 4, 4
            yield stored, 8
            if TRANS_OP_HALF_TOPIC.encode() in data[at : at + size]:
                yield at + 40, 8
        at += size


def in_delay_queue(data: bytes) -> Fields:
    """Of each entry the tags code: it is when the message is due."""
    for at in range(0, len(data), 20):
        yield at + 12, 8


def in_extension(data: bytes) -> Fields:
    """Of each unit the store time."""
    at = 0
    while (size := int.from_bytes(data[at : at + 2], signed=True)) > 0:
        yield at + 10, 8
        at += size


def in_delay_extension(data: bytes) -> Fields:
    """Of each unit the tags code, too: it is when the message is due."""
    for at, _ in in_extension(data):
        yield at - 8, 16


def in_index(data: bytes) -> Fields:
    """In the header the first and last store timestamp, in each entry the seconds since the first.

    And the file's name, which is the time it was made.
    """
    yield 0, 16
    slots = int(SIZES["maxHashSlotNum"])
    for at in range(40 + 4 * slots, len(data), 20):
        yield at + 12, 4


def in_checkpoint(_: bytes) -> Fields:
    """Return the three store timestamps."""
    yield 0, 24


def in_config(data: bytes) -> Fields:
    """Return the time of the data version; its counter is compared."""
    for found in re.finditer(rb'"timestamp":(\d+)', data):
        yield found.start(1), found.end(1) - found.start(1)


LEFT_OUT: list[tuple[str, Callable[[bytes], Fields]]] = [
    (r"commitlog/\d{20}", in_commit_log),
    (r"consumequeue/SCHEDULE_TOPIC_XXXX/\d+/\d{20}", in_delay_queue),
    (r"consumequeue_ext/SCHEDULE_TOPIC_XXXX/\d+/\d{20}", in_delay_extension),
    (r"consumequeue_ext/.*", in_extension),
    (r"index/.*", in_index),
    (r"checkpoint", in_checkpoint),
    (r"config/(topics|subscriptionGroup)\.json(\.bak)?", in_config),
]
SAVED_EVERY_FEW_SECONDS = re.compile(r"config/(consumer\w+|delayOffset)\.json\.bak")
"""Copies of older states: which, and whether there is one, depends on how long it took."""


def compared(root: Path) -> dict[str, bytes]:
    """Return the files of a store by their paths, without what is left out."""
    found: dict[str, bytes] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or SAVED_EVERY_FEW_SECONDS.fullmatch(name):
            continue
        data = bytearray(path.read_bytes())
        for pattern, fields in LEFT_OUT:
            if re.fullmatch(pattern, name):
                for at, size_bytes in fields(bytes(data)):
                    data[at : at + size_bytes] = b"*" * size_bytes
        if name.startswith("index/"):
            name = f"index/{sum(known.startswith('index/') for known in found)}"
        found[name] = bytes(data)
    return found


@pytest.mark.parametrize("queues", ["plain", "extended"])
def test_same_traffic_makes_the_same_files(java: None, queues: str, tmp_path: Path) -> None:
    config = CONFIG if queues == "plain" else CONFIG | EXTENDED
    javas, ours, born_ms = tmp_path / "java", tmp_path / "ours", wall_ms()
    with JavaCluster(config=java_config(javas) | config) as real:
        broker = real.broker("broker-a")
        port = broker.port
        Traffic(port, lambda condition: wait_until(condition, 60), born_ms).run()
        broker.stop()
    # On the same port, so that hosts and the ids made of them are the same.
    with fakemq.Cluster(
        config=java_config(ours) | config | {"brokerName": "broker-a"},
        clock="frozen",
        broker_port=port,
        listen="::",
        advertise="127.0.0.1",
    ) as mq:

        def until(condition: Callable[[], bool]) -> None:
            for _ in range(100):
                if condition():
                    return
                mq.clock.advance("100ms")
            raise TimeoutError("not within 10 s of the cluster's clock")

        Traffic(port, until, born_ms).run()
    assert (ours / "consumequeue_ext").exists() == (queues == "extended")
    expected, found = compared(javas), compared(ours)
    assert expected.keys() ^ found.keys() == set()
    different = {name: difference(expected[name], found[name]) for name in expected}
    assert {name: where for name, where in different.items() if where is not None} == {}
    for kind, least in (("commitlog", 2), ("index", 3), ("consumequeue", 14), ("config", 6)):
        assert sum(name.startswith(f"{kind}/") for name in found) >= least, kind


def difference(one: bytes, two: bytes) -> str | None:
    """Return the first bytes that are not the same, and their place."""
    if one == two:
        return None
    most = max(len(one), len(two))
    at = next(at for at in range(most) if one[at : at + 1] != two[at : at + 1])
    return f"{len(one)} and {len(two)} bytes, at {at} {one[at : at + 40]!r}, {two[at : at + 40]!r}"
