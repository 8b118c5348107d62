"""Records what RocketMQ's strategies do: ``python -m conformance.capture.allocations``.

It writes the recording that tests of our strategies replay.
"""

from __future__ import annotations

from conformance.drivers.allocations import JavaAllocations
from conformance.targets.java_jars import REFERENCE
from tests.support.allocations import RECORDING, inputs

SEED, COUNT = 497, 300
HEAD = f"""\
# What the six strategies of RocketMQ {REFERENCE} do, written by `python -m
# conformance.capture.allocations`; do not edit. Each line is an input as JSON and the results, as
# conformance/java/src/main/java/conformance/Allocations.java describes them.
"""


def main() -> None:
    lines = [one.to_json() for one in inputs(SEED, COUNT, most_queues=6, most_ids=6)]
    with JavaAllocations() as java:
        results = java.divide(lines)
    text = "".join("\t".join([line, *one]) + "\n" for line, one in zip(lines, results, strict=True))
    RECORDING.write_text(HEAD + text, encoding="ascii")
    print(f"{COUNT} divisions, {len(text)} bytes, {REFERENCE}")


if __name__ == "__main__":
    main()
