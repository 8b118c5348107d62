"""Groups of Java's replicas and ours, under both controllers: their master is killed, and paused.

Every message that was acknowledged is at the last master, and every replica has its log.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance.fail_overs import AFTER, COURSES, Outcome, run_mixture
from conformance.live.groups import CROWDED

# Nine JVMs, and replicas that come into the set again, by timers of seconds.
pytestmark = [pytest.mark.slow, CROWDED]

MIXTURES = {
    "j:jjj": ("kills",),
    "f:jjj": ("kills",),
    "j:fff": ("kills",),
    "f:fjf": ("pause", "restart"),
}
"""The courses of each; ``python -m conformance.fail_overs`` runs every one on all mixtures."""


def test_replicas_of_both_kinds_lose_nothing_when_masters_leave(java: None, tmp_path: Path) -> None:
    def run(mixture: str) -> list[Outcome]:
        return run_mixture(mixture, MIXTURES[mixture], tmp_path / mixture.replace(":", "-"))

    with ThreadPoolExecutor(len(MIXTURES)) as pool:
        outcomes = [one for some in pool.map(run, MIXTURES) for one in some]
    print(*outcomes, sep="\n")
    for one in outcomes:
        steps = COURSES[one.course]
        assert one.lost == 0, one
        assert one.epochs >= len(one.gaps_ms), one  # a failed election takes some, too
        assert one.acknowledged > len(steps) * AFTER, one
