"""A store directory goes from fakemq to the real broker and back, after a clean stop and a kill."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.compare import waiting
from conformance.live.store_walk import (
    EXTENDED,
    Found,
    fake_config,
    java_config,
    keyless,
    send_all,
    timeless,
    wait_for_queues,
    walk,
)
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import CLIENT_VERSIONS
from conformance.targets.processes import FakemqProcess
from conformance.wire.raw import create_topic
from fakemq.protocol.layout.codecs import CHECKPOINT

# Each starts a JVM twice.
pytestmark = pytest.mark.slow

TOPICS, QUEUES, MESSAGES = ("First", "Second"), 4, 600
"""More than a megabyte: a clean stop seals the log."""
SEAL = "fakemq.seal"
JAVA_READS_AGAIN_MS = 3_000
"""Source: store/StoreCheckpoint.java#getMinTimestamp (4.9.7)"""
PORTS = ("--namesrv-port", "0", "--broker-port", "0")


def bodies(word: bytes) -> list[bytes]:
    return [b"%04d-%s " % (number, word) + bytes(range(256)) * 7 for number in range(MESSAGES)]


def may_lose_keys(store: Path, messages: list[Found], *, at_5_5_0: bool = False) -> bool:
    """Return whether a start after a kill may read less of the log again than it drops keys of.

    It begins with the file whose first record is old enough: 3 s before the checkpoint, at Java's
    5.5.0 before the checkpoint's time of the queues. A slow machine flushes them before the kill.

    Source: store/queue/ConsumeQueueStore.java#isMappedFileMatchedRecover (5.5.0)
    """
    data = (store / "checkpoint").read_bytes()[: CHECKPOINT.size]
    physic_ms, logics_ms, _ = CHECKPOINT.unpack(data)
    begins_ms: int = logics_ms if at_5_5_0 else min(physic_ms, logics_ms) - JAVA_READS_AGAIN_MS
    return begins_ms >= min(message.store_timestamp_ms for message in messages)


@pytest.mark.parametrize(
    ("reference", "keys"),
    [*((version, {}) for version in CLIENT_VERSIONS), ("4.9.7", EXTENDED)],
    ids=[*CLIENT_VERSIONS, "extended"],
)
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_store_of_either_broker_opens_in_the_other(
    java: None, how: str, reference: str, keys: dict[str, str], tmp_path: Path
) -> None:
    lacks = waiting(f"{reference}-stores")
    if "exchange" in lacks:
        pytest.skip(f"waiting: {lacks['exchange']}")
    store = tmp_path / "broker-a"
    words = ["--reference", reference]
    words += [word for topic in TOPICS for word in ("--topic", f"{topic}:{QUEUES}")]
    with FakemqProcess(*PORTS, *words, config=fake_config(store, keys)) as ours:
        sent = send_all(ours.namesrv_addr, TOPICS, bodies(b"ours"))
        before = walk(ours.namesrv_addr, TOPICS, QUEUES, "broker-a")
        assert {found.unique_id for found in before} == sent
        assert {bool(found.by_tags) for found in before} == {reference == "5.5.0"}
        if how == "stop":
            assert ours.terminate() == 0
        else:
            ours.kill()
    assert (store / "abort").exists() == (how == "kill")
    assert (store / SEAL).exists() == (how == "stop")
    loses_keys = how == "kill" and may_lose_keys(store, before, at_5_5_0=reference == "5.5.0")
    assert len(list((store / "commitlog").iterdir())) > 3

    with JavaCluster(config=java_config(store) | keys, version=reference) as real:
        broker = real.broker("broker-a")
        for topic in TOPICS:
            create_topic(broker.addr, topic, QUEUES)
        found = walk(real.namesrv_addr, TOPICS, QUEUES, "broker-a")
        if loses_keys:
            found, before = keyless(found), keyless(before)
        assert found == before
        sent |= send_all(real.namesrv_addr, TOPICS, bodies(b"Java"))
        wait_for_queues(real.namesrv_addr, TOPICS, QUEUES, "broker-a", len(sent))
        after = walk(real.namesrv_addr, TOPICS, QUEUES, "broker-a")
        assert {found.unique_id for found in after} == sent
        (broker.stop if how == "stop" else broker.kill)()
    assert (store / "abort").exists() == (how == "kill")
    assert (store / SEAL).exists() == (how == "stop"), "Java leaves other files alone"
    loses_keys |= how == "kill" and may_lose_keys(store, after)

    with FakemqProcess(*PORTS, *words, config=fake_config(store, keys)) as ours:
        found = walk(ours.namesrv_addr, TOPICS, QUEUES, "broker-a")
        if loses_keys:
            found, after = keyless(found), keyless(after)
        assert timeless(found) == timeless(after)
        sent |= send_all(ours.namesrv_addr, TOPICS, bodies(b"again"))
        last = walk(ours.namesrv_addr, TOPICS, QUEUES, "broker-a")
        assert {found.unique_id for found in last} == sent


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_flipped_byte_is_cut_where_java_cuts(java: None, how: str, tmp_path: Path) -> None:
    ours, javas = tmp_path / "ours", tmp_path / "java"
    topics = [word for topic in TOPICS for word in ("--topic", f"{topic}:{QUEUES}")]
    with FakemqProcess(*PORTS, *topics, config=fake_config(ours)) as fake:
        send_all(fake.namesrv_addr, TOPICS, bodies(b"ours"))
        whole = walk(fake.namesrv_addr, TOPICS, QUEUES, "broker-a")
        fake.terminate() if how == "stop" else fake.kill()
    last = sorted((ours / "commitlog").iterdir())[-2]
    data = bytearray(last.read_bytes())
    data[len(data) // 2] ^= 1
    last.write_bytes(data)
    shutil.copytree(ours, javas)

    with JavaCluster(config=java_config(javas)) as real:
        for topic in TOPICS:
            create_topic(real.broker("broker-a").addr, topic, QUEUES)
        kept = walk(real.namesrv_addr, TOPICS, QUEUES, "broker-a")
    assert 0 < len(kept) < len(whole)
    with FakemqProcess(*PORTS, *topics, config=fake_config(ours)) as fake:
        found = walk(fake.namesrv_addr, TOPICS, QUEUES, "broker-a")
        assert timeless(found) == timeless(kept)
        assert f"repaired {last} at " in fake.output()
