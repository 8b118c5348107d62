"""Record which addresses patterns match: ``python -m conformance.capture.address_patterns``.

The recording names its own patterns and addresses, so a new one is added there by hand, as a line
with the pattern alone, before this runs.
"""

from __future__ import annotations

from pathlib import Path

from conformance.drivers.java_program import SMALL_JVM, JavaDriver
from conformance.targets.java_jars import REFERENCE

RECORDING = (
    Path(__file__).parents[2] / "tests" / "broker" / "acl" / "data" / "java_address_patterns.txt"
)
_TIMEOUT_S = 60.0


class JavaAddresses(JavaDriver):
    """A JVM that reads patterns as a broker's access control does.

    Source: conformance/java/src/main/java/conformance/Addresses.java
    """

    def __init__(self, addresses: str) -> None:
        self._results: list[str] = []
        super().__init__(REFERENCE, "-", "addresses", jvm=SMALL_JVM)
        self.say(addresses)

    def match(self, patterns: list[str]) -> list[str]:
        """Return the result of each pattern. Raise DriverError if it takes too long."""
        for pattern in patterns:
            self.say(pattern)
        self.wait_for(
            lambda: len(self._results) == len(patterns), f"{len(patterns)} patterns", _TIMEOUT_S
        )
        return self._results

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "matched":
            self._results.append(rest)


def main() -> None:
    title, addresses, *lines = RECORDING.read_text(encoding="utf-8").splitlines()
    patterns = [line.split("\t")[0] for line in lines]
    with JavaAddresses(addresses.removeprefix("# ")) as java:
        results = java.match(patterns)
    pairs = zip(patterns, results, strict=True)
    text = "".join(f"{pattern}\t{result}\n" for pattern, result in pairs)
    RECORDING.write_text(f"{title}\n{addresses}\n{text}", encoding="utf-8")
    print(f"{len(patterns)} patterns, {REFERENCE}")


if __name__ == "__main__":
    main()
