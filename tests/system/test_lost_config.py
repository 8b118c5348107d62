"""Config files that are lost or empty: a line at the start, and one of `dump --check`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import fakemq
from fakemq.cli import main
from fakemq.events import Warned

NODE = "broker-a-0"
SIZES = {"mappedFileSizeCommitLog": 65_536, "maxHashSlotNum": 50, "maxIndexNum": 100}


def written(root: Path) -> Path:
    with fakemq.Cluster(store=str(root), topics={"orders": 1}, config=SIZES) as mq:
        mq.seed("orders", [b"x"] * 3)
    return root / NODE / "config"


def warnings_of(root: Path) -> list[str]:
    with fakemq.Cluster(store=str(root), config=SIZES) as mq:
        return [warned.text for warned in mq.journal.find(Warned)]


def findings(root: Path) -> list[str]:
    return CliRunner().invoke(main, ["dump", str(root), "--check"]).stdout.splitlines()[:-1]


def test_start_after_a_stop_reports_no_file(tmp_path: Path) -> None:
    written(tmp_path)
    assert findings(tmp_path) == warnings_of(tmp_path) == warnings_of(tmp_path) == []


@pytest.mark.parametrize("backed_up", [False, True])
@pytest.mark.parametrize(
    ("name", "damage", "what"),
    [
        ("consumerOffset.json", Path.unlink, "the file is missing"),
        ("consumerOffset.json", lambda path: path.write_text(""), "the file is empty"),
        ("topics.json", lambda path: path.write_text(""), "the file is empty"),
    ],
)
def test_lost_file_is_reported(
    tmp_path: Path, name: str, damage: Callable[[Path], object], what: str, backed_up: bool
) -> None:
    config = written(tmp_path)
    backup = config / f"{name}.bak"
    backup.unlink(missing_ok=True)
    if backed_up:
        backup.write_bytes((config / name).read_bytes())
    damage(config / name)
    assert f"config/{name}:0: {what}" in findings(tmp_path)
    instead = "its backup" if backed_up else "nothing, for there is no backup"
    assert f"{config / name}: {what}; the broker begins with {instead}" in warnings_of(tmp_path)


def test_file_without_its_table_is_reported(tmp_path: Path) -> None:
    config = written(tmp_path)
    (config / "topics.json").write_bytes((config / "consumerOffset.json").read_bytes())
    assert "config/topics.json:0: no topicConfigTable is in it" in findings(tmp_path)
    lines = warnings_of(tmp_path)
    assert f"{config}/topics.json: no topicConfigTable is in it" in lines
    assert any("queues of a topic that config/topics.json does not have" in one for one in lines)
