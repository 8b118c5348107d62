"""``python -m bench``: the groups it runs, the files it writes, its exit code."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from types import ModuleType

import pytest

from bench import __main__ as command
from bench import kept, machine
from bench.measure import Figure, Plan

ROOT = Path(__file__).parents[2]


class Pretended(ModuleType):
    """A group of two figures; ``plans`` has the plans that it received."""

    def __init__(self) -> None:
        super().__init__("bench.pretended")
        self.plans: list[Plan] = []

    def figures(self, plan: Plan) -> Iterator[Figure]:
        self.plans.append(plan)
        yield Figure(group="pretended", name="good", value=1, unit="ms", at_most=2)
        yield Figure(group="pretended", name="bad", value=3, unit="ms", at_most=2)


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    one = Pretended()
    monkeypatch.setitem(sys.modules, one.__name__, one)
    monkeypatch.setattr(command, "GROUPS", {"pretended": 1.0})
    return one


def run(monkeypatch: pytest.MonkeyPatch, path: Path, *arguments: str) -> int:
    paths = ["--json", str(path / "out" / "figures.json"), "--plot", str(path / "plot.svg")]
    monkeypatch.setattr(sys, "argv", ["bench", "--no-java", *paths, *arguments])
    return command.main()


def test_command_exits_with_1_when_a_target_is_missed(
    group: Pretended,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, tmp_path) == 1
    printed = capsys.readouterr().out
    assert [line.split()[1] for line in printed.splitlines() if line.startswith("pretended")] == [
        "good",
        "bad",
    ]
    assert "1 targets missed." in printed
    assert "Nothing lost." in printed
    assert "nothing to plot" in printed
    whole = json.loads((tmp_path / "out" / "figures.json").read_bytes())
    assert [figure["met"] for figure in whole["figures"]] == [True, False]
    assert whole["machine"]["cores"].isdecimal()


def test_command_runs_only_the_named_groups(
    group: Pretended, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run(monkeypatch, tmp_path, "pretended", "--only", "goo") == 0
    whole = json.loads((tmp_path / "out" / "figures.json").read_bytes())
    assert [figure["name"] for figure in whole["figures"]] == ["good"]


def test_quick_option_runs_one_round(
    group: Pretended, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(monkeypatch, tmp_path, "--quick")
    run(monkeypatch, tmp_path, "--rounds", "4", "--runs", "7")
    assert [(plan.rounds, plan.runs, plan.java) for plan in group.plans] == [
        (1, 5, False),
        (4, 7, False),
    ]


def test_loss_since_the_kept_result_fails_the_command(
    group: Pretended,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = [Figure(group="pretended", name="good", value=0.5, unit="ms", at_most=2)]
    path = kept.keep(machine.describe_machine(java=False), before, tmp_path)
    arguments = ("--only", "good", "--against", str(path))
    assert run(monkeypatch, tmp_path, *arguments) == 1
    printed = capsys.readouterr().out
    assert "LOSS pretended: good: 0.5 to 1\n" in printed
    assert "All targets met.\n1 figures lost." in printed


def test_kept_result_is_what_later_runs_are_compared_with(
    group: Pretended,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(kept.keep, "__defaults__", (tmp_path,))
    monkeypatch.setattr(kept.newest, "__defaults__", (tmp_path,))
    assert run(monkeypatch, tmp_path, "--only", "good", "--keep") == 0
    assert "kept: nothing of this form." in capsys.readouterr().out
    assert run(monkeypatch, tmp_path, "--only", "good") == 0
    assert "1.00 +0 %" in capsys.readouterr().out


def test_group_that_fails_does_not_end_the_others(
    group: Pretended,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = ModuleType("bench.broken")
    monkeypatch.setitem(sys.modules, "bench.broken", broken)  # without figures
    monkeypatch.setattr(command, "GROUPS", {"broken": 1.0, "pretended": 1.0})
    assert run(monkeypatch, tmp_path, "--only", "good") == 1
    whole = json.loads((tmp_path / "out" / "figures.json").read_bytes())
    assert [figure["name"] for figure in whole["figures"]] == ["good"]
    assert "FAILED: broken" in capsys.readouterr().out


def test_groups_share_half_an_hour() -> None:
    assert sum(command.GROUPS.values()) <= 28


def test_groups_of_a_whole_run_end_one_after_another(
    group: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_s = monotonic()
    shares = {"pretended": 2.0}
    list(command.measured(shares, Plan(), []))
    assert group.plans[0].until_s == pytest.approx(begin_s + 120, abs=60)
    list(command.measured({"pretended": float("inf")}, Plan(), []))
    assert group.plans[1].until_s == float("inf")


@pytest.mark.parametrize("arguments", [["no-such-group"], ["--rounds", "0"], ["--tests", "-1"]])
def test_command_refuses_unknown_arguments(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "error: " in done.stderr


@pytest.mark.parametrize("name", [*command.GROUPS, *command.ON_REQUEST])
def test_group_is_a_module(name: str) -> None:
    assert callable(importlib.import_module(f"bench.{name}").figures)


def test_default_output_is_ignored_by_git() -> None:
    assert command.BUILD.relative_to(ROOT).parts[0] == "build"
    assert "build/" in (ROOT / ".gitignore").read_text().splitlines()
