"""A store with several log folders and light queues goes from either broker to the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.live.store_walk import SIZES, send_all, timeless, walk
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.master_slave_pairs import PAIRS, make_topic, max_offset
from conformance.targets.processes import FakemqProcess
from conformance.wire.raw import call, create_topic, frame, split
from conformance.wire.requests import pull_fields, texts
from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import decode_records

# Each starts a JVM, or several.
pytestmark = pytest.mark.slow

TOPICS, QUEUES, MESSAGES = ("First", "Second"), 2, 220
LIGHT = ("%LMQ%one", "%LMQ%two", "%LMQ%three")
PORTS = ("--namesrv-port", "0", "--broker-port", "0")
FILE_BYTES = int(SIZES["mappedFileSizeCommitLog"])


def config(top: Path, folders: Sequence[str], read_only: Sequence[str] = ()) -> dict[str, str]:
    found = {
        **SIZES,
        "storePathRootDir": str(top / "store"),
        "storePathCommitLog": ",".join(str(top / name) for name in folders),
        "enableLmq": "true",
        "enableMultiDispatch": "true",
        "brokerName": "broker-a",
    }
    if read_only:
        found["readOnlyCommitLogStorePaths"] = ",".join(str(top / name) for name in read_only)
    return found


def lines(settings: dict[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in settings.items()]


def placed(top: Path, folders: Sequence[str]) -> dict[str, list[int]]:
    """Return the numbers of the files that have bytes, by folder."""
    return {
        name: sorted(
            int(path.name) // FILE_BYTES
            for path in (top / name).iterdir()
            if path.read_bytes().strip(b"\0")
        )
        for name in folders
    }


class Light(NamedTuple):
    """A message as it is in a light queue."""

    place: int
    topic: str
    queue_offset: int
    body: bytes
    properties: dict[str, str]


def send_light(namesrv_addr: str, word: bytes) -> None:
    """Send messages that name one, two or three light queues."""
    with Client(namesrv_addr) as client:
        for number in range(30):
            named = {"INNER_MULTI_DISPATCH": ",".join(LIGHT[: number % 4])}
            message = Message("First", b"%s %d" % (word, number), tags="t", keys="k")
            message.properties.update(named if number % 4 else {})
            client.send(message)


def light_messages(broker_addr: str) -> dict[str, list[Light]]:
    """Return what is in each light queue; the name server knows none of them."""
    found: dict[str, list[Light]] = {}
    for name in LIGHT:
        of_queue = found[name] = []
        while True:
            fields = pull_fields(name, len(of_queue), consumerGroup="%LMQ%group")
            _, _, body = split(call(broker_addr, frame(RequestCode.PULL_MESSAGE, texts(fields))))
            if not body:
                break
            of_queue += [
                Light(one.commit_log_offset, one.topic, one.queue_offset, one.body, one.properties)
                for one in decode_records(body)
            ]
    return found


def bodies(word: bytes) -> list[bytes]:
    return [b"%04d-%s " % (number, word) + bytes(range(256)) * 7 for number in range(MESSAGES)]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_store_in_several_folders_opens_in_either_broker(
    java: None, how: str, tmp_path: Path
) -> None:
    topics = [word for topic in TOPICS for word in ("--topic", f"{topic}:{QUEUES}")]
    names = ("c", "a", "b")
    settings = config(tmp_path, names)
    with FakemqProcess(*PORTS, *topics, config=lines(settings)) as ours:
        sent = send_all(ours.namesrv_addr, TOPICS, bodies(b"ours"))
        send_light(ours.namesrv_addr, b"ours")
        before = walk(ours.namesrv_addr, TOPICS, QUEUES, "broker-a")
        light = light_messages(ours.broker_addrs[0])
        ours.terminate() if how == "stop" else ours.kill()
    files = placed(tmp_path, names)
    assert all(len(numbers) > 1 for numbers in files.values())
    assert all(number % 3 == at for at, name in enumerate("abc") for number in files[name])

    with JavaCluster(config=settings) as real:
        broker = real.broker("broker-a")
        for topic in TOPICS:
            create_topic(broker.addr, topic, QUEUES)
        assert walk(real.namesrv_addr, TOPICS, QUEUES, "broker-a") == before
        assert light_messages(real.broker("broker-a").addr) == light
        sent |= send_all(real.namesrv_addr, TOPICS, bodies(b"Java"))
        send_light(real.namesrv_addr, b"Java")
        after = walk(real.namesrv_addr, TOPICS, QUEUES, "broker-a")
        light = light_messages(real.broker("broker-a").addr)
        (broker.stop if how == "stop" else broker.kill)()
    files = placed(tmp_path, names)
    assert all(number % 3 == at for at, name in enumerate("abc") for number in files[name])

    # Another folder, and one that takes no new files: the present ones stay where they are.
    settings = config(tmp_path, ("d", "a", "b"), ("c", "a"))
    with FakemqProcess(*PORTS, *topics, config=lines(settings)) as ours:
        assert timeless(walk(ours.namesrv_addr, TOPICS, QUEUES, "broker-a")) == timeless(after)
        assert light_messages(ours.broker_addrs[0]) == light
        assert sent <= {found.unique_id for found in after}
        send_all(ours.namesrv_addr, TOPICS, bodies(b"again"))
        send_light(ours.namesrv_addr, b"again")
        after = walk(ours.namesrv_addr, TOPICS, QUEUES, "broker-a")
        light = light_messages(ours.broker_addrs[0])
        ours.terminate() if how == "stop" else ours.kill()
    now = placed(tmp_path, ("a", "b", "c", "d"))
    assert (now["a"], now["c"]) == (files["a"], files["c"])
    assert set(now["b"]) > set(files["b"])
    assert now["d"]

    with JavaCluster(config=settings) as real:
        for topic in TOPICS:
            create_topic(real.broker("broker-a").addr, topic, QUEUES)
        assert timeless(walk(real.namesrv_addr, TOPICS, QUEUES, "broker-a")) == timeless(after)
        assert light_messages(real.broker("broker-a").addr) == light


@pytest.mark.parametrize("kinds", ["fake master, java slave", "java master, fake slave"])
def test_slave_has_the_light_queues_of_its_master(java: None, kinds: str, tmp_path: Path) -> None:
    with PAIRS[kinds](tmp_path, {"enableLmq": "true", "enableMultiDispatch": "true"}) as nodes:
        make_topic(nodes, "First", 1)
        send_light(nodes.namesrv_addr, b"early")
        # In several folders of its own.
        folders = [str(tmp_path / name) for name in ("b", "a")]
        nodes.slave.config["storePathCommitLog"] = ",".join(folders)
        nodes.slave.start()
        send_light(nodes.namesrv_addr, b"late")
        wait_until(lambda: max_offset(nodes.slave.addr, "First") == 60, 60)
        light = light_messages(nodes.master.addr)
        assert [len(found) for found in light.values()] == [44, 28, 14]
        assert light_messages(nodes.slave.addr) == light
