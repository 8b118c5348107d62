"""Names of rows that stay the same when Spark repeats their task.

The order of rows within a partition may change: after a shuffle it depends on which source
arrives first. So the name of a row comes from its content, and equal rows of one task are numbered.
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

    ``scope`` identifies the write or query; it is part of the digest. ``prefix`` identifies the
    partition and micro-batch, and begins each name.
    """

    def __init__(self, scope: str, prefix: str) -> None:
        self._hash = blake2b(f"{scope}\0{prefix}\0".encode(), digest_size=DIGEST_BYTES)
        self._prefix = prefix
        self._seen = _Tally()

    def digest(self, head: bytes, body: bytes) -> bytes:
        """Return the digest of a row with this content."""
        row = self._hash.copy()
        row.update(b"%d\0%b%b" % (len(head), head, body))
        return row.digest()

    def again(self, digests: Sequence[bytes]) -> dict[int, int]:
        """Return, by index, how many earlier rows had the same digest; first rows are left out.

        Call it once for each row.
        """
        # Half of a digest is enough to find rows that may be equal: a row with an equal half only
        # gets a number that it did not need.
        halves = np.frombuffer(b"".join(digests), dtype=np.uint64)[:: DIGEST_BYTES // 8]
        return self._seen.count(halves)

    def name(self, digest: bytes, again: int = 0) -> str:
        """Return the name of a row."""
        name = f"{self._prefix}-{digest.hex()}"
        return f"{name}-{again}" if again else name


class _Tally:
    """Counts how often each number came, in eight bytes each, because a task may have many rows.

    It keeps sorted runs, each at least twice as long as the next.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def count(self, values: NDArray[np.uint64]) -> dict[int, int]:
        """Return, by index, how often each of ``values`` came before, if ever; then count them."""
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
            # Two sorted halves: a stable sort merges them.
            ordered = np.sort(np.concatenate((self._runs.pop(), ordered)), kind="stable")
        self._runs.append(ordered)
