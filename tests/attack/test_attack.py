"""A bounded form of each attack; ``make attack`` has the long one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.__main__ import attack
from tests.attack.kinds import KINDS, Kind, Run
from tests.attack.progress import with_progress


@pytest.mark.slow  # some seconds for each kind: servers start, are attacked and start again
@pytest.mark.parametrize(
    ("name", "seed"), [(kind.name, seed) for kind in KINDS.values() for seed in kind.seeds]
)
def test_short_attack_finds_nothing(name: str, seed: int, tmp_path: Path) -> None:
    kind = KINDS[name]
    if reason := kind.missing():
        pytest.skip(reason)
    assert list(kind.load()(seed, kind.short_count, tmp_path)) == []


class Planted(Kind):
    def load(self) -> Run:
        def run(seed: int, count: int, folder: Path) -> Iterator[str]:
            for number in with_progress(range(count), count, self.unit):
                (folder / "store").touch()
                yield f"seed {seed + number} in {folder}"

        return run


def test_attack_prints_findings_and_the_command_that_repeats_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert attack(Planted("planted", "attacks", 2, 1), 7, None, keep=False) == 2
    begun, first, second, summary, repeat = capsys.readouterr().out.splitlines()
    assert begun == "planted: 2 attacks, seed 7"
    assert first.startswith("planted: seed 7 in ")
    assert second.startswith("planted: seed 8 in ")
    assert summary.startswith("planted: 2 findings in 2 attacks, ")
    assert repeat.endswith("python -m tests.attack planted --seed 7 --count 2")
    assert not Path(first.partition(" in ")[2]).exists()


def test_attack_keeps_directories_when_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert attack(Planted("planted", "attacks", 2, 1), 7, 1, keep=True) == 1
    (kept,) = tmp_path.iterdir()
    assert f"planted: kept {kept}" in capsys.readouterr().out
    assert (kept / "store").exists()
