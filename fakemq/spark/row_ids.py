"""Names of rows that are the same when their task is done again.

The order of rows within a partition is not: after a shuffle it depends on which of its sources
came first. So a row is named by what is in it, and equal rows of one task are numbered.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b

DIGEST_BYTES = 16


class RowIds:
    """The names of one task's rows.

    ``scope`` is what tells this write or micro-batch from all others; it goes into the digest.
    ``prefix`` stands in front of it, for people.
    """

    def __init__(self, scope: str, prefix: str) -> None:
        self._hash = blake2b(f"{scope}\0{prefix}\0".encode(), digest_size=DIGEST_BYTES)
        self._prefix = prefix
        self._seen: Counter[bytes] = Counter()

    def name(self, *content: bytes) -> str:
        """The name of the next row with this content."""
        row = self._hash.copy()
        for part in content:
            row.update(len(part).to_bytes(4))
            row.update(part)
        digest = row.digest()
        again = self._seen[digest]
        self._seen[digest] = again + 1
        name = f"{self._prefix}-{digest.hex()}"
        return f"{name}-{again}" if again else name
