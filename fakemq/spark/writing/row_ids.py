"""Names of rows that are the same when their task is done again.

The order of rows within a partition is not: after a shuffle it depends on which of its sources
came first. So a row is named by what is in it, and equal rows of one task are numbered.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIGEST_BYTES = 16


class RowIds:
    """The names of one task's rows.

    ``scope`` is what tells this write or query from all others; it goes into the digest.
    ``prefix`` tells its partitions and micro-batches apart, and stands in front.
    """

    def __init__(self, scope: str, prefix: str) -> None:
        self._hash = blake2b(f"{scope}\0{prefix}\0".encode(), digest_size=DIGEST_BYTES)
        self._prefix = prefix
        self._seen = _Tally()

    def digest(self, head: bytes, body: bytes) -> bytes:
        """What stands for a row with this content."""
        row = self._hash.copy()
        row.update(b"%d\0%b%b" % (len(head), head, body))
        return row.digest()

    def again(self, digests: Sequence[bytes]) -> dict[int, int]:
        """How many rows with the same digest came before, by index; without those that are first.

        Each row must be asked about once.
        """
        # Half of a digest is enough to tell which rows may be equal: whoever is taken for another
        # gets a number that it did not need.
        halves = np.frombuffer(b"".join(digests), dtype=np.uint64)[:: DIGEST_BYTES // 8]
        return self._seen.count(halves)

    def name(self, digest: bytes, again: int = 0) -> str:
        """The name of a row."""
        name = f"{self._prefix}-{digest.hex()}"
        return f"{name}-{again}" if again else name


class _Tally:
    """How often each number came; eight bytes for each, since a task may have very many.

    Sorted runs, each at least twice as long as the next.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def count(self, values: NDArray[np.uint64]) -> dict[int, int]:
        """How often each of ``values`` came before, by index, if it did; and tally them."""
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        before = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
        for run in self._runs:
            before += np.searchsorted(run, ordered, "right") - np.searchsorted(run, ordered)
        again = np.flatnonzero(before)
        self._tally(ordered)
        return dict(zip(order[again].tolist(), before[again].tolist(), strict=True))

    def _tally(self, ordered: NDArray[np.uint64]) -> None:
        while self._runs and len(self._runs[-1]) < 2 * len(ordered):
            # Two sorted halves, which this kind of sort merges.
            ordered = np.sort(np.concatenate((self._runs.pop(), ordered)), kind="stable")
        self._runs.append(ordered)
