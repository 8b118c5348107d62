"""``python -m conformance.mqadmin``: mqadmin on the fake, or recorded on a real cluster."""

from __future__ import annotations

import argparse
import sys

from conformance.mqadmin.compare import as_text, diff, differences, expected, record, table
from conformance.mqadmin.parts import ALL_PARTS
from conformance.mqadmin.session import fake, real, run


def main(arguments: list[str] | None = None) -> int:
    """Run parts of the script; the exit code is the number that differ."""
    parser = argparse.ArgumentParser(prog="python -m conformance.mqadmin", description=__doc__)
    parser.add_argument("--record", action="store_true", help="record it on a real cluster")
    parser.add_argument("--show", action="store_true", help="print what mqadmin says of the fake")
    parser.add_argument("--table", action="store_true", help="print the table of docs/mqadmin.md")
    parser.add_argument(
        "parts", nargs="*", help="open, letters, replicas, accounts, v5, users, lite, controllers"
    )
    options = parser.parse_args(arguments)
    if options.table:
        print("\n".join(table()))
        return 0
    different = 0
    for part in ALL_PARTS:
        if options.parts and part.name not in options.parts:
            continue
        with (real if options.record else fake)(part) as namesrv_addr:
            printed = run(part, namesrv_addr)
        if options.record:
            record(part, printed)
        elif options.show:
            print(as_text(printed))
        elif found := diff(expected(part, differences()), printed, "fakemq"):
            different += 1
            print(found)
    return different


if __name__ == "__main__":
    sys.exit(main())
