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

from conformance.drivers.drivers import Consuming, Driver, Observing, Producing

AT_ONCE = 6
"""Scenarios of one process that run at a time: most of what they do is wait."""
ROOT = Path(__file__).parents[2]


def _environment(home: Path) -> Mapping[str, str]:
    # The tree of this file, wherever the process begins; the client keeps offsets below HOME.
    return os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(home)}


class PythonDriver(Driver):
    """A Python client in its own process that speaks in lines."""

    def __init__(self, *arguments: str) -> None:
        super().__init__(
            lambda _: [sys.executable, "-m", "conformance.python", *arguments], _environment
        )


class PythonProgram(PythonDriver, Observing):
    """A process that runs scenarios, up to ``AT_ONCE`` of those begun at a time."""

    def __init__(self, namesrv_addr: str) -> None:
        self.namesrv_addr = namesrv_addr
        super().__init__(namesrv_addr, "scenarios", str(AT_ONCE))

    def observe_again(self, scenario: str) -> list[str]:
        """Return what the clients of a scenario see in a process of their own."""
        with PythonProgram(self.namesrv_addr) as program:
            return program.observe(scenario)


class PythonProducer(PythonDriver, Producing):
    """A `fakemq.client.Producer`."""

    def __init__(
        self, namesrv_addr: str, topic: str, group: str = "GProducer", per_second: int = 200
    ) -> None:
        super().__init__(namesrv_addr, "produce", topic, group, str(per_second))


class PythonConsumer(PythonDriver, Consuming):
    """A `fakemq.client.PushConsumer`."""

    def __init__(
        self,
        namesrv_addr: str,
        topic: str,
        group: str = "GConsumer",
        expression: str = "*",
        instance: str = "c1",
        *,
        orderly: bool = False,
    ) -> None:
        super().__init__(
            *(namesrv_addr, "consume", topic, group, expression, instance),
            *(["orderly"] if orderly else []),
        )
