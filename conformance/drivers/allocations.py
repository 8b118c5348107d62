"""RocketMQ's own allocation strategies, asked in a JVM: ``JavaAllocations().divide(inputs)``.

Source: conformance/java/src/main/java/conformance/Allocations.java
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.drivers.java_program import SMALL_JVM, JavaDriver
from conformance.targets.java_jars import REFERENCE

_TIMEOUT_S = 120.0


class JavaAllocations(JavaDriver):
    """A JVM that divides queues by all six strategies; each input is a line of JSON."""

    def __init__(self, version: str = REFERENCE) -> None:
        self._results: list[list[str]] = []
        # Java's ring hashes bytes in the machine's encoding, which most have as UTF-8.
        jvm = (*SMALL_JVM, "-Dfile.encoding=UTF-8")
        super().__init__(version, "-", "allocations", jvm=jvm)

    def divide(self, inputs: Sequence[str]) -> list[list[str]]:
        """Return the six results of each input. Raise DriverError if it takes too long."""
        first = len(self._results)
        for one in inputs:
            self.say(one)
        self.wait_for(
            lambda: len(self._results) == first + len(inputs),
            f"{len(inputs)} divisions",
            _TIMEOUT_S,
        )
        return self._results[first:]

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "allocated":
            self._results.append(rest.split("\t"))
