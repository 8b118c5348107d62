"""The machine's clocks. No other file reads them.

They are read by ``clock_gettime``, which freezegun does not patch.
"""

from __future__ import annotations

import time
from typing import Protocol

_clock_gettime_ns = time.clock_gettime_ns
# Within a tuple, where freezegun does not find and replace it.
_LOCALTIME = (time.localtime,)
_REALTIME, _MONOTONIC = time.CLOCK_REALTIME, time.CLOCK_MONOTONIC
_THREAD = time.CLOCK_THREAD_CPUTIME_ID
_PHASE_NS = (_clock_gettime_ns(_REALTIME) - _clock_gettime_ns(_MONOTONIC)) % 1_000_000
"""What makes elapsed and wall time reach their next millisecond together."""


def real_wall_ms() -> int:
    """Return the machine's wall time, in milliseconds since the epoch."""
    return _clock_gettime_ns(_REALTIME) // 1_000_000


def real_elapsed_ms() -> int:
    """Return the machine's monotonic time, in milliseconds."""
    return (_clock_gettime_ns(_MONOTONIC) + _PHASE_NS) // 1_000_000


def real_utc_offset_ms() -> int:
    """Return how far the machine's time zone is east of UTC now, in milliseconds."""
    return _LOCALTIME[0]().tm_gmtoff * 1000


def thread_busy_ms() -> int:
    """Return the processor time that this thread has used, in milliseconds."""
    return _clock_gettime_ns(_THREAD) // 1_000_000


def real_wait_ms(time_ms: int) -> None:
    """Block the thread for ``time_ms`` milliseconds; only for programs without a loop."""
    time.sleep(time_ms / 1000)


class TimeSource(Protocol):
    """Where a clock reads real time. Tests pass a source of their own."""

    def wall_ms(self) -> int:
        """Return wall time, in milliseconds since the epoch; a correction may set it back."""

    def elapsed_ms(self) -> int:
        """Return monotonic time, in milliseconds since an arbitrary moment."""


class MachineTime:
    """The machine's own time."""

    wall_ms = staticmethod(real_wall_ms)
    elapsed_ms = staticmethod(real_elapsed_ms)
