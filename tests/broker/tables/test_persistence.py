"""When config files are written, and what a start takes from them."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.tables.persistence import MODES
from fakemq.clock.slices import finished
from fakemq.config.model import BrokerConfig
from fakemq.events import ChangesLost, Warned
from fakemq.files.texts import DiskTextFile
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.reference.v5 import REFERENCE as REFERENCE5
from fakemq.store.inner_message import inner_message
from tests.support.broker_lab import BrokerLab
from tests.support.slices import work_in_turns


def broker_in(lab: BrokerLab, folder: Path, **config: int) -> Broker:
    return lab.broker(BrokerConfig(**config), config_folder=folder)


def offset_in(folder: Path, name: str = "consumerOffset.json") -> object:
    table = fastjson.loads((folder / name).read_text())["offsetTable"]
    return table.get("orders@g", {}).get(0)


def test_first_start_writes_no_file_at_once(lab: BrokerLab, tmp_path: Path) -> None:
    broker_in(lab, tmp_path)
    assert list(tmp_path.iterdir()) == []
    lab.pass_time(9_999)
    assert list(tmp_path.iterdir()) == []
    lab.pass_time(1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "consumerFilter.json",
        "consumerOffset.json",
    ]


def test_offsets_are_written_after_ten_seconds_and_then_every_five(
    lab: BrokerLab, tmp_path: Path
) -> None:
    broker = broker_in(lab, tmp_path)
    broker.offsets.commit("g", "orders", 0, 1)
    lab.pass_time(10_000)
    assert offset_in(tmp_path) == 1
    lab.pass_time(1)
    broker.offsets.commit("g", "orders", 0, 2)
    lab.pass_time(4_998)
    assert offset_in(tmp_path) == 1
    lab.pass_time(1)
    assert (offset_in(tmp_path), offset_in(tmp_path, "consumerOffset.json.bak")) == (2, 1)
    lab.pass_time(5_000)
    assert offset_in(tmp_path, "consumerOffset.json.bak") == 2


def many_offsets(lab: BrokerLab, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Broker:
    """Return a broker that is writing many offsets, after the first slice."""
    broker = broker_in(lab, folder)
    lab.pass_time(10_000)
    work_in_turns(lab.clock, monkeypatch)
    for number in range(300):
        broker.offsets.commit("g", f"topic-{number}", 0, 1)
    broker.offsets.commit("g", "orders", 0, 1)
    broker.persistence.offsets._tick()
    assert lab.clock.slices.waiting
    assert offset_in(folder) is None
    return broker


def test_offsets_are_written_in_slices(
    lab: BrokerLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = many_offsets(lab, tmp_path, monkeypatch)
    turns = 0
    while lab.clock.slices.waiting:
        lab.clock.slices.take_turn()
        turns += 1
        assert offset_in(tmp_path) is None or not lab.clock.slices.waiting
        broker.offsets.commit("h", f"new-{turns}", 0, 1)
    assert turns > 50
    assert offset_in(tmp_path) == 1
    assert (tmp_path / "consumerOffset.json").read_text().count("@h") == 0


@pytest.mark.parametrize("how", ["stop", "kill", "reset"])
def test_older_offsets_are_not_written_after_an_end(
    lab: BrokerLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    broker = many_offsets(lab, tmp_path, monkeypatch)
    lab.clock.slices.take_turn()
    broker.offsets.commit("g", "orders", 0, 2)
    if how == "reset":
        broker.persistence.reset()
    else:
        getattr(broker, how)()
    while lab.clock.slices.waiting:
        lab.clock.slices.take_turn()
    path = tmp_path / "consumerOffset.json"
    if how == "reset":
        assert not path.exists()
    else:
        assert offset_in(tmp_path) == (2 if how == "stop" else None)


def test_interval_is_that_of_the_config(lab: BrokerLab, tmp_path: Path) -> None:
    broker = broker_in(lab, tmp_path, flush_consumer_offset_interval=700)
    lab.pass_time(60_000)
    broker.offsets.commit("g", "orders", 0, 3)
    lab.pass_time(700)
    assert offset_in(tmp_path) == 3


def test_idle_broker_has_no_timer(lab: BrokerLab, tmp_path: Path) -> None:
    broker_in(lab, tmp_path)
    lab.pass_time(30_000)
    assert not [timer for timer in lab.clock.timers() if timer.kind == "config_persist"]


def test_kill_loses_unwritten_state_and_stop_does_not(lab: BrokerLab, tmp_path: Path) -> None:
    broker = broker_in(lab, tmp_path)
    broker.offsets.commit("g", "orders", 0, 1)
    lab.pass_time(10_000)
    broker.offsets.commit("g", "orders", 0, 2)
    broker.create_topic("orders", 3)
    broker.kill()
    broker.start()
    assert broker.offsets.query("g", "orders", 0) == 1
    assert broker.topics.select("orders") is not None
    broker.offsets.commit("g", "orders", 0, 5)
    broker.stop()
    lab.network.settle()
    broker.start()
    assert broker.offsets.query("g", "orders", 0) == 5


def test_version_of_topics_continues_and_that_of_groups_begins_anew(
    lab: BrokerLab, tmp_path: Path
) -> None:
    broker = broker_in(lab, tmp_path)
    broker.create_topic("orders", 3)
    broker.groups.find("billing")
    topics = broker.topics.data_version
    broker.kill()
    lab.pass_time(1_000)
    broker.start()
    assert broker.topics.data_version == topics
    assert broker.groups.data_version.counter == 0
    assert broker.groups.snapshot().keys() >= {"billing"}


def test_foreign_content_of_a_file_is_kept(lab: BrokerLab, tmp_path: Path) -> None:
    broker = broker_in(lab, tmp_path)
    broker.create_topic("orders", 3)
    broker.stop()
    lab.network.settle()
    path = tmp_path / "topics.json"
    path.write_text(path.read_text().replace('"perm":6', '"perm":6,"zone":"b"'))
    broker.start()
    broker.create_topic("orders", 4)
    table = fastjson.loads(path.read_text())["topicConfigTable"]
    assert table["orders"]["readQueueNums"] == 4
    assert table["orders"]["zone"] == "b"


def test_reset_begins_without_state(lab: BrokerLab, tmp_path: Path) -> None:
    broker = broker_in(lab, tmp_path)
    broker.create_topic("orders", 3)
    broker.offsets.commit("g", "orders", 0, 1)
    lab.pass_time(20_000)
    broker.reset()
    assert list(tmp_path.iterdir()) == []
    lab.pass_time(5_000)
    assert offset_in(tmp_path) is None


def test_many_new_topics_are_written_once(lab: BrokerLab, tmp_path: Path) -> None:
    broker = broker_in(lab, tmp_path)
    with broker.persistence.at_once():
        broker.topics.create("a", 1)
        broker.topics.create("b", 1)
        assert list(tmp_path.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["topics.json"]


def test_write_failure_is_a_warning(lab: BrokerLab, tmp_path: Path) -> None:
    broker = broker_in(lab, tmp_path)
    (tmp_path / "topics.json.tmp").mkdir()
    broker.create_topic("orders", 3)
    (warned,) = lab.journal.find(Warned)
    why = "Is a directory, not a regular file"
    assert warned.text == f"{tmp_path}/topics.json: could not be written: {why}"
    assert broker.topics.select("orders") is not None


def test_failed_write_is_tried_again_until_it_succeeds(lab: BrokerLab, tmp_path: Path) -> None:
    broker = broker_in(lab, tmp_path)
    (tmp_path / "topics.json.tmp").mkdir()
    broker.create_topic("orders", 3)
    lab.pass_time(60_000)
    (tmp_path / "topics.json.tmp").rmdir()
    lab.pass_time(20_000)
    assert "orders" in (tmp_path / "topics.json").read_text()
    _, written = lab.journal.find(Warned)
    assert written.text == f"{tmp_path}/topics.json: was written again"


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_delay_progress_is_read_from_its_file(lab: BrokerLab, tmp_path: Path, how: str) -> None:
    broker = broker_in(lab, tmp_path)
    for level in (1, 3, 3):
        put_delayed(broker, level)
    (tmp_path / "delayOffset.json").write_text('{"offsetTable":{1:1,3:2}}')
    broker.kill()
    broker.start()
    assert broker.delay.offsets == {1: 1, 3: 2}
    getattr(broker, how)()
    lab.network.settle()
    assert delays_in(tmp_path) == {1: 1, 3: 2}


def test_outdated_delay_progress_is_corrected_at_start(lab: BrokerLab, tmp_path: Path) -> None:
    broker = broker_in(lab, tmp_path)
    put_delayed(broker, 3)
    (tmp_path / "delayOffset.json").write_text('{"offsetTable":{1:7,3:9,99:5}}')
    broker.kill()
    broker.start()
    assert delays_in(tmp_path) == {1: 0, 3: 1, 99: 5}


def put_delayed(broker: Broker, level: int) -> None:
    properties = {"DELAY": str(level)}
    assert broker.put(inner_message("orders", 0, b"late", properties=properties)).ok


def delays_in(folder: Path) -> object:
    return fastjson.loads((folder / "delayOffset.json").read_text())["offsetTable"]


@pytest.mark.parametrize("on_disk", [False, True])
def test_kill_says_which_files_lost_changes(lab: BrokerLab, tmp_path: Path, on_disk: bool) -> None:
    broker = broker_in(lab, tmp_path) if on_disk else lab.broker(BrokerConfig())
    broker.kill()
    broker.start()
    assert not lab.journal.find(ChangesLost)  # nothing was changed
    lab.pass_time(10_000)
    broker.persistence.filters.changed()
    lab.pass_time(10_000)
    broker.kill()
    broker.start()
    assert not lab.journal.find(ChangesLost)  # it was written
    lab.pass_time(1)
    broker.persistence.filters.changed()
    broker.offsets.commit("g", "orders", 0, 1)  # this has an event of its own
    broker.kill()
    (lost,) = lab.journal.find(ChangesLost)
    assert (lost.node, lost.file) == (broker.name, "consumerFilter.json")
    assert 0 < lost.since_ms < lab.clock.now_ms()
    broker.start()
    broker.persistence.filters.changed()
    broker.stop()
    assert len(lab.journal.find(ChangesLost)) == 1


def test_kill_says_that_a_change_was_lost_whose_write_failed(
    lab: BrokerLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = broker_in(lab, tmp_path)
    broker.topics.create("there", 4)
    with monkeypatch.context() as patch:
        patch.setattr(DiskTextFile, "write", disk_is_full)
        broker.topics.create("orders", 4)
        broker.kill()
    (lost,) = lab.journal.find(ChangesLost)
    assert (lost.node, lost.file) == (broker.name, "topics.json")
    broker.start()
    assert "there" in broker.topics
    assert "orders" not in broker.topics


def disk_is_full(file: DiskTextFile, text: str) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("more", [{}, {"reference": REFERENCE5}])
def test_table_that_takes_long_is_copied_at_the_moment_of_a_snapshot(
    lab: BrokerLab, more: dict[str, Any]
) -> None:
    broker = lab.broker(**more)
    for file in broker.persistence.files:
        if file._in_steps is not None or file.name == MODES:
            assert file._captured is not None, file.name


def test_captured_filters_are_of_their_moment(lab: BrokerLab) -> None:
    broker = lab.broker()
    filters, file = broker.filters, broker.persistence.filters
    for number in range(3):
        subscribe_by_sql(broker, f"group-{number}")
    expected, captured = file.text(), file.captured_text()
    next(captured)
    filters.unregister("group-0")
    subscribe_by_sql(broker, "group-3")
    assert finished(captured) == expected
    assert file.text() != expected


def subscribe_by_sql(broker: Broker, group: str) -> None:
    one = SubscriptionData(topic="orders", sub_string="a = 1", expression_type="SQL92")
    for _ in broker.filters.register(group, [one]):
        pass
