"""One message's biography: everything that happened to it, as steps, oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, overload

from fakemq.biographies.steps import Step
from fakemq.errors import printable

StepT = TypeVar("StepT", bound=Step)


class Biography(Sequence[Step]):
    """The steps of one message, oldest first; `str` returns its name, then a line for each."""

    def __init__(self, name: str, steps: Sequence[Step]) -> None:
        self.name = name
        """The message's id, the beginning of its body, and its topic."""
        self._steps = tuple(steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...

    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    def of(self, kind: type[StepT]) -> list[StepT]:
        """Return the steps of one kind: ``biography.of(Delivered)`` has the deliveries."""
        return [step for step in self._steps if isinstance(step, kind)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Biography) and self._steps == other._steps

    def __hash__(self) -> int:
        return hash(self._steps)

    def __str__(self) -> str:
        # A peer chose the names of groups and clients: with escapes, any stream takes them.
        return "\n  ".join(map(printable, [self.name, *map(str, self._steps)]))

    def __repr__(self) -> str:
        return f"<biography of {self}>"
