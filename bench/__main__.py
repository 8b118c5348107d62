"""``python -m bench [GROUP ...]``: measure, print a table, and report targets missed and losses.

Without groups it measures those that `GROUPS` lists, in less than half an hour: groups beside Java
make up to ``--rounds`` rounds, fewer when their share of the time is over. ``--keep`` keeps the
result for later runs to be compared with; see ``bench.kept``.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from time import monotonic

import msgspec

from bench.kept import Change, Kept, compare, keep, newest, read
from bench.machine import Others, describe_machine
from bench.measure import Figure, Plan, missed
from bench.plot import draw
from bench.table import HEADER, line, report

GROUPS: Mapping[str, float] = {
    "traffic": 11.9,
    "store": 5,
    "replication": 3.5,
    "suite": 2.5,
    "ready": 0.5,
    "process": 0.8,
    "memory": 0.3,
    "instructions": 0.7,
    "start": 0.3,
    "clock": 0.1,
    "failover": 0.9,
    "inside": 0.5,
    "stall": 0.7,
    "requests": 0.2,
    "speed": 0.1,
}
"""What is measured if nothing is named: each is a module of this folder; see ``bench.measure``.

Their shares of the time, in minutes; what a group leaves of its own the next ones have.
"""
ON_REQUEST = ("acl", "client", "growth", "grpc", "leaks", "lite", "pop", "spark", "spark_job")
"""Groups that run only if they are named: they take minutes, or need Spark."""
QUICK_TESTS, WHOLE_TESTS = 10, 30
"""Of each project in group suite."""
BUILD = Path(__file__).parents[1] / "build" / "bench"


def main() -> int:
    """Measure what the command line names. Return 1 if a target was missed or a figure lost."""
    args = _arguments()
    plan = Plan(
        runs=5 if args.quick else args.runs,
        rounds=1 if args.quick else args.rounds,
        tests=args.tests or (QUICK_TESTS if args.quick else 100 if args.groups else WHOLE_TESTS),
        java=not args.no_java and _has_java(),
        only=args.only,
        tree=args.tree,
    )
    machine = describe_machine(java=plan.java)
    kept = read(args.against) if args.against else newest(machine["form"])
    _print_head(plan, machine, kept)
    others, figures, lost, failed = Others(), [], [], list[str]()
    for figure in measured(_shares(args.groups), plan, failed):
        change = None if kept is None else compare(kept, figure, machine)
        figures.append(figure)
        if change is not None and change.verdict == "LOSS":
            lost.append((figure, change))
        print(line(figure, change), flush=True)
    machine["others meanwhile"] = f"{others.cores():.2f} cores"
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_bytes(report(machine, figures))
    drawn = draw(figures, ", ".join(machine.values()), args.plot)
    print(f"\nOther processes took {machine['others meanwhile']}.\n{args.json}\n{drawn}")
    if args.keep:
        print(f"kept: {keep(machine, figures)}")
    return _verdict(missed(figures), lost, failed)


def _print_head(plan: Plan, machine: dict[str, str], kept: Kept | None) -> None:
    print("\n".join(f"{key}: {text}" for key, text in machine.items()))
    beside = "nothing of this form"
    if kept is not None:
        words = ("date", "commit", "form", "processor", "cores", "others meanwhile")
        beside = ", ".join(f"{word} {kept.machine.get(word, 'unknown')}" for word in words)
    print(
        f"\nBeside Java: medians of up to {plan.rounds} rounds, Java and the fake in turns, warm.\n"
        f"Other durations: the shortest of {plan.runs} runs.\n"
        f"others: cores that other processes used since the group began.\n"
        f"kept: {beside}.\n\n{HEADER}",
        flush=True,
    )


def _verdict(late: list[Figure], lost: list[tuple[Figure, Change]], failed: list[str]) -> int:
    for figure, change in lost:
        print(f"LOSS {figure.group}: {figure.label}: {change.before:.3g} to {change.after:.3g}")
    print(f"{len(late)} targets missed." if late else "All targets met.")
    print(f"{len(lost)} figures lost." if lost else "Nothing lost.")
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if late or lost or failed else 0


def measured(shares: Mapping[str, float], plan: Plan, failed: list[str]) -> Iterator[Figure]:
    """Yield the requested figures of each group, one after another; ``shares`` are in minutes.

    A group that raises is added to ``failed``: what the others have measured is worth its time.
    """
    until_s = monotonic()
    for group, minutes in shares.items():
        until_s += 60 * minutes
        others = Others()
        module = importlib.import_module(f"bench.{group}")
        try:
            for figure in module.figures(msgspec.structs.replace(plan, until_s=until_s)):
                if plan.wants(figure.label):
                    yield msgspec.structs.replace(figure, others=round(others.cores(), 2))
        except Exception:
            traceback.print_exc()
            failed.append(group)


def _shares(groups: Iterable[str]) -> Mapping[str, float]:
    """Return the groups with their shares of time; those that were named have no end."""
    return dict.fromkeys(groups, float("inf")) or GROUPS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.partition("\n")[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {_known()}")
    parser.add_argument("--only", default="", metavar="TEXT", help="figures named like this")
    parser.add_argument(
        "--rounds", type=int, default=5, help="of Java and the fake; the median counts"
    )
    parser.add_argument(
        "--runs", type=int, default=20, help="of short measurements; the best counts"
    )
    parser.add_argument("--tests", type=int, metavar="N", help="of each project in group suite")
    parser.add_argument("--quick", action="store_true", help="one round, five runs, ten tests")
    parser.add_argument("--no-java", action="store_true", help="without what needs a JVM")
    parser.add_argument(
        "--tree", type=Path, metavar="DIR", help="another checkout, which group start compares"
    )
    parser.add_argument("--keep", action="store_true", help="add the result to bench/results")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with this result, not the newest kept"
    )
    parser.add_argument("--json", type=Path, default=BUILD / "figures.json", metavar="FILE")
    parser.add_argument(
        "--plot", type=Path, default=BUILD / "figures.svg", metavar="FILE", help=".svg or .png"
    )
    args = parser.parse_args()
    unknown = set(args.groups).difference(GROUPS, ON_REQUEST)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are: {_known()}")
    if min(args.rounds, args.runs, args.tests or 1) < 1:
        parser.error("--rounds, --runs and --tests are at least 1")
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
