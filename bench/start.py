"""What it costs to import, start, reset and stop a cluster in a test's own process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from bench.measure import ENVIRONMENT, Figure, Plan, best_ms

_CHILD = """
import json
from time import perf_counter
begin = perf_counter()
{before}
import fakemq
cluster_class = fakemq.Cluster
imported = perf_counter()
cluster = cluster_class(topics={{"orders": 8}}).start()
started = perf_counter()
cluster.reset()
reset = perf_counter()
cluster.stop()
stopped = perf_counter()
print(json.dumps([imported - begin, started - imported, started - begin, reset - started,
                  stopped - reset]))
"""


def in_children(before: str, runs: int) -> list[float]:
    """The smallest of each duration over fresh interpreters, in milliseconds."""
    best: list[float] = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", _CHILD.format(before=before)],
            capture_output=True,
            text=True,
            check=True,
            env=ENVIRONMENT,
        )
        durations = [1000 * float(one) for one in json.loads(done.stdout)]
        best = [min(pair) for pair in zip(best or durations, durations, strict=True)]
    return best


def figures(plan: Plan) -> Iterator[Figure]:
    """First use in a fresh interpreter, then what each further cluster costs."""
    runs = plan.runs
    asyncio_ms = _child_ms("import asyncio", runs)
    imported, started, both, reset, stopped = in_children("", runs)
    note = f"of which asyncio alone {asyncio_ms:.0f} ms"
    yield Figure(group="start", name="import fakemq.Cluster", value=imported, unit="ms", note=note)
    yield Figure(group="start", name="first start after that", value=started, unit="ms", at_most=20)
    yield Figure(group="start", name="import and start", value=both, unit="ms", at_most=100)
    yield Figure(group="start", name="first reset", value=reset, unit="ms")
    yield Figure(group="start", name="first stop", value=stopped, unit="ms", at_most=20)
    others = "import asyncio, pytest"
    both = in_children(others, runs)[2] - _child_ms(others, runs)
    yield Figure(
        group="start", name="import and start after pytest and asyncio", value=both, unit="ms"
    )
    yield from _warm(runs)


def _warm(runs: int) -> Iterator[Figure]:
    from fakemq import Cluster

    def start_and_stop() -> None:
        with Cluster(topics={"orders": 8}):
            pass

    yield Figure(
        group="start", name="start and stop of a further cluster", unit="ms",
        value=best_ms(start_and_stop, runs * 2),
    )  # fmt: skip
    with Cluster(topics={"orders": 8}) as mq:
        value = best_ms(mq.reset, runs * 5)
    yield Figure(group="start", name="reset", value=value, unit="ms", at_most=1)


def _child_ms(code: str, runs: int) -> float:
    text = f"from time import perf_counter as now\nbegin = now()\n{code}\nprint(now() - begin)"
    command = [sys.executable, "-c", text]
    return 1000 * min(
        float(subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT).stdout)
        for _ in range(runs)
    )
