"""What a real broker stored: shown, checked, begun with by a cluster, and left as it is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import fakemq
from conformance.capture.requests import properties, send_fields
from conformance.live.store_walk import SIZES, java_config
from conformance.targets.java_cluster import JavaBroker, JavaCluster
from conformance.targets.runtime_info import wait_dispatched
from conformance.wire.raw import RawConnection, frame, json_header, split
from fakemq.client import Client
from fakemq.dump.command import check_store, dump

# Each starts a JVM.
pytestmark = pytest.mark.slow
MESSAGES = 400
TOPICS = {"orders": 2, "billing": 2}


def fill(broker: JavaBroker) -> None:
    with RawConnection(broker.addr) as connection:

        def ask(code: int, fields: dict[str, str], body: bytes = b"") -> None:
            assert json_header(connection.call(frame(code, fields, body)))["code"] == 0

        for number in range(MESSAGES):
            topic = list(TOPICS)[number % 2]
            pairs = {"UNIQ_KEY": f"U{number:031}", "KEYS": f"k{number % 7} all", "TAGS": "t"}
            if number % 50 == 0:
                pairs["DELAY"] = "18"
            fields = send_fields(properties(**pairs), queue=number // 2 % 2, topic=topic)
            ask(10, fields, b"%d" % number + b"." * (number % 90))
        for queue_id in (0, 1):
            fields = {"consumerGroup": "g", "topic": "orders", "queueId": str(queue_id)}
            ask(15, {**fields, "commitOffset": "7"})
    wait_dispatched(broker.addr)  # else a kill leaves messages that no queue has


def digest(root: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(root)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_real_brokers_store_is_read_as_it_is(java: None, how: str) -> None:
    config = {"mappedFileSizeCommitLog": "32768", "mappedFileSizeConsumeQueue": "1000"}
    with JavaCluster(topics=TOPICS, config=config) as real:
        broker = real.broker("broker-a")
        fill(broker)
        getattr(broker, how)()
        before = digest(broker.store)
        lines: list[str] = []
        assert check_store(str(broker.store), lines.append) == 0, lines
        rows: list[str] = []
        dump(str(broker.store), rows.append, parts=["commitlog"], as_json=True)
        stored = [json.loads(row) for row in rows]
        with fakemq.Cluster(store_from=broker.store, clock="frozen") as mq:
            found = [message for topic in TOPICS for message in mq.messages(topic)]
            assert len(found) == MESSAGES - MESSAGES // 50
            assert len(mq.delayed()) == MESSAGES // 50
            offsets = {message.commit_log_offset for message in found}
            assert offsets <= {row["phyOffset"] for row in stored}
            assert mq.group("g").offsets("orders") == (
                {("broker-a", 0): 7, ("broker-a", 1): 7} if how == "stop" else {}
            )
            mq.seed("orders", [b"more"])
            assert mq.messages("orders")[-1].body == b"more"
        assert len(stored) == MESSAGES
        assert digest(broker.store) == before


def test_real_broker_reads_our_config_files(java: None, tmp_path: Path) -> None:
    options: Any = {"store": tmp_path, "clock": "frozen", "topics": {"orders": 3}}
    with fakemq.Cluster(config=SIZES, **options) as mq:
        mq.group("billing").set(retry_max_times=3, consume_enable=False)
        with Client(mq.namesrv_addr, consumer_group="billing") as client:
            queue = client.subscribe_queues("orders")[1]
            client.update_offset(queue, 7, oneway=False)
    root = tmp_path / "broker-a-0"
    with JavaCluster(config=java_config(root)) as real:
        addr = real.broker("broker-a").addr
        with RawConnection(addr) as connection:
            topics = split(connection.call(frame(21, {})))[2]
            groups = split(connection.call(frame(201, {})))[2]
            fields = {"consumerGroup": "billing", "topic": "orders", "queueId": "1"}
            offset = json_header(connection.call(frame(14, fields)))
    assert b'"orders":{"order":false,"perm":6,"readQueueNums":3,' in topics
    assert (
        b'"groupName":"billing","notifyConsumerIdsChangedEnable":true,"retryMaxTimes":3' in groups
    )
    assert offset["extFields"] == {"offset": "7"}
    lines: list[str] = []
    assert check_store(str(root), lines.append) == 0, lines
