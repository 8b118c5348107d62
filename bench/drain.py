"""A whole topic read by Java's fastest consumer, repeatedly in one JVM."""

from __future__ import annotations

from typing import NamedTuple

from conformance.drivers.drivers import Driver
from conformance.drivers.java_program import client_log, java_command
from conformance.targets.java_jars import REFERENCE, class_path

TIMEOUT_S = 120.0


class Drained(NamedTuple):
    """One reading of all messages."""

    messages: int
    body_bytes: int
    micros: int


class Drain(Driver):
    """A 4.9.7 pull consumer with a thread for each queue; a context manager. See Drain.java."""

    def __init__(self, namesrv_addr: str, topic: str) -> None:
        self._drained: list[Drained] = []
        super().__init__(
            lambda home: [
                *java_command(home, REFERENCE, jvm=()),
                *("-cp", class_path(REFERENCE), "conformance.Program"),
                *(namesrv_addr, "drain", topic, "GDrain"),
            ]
        )

    def once(self) -> Drained:
        """Read all messages. Raise DriverError if that fails."""
        before = len(self._drained)
        self.say("drain")
        self.wait_for(lambda: len(self._drained) > before, "drained", TIMEOUT_S)
        return self._drained[-1]

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "drained":
            self._drained.append(Drained(*map(int, rest.split())))

    def client_log(self) -> list[str]:
        return client_log(self.home)
