"""The fault campaign on Spark has the rows that the same seeds have at home."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import pytest

from fakemq.errors import ConfigError
from fakemq.sim.campaign import Outcome
from fakemq.sim.drawing import draw_plan
from fakemq.sim.replay import replay_seed
from fakemq.spark import campaign as module
from fakemq.spark.campaign import CampaignReader, _text, campaign
from fakemq.spark.options import Options
from tests.support.pages import run_block

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

SEEDS, MINUTES = range(40, 46), 5


@pytest.mark.slow  # six runs of five virtual minutes, in processes of their own and here again
def test_rows_equal_those_of_a_local_campaign(spark: SparkSession, tmp_path: Path) -> None:
    page = run_block(
        *("simulation.md", 0, {"spark": spark}),
        {
            "range(10_000)": f"range({SEEDS.start}, {SEEDS.stop})",
            "minutes=10, journals=True": f"{MINUTES}, journals=True, tasks=2",
            '"campaign"': repr(str(tmp_path / "campaign")),
        },
    )
    rows = {row.seed: row for row in page["rows"].collect()}
    assert sorted(rows) == list(SEEDS)
    for seed in SEEDS:
        journal: list[str] = []
        result = replay_seed(seed, MINUTES, journal.append)
        row, plan = rows[seed], draw_plan(seed, MINUTES)
        assert (row.minutes, row.messages) == (MINUTES, result.messages)
        assert row.messages > 0
        assert (row.failure, row.violations) == ("", [])
        assert not result.violated
        assert row.seconds > 0
        assert row.journal == journal
        cluster = row.cluster
        assert (cluster.masters, cluster.role, cluster.onDisk, cluster.logFileBytes) == (
            *(plan.cluster.masters, plan.cluster.role),
            *(plan.cluster.on_disk, plan.cluster.log_file_bytes),
        )
        assert [tuple(fault) for fault in row.faults] == [
            (fault.name, fault.target, fault.at_ms, fault.for_ms, fault.amount)
            for fault in plan.faults
        ]


def reader(**options: str) -> CampaignReader:
    return CampaignReader(Options("fakemq-campaign", options))


@pytest.mark.parametrize(
    ("options", "dealt"),
    [
        ({"seeds": "3"}, [[3]]),
        ({"SEEDS": "0:17"}, [[*range(0, 17, 3)], [*range(1, 17, 3)], [*range(2, 17, 3)]]),
        ({"seeds": " 7, 1:4 ", "tasks": "2"}, [[7, 2], [1, 3]]),
        ({"seeds": "1:4", "tasks": "9"}, [[1], [2], [3]]),
        ({"seeds": ""}, []),
        ({"seeds": "5:5"}, []),
    ],
)
def test_seeds_are_distributed_to_tasks(options: dict[str, str], dealt: list[list[int]]) -> None:
    assert [list(one.seeds) for one in reader(**options).partitions()] == dealt


@pytest.mark.parametrize("seeds", [[], [4], [4, 2], range(3, 9), range(0, 9, 2), range(5, 5)])
def test_seeds_are_passed_to_the_source(seeds: Sequence[int]) -> None:
    dealt = reader(seeds=_text(seeds), tasks="1").partitions()
    assert [seed for one in dealt for seed in one.seeds] == list(seeds)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"seeds": "1:x"}, "option seeds is '1:x', expected whole numbers from 0 on and FROM:TO"),
        ({"seeds": "-1"}, "option seeds is '-1', expected"),
        ({}, "option seeds is None, expected"),
        ({"seeds": "9223372036854775808"}, "option seeds is '9223372036854775808', expected"),
        ({"seeds": "1:99999999999"}, "option seeds: 99,999,999,998 are too many"),
        ({"seeds": "1", "minutes": "2"}, "option minutes: 2 minutes are too few; 5 or more"),
        ({"seeds": "1", "minutes": "nan"}, "option minutes is 'nan', expected a number"),
        ({"seeds": "1", "minutes": "ten"}, "option minutes is 'ten', expected a number"),
        ({"seeds": "1", "tasks": "0"}, "option tasks is '0', expected a whole number from 1 on"),
        ({"seed": "1"}, "there is no option seed; did you mean seeds?"),
    ],
)
def test_invalid_options_are_named(options: dict[str, str], error: str) -> None:
    with pytest.raises(ConfigError, match=f"^fakemq-campaign: {re.escape(error)}"):
        reader(**options)


def dies_at_two(pipe: Connection, minutes: float, root: str, *, journal: bool) -> None:
    """The main function of a worker process that dies at one seed."""
    while True:
        try:
            seed = pipe.recv()
        except EOFError:
            return
        pipe.send(None)
        if seed == 2:
            os._exit(9)
        failure = "order per queue: x (and 1 more)" * (seed == 3)
        violations = ("order per queue: x", "order per queue: y") if failure else ()
        pipe.send(Outcome(seed, failure, 7, (), violations, ("a line",), 1500))


@pytest.mark.slow  # it starts processes
@pytest.mark.parametrize("journals", [False, True])
def test_failing_or_dying_seed_is_a_row(monkeypatch: pytest.MonkeyPatch, journals: bool) -> None:
    monkeypatch.setattr(module, "run_worker", dies_at_two)
    one = reader(seeds="1:4", journals=str(journals))
    rows = [row for part in one.partitions() for got in one.read(part) for row in got.to_pylist()]
    found = {row["seed"]: (row["failure"], row["violations"], row["seconds"]) for row in rows}
    assert found == {
        1: ("", [], 1.5),
        2: ("the process died with exit code 9", [], 0.0),
        3: (
            "order per queue: x (and 1 more)",
            ["order per queue: x", "order per queue: y"],
            1.5,
        ),
    }
    for row in rows:
        plan = draw_plan(row["seed"])
        assert [fault["name"] for fault in row["faults"]] == [one.name for one in plan.faults]
        assert row["cluster"]["logFileBytes"] == plan.cluster.log_file_bytes
        lines = [] if row["seed"] == 2 else ["a line"]
        assert row["journal"] == (lines if journals else None)


@pytest.mark.slow  # starts the session, if it is the first of the run
def test_empty_seed_range_has_no_rows(spark: SparkSession) -> None:
    assert campaign(spark, [], MINUTES).collect() == []
