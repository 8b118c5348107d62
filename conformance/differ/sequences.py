"""A sequence of requests as plain values, and its form in a file.

Texts hold names in angle brackets, which each run replaces: ``<A>`` is a topic of this run,
``<place 0>`` the place in the log of the first message that the run stored. So one sequence can run
often, and on both clusters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.wire.requests import batch_item

KEPT = Path(__file__).parent / "kept"
"""The sequences whose answers differed once; each is a scenario."""

NAMES: Mapping[str, str] = {
    "A": "DifferA",  # a topic that exists, with two queues
    "B": "DifferB",  # a topic that nothing has created
    "G": "DifferG",
    "H": "DifferH",
    "P": "DifferP",
    "N": "DifferN",
    "K": "DifferK",
}
"""What a name in angle brackets becomes, before the tag of the run: topics, groups, a namespace,
a broker."""

_NAME = re.compile(r"<(?:([A-Z])|(place|id|offset) (\d+))>")


@dataclass(frozen=True)
class Step:
    """One request: ``place`` is ``broker-a`` or ``namesrv``; ``body`` is a text.

    ``batch`` replaces the body by messages of a batch, each a body and its properties.
    """

    code: int
    fields: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    place: str = "broker-a"
    binary: bool = False
    batch: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return it without what is as usual."""
        whole = {**vars(self), "fields": dict(self.fields)}
        usual = vars(Step(0))
        return {key: value for key, value in whole.items() if key == "code" or value != usual[key]}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Step:
        """Return the step that `to_json` wrote."""
        known = dict(value)
        batch = known.get("batch", ())
        assert isinstance(batch, list | tuple)
        return cls(**known | {"batch": tuple((body, text) for body, text in batch)})  # type: ignore[arg-type]

    def body_bytes(self, name: Callable[[str], str]) -> bytes:
        """Return the body, with ``name`` applied to its texts."""
        if self.batch:
            return b"".join(
                batch_item(name(body).encode(), text=name(text)) for body, text in self.batch
            )
        return name(self.body).encode()


Sequence = tuple[Step, ...]


def load(path: Path) -> Sequence:
    """Return the sequence in a file."""
    return tuple(Step.from_json(one) for one in json.loads(path.read_text(encoding="utf-8")))


def save(sequence: Sequence, path: Path) -> None:
    """Write a sequence to a file, a step a line."""
    lines = ",\n ".join(json.dumps(step.to_json(), ensure_ascii=False) for step in sequence)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[{lines}]\n", encoding="utf-8")


def replaced(text: str, tag: str, stored: Mapping[str, list[str]]) -> str:
    """Return a text with the names of one run.

    ``stored`` has places, ids and queue offsets of the messages that the run has stored. Where
    there are none, a reference to one is 0.
    """

    def name(found: re.Match[str]) -> str:
        if found[1]:
            return f"{NAMES[found[1]]}{tag}" if found[1] in NAMES else found[0]
        known = stored[found[2]]
        return known[int(found[3]) % len(known)] if known else "0"

    return _NAME.sub(name, text)
