"""The text of ``messageDelayLevel``. Source: store/schedule/ScheduleMessageService.java (4.9.7)"""

from __future__ import annotations

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long

DEFAULT_DELAY_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
"""Those of a broker whose config says nothing else."""
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_MS = 1 << 62
"""About 146 million years; Java's sums would overflow some way beyond."""


def parse_delay_levels(text: str) -> dict[int, int]:
    """Return delays in milliseconds by level, from ``"1s 5s 10s"``; units are s, m, h and d.

    Raise ValueError where a Java broker would not start. A number may have a sign: a message with a
    negative delay is due at once.
    Source: ScheduleMessageService.java#parseDelayLevel (4.9.7)
    """
    table: dict[int, int] = {}
    for level, word in enumerate(text.rstrip(" ").split(" "), 1):
        try:
            delay_ms = _UNITS_MS[word[-1:]] * parse_long(word[:-1])
        except (KeyError, NumberFormatError):
            raise ValueError(f"{word!r} is no delay") from None
        if abs(delay_ms) > _LONGEST_MS:
            raise ValueError(f"{word!r} is too long a delay")
        table[level] = delay_ms
    return table
