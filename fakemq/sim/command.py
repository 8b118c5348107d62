"""``python -m fakemq replay``: one seed with its journal, or a campaign of many."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Unpack

from fakemq.clock.progress import ProgressBar
from fakemq.errors import ConfigError, counted
from fakemq.sim.drawing import RunKind, draw_plan
from fakemq.sim.plan import REFERENCES
from fakemq.sim.replay import drawn, lines_about, replay, store_folder

Write = Callable[[str], None]
HELD, VIOLATED, INTERRUPTED = 0, 1, 130
"""Exit codes. The last one is what shells report of a command that Ctrl-C ended."""


def replay_one(
    seed: int,
    minutes: float,
    write: Write,
    reference: str = REFERENCES[0],
    **kind: Unpack[RunKind],
) -> int:
    """Print a seed's plan, its journal and the verdict. Return the exit code."""
    try:
        plan = draw_plan(seed, minutes, reference, **kind)
    except ValueError as error:
        raise ConfigError(f"--minutes: {error}") from None
    for text in drawn(plan):
        write(text)
    journal: list[str] = []

    def show(text: str) -> None:
        journal.append(text)
        write(text)

    # Among the lines of the journal on the same terminal a bar would be in the way.
    progress = ProgressBar(plan.length_ms, sys.stderr, "virtual ms", look_every=256)
    with progress, store_folder() as root:
        result = replay(plan, root, show, None if sys.stdout.isatty() else progress.reached)
    if not result.violated:
        write(f"seed {seed}: every invariant held, {counted(result.messages, 'message')}")
        return HELD
    for violation in result.violated:
        write(f"seed {seed}: violated: {violation}")
        for text in lines_about(violation, journal):
            write(f"    {text}")
    write(f"seed {seed}: {len(result.violated)} violations")
    return VIOLATED


def run_campaign(
    seeds: str,
    minutes: float,
    jobs: int,
    write: Write,
    reference: str = REFERENCES[0],
    **kind: Unpack[RunKind],
) -> int:
    """Run the seeds ``FROM:TO``, TO excluded. Print a line for each failure, and a summary.

    Ctrl-C stops it; the summary is of the seeds that ran until then.
    """
    first, _, end = seeds.partition(":")
    if not (first.isdecimal() and end.isdecimal() and int(first) < int(end)):
        raise ConfigError(f"--seeds {seeds}: expected FROM:TO, with FROM below TO, such as 0:500")
    try:
        draw_plan(int(first), minutes)
    except ValueError as error:
        raise ConfigError(f"--minutes: {error}") from None
    from fakemq.sim.campaign import Campaign, Outcome, run_worker

    def report(outcome: Outcome) -> None:
        progress.passed()
        if outcome.failure:
            progress.clear()
            write(f"seed {outcome.seed}: {outcome.failure}")

    seeds_of = range(int(first), int(end))
    progress = ProgressBar(len(seeds_of), sys.stderr, "seeds")
    work = partial(run_worker, reference=reference, **kind)
    campaign = Campaign(minutes, jobs, report, work)
    interrupted = False
    try:
        campaign.run(seeds_of)
    except KeyboardInterrupt:
        interrupted = True
    progress.clear()
    if interrupted:
        write(f"stopped by Ctrl-C after {campaign.seeds} of {counted(len(seeds_of), 'seed')}")
    if campaign.seeds:
        write(campaign.summary())
    if campaign.failed:
        other = "" if reference == REFERENCES[0] else f" --reference {reference}"
        if kind.get("grpc"):
            other = " --grpc"
        if (count := kind.get("controllers")) is not None:
            other = f" --controllers {count}{' --strong' * kind.get('strong', False)}"
        write(f"look closer with: python -m fakemq replay --seed {min(campaign.failed)}{other}")
    if interrupted:
        return INTERRUPTED
    return VIOLATED if campaign.failed else HELD
