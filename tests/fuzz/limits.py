"""How long a parser may take: in processor time, for each byte of its input."""

from __future__ import annotations

import time
from collections.abc import Callable

_AT_LEAST_SECONDS = 0.5
_SECONDS_PER_BYTE = 60e-6
"""Several times what the slowest parser takes where machines are slow and code is instrumented;
what is quadratic takes far more at 64 KiB already."""


def run_in_time(run: Callable[[bytes], None], data: bytes) -> str:
    """Run a target. Return a complaint about its time, empty if that is in order.

    What is too slow once is measured three times: a busy machine is no violation.
    """
    limit = _AT_LEAST_SECONDS + _SECONDS_PER_BYTE * len(data)
    took = _seconds(run, data)
    if took > limit:
        took = min(took, _seconds(run, data), _seconds(run, data))
    return f"too slow: {len(data)} bytes took {took:.2f} s" if took > limit else ""


def _seconds(run: Callable[[bytes], None], data: bytes) -> float:
    start = time.process_time()
    run(data)
    return time.process_time() - start
