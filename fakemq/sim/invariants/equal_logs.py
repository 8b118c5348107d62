"""Two replicas have the same log, and the same epochs, as far as both have it confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from fakemq.sim.history import Violation
from fakemq.sim.invariants.replicas import Log, differences

NAME = "replicas agree on what is confirmed"


class ReplicaCopy(NamedTuple):
    """A replica: its log, its epochs with start and end, and up to where its log is confirmed."""

    node: str
    log: Log
    epochs: Sequence[tuple[int, int, int]]
    confirmed: int


class EpochStarts:
    """Where the masters of a group began their epochs.

    A master that was started anew, before its controllers have elected another one, begins its
    epoch again, at the end of its log. Its slaves have the first start until they connect: RocketMQ
    then cuts them there, and sends them the rest once more.
    Source: store/ha/autoswitch/AutoSwitchHAService.java#changeToMaster (5.5.0)
    """

    def __init__(self) -> None:
        self._starts: dict[int, list[int]] = {}

    def begun(self, epoch: int, start: int) -> None:
        """Take that a master has begun an epoch, perhaps again."""
        self._starts.setdefault(epoch, []).append(start)

    def began_again(self, entry: tuple[int, int, int] | None) -> bool:
        """Return whether an epoch of a replica has a start at which a master began it anew.

        With the starts 0 and 500 of epoch 1, (1, 500, 900) began again, and (1, 0, 900) did not.
        """
        return entry is not None and entry[1] in self._starts.get(entry[0], [])[1:]

    def newest(self, entry: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return an epoch of a replica with the last of its starts, if it has one before."""
        epoch, start, end = entry
        starts = self._starts.get(epoch, [])
        return (epoch, starts[-1], end) if start in starts else entry


def unequal(copies: Sequence[ReplicaCopy]) -> Iterator[Violation]:
    """Yield the first difference of each two replicas of a group."""
    for one, other in combinations(copies, 2):
        end = min(one.confirmed, other.confirmed)
        if end <= 0:
            continue
        for found in differences(other.node, one.log, other.log, end):
            text = f"{one.node} and {other.node}, confirmed up to {end}: {found.text}"
            yield Violation(NAME, text, (one.node, other.node))
        mine, others = _begun(one, end), _begun(other, end)
        if mine != others:
            text = f"before {end}, {one.node} has the epochs {mine}, {other.node} {others}"
            yield Violation(NAME, text, (one.node, other.node))


def _begun(copy: ReplicaCopy, end: int) -> list[tuple[int, int]]:
    """Return epoch and start of each epoch that begins before an offset."""
    return [(epoch, start) for epoch, start, _ in copy.epochs if start < end]
