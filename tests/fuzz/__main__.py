"""``python -m tests.fuzz [TARGET ...] [--seconds N] [--keep]``: explore at length.

Each target in turn starts from its corpus and the golden seeds. What is found is printed with its
traceback, and the command ends with 1. With ``--keep`` the corpus is replaced by the smallest one
that reaches all that was reached, and findings go into it, where every test run meets them again;
then mend the parser, and write a test that says what it should do.
"""

from __future__ import annotations

import argparse
import sys
import time


def main() -> int:
    """Explore what the command line names; 1 if anything was found."""
    options = _options()
    try:
        # Before anything else imports fakemq.
        from tests.fuzz.explore import TARGETS, corpus, explore
    except ImportError as error:
        print(f"nothing is explored without atheris: {error}; pip install 'fakemq[fuzz]'")
        return 2
    unknown = set(options.targets) - TARGETS.keys()
    if unknown:
        print(f"no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
        return 2
    found = 0
    for name in options.targets or TARGETS:
        target = TARGETS[name]
        inputs = corpus.load(name)
        if not options.short:
            inputs += target.seeds()
        runs = target.runs if options.short else 0
        explored = explore(target, inputs, options.seed, runs=runs, seconds=options.seconds)
        speed = explored.executions / max(explored.cpu_seconds, 0.01)
        print(f"{name}: {explored.executions} executions, {speed:.0f} a second of the processor")
        for data, text in explored.findings:
            found += 1
            print(f"\n{name}: {len(data)} bytes, {data[:300]!r}\n{text}")
        if options.keep:
            kept, _ = corpus.smallest(target, [*inputs, *explored.inputs])
            corpus.save(name, [*kept, *(data for data, _ in explored.findings)])
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for each target at most (60)")
    parser.add_argument("--short", action="store_true", help="only as many runs as every test run")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="chosen by the time")
    parser.add_argument("--keep", action="store_true", help="write the corpus anew")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
