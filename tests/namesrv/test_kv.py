"""The KV config's file and its ten-minute print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakemq.errors import ConfigError
from fakemq.events import KvConfigPrinted, Warned
from fakemq.files.texts import DiskTextFile
from tests.support.namesrv_lab import NamesrvLab, get_kv, put_kv


def test_config_is_lost_with_a_name_server_without_a_file(lab: NamesrvLab) -> None:
    server = lab.name_server()
    put_kv(lab.peer(server), "N", "k", "v")
    server.stop()
    server.start(server.addr)
    assert get_kv(lab.peer(server), "N", "k").code == 22


def test_every_change_is_written_to_the_file_at_once(lab: NamesrvLab, tmp_path: Path) -> None:
    path = tmp_path / "namesrv" / "kvConfig.json"
    server = lab.name_server(kv_file=DiskTextFile(str(path)))
    peer = lab.peer(server)
    put_kv(peer, "N", "k", "v")
    assert path.read_text() == '{"configTable":{"N":{"k":"v"}}}'
    put_kv(peer, "N", "k", "ж")
    assert json.loads(path.read_text("utf-8")) == {"configTable": {"N": {"k": "ж"}}}
    assert (tmp_path / "namesrv" / "kvConfig.json.bak").read_text() == (
        '{"configTable":{"N":{"k":"v"}}}'
    )
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "kvConfig.json",
        "kvConfig.json.bak",
    ]
    server.stop()
    server.start(server.addr)
    assert get_kv(lab.peer(server), "N", "k").ext_fields == {"value": "ж"}


def test_javas_file_is_read(lab: NamesrvLab, tmp_path: Path) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_text('{"configTable":{"ORDER_TOPIC_CONFIG":{"T":"broker-a:4"}}}')
    server = lab.name_server(kv_file=DiskTextFile(str(path)))
    assert get_kv(lab.peer(server), "ORDER_TOPIC_CONFIG", "T").ext_fields == {"value": "broker-a:4"}


@pytest.mark.parametrize("content", [b"not json", b"[1]", b"\xff", b'{"configTable":{"N":1}}'])
def test_invalid_file_is_named(lab: NamesrvLab, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"kvConfig\.json: this is no KV config"):
        lab.name_server(kv_file=DiskTextFile(str(path)))


def test_unreadable_file_is_named(lab: NamesrvLab, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read this KV config: Is a directory"):
        lab.name_server(kv_file=DiskTextFile(str(tmp_path)))


def test_unwritable_file_is_a_warning(lab: NamesrvLab, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    server = lab.name_server(kv_file=DiskTextFile(str(tmp_path / "file" / "kvConfig.json")))
    peer = lab.peer(server)
    assert put_kv(peer, "N", "k", "v").code == 0
    assert get_kv(peer, "N", "k").ext_fields == {"value": "v"}
    (warned,) = lab.journal.find(Warned)
    assert "kvConfig.json: could not be written: " in warned.text


def test_failed_write_is_tried_again_until_it_succeeds(lab: NamesrvLab, tmp_path: Path) -> None:
    (tmp_path / "kvConfig.json.tmp").mkdir()
    server = lab.name_server(kv_file=DiskTextFile(str(tmp_path / "kvConfig.json")))
    put_kv(lab.peer(server), "N", "k", "v")
    lab.clock.advance("1m")
    (tmp_path / "kvConfig.json.tmp").rmdir()
    lab.clock.advance("10s")
    text = (tmp_path / "kvConfig.json").read_text()
    assert json.loads(text) == {"configTable": {"N": {"k": "v"}}}
    failed, written = lab.journal.find(Warned)
    assert failed.text.endswith("could not be written: Is a directory, not a regular file")
    assert written.text == f"{tmp_path}/kvConfig.json: was written again"


def test_failed_write_is_tried_again_after_a_restart_with_new_changes_only(
    lab: NamesrvLab, tmp_path: Path
) -> None:
    (tmp_path / "kvConfig.json.tmp").mkdir()
    server = lab.name_server(kv_file=DiskTextFile(str(tmp_path / "kvConfig.json")))
    put_kv(lab.peer(server), "N", "old", "v")
    server.stop()
    server.start(server.addr)
    put_kv(lab.peer(server), "N", "new", "v")
    (tmp_path / "kvConfig.json.tmp").rmdir()
    lab.clock.advance("10s")
    text = (tmp_path / "kvConfig.json").read_text()
    assert json.loads(text) == {"configTable": {"N": {"new": "v"}}}


def test_config_is_printed_after_a_minute_and_then_every_ten(lab: NamesrvLab) -> None:
    put_kv(lab.peer(), "N", "k", "v")
    lab.clock.advance("59999ms")
    assert lab.journal.find(KvConfigPrinted) == []
    lab.clock.advance("1ms")
    (printed,) = lab.journal.find(KvConfigPrinted)
    assert printed.lines == ("configTable SIZE: 1", "configTable NS: N Key: k Value: v")
    for _ in range(6):
        lab.clock.advance("10m")
    assert len(lab.journal.find(KvConfigPrinted)) == 7
