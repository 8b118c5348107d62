"""Committed offsets by group, topic and queue."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.offsets import NO_OFFSET
from fakemq.events import OffsetCommitted
from tests.support.broker_lab import Send


def test_offsets_are_kept_per_group_topic_and_queue(broker: Broker) -> None:
    broker.offsets.commit("g", "orders", 0, 5)
    broker.offsets.commit("g", "orders", 1, 6)
    broker.offsets.commit("h", "orders", 0, 7)
    assert broker.offsets.query("g", "orders", 0) == 5
    assert broker.offsets.query("h", "orders", 0) == 7
    assert broker.offsets.query("h", "orders", 1) == NO_OFFSET
    assert broker.offsets.snapshot() == {"orders@g": {0: 5, 1: 6}, "orders@h": {0: 7}}
    assert len(broker.journal.find(OffsetCommitted)) == 3


def test_snapshot_of_offsets_is_immutable(broker: Broker) -> None:
    broker.offsets.commit("g", "orders", 0, 5)
    before = broker.offsets.snapshot()
    broker.offsets.commit("g", "orders", 0, 6)
    assert before["orders@g"][0] == 5
    with pytest.raises(TypeError):
        before["orders@g"][0] = 7  # type: ignore[index]
    broker.offsets.reset()
    assert broker.offsets.snapshot() == {}


def test_first_offset_depends_on_the_machines_memory(broker: Broker, send: Send) -> None:
    assert broker.offsets.first_boot_offset("orders", 0) == 0
    send(b"x" * 1000)
    assert broker.offsets.first_boot_offset("orders", 0) == 0
    # 40 % of this is less than what was written since the first message.
    broker.store.ram_size_bytes = 2_000
    send(b"x" * 1000)
    assert broker.offsets.first_boot_offset("orders", 0) is None
