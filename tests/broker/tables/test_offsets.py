"""Committed offsets by group, topic and queue."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.tables.offsets import NO_OFFSET, ConsumerOffsetManager
from fakemq.clock.slices import finished
from fakemq.events import Event, OffsetCommitted, OffsetWentBack
from fakemq.journal.journal import Journal
from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper
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


def replayed(journal: Journal) -> dict[str, dict[int, int]]:
    """The offsets as the journal has them: what a biography knows."""
    table: dict[str, dict[int, int]] = {}
    for event in journal.find(Event):
        if isinstance(event, OffsetCommitted | OffsetWentBack):
            offsets = table.setdefault(f"{event.topic}@{event.group}", {})
            offsets[event.queue_id] = event.offset
            if event.offset == NO_OFFSET:
                del offsets[event.queue_id]
    return {key: offsets for key, offsets in table.items() if offsets}


def removed_by_a_kill(broker: Broker) -> None:
    with broker.offsets.losing():
        broker.offsets.reset()
        broker.offsets.load(ConsumerOffsetSerializeWrapper(offset_table={"orders@g": {0: 2}}))


CHANGES: dict[str, Callable[[Broker], object]] = {
    "commit": lambda broker: broker.offsets.commit("g", "orders", 0, 3),
    "clone": lambda broker: broker.offsets.clone("h", "g", "orders"),
    "clean": lambda broker: broker.offsets.clean("orders"),
    "remove": lambda broker: broker.offsets.remove("g"),
    "forget_one": lambda broker: broker.offsets.forget_one("g", "orders"),
    "query_min_offset_in_all_groups": lambda broker: broker.offsets.query_min_offset_in_all_groups(
        "orders", ["g"]
    ),
    "put_all": lambda broker: finished(
        broker.offsets.put_all(ConsumerOffsetSerializeWrapper(offset_table={"orders@g": {0: 1}}))
    ),
    "losing": removed_by_a_kill,
}
"""What changes the table, by the method that does it."""
OTHERS = {
    *("is_empty", "count", "query", "query_all", "which_topics_by_group", "which_groups_by_topic"),
    *("topics_by_group", "first_boot_offset", "wrapper", "persisted", "persisted_in_steps"),
    "captured",
    *("snapshot", "load", "reset", "ignore", "note_reset"),
}
"""What changes nothing, and what empties or fills the table where `losing`, or a new journal,
notes that."""


def test_each_method_that_changes_offsets_is_among_them() -> None:
    methods = {name for name in vars(ConsumerOffsetManager) if not name.startswith("_")}
    assert methods == CHANGES.keys() | OTHERS


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_journal_follows_each_change_of_offsets(
    broker: Broker, change: Callable[[Broker], object]
) -> None:
    broker.offsets.commit("g", "orders", 0, 5)
    broker.offsets.commit("g", "orders", 1, 6)
    broker.offsets.commit("g", "paid", 0, 6)
    broker.offsets.commit("h", "orders", 0, 4)
    assert replayed(broker.journal) == broker.offsets.snapshot()
    change(broker)
    assert replayed(broker.journal) == {
        key: offsets for key, offsets in broker.offsets.snapshot().items() if offsets
    }
