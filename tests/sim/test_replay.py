"""One seed makes one journal, in every process and on every loop."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fakemq.cli import main
from fakemq.sim.drawing import draw_plan
from fakemq.sim.events import Sent
from fakemq.sim.plan import REFERENCES
from fakemq.sim.replay import replay_seed
from fakemq.sim.run import SimulationRun
from tests.sim.on_asyncio import MINUTES

ROOT = Path(__file__).resolve().parents[2]
ON_DISK = next(seed for seed in range(100) if draw_plan(seed, MINUTES).cluster.on_disk)


def on_asyncio(seed: int, reference: str, hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim.on_asyncio", str(seed), reference],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow  # whole runs, two of them in processes of their own
@pytest.mark.parametrize("reference", REFERENCES)
def test_seed_has_one_journal_on_asyncio_and_without_a_loop(reference: str) -> None:
    one, other = on_asyncio(ON_DISK, reference, "1"), on_asyncio(ON_DISK, reference, "2")
    assert one == other
    lines: list[str] = []
    replay_seed(ON_DISK, MINUTES, lines.append, reference)
    assert "\n".join(lines) + "\n" == one
    assert len(lines) > 2_000


def test_another_seed_is_another_run() -> None:
    journals: list[list[str]] = [[], []]
    for seed, lines in enumerate(journals):
        replay_seed(seed, MINUTES, lines.append)
    assert journals[0] != journals[1]


@pytest.mark.slow  # two whole runs of ten virtual minutes
@pytest.mark.parametrize("seed", [20_087, 20_943])
def test_transaction_whose_half_message_is_answered_late_stays_open(seed: int) -> None:
    assert not replay_seed(seed, 10).violated


@pytest.mark.slow  # two whole runs of ten virtual minutes
@pytest.mark.parametrize("seed", [9, 23])
def test_messages_that_front_and_brokers_handle_after_a_pause_are_not_lost(seed: int) -> None:
    """Seed 23: a group keeps its order while no broker answers. Seed 9: a caller has left."""
    assert not replay_seed(seed, 10, None, "5.5.0", grpc=True).violated


@pytest.mark.slow  # a whole run
def test_command_runs_grpc_clients() -> None:
    done = CliRunner().invoke(main, ["replay", "--seed", "23", "--minutes", "5", "--grpc"])
    assert done.exit_code == 0, done.output[-2_000:]
    lines = done.output.splitlines()
    assert lines[1].endswith(", a gRPC front")
    for kind in ("RpcReceived", "HandleRenewed", "OrphanAsked", "Popped"):
        assert any(f" {kind} " in line for line in lines)


def test_command_shows_plan_journal_and_verdict(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = logging.getLogger("fakemq")
    before = (logger.level, logger.propagate, logger.disabled, list(logger.handlers))
    done = CliRunner().invoke(main, ["replay", "--seed", str(ON_DISK), "--minutes", "5"])
    lines = done.output.splitlines()
    assert done.exit_code == 0
    assert lines[0] == f"seed {ON_DISK}, 5 virtual minutes, quiet from 60 s on"
    assert lines[1].startswith("cluster: ")
    plan = draw_plan(ON_DISK, 5)
    assert sum(line.startswith("fault: ") for line in lines) == len(plan.faults) >= 3
    assert any("22:13:20.000 NodeStarted      namesrv-0" in line for line in lines)
    assert lines[-1].startswith(f"seed {ON_DISK}: every invariant held, ")
    assert (logger.level, logger.propagate, logger.disabled, list(logger.handlers)) == before
    assert not caplog.records


@pytest.mark.slow  # whole runs, two of them in processes of their own
def test_command_runs_another_reference() -> None:
    done = CliRunner().invoke(
        main, ["replay", "--seed", "3", "--minutes", "5", "--reference", "5.5.0"]
    )
    assert done.exit_code == 0, done.output[-2_000:]
    lines = done.output.splitlines()
    assert any(line.startswith("    invisible for ") for line in lines)
    for kind in ("Popped", "Acknowledged", "TimerDelivered"):
        assert any(f" {kind} " in line for line in lines)
    arguments = ["--seeds", "0:2", "--minutes", "5", "--reference", "5.5.0"]
    done = CliRunner().invoke(main, ["replay", *arguments])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("2 seeds of 5 virtual minutes in ")


def test_violation_is_shown_with_its_journal_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fakemq.sim import invariants

    def is_stored(sim: SimulationRun, name: str, phy_offset: int, msg_id: str) -> bool:
        (sent,) = (one for one in sim.history.of(Sent) if one.key == "delayed-producer-1")
        return msg_id != sent.msg_id

    monkeypatch.setattr(invariants, "_is_stored", is_stored)
    done = CliRunner().invoke(main, ["replay", "--seed", "0", "--minutes", "5"])
    assert done.exit_code == 1
    _, _, verdict = done.output.partition("seed 0: violated: ")
    assert verdict.startswith("SEND_OK is kept: delayed-producer-1 (")
    about = verdict.splitlines()[1:-1]
    assert any("LogAppended" in line for line in about)
    assert any("Sent " in line for line in about)
    assert verdict.endswith("seed 0: 1 violations\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give --seed N, or --seeds FROM:TO"),
        (["--seed", "1", "--seeds", "1:2"], "give --seed N, or --seeds FROM:TO"),
        (["--seeds", "5"], "--seeds 5: expected FROM:TO, with FROM below TO, such as 0:500"),
        (["--seeds", "5:5"], "--seeds 5:5: expected FROM:TO, with FROM below TO, such as 0:500"),
        (["--seed", "1", "--minutes", "4"], "4 minutes are too few"),
        (["--seeds", "1:2", "--minutes", "0"], "0 minutes are too few"),
        (["--seed", "1", "--grpc", "--reference", "4.9.7"], "--grpc needs --reference 5.5.0"),
        (["--seed", "1", "--reference", "5.3.2"], "'5.3.2' is not one of '4.9.7', '5.5.0'"),
        (["--seed", "-1"], "-1 is not in the range"),
    ],
)
def test_invalid_arguments_are_one_line(arguments: list[str], text: str) -> None:
    done = CliRunner().invoke(main, ["replay", *arguments])
    assert done.exit_code == 2
    assert text in done.output
