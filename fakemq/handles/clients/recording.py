"""Push consumers that record what they get, and which errors their functions raise."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from inspect import isgeneratorfunction
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, Unpack, cast

from fakemq.client.consuming.batch import ends_from_outside
from fakemq.client.consuming.context import is_coroutine_function
from fakemq.client.faces.handlers import Subscribe, outcome
from fakemq.client.faces.options import PushOptions
from fakemq.client.faces.push_base import PushFace

if TYPE_CHECKING:
    from fakemq.client.consuming.received import ReceivedMessage

T = TypeVar("T")
OnMessage = Callable[["ReceivedMessage"], object]


class ConsumeFailure(NamedTuple):
    """A message whose function raised, and what it raised."""

    message: ReceivedMessage
    error: BaseException


class Recording:
    """What one consumer got."""

    def __init__(self) -> None:
        self.received: list[ReceivedMessage] = []
        self.failures: list[ConsumeFailure] = []

    def of(self, function: OnMessage) -> OnMessage:
        """Return a function of the same kind that records its messages and errors."""

        def consume(message: ReceivedMessage) -> object:
            with _Consuming(self, message):
                return outcome(function(message))

        async def consume_async(message: ReceivedMessage) -> object:
            with _Consuming(self, message):
                return outcome(await cast("Awaitable[object]", function(message)))

        def consume_in_parts(message: ReceivedMessage) -> Generator[object, Any, object]:
            with _Consuming(self, message):
                parts = cast("Generator[object, Any, object]", function(message))
                return outcome((yield from parts))

        if is_coroutine_function(function):
            return consume_async
        return consume_in_parts if isgeneratorfunction(function) else consume


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


class Recorded(PushFace):
    """A push consumer that records what it gets; without a function it acknowledges everything."""

    _RECORDING: ClassVar[type[Recording]] = Recording

    def __init__(
        self,
        namesrv_addr: str | None = None,
        *,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None = None,
        **options: Unpack[PushOptions],
    ) -> None:
        self._recording = self._RECORDING()
        on_message = _acknowledge if on_message is None else on_message
        super().__init__(
            namesrv_addr, group=group, subscribe=subscribe, on_message=on_message, **options
        )

    @property
    def received(self) -> list[ReceivedMessage]:
        """Every message that it got until now, in order; a message that came again is there again.

        The end of the consumer, as by `fakemq.Cluster.reset`, leaves this list.
        """
        return self._copied(self._recording.received)

    @property
    def failures(self) -> list[ConsumeFailure]:
        """Every message whose function raised, with the error, in order."""
        return self._copied(self._recording.failures)

    def _copied(self, found: list[T]) -> list[T]:
        return found.copy()

    def _wrapper(self) -> Callable[[OnMessage], OnMessage]:
        return self._recording.of


def _acknowledge(message: ReceivedMessage) -> None:
    """Consume a message by doing nothing."""
