"""The cost of importing, starting, resetting and stopping a cluster in a test's own process.

Before and after a change: ``python -m bench start --tree DIR`` also measures the checkout in DIR,
in turns with this one, and prints medians for both.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from bench.measure import ENVIRONMENT, Figure, Plan, best_ms
from bench.process import FREE_PORTS, TREE, Running

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
    """Return the smallest of each duration over fresh interpreters, in milliseconds."""
    best: list[float] = []
    for _ in range(runs):
        durations = in_child(before)
        best = [min(pair) for pair in zip(best or durations, durations, strict=True)]
    return best


def in_child(before: str = "", tree: Path = TREE) -> list[float]:
    """Return the durations of one fresh interpreter that imports the checkout in ``tree``."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(before=before)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tree,
        env=ENVIRONMENT | {"PYTHONPATH": str(tree)},
    )
    return [1000 * float(one) for one in json.loads(done.stdout)]


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure the first use in a fresh interpreter, then each further cluster."""
    runs = plan.runs
    yield from _medians(plan)
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


def _medians(plan: Plan) -> Iterator[Figure]:
    """Yield the median times to ready, of this checkout and of ``plan.tree``."""
    trees = {"": TREE} | ({} if plan.tree is None else {f", {plan.tree}": plan.tree.resolve()})
    for name, ready_ms in _READY.items():
        wanted = {also: tree for also, tree in trees.items() if plan.wants(f"{name}{also}")}
        for tree in wanted.values():
            ready_ms(tree)  # writes the bytecode of a checkout that never ran
        times: dict[str, list[float]] = {also: [] for also in wanted}
        for _ in range(plan.runs):
            for also, tree in wanted.items():
                times[also].append(ready_ms(tree))
        for also, found in times.items():
            note = f"median of {len(found)}; {min(found):.0f} to {max(found):.0f}"
            yield Figure(
                group="start", name=f"{name}{also}", value=median(found), unit="ms", note=note
            )


def _process_ms(tree: Path) -> float:
    process = Running(*FREE_PORTS, tree=tree)
    process.close()
    return process.ready_ms


_READY: dict[str, Callable[[Path], float]] = {
    "python -m fakemq to ready": _process_ms,
    "import and start in process": lambda tree: in_child(tree=tree)[2],
}


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
