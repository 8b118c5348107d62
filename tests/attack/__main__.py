"""``python -m tests.attack [KIND ...] [--count N] [--seed S] [--keep]``: attack from outside.

Each kind of attack in turn runs against servers of its own. Findings are printed with the command
that repeats them, and the command ends with 1. Mend what was found, write a test beside the code,
and keep the seed in ``kinds.py``. With ``--keep`` the directories of stores are kept.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.attack.kinds import KINDS, Kind


def main() -> int:
    """Attack as the command line says. Return 1 if anything was found."""
    options = _options()
    found = 0
    for name in options.kinds or KINDS:
        found += attack(KINDS[name], options.seed, options.count, options.keep)
    return 1 if found else 0


def attack(kind: Kind, seed: int, count: int | None, keep: bool) -> int:
    """Run one kind, print its findings and a summary, and return the number of findings."""
    count = kind.count if count is None else count
    folder = Path(tempfile.mkdtemp(prefix=f"fakemq-attack-{kind.name}-"))
    print(f"{kind.name}: {count:,} {kind.unit}, seed {seed}", flush=True)
    began_s = time.monotonic()
    found = 0
    try:
        for line in kind.load()(seed, count, folder):
            found += 1
            print(f"{kind.name}: {line}", flush=True)
    finally:
        if keep:
            print(f"{kind.name}: kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - began_s
    print(f"{kind.name}: {found} findings in {count:,} {kind.unit}, {seconds:,.1f} s")
    if found:
        print(f"{kind.name}: repeat by python -m tests.attack {kind.name} --seed {seed}"
              f" --count {count}")  # fmt: skip
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)}; or all")
    parser.add_argument("--count", type=int, help="of attacks of each kind; see kinds.py")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="by the time")
    parser.add_argument("--keep", action="store_true", help="keep the directories of stores")
    options = parser.parse_args()
    unknown = [name for name in options.kinds if name not in KINDS]
    if unknown:
        parser.error(f"no kind {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
