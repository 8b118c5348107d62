"""``python -m bench [GROUP ...]``: measure, print a table, say what missed its target."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Figure, Plan, missed
from bench.table import HEADER, line, report

GROUPS = ("start", "process", "leaks", "speed")
"""Each is a module of this folder; see ``bench.measure``."""


def main() -> int:
    """Measure what the command line says; 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there, too")
    parser.add_argument("--runs", type=int, default=20, help="of what is short; the best counts")
    parser.add_argument("--rounds", type=int, default=3, help="of Java and the fake; the median")
    parser.add_argument("--quick", action="store_true", help="one round, five runs")
    parser.add_argument("--no-java", action="store_true", help="without Java's figures")
    args = parser.parse_args()
    unknown = set(args.groups) - set(GROUPS)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are: {', '.join(GROUPS)}")
    plan = Plan(
        runs=5 if args.quick else args.runs,
        rounds=1 if args.quick else args.rounds,
        java=not args.no_java and _has_java(),
    )
    machine = describe_machine()
    print("\n".join(f"{key}: {text}" for key, text in machine.items()))
    print(f"\nDurations without Java's are the shortest of {plan.runs} runs.\n\n{HEADER}")
    figures = []
    for figure in measured(args.groups or GROUPS, plan):
        figures.append(figure)
        print(line(figure), flush=True)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_bytes(report(machine, figures))
    late = missed(figures)
    print(f"\n{len(late)} targets missed." if late else "\nAll targets met.")
    return 1 if late else 0


def measured(groups: tuple[str, ...], plan: Plan) -> Iterator[Figure]:
    """The figures of each group, one after another."""
    for group in groups:
        yield from importlib.import_module(f"bench.{group}").figures(plan)


def describe_machine() -> dict[str, str]:
    """What the figures depend on."""
    load = os.getloadavg()[0]
    return {
        "python": platform.python_version(),
        "cores": str(os.cpu_count()),
        "load": f"{load:.1f}",
    }


def _has_java() -> bool:
    from conformance.java_jars import missing_java

    reason = missing_java()
    if reason is not None:
        print(reason)
    return reason is None


if __name__ == "__main__":
    sys.exit(main())
