"""How far an attack has come, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_INTERVAL_S = 5.0


def with_progress(items: Iterable[T], count: int, unit: str) -> Iterator[T]:
    """Yield the items; say every few seconds how many of ``count`` are done."""
    began_s = printed_s = time.monotonic()
    for done, item in enumerate(items):
        now_s = time.monotonic()
        if now_s - printed_s >= _INTERVAL_S:
            printed_s = now_s
            rate = done / (now_s - began_s)
            print(f"  {done:,} of {count:,} {unit}, {rate:,.1f} a second", file=sys.stderr)
        yield item
