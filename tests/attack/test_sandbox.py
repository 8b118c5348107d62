"""The sandbox of the attacks reports what it must."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.attack.sandbox import Sandbox
from tests.support.imports import ROOT


def test_sandbox_reports_each_change_outside_and_each_odd_name_inside(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "box")
    node = sandbox.store / "broker-a-0"
    for name in ("lock", "consumequeue/%RETRY%a\nb/0/" + "0" * 20, "commitlog/" + "0" * 20):
        (node / name).parent.mkdir(parents=True, exist_ok=True)
        (node / name).touch()
    assert list(sandbox.escapes()) == []

    (sandbox.store.parent / "new").mkdir()
    (sandbox.folder / "pwned").write_text("changed")
    (sandbox.home / "file").touch()
    (node / "consumequeue" / "topic" / "more").mkdir(parents=True)
    changed, *others = sandbox.escapes()
    assert changed.startswith("changed outside of the store: 'd0/d1/d2/d3/d4/d5/new'")
    assert [one.split("'")[1] for one in others] == [
        *("home/file", "pwned", "consumequeue/topic/more")
    ]


def test_watched_paths_report_what_is_written_or_read_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _ESCAPES],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        f"open to write of '{tmp_path}/other', outside of the store",
        f"os.rename of '{tmp_path}/other', outside of the store",
        f"os.mkdir of '{tmp_path}/folder', outside of the store",
        f"open of '{tmp_path}/moved', outside of the store",
    ]


_ESCAPES = """
import os
from pathlib import Path
from tests.attack.sandbox import watch_paths

found = []
watch_paths(Path("store"), found.append)
open("store/inside", "w").close()
open("store/../other", "w").close()
os.rename("other", "store/moved")
os.rename("store/moved", "store/again")
os.mkdir("folder")
os.path.exists("nothing")
try:
    open("moved")
except OSError:
    pass
print(*found, sep="\\n")
"""
