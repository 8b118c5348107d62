"""Many seeds in worker processes; workers that die or hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection

import pytest
from click.testing import CliRunner

from fakemq.cli import main
from fakemq.sim.campaign import Campaign, Outcome, outcome_of

DIES, HANGS, FAILS = 3, 5, 6


def work_badly(pipe: Connection, minutes: float, root: str) -> None:
    """The main function of a worker that dies, hangs or fails at some seeds."""
    while True:
        try:
            seed = pipe.recv()
        except EOFError:
            return
        pipe.send(None)
        if seed == DIES:
            os._exit(9)
        if seed == HANGS:
            threading.Event().wait()
        pipe.send(Outcome(seed, "it failed" * (seed == FAILS), 10, ("kill",)))


@pytest.mark.slow  # it starts processes, and waits for one that hangs
def test_process_that_dies_or_hangs_fails_its_seed_only() -> None:
    outcomes: dict[int, Outcome] = {}

    def report(outcome: Outcome) -> None:
        outcomes[outcome.seed] = outcome

    campaign = Campaign(10, 2, report, work_badly, seed_max_ms=1_500)
    campaign.run(range(8))
    failures = {seed: one.failure for seed, one in outcomes.items() if one.failure}
    assert sorted(outcomes) == list(range(8))
    assert failures == {
        DIES: "the process died with exit code 9",
        HANGS: failures[HANGS],
        FAILS: "it failed",
    }
    assert failures[HANGS].startswith("the run did not end within ")
    assert campaign.summary().endswith(" s: 60 messages, 6 faults (kill 6); 3 failed: 3, 5, 6")


@pytest.mark.slow  # real runs in real processes
def test_command_runs_a_campaign() -> None:
    done = CliRunner().invoke(main, ["replay", "--seeds", "0:4", "--minutes", "5"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("4 seeds of 5 virtual minutes in ")
    assert done.output.endswith("; every invariant held\n")


INTERRUPTS = """
import os, signal
from fakemq.sim import campaign, command
count = campaign.Campaign._count
def count_and_interrupt(self, outcome):
    count(self, outcome)
    os.killpg(0, signal.SIGINT)
campaign.Campaign._count = count_and_interrupt
raise SystemExit(command.run_campaign("0:500", 5, 2, print))
"""


@pytest.mark.slow  # real runs in real processes
def test_ctrl_c_ends_a_campaign_with_what_it_found() -> None:
    # As a terminal does: SIGINT to the command and to its worker processes.
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        out, errors = process.communicate(timeout=60)
    stopped, summary = out.splitlines()
    assert (process.returncode, errors) == (130, "")
    assert stopped == "stopped by Ctrl-C after 1 of 500 seeds"
    assert summary.startswith("1 seed of 5 virtual minutes in ")


def test_exception_of_a_run_is_its_failure() -> None:
    outcome = outcome_of(1, 1, "nowhere")
    assert outcome.failure.startswith("ValueError('1 minutes are too few; 5 or more leave time")
    assert " at drawing.py:" in outcome.failure
