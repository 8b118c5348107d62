"""``python -m conformance.differ``: draw sequences, play them on 4.9.7 and on the fake, compare."""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from pathlib import Path

from conformance.differ.accepted import accepted
from conformance.differ.pair import Pair
from conformance.differ.searching import kind_of, search
from conformance.differ.sequences import load, save
from fakemq.clock.machine_time import real_elapsed_ms

FOUND = Path(".cache/differ")


def main(arguments: list[str] | None = None) -> int:
    """Search, or play the sequences of files; the exit code is 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m conformance.differ", description=__doc__)
    parser.add_argument("--sequences", type=int, default=500, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=10, help="end after that many differences")
    parser.add_argument("files", nargs="*", type=Path, help="play the sequences of these files")
    options = parser.parse_args(arguments)
    with Pair(accepted()) as both:
        if options.files:
            found = 0
            for path in options.files:
                difference = both.difference(load(path))
                print(f"{path}: {difference or 'the same'}", flush=True)
                found += difference is not None
            return bool(found)
        began_ms = real_elapsed_ms()
        differences = 0
        try:
            for one in search(both, options.sequences, options.seed, most_found=options.most):
                differences += 1
                name = f"{zlib.crc32(kind_of(one.difference).encode()):08x}"
                path = FOUND / f"{name}.json"
                save(one.sequence, path)
                print(f"\n{path}: {one.difference}", flush=True)
                for step in one.sequence:
                    print("   ", json.dumps(step.to_json(), ensure_ascii=False), flush=True)
        finally:  # also after Ctrl-C
            took_s = (real_elapsed_ms() - began_ms) / 1000
            print(
                f"{both.played} sequences played in {took_s:.0f} s with seed {options.seed}:"
                f" {differences} differences, {both.late} that only the first look showed"
            )
        return bool(differences)


if __name__ == "__main__":
    sys.exit(main())
