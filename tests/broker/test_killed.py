"""What a kill loses: what the process would have written later, with a directory or without."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.tables.persistence import FIRST_TICK_MS
from fakemq.clock.slices import SLICE_MS
from fakemq.core.snapshots import node_image
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.reference import V4_9_7, Reference, find_reference
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.pops import GROUP, TOPIC, Popped, ack, pop, send
from tests.support.slices import work_in_turns

V5_5_0 = find_reference("5.5.0")
FOLDERS = pytest.mark.parametrize("in_memory", [True, False], ids=["memory", "directory"])
REFERENCES = pytest.mark.parametrize(
    "reference", [V4_9_7, V5_5_0], ids=lambda reference: reference.version_name
)


def killed(broker: Broker) -> Broker:
    broker.kill()
    broker.start()
    return broker


@FOLDERS
def test_kill_loses_offsets_since_the_last_tick(
    lab: BrokerLab, tmp_path: Path, in_memory: bool
) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path)
    broker.offsets.commit("g", "orders", 0, 4)
    lab.pass_time(FIRST_TICK_MS)
    broker.offsets.commit("g", "orders", 0, 8)
    broker.offsets.commit("new", "orders", 0, 1)
    broker.create_topic("orders", 3)
    broker.groups.find("billing")
    killed(broker)
    assert broker.offsets.snapshot() == {"orders@g": {0: 4}}
    assert broker.topics.select("orders") is not None
    assert "billing" in broker.groups.snapshot()


@FOLDERS
@pytest.mark.parametrize(
    ("at_ms", "found"),
    [(FIRST_TICK_MS, {0: 2}), (FIRST_TICK_MS + 1, {}), (FIRST_TICK_MS - 1, {0: 2})],
)
def test_change_at_the_moment_of_a_tick_is_written_in_it(
    lab: BrokerLab, tmp_path: Path, in_memory: bool, at_ms: int, found: dict[int, int]
) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path)
    lab.pass_time(at_ms)
    broker.offsets.commit("g", "orders", 0, 2)
    lab.pass_time(2_000)
    assert killed(broker).offsets.snapshot() == ({"orders@g": found} if found else {})


@FOLDERS
def test_kill_before_the_first_tick_loses_all_offsets(
    lab: BrokerLab, tmp_path: Path, in_memory: bool
) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path)
    broker.offsets.commit("g", "orders", 0, 7)
    assert killed(broker).offsets.snapshot() == {}


@FOLDERS
@pytest.mark.parametrize("how", ["stop", "restore"])
def test_kill_finds_what_a_stop_or_a_snapshot_kept(
    lab: BrokerLab, tmp_path: Path, in_memory: bool, how: str
) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path)
    broker.offsets.commit("g", "orders", 0, 7)
    if how == "stop":
        broker.stop()
        lab.network.settle()
        broker.start()
    else:
        broker.restore(node_image(broker))
    assert broker.offsets.query("g", "orders", 0) == 7
    broker.offsets.commit("g", "orders", 0, 9)
    assert killed(broker).offsets.query("g", "orders", 0) == 7


@FOLDERS
def test_kill_finds_what_a_stop_kept_while_a_write_was_under_way(
    lab: BrokerLab, tmp_path: Path, in_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path)
    for number in range(10 * SLICE_MS):
        broker.offsets.commit(f"g{number}", "orders", 0, 7)
    work_in_turns(lab.clock, monkeypatch)
    broker.persistence.offsets._tick()
    assert lab.clock.slices.waiting
    broker.stop()
    lab.network.settle()
    broker.start()
    assert killed(broker).offsets.query("g0", "orders", 0) == 7


@FOLDERS
def test_kill_after_a_reset_finds_nothing(lab: BrokerLab, tmp_path: Path, in_memory: bool) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path)
    broker.offsets.commit("g", "orders", 0, 7)
    lab.pass_time(FIRST_TICK_MS)
    broker.reset()
    broker.offsets.commit("g", "orders", 0, 9)
    assert killed(broker).offsets.snapshot() == {}


def test_snapshot_of_a_killed_broker_has_what_the_kill_left(lab: BrokerLab) -> None:
    broker = lab.broker()
    broker.offsets.commit("g", "orders", 0, 4)
    lab.pass_time(FIRST_TICK_MS)
    broker.offsets.commit("g", "orders", 0, 8)
    broker.kill()
    broker.start()
    image = node_image(broker)
    broker.offsets.commit("g", "orders", 0, 9)
    broker.restore(image)
    assert broker.offsets.query("g", "orders", 0) == 4


@FOLDERS
def test_kill_loses_filters_since_the_last_tick(
    lab: BrokerLab, tmp_path: Path, in_memory: bool
) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path)
    for group in ("old", "new"):
        one = SubscriptionData(topic="orders", sub_string="a > 1", expression_type="SQL92")
        for _ in broker.filters.register(group, [one]):
            pass
        if group == "old":
            lab.pass_time(FIRST_TICK_MS)
    killed(broker)
    assert broker.filters.find("orders", "old") is not None
    assert broker.filters.find("orders", "new") is None


@FOLDERS
def test_kill_loses_what_is_out_in_order_since_the_last_tick(
    lab: BrokerLab, tmp_path: Path, in_memory: bool
) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path, reference=V5_5_0)
    peer = lab.peer(broker.addr)
    broker.create_topic(TOPIC, 2)
    for queue_id in (0, 1):
        send(peer, b"hello", queue_id=queue_id)
    first = Popped(pop(peer, order=True, max_msg_nums=1, invisible_time=60_000))
    lab.pass_time(FIRST_TICK_MS)
    (out,) = broker5(broker).pop.order.queues()
    Popped(pop(peer, order=True, max_msg_nums=1, invisible_time=60_000))
    ack(peer, first, first.messages[0])
    killed(broker)
    assert [*broker5(broker).pop.order.queues()] == [out]
    found = broker5(broker).pop.order.find(TOPIC, GROUP, out[2])
    assert found is not None
    assert found.commit_offset_bit == 0


def test_offset_that_does_not_move_is_no_change(lab: BrokerLab) -> None:
    broker = lab.broker()
    broker.offsets.commit("g", "orders", 0, 7)
    lab.pass_time(FIRST_TICK_MS)
    broker.offsets.commit("g", "orders", 0, 7)
    assert "config_persist" not in {timer.kind for timer in lab.clock.timers()}


@REFERENCES
@FOLDERS
@pytest.mark.parametrize("how", ["kill", "stop", "reset"])
def test_every_file_is_written_again_after_an_end_while_a_change_waited(
    lab: BrokerLab, tmp_path: Path, how: str, in_memory: bool, reference: Reference
) -> None:
    broker = lab.broker(config_folder=None if in_memory else tmp_path, reference=reference)
    files = {one.name: one.file for one in broker.persistence.files if one.file is not None}
    assert len(files) >= 2
    for one in broker.persistence.files:
        one.changed()
    getattr(broker, how)()
    lab.network.settle()
    if how != "reset":
        broker.start()
    for file in files.values():
        file.delete()
    for one in broker.persistence.files:
        one.changed()
    lab.pass_time(FIRST_TICK_MS)
    assert [name for name, file in files.items() if not file.read()] == []
