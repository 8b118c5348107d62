"""``python -m conformance.python NAMESRV scenarios AT_ONCE``, or ``produce``, ``consume``.

With ``scenarios``: ``ready``, then for each ``run SCENARIO SUFFIX`` on stdin the lines ``observed
SCENARIO KEY: VALUE``, ``failed SCENARIO LINE`` for each line of a traceback, and at the end ``ended
SCENARIO``. The commands and events are those of conformance/java.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.python.drivers import consume, produce
from conformance.python.lab import Lab
from conformance.python.program import SCENARIOS
from conformance.python.running import run_scenarios


def main(namesrv_addr: str, what: str, *arguments: str) -> None:
    """Be the program until stdin ends, or a driver is ordered to stop."""
    if what == "produce":
        produce(namesrv_addr, *arguments)
    elif what == "consume":
        consume(namesrv_addr, *arguments)
    else:
        home = Path.cwd()
        run_scenarios(
            SCENARIOS,
            lambda name, suffix: Lab(namesrv_addr, name, suffix, home),
            int(arguments[0]),
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
