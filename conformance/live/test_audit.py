"""The audit of a store that a real broker wrote, with the acknowledgements of a real producer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.drivers.stored_messages import QUEUES, STOCK_CONFIG, TOPICS, Stock
from conformance.live.store_walk import java_config
from conformance.targets.java_cluster import JavaCluster
from fakemq.spark.audit import Verdict, audit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A real broker, a Java program, and an audit by Spark.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

MESSAGES = 512


def test_real_store_audits_clean(java: None, spark: SparkSession, tmp_path: Path) -> None:
    store, acks = tmp_path / "store", tmp_path / "acks.jsonl"
    config = {**java_config(store), **STOCK_CONFIG}
    with Stock() as stock, JavaCluster(config=config, topics=dict.fromkeys(TOPICS, QUEUES)) as real:
        stock.consume(real.namesrv_addr)
        stock.load(real.namesrv_addr, "audited", MESSAGES // 16)
        stock.wait_acks(MESSAGES)
        stock.wait_loaded()
        stock.wait_consumed(stock.keys())
        stock.leave()
        real.broker("broker-a").stop()
        sent = list(stock.acks)
    with acks.open("w") as file:
        for one in sent:
            row = {"topic": one.topic, "msg_id": one.unique_id, "offset_msg_id": one.offset_msg_id}
            file.write(json.dumps(row | {"broker": "broker-a", "keys": one.key}) + "\n")
    found = audit(spark, f"broker-a-0={store}", acks=[str(acks)], topics=TOPICS).summary()
    assert found.messages == []
    counted: Counter[Verdict] = Counter()
    for count in found.counts:
        counted[count.verdict] += count.messages
    rolled_back = sum(one.kind == "rollback" for one in sent)
    assert rolled_back > 0
    assert counted == {Verdict.DELIVERED: len(sent) - rolled_back}
    kinds = found.stores[0].records
    assert {"message", "half", "op", "delayed", "retry"} <= kinds.keys()
