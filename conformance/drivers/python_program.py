"""Runs our Python client program, conformance/python; its commands and events are Java's.

``PythonProgram(namesrv_addr).observe("sync")`` returns what the Python client saw where the Java
program's scenario of that name has Java's. ``PythonProducer`` and ``PythonConsumer`` are long-lived
clients in processes of their own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from conformance.drivers.drivers import Observing
from conformance.drivers.launched import Launch, LaunchedConsumer, LaunchedProducer

AT_ONCE = 6
"""Scenarios of one process that run at a time: most of what they do is wait."""
ROOT = Path(__file__).parents[2]


def _environment(home: Path) -> Mapping[str, str]:
    # The tree of this file, wherever the process begins; the client keeps offsets below HOME.
    return os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(home)}


_LAUNCH = Launch(lambda: [sys.executable, "-m", "conformance.python"], _environment)


class PythonProgram(Observing):
    """A process that runs scenarios, up to ``AT_ONCE`` of those begun at a time."""

    def __init__(self, namesrv_addr: str) -> None:
        self.namesrv_addr = namesrv_addr
        words = (namesrv_addr, "scenarios", str(AT_ONCE))
        super().__init__(lambda _: [*_LAUNCH.command(), *words], _LAUNCH.environment)

    def observe_again(self, scenario: str) -> list[str]:
        """Return what the clients of a scenario see in a process of their own."""
        with PythonProgram(self.namesrv_addr) as program:
            return program.observe(scenario)


class PythonProducer(LaunchedProducer):
    """A `fakemq.client.Producer`."""

    LAUNCH = _LAUNCH


class PythonConsumer(LaunchedConsumer):
    """A `fakemq.client.PushConsumer`."""

    LAUNCH = _LAUNCH
