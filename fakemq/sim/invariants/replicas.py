"""A slave's log has the same bytes as its master's, as far as both reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from fakemq.sim.history import Violation

NAME = "slaves have their masters' bytes"


class Log(Protocol):
    """A commit log as the comparison sees it, such as `fakemq.store.commitlog.CommitLog`."""

    @property
    def min_offset(self) -> int: ...
    @property
    def max_offset(self) -> int: ...

    def read_from(self, offset: int) -> memoryview | None:
        """Return the bytes from ``offset`` to the end of its file; None if there are none."""


def differences(
    slave: str, master: Log, replica: Log, safe_end: int | None = None
) -> Iterator[Violation]:
    """Yield the first difference before ``safe_end``, if there is one.

    From ``safe_end`` on, a crashed master may have lost bytes that its slave has.
    """
    at = max(master.min_offset, replica.min_offset)
    end = min(master.max_offset, replica.max_offset)
    if safe_end is not None:
        end = min(end, safe_end)
    while at < end:
        ours, theirs = master.read_from(at), replica.read_from(at)
        if not ours or not theirs:
            yield Violation(NAME, f"{slave} and its master have no common file at {at}", (slave,))
            return
        size_bytes = min(len(ours), len(theirs), end - at)
        if bytes(ours[:size_bytes]) != bytes(theirs[:size_bytes]):  # views compare each byte
            place = next(i for i in range(size_bytes) if ours[i] != theirs[i])
            yield Violation(NAME, f"{slave} differs from its master at {at + place}", (slave,))
            return
        at += size_bytes
