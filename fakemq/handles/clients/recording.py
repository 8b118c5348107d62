"""What a consumer of a test got, and which errors its function raised."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from fakemq.client.consuming.batch import ends_from_outside

if TYPE_CHECKING:
    from fakemq.client.consuming.received import ReceivedMessage

OnMessage = Callable[["ReceivedMessage"], object]


class ConsumeFailure(NamedTuple):
    """A message whose function raised, and what it raised."""

    message: ReceivedMessage
    error: BaseException


class Recording:
    """What one consumer got; `during` is around each call of its function."""

    def __init__(self) -> None:
        self.received: list[ReceivedMessage] = []
        self.failures: list[ConsumeFailure] = []

    def during(self, message: ReceivedMessage) -> _Consuming:
        """Return a block that records a message, and the error if the block raises."""
        return _Consuming(self, message)


class _Consuming:
    __slots__ = ("_message", "_recording")

    def __init__(self, recording: Recording, message: ReceivedMessage) -> None:
        self._recording = recording
        self._message = message

    def __enter__(self) -> None:
        self._recording.received.append(self._message)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and not ends_from_outside(error):
            self._recording.failures.append(ConsumeFailure(self._message, error))
