"""``python -m conformance.python NAMESRV scenarios AT_ONCE``, or ``produce``, ``consume``.

With ``scenarios``: ``ready``, then for each ``run SCENARIO SUFFIX`` on stdin the lines ``observed
SCENARIO KEY: VALUE``, ``failed SCENARIO LINE`` for each line of a traceback, and at the end ``ended
SCENARIO``. The commands and events are those of conformance/java.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conformance.python.drivers import commands, consume, produce
from conformance.python.lab import Lab
from conformance.python.program import SCENARIOS
from conformance.python.spelling import event


def main(namesrv_addr: str, what: str, *arguments: str) -> None:
    """Be the program until stdin ends, or a driver is ordered to stop."""
    if what == "produce":
        produce(namesrv_addr, *arguments)
    elif what == "consume":
        consume(namesrv_addr, *arguments)
    else:
        scenarios(namesrv_addr, int(arguments[0]))


def scenarios(namesrv_addr: str, at_once: int) -> None:
    """Run the scenarios that stdin names, some at a time."""
    home = Path.cwd()
    pool = ThreadPoolExecutor(at_once, "scenario")
    event("ready")
    for command in commands():
        _, name, suffix = command.split(" ")
        pool.submit(run, Lab(namesrv_addr, name, suffix, home))
    # Clients may still run; that is no part of the observations.
    sys.stdout.flush()
    os._exit(0)


def run(lab: Lab) -> None:
    """Run one scenario to its end."""
    try:
        SCENARIOS[lab.scenario](lab)
    except Exception as error:
        lab.fail(error)
    event(f"ended {lab.scenario}")
    lab.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
