"""Every fault: its example in docs/faults.md can be placed, a real client shows its effect."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import fakemq
from fakemq.handles.faults import Faults

TEXT = (Path(__file__).parents[3] / "docs" / "faults.md").read_text()
SECTIONS = (
    *("Requests", "RPCs of the gRPC front"),
    *("Calls of brokers to clients", "Members and leases", "Name servers"),
)
EXAMPLES = [
    example
    for section in re.split(r"^## ", TEXT, flags=re.MULTILINE)
    if section.splitlines()[0] in SECTIONS
    for example in re.findall(r"\| `(?:\w+ = )?(mq\.faults\..*)` \|", section)
]


def test_every_example_can_be_placed() -> None:
    assert len(EXAMPLES) == 32
    nodes = fakemq.Cluster(
        namesrvs=2, masters=2, slaves=1, clock="frozen", topics={"orders": 4}, grpc=True
    )
    with nodes as mq:
        for example in EXAMPLES:
            before = len(mq.faults.all())
            if any(
                name in example for name in ("expire_locks", "expire_client", "grpc_disconnect")
            ):
                with pytest.raises(LookupError):  # there are no clients
                    eval(example, {"mq": mq})
            else:
                eval(example, {"mq": mq})
                assert len(mq.faults.all()) == before + 1


def test_example_of_a_lost_acknowledgement_runs() -> None:
    (source,) = re.findall(r"```python\n(import fakemq\n.*?)```", TEXT, re.DOTALL)
    exec(compile(source, "docs/faults.md", "exec"), {})


def test_every_fault_is_tested_with_a_real_java_client() -> None:
    placings = {
        name
        for name, method in inspect.getmembers(Faults, inspect.isfunction)
        if not name.startswith("_") and method.__annotations__["return"].endswith("Fault")
    }
    live = (Path(__file__).parents[3] / "conformance" / "live").glob("test_*.py")
    shown = set(re.findall(r"(?:faults|mq)\.(\w+)\(", "".join(path.read_text() for path in live)))
    assert placings - shown == set()
