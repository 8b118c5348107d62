"""``python -m bench [GROUP ...]``: measure, print a table, and report missed targets."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.machine import Others, describe_machine
from bench.measure import Figure, Plan, missed
from bench.plot import draw
from bench.table import HEADER, line, report

GROUPS = (
    *("traffic", "store", "replication", "ready", "memory", "growth", "requests"),
    "instructions",
    *("start", "clock", "inside", "stall", "process", "leaks", "speed", "spark"),
)
"""Each is a module of this folder; see ``bench.measure``."""
ON_REQUEST = ("client", "spark_job")
"""Groups that take many minutes; they run only if they are named."""
BUILD = Path(__file__).parents[1] / "build" / "bench"


def main() -> int:
    """Measure what the command line names. Return 1 if a target was missed."""
    args = _arguments()
    plan = Plan(
        runs=5 if args.quick else args.runs,
        rounds=1 if args.quick else args.rounds,
        java=not args.no_java and _has_java(),
        only=args.only,
        tree=args.tree,
    )
    machine = describe_machine(java=plan.java)
    print("\n".join(f"{key}: {text}" for key, text in machine.items()))
    print(
        f"\nBeside Java: medians of {plan.rounds} rounds, Java and the fake in turns, warm.\n"
        f"Other durations: the shortest of {plan.runs} runs.\n\n{HEADER}",
        flush=True,
    )
    others = Others()
    figures = []
    for figure in measured(args.groups or GROUPS, plan):
        figures.append(figure)
        print(line(figure), flush=True)
    machine["others meanwhile"] = f"{others.cores():.2f} cores"
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_bytes(report(machine, figures))
    drawn = draw(figures, ", ".join(machine.values()), args.plot)
    print(f"\nOther processes took {machine['others meanwhile']}.\n{args.json}\n{drawn}")
    late = missed(figures)
    print(f"{len(late)} targets missed." if late else "All targets met.")
    return 1 if late else 0


def measured(groups: Iterable[str], plan: Plan) -> Iterator[Figure]:
    """Yield the requested figures of each group, one after another."""
    for group in groups:
        figures: Iterator[Figure] = importlib.import_module(f"bench.{group}").figures(plan)
        yield from (figure for figure in figures if plan.wants(figure.label))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {_known()}")
    parser.add_argument("--only", default="", metavar="TEXT", help="figures named like this")
    parser.add_argument(
        "--rounds", type=int, default=3, help="of Java and the fake; the median counts"
    )
    parser.add_argument(
        "--runs", type=int, default=20, help="of short measurements; the best counts"
    )
    parser.add_argument("--quick", action="store_true", help="one round, five runs")
    parser.add_argument("--no-java", action="store_true", help="without what needs a JVM")
    parser.add_argument(
        "--tree", type=Path, metavar="DIR", help="another checkout, which group start compares"
    )
    parser.add_argument("--json", type=Path, default=BUILD / "figures.json", metavar="FILE")
    parser.add_argument(
        "--plot", type=Path, default=BUILD / "figures.svg", metavar="FILE", help=".svg or .png"
    )
    args = parser.parse_args()
    unknown = set(args.groups).difference(GROUPS, ON_REQUEST)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are: {_known()}")
    if min(args.rounds, args.runs) < 1:
        parser.error("--rounds and --runs are at least 1")
    return args


def _known() -> str:
    return f"{', '.join(GROUPS)}; only if named: {', '.join(ON_REQUEST)}"


def _has_java() -> bool:
    from conformance.targets.java_jars import missing_java

    reason = missing_java()
    if reason is not None:
        print(reason)
    return reason is None


if __name__ == "__main__":
    # As after Ctrl-C: paused JVMs and their folders would outlive this process.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
