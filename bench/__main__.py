"""``python -m bench [GROUP ...]``: measure, print a table, say what missed its target."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from bench.measure import Figure, line, missed

GROUPS = ("start", "process", "leaks", "speed")


def main() -> int:
    """Measure what the command line says; 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there, too")
    parser.add_argument("--runs", type=int, default=20, help="of each; the best counts")
    parser.add_argument("--no-java", action="store_true", help="without Java's figures")
    args = parser.parse_args()
    unknown = set(args.groups) - set(GROUPS)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are: {', '.join(GROUPS)}")

    figures = []
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}.")
    print(f"Durations are the shortest of {args.runs} runs; of others, the machine says more.\n")
    for group in args.groups or GROUPS:
        for figure in _measures(args.runs, java=not args.no_java)[group]():
            figures.append(figure)
            print(line(figure), flush=True)
    if args.json is not None:
        args.json.write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
    late = missed(figures)
    print(f"\n{len(late)} targets missed." if late else "\nAll targets met.")
    return 1 if late else 0


def _measures(runs: int, *, java: bool) -> dict[str, Callable[[], Iterator[Figure]]]:
    from bench import leaks, process, speed, start

    if java:
        from conformance.java_jars import missing_java

        reason = missing_java()
        if reason is not None:
            print(reason)
            java = False
    return {
        "start": lambda: start.figures(runs),
        "process": lambda: process.figures(runs, process.IDLE_S, java),
        "leaks": leaks.figures,
        "speed": lambda: speed.figures(min(runs, 5)),
    }


if __name__ == "__main__":
    sys.exit(main())
