"""The controllers' log keeps their state over restarts; a damaged one is an error that says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.controller import log as logs
from fakemq.controller.events import ApplyBrokerIdEvent, ElectMasterEvent
from fakemq.controller.log import EventLog
from fakemq.controller.state import State, apply
from fakemq.errors import ConfigError, StoreError
from fakemq.events.core import HandlerFailed, Warned
from tests.support.controller_lab import GROUP, ControllerLab

APPLIED = ApplyBrokerIdEvent(
    cluster_name="c",
    broker_name=GROUP,
    broker_address="h:1",
    new_broker_id=1,
    register_check_code="h:1;7",
)
ELECTED = ElectMasterEvent(broker_name=GROUP, new_master_broker_id=1)


def lines(folder: Path) -> list[bytes]:
    return (folder / logs.FILE).read_bytes().splitlines()


def written(folder: Path, *events: ApplyBrokerIdEvent | ElectMasterEvent) -> Path:
    log = EventLog(str(folder))
    assert list(log.open()) == []
    log.append(events)
    log.close()
    return folder / logs.FILE


def test_restart_finds_groups_masters_and_epochs(tmp_path: Path) -> None:
    lab = ControllerLab(folder=str(tmp_path))
    first = lab.broker(1).join()
    lab.broker(2).join()
    first.elect()
    first.alter([1, 2], epoch=1, set_epoch=1)
    before = lab.group.state
    lab.controllers[0].stop("kill")
    lab.group.close()
    again = ControllerLab(folder=str(tmp_path))
    assert again.group.state == before
    assert again.broker(1).master == ("1", "1")
    again.group.close()


@given(cut=st.integers(1, 60))
def test_line_that_a_kill_cut_off_does_not_count(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    path = written(folder, APPLIED, ELECTED)
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    log = EventLog(str(folder))
    assert list(log.open()) == [APPLIED]
    log.append([ELECTED])
    log.close()
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "damage", [b"\xff\xfe\n", b"{}\n", b"[1]\n", b'{"type":"other"}\n', b"\x00" * 50 + b"\n"]
)
def test_damaged_line_is_an_error_that_names_it(tmp_path: Path, damage: bytes) -> None:
    path = written(tmp_path, APPLIED)
    path.write_bytes(path.read_bytes() + damage + path.read_bytes())
    log = EventLog(str(tmp_path))
    with pytest.raises(ConfigError, match=r"events\.jsonl:2: no event .* delete it"):
        list(log.open())
    assert len(lines(tmp_path)) == 3, "the file stays as it is"


def test_number_that_no_field_has_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path, APPLIED)
    path.write_bytes(path.read_bytes().replace(b":1,", b":99999999999999999999,"))
    with pytest.raises(ConfigError, match=r"events\.jsonl:1: no event"):
        list(EventLog(str(tmp_path)).open())


def test_log_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path))
    list(log.open())
    with pytest.raises(ConfigError, match="another process has this log open"):
        list(EventLog(str(tmp_path)).open())
    log.close()


def test_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"controllerStorePath=.*cannot keep a log here"):
        list(EventLog(str(tmp_path / "file")).open())


def test_event_that_the_disk_refuses_is_not_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = ControllerLab(folder=str(tmp_path))
    first = lab.broker(1).join()

    def refuse(number: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        answer = first.elect()
    assert (answer.code, "No space left on device" in (answer.remark or "")) == (1, True)
    assert lab.journal.find(HandlerFailed) == []
    assert "No space left" in lab.journal.find(Warned)[-1].text
    assert first.master == (None, "0")
    assert first.elect().code == 0
    assert len(lines(tmp_path)) == 2
    lab.group.close()


def test_closed_log_takes_no_event(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is closed"):
        EventLog(str(tmp_path)).append([APPLIED])


def test_grown_log_is_written_anew_at_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "SPARE_LINES", 3)
    monkeypatch.setattr("fakemq.controller.group.SPARE_LINES", 3)
    written(tmp_path, APPLIED, *[ELECTED] * 10)
    state = State()
    for event in (APPLIED, *[ELECTED] * 10):
        apply(state, event)
    for _ in range(2):
        lab = ControllerLab(folder=str(tmp_path))
        assert lab.group.state == state
        assert len(lines(tmp_path)) == 1
        lab.group.close()
    assert [one.name for one in tmp_path.iterdir()] == [logs.FILE]


def test_grown_log_is_written_anew_while_events_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fakemq.controller.group.SPARE_LINES", 3)
    lab = ControllerLab(folder=str(tmp_path))
    lab.group.commit([APPLIED])
    counts = []
    for _ in range(20):
        lab.group.commit([ELECTED])
        counts.append(len(lines(tmp_path)))
    assert counts[:5] == [2, 3, 4, 5, 1]
    assert max(counts) == 5
    state = lab.group.state
    lab.group.close()
    again = ControllerLab(folder=str(tmp_path))
    assert again.group.state == state
    again.group.close()


def test_log_that_cannot_be_written_anew_stays_in_use_and_is_not_tried_at_each_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fakemq.controller.group.SPARE_LINES", 3)
    lab = ControllerLab(folder=str(tmp_path))
    tries = []

    def refuse(old: str, new: str) -> None:
        tries.append(new)
        raise OSError(13, "Permission denied")

    open_before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        lab.group.commit([APPLIED, *[ELECTED] * 5])
        lab.group.commit([ELECTED])
        lab.group.commit([ELECTED])
    assert len(tries) == 1
    assert "Permission denied" in lab.journal.find(Warned)[-1].text
    if open_before:
        assert len(os.listdir("/proc/self/fd")) == open_before
    assert len(lines(tmp_path)) == 8
    lab.group.close()


def test_start_that_cannot_write_the_log_anew_leaves_it_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fakemq.controller.group.SPARE_LINES", 3)
    path = written(tmp_path, APPLIED, *[ELECTED] * 10)
    (tmp_path / "events.jsonl.tmp").mkdir()
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"events\.jsonl\.tmp: could not be written"):
            ControllerLab(folder=str(tmp_path))
    log = EventLog(str(tmp_path))
    assert len(list(log.open())) == 11, "no other has it open"
    log.close()
    assert path.exists()
