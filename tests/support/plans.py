"""Plans of many seeds, drawn when a test first looks: every worker imports every test module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import overload

from fakemq.sim.drawing import draw_plan
from fakemq.sim.plan import Plan


class Plans(Sequence[Plan]):
    """The plans of the first seeds; ``draw`` returns that of a seed."""

    def __init__(self, seeds: int, draw: Callable[[int], Plan] = draw_plan) -> None:
        self._seeds = seeds
        self._draw = draw

    @cached_property
    def _drawn(self) -> list[Plan]:
        return [self._draw(seed) for seed in range(self._seeds)]

    def __len__(self) -> int:
        return self._seeds

    @overload
    def __getitem__(self, place: int) -> Plan: ...

    @overload
    def __getitem__(self, place: slice) -> list[Plan]: ...

    def __getitem__(self, place: int | slice) -> Plan | list[Plan]:
        return self._drawn[place]
