"""Timers that may be late, for real brokers: an idle one wakes up over a thousand times a second.

One thread of a broker looks each millisecond whether its log has something for a queue, others each
ten. Where the kernel may let timers wait for each other, an idle broker needs half as much.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PR_SET_TIMERSLACK = 29
_SLACK_NS = 4_000_000


@contextmanager
def late_timers() -> Iterator[None]:
    """Let timers of processes that this thread starts meanwhile be up to 4 ms late, on Linux.

    Source: prctl(2), PR_SET_TIMERSLACK: a child has that of the thread which started it.
    """
    if sys.platform != "linux":
        yield
        return
    set_slack = ctypes.CDLL(None).prctl
    set_slack(_PR_SET_TIMERSLACK, _SLACK_NS, 0, 0, 0)
    try:
        yield
    finally:
        set_slack(_PR_SET_TIMERSLACK, 0, 0, 0, 0)  # the default again
