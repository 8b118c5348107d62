"""The names of timer messages, and the handle by which a producer recalls one.

Source: common/message/MessageConst.java, store/timer/TimerMessageStore.java (5.5.0)
"""

from __future__ import annotations

import base64
import binascii
from typing import Final, NamedTuple

TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
"""Where timer messages wait; its only queue is 0."""

# What a broker writes.
TIMER_ENQUEUE_MS: Final = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
TIMER_ROLL_TIMES: Final = "TIMER_ROLL_TIMES"

INVALID_HANDLE: Final = "recall handle is invalid"
_VERSION: Final = "v1"
_SEPARATOR: Final = " "


class RecallHandle(NamedTuple):
    """What the answer to a send says about a timer message, as one text in Base64.

    ``timestamp`` is a time of the second in which the message becomes due, in ms, as text.
    Source: common/producer/RecallMessageHandle.java (5.5.0)
    """

    topic: str
    broker_name: str
    timestamp: str
    message_id: str

    def encode(self) -> str:
        """Return the text that a producer gets."""
        text = _SEPARATOR.join((_VERSION, *self))
        return base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode()

    @classmethod
    def decode(cls, handle: str | None) -> RecallHandle:
        """Return what a text says; raise ValueError, in Java's words, if it is no handle.

        As in Java, padding may be missing, and text behind the fifth part is ignored.
        """
        if not handle:
            raise ValueError(INVALID_HANDLE)
        text = _decoded(handle).decode("utf-8", "replace")
        parts = text.rstrip(_SEPARATOR).split(_SEPARATOR)  # Java drops empty parts at the end
        if len(parts) < len(cls._fields) + 1 or parts[0] != _VERSION:
            raise ValueError(INVALID_HANDLE)
        return cls(*parts[1 : len(cls._fields) + 1])


def _decoded(handle: str) -> bytes:
    """Return the bytes of a text as java.util.Base64's decoder for URLs does."""
    digits = handle.rstrip("=")
    padding = len(handle) - len(digits)
    if "+" in handle or "/" in handle or padding not in (0, -len(digits) % 4):
        raise ValueError(INVALID_HANDLE)
    try:
        text = digits.encode("ascii") + b"=" * (-len(digits) % 4)
        return base64.b64decode(text, altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise ValueError(INVALID_HANDLE) from None
