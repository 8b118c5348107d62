"""``python -m conformance.grpc_python NAMESRV PROXY AT_ONCE``: RocketMQ 5's Python client at work.

Its commands and events are those of ``python -m conformance.python NAMESRV scenarios AT_ONCE``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.grpc_python.lab import GrpcLab
from conformance.grpc_python.scenarios import SCENARIOS
from conformance.python.running import run_scenarios


def main(namesrv_addr: str, proxy_addr: str, at_once: str) -> None:
    """Be the program until stdin ends."""
    home = Path.cwd()
    run_scenarios(
        SCENARIOS,
        lambda name, suffix: GrpcLab(namesrv_addr, proxy_addr, name, suffix, home),
        int(at_once),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
