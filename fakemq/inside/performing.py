"""Functions of users inside a cluster: plain ones, coroutines, and generators that take time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Perform, Sleep, Task
from fakemq.clock.durations import duration_ms
from fakemq.errors import FakemqError
from fakemq.later import End, resumed

if TYPE_CHECKING:
    from fakemq.client.carrier import Cancellable, Carrier, Performed
    from fakemq.core.guests import Guests


class WaitsForLoopError(FakemqError):
    """A coroutine inside the cluster awaited something that only an event loop can do."""


class Performing:
    """One call of a user's function; a Cancellable. There are three kinds of functions:

    1. A plain function is called once.
    2. A coroutine function is run to its end at once. It may await clients inside the cluster,
       whose methods wait for nothing there. Awaiting an event loop raises WaitsForLoopError in its
       place.
    3. A generator function may take time of the cluster: ``yield "20m"``, or ``yield Sleep(50)``,
       continues that much later. What it returns is its result.
    """

    __slots__ = ("_carrier", "_done", "_step")

    def __init__(self, carrier: Carrier, done: Performed) -> None:
        self._carrier = carrier
        self._done = done
        self._step: Cancellable | None = None

    def begin(self, guests: Guests, function: Callable[..., object], args: tuple[Any, ...]) -> None:
        """Call the function when no node is handling anything."""
        self._step = guests.perform(called, (function, args), self._returned)

    def cancel(self) -> None:
        """Make no further call; one that has begun continues to its end."""
        step, self._step = self._step, None
        if step is not None:
            step.cancel()

    def _returned(self, value: object, error: BaseException | None) -> None:
        if not isinstance(value, GeneratorType):
            self._done(value, error)
            return
        running = RunningTask(self._carrier, _in_parts(value), self._ended, "a user's generator")
        self._step = running
        running.begin()

    def _ended(self, task: RunningTask[object], value: object, error: BaseException | None) -> None:
        self._done(value, error)


def called(function: Callable[..., object], args: tuple[Any, ...]) -> object:
    """Call a function; run the coroutine that it returns, if it does, to its end."""
    value = function(*args)
    if not isinstance(value, Coroutine):
        return value
    step = resumed(value, None)
    if isinstance(step, End):
        return step.value
    with suppress(Exception):  # its end may await the loop, too
        value.close()
    name = getattr(function, "__qualname__", repr(function))
    raise WaitsForLoopError(
        f"{name} awaits an event loop, and there is none inside the cluster: await only clients of"
        ' the same cluster, or use a consumer of kind="async"'
    )


def _in_parts(generator: Generator[object, None, object]) -> Task[object]:
    """Run a user's generator: each of its parts is a call, and time passes between two of them.

    What cannot be slept for is an error of the generator, raised at its ``yield``.
    """
    error: Exception | None = None
    try:
        while True:
            pause = yield Perform(resumed, (generator, error))
            if isinstance(pause, End):
                return pause.value
            error = None
            try:
                if not isinstance(pause, Sleep):
                    pause = Sleep(duration_ms(pause, name="the pause that was yielded"))
                yield pause
            except Exception as raised:
                error = raised
    finally:
        generator.close()
