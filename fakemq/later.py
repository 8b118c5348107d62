"""Values that come later, and generators that wait for them.

A generator yields each `Later` that it waits for and gets its value, or the exception that came
instead. One that yields None only lets others go first (`fakemq.clock.slices`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar, cast

S = TypeVar("S")
T = TypeVar("T")


class Later(Generic[T]):
    """A value that comes later, or the exception that came instead: its owner calls `resolve`."""

    __slots__ = ("_then", "done", "on_abandoned", "value")

    def __init__(self) -> None:
        self.done = False
        self.value: T | BaseException | None = None
        """The value or the exception, once it is ``done``."""
        self.on_abandoned: Callable[[], None] | None = None
        """Called when no one wants the value any more; set by the owner, if it can drop it."""
        self._then: Callable[[], None] | None = None

    def resolve(self, value: T | BaseException) -> None:
        """Set the value; a second call does nothing."""
        if self.done:
            return
        self.done, self.value = True, value
        then, self._then = self._then, None
        if then is not None:
            then()

    def follow(self, value: T | Later[T] | Later[T | Later[T]] | BaseException | None) -> None:
        """Set the value, or that of another `Later` once it is there."""
        if isinstance(value, Later):
            value.when_done(lambda: self.follow(value.value))
        else:
            self.resolve(cast("T", value))

    def when_done(self, then: Callable[[], None]) -> None:
        """Call ``then`` once the value is there: now, if it is. Only one caller can wait."""
        if self.done:
            then()
        else:
            self._then = then

    def result(self) -> T:
        """Return the value that is there, or raise the exception."""
        if isinstance(self.value, BaseException):
            raise self.value
        return cast("T", self.value)

    def abandon(self) -> None:
        """Want the value no more: its owner drops what it can, and may resolve it."""
        if not self.done and self.on_abandoned is not None:
            self.on_abandoned()


Waits: TypeAlias = Generator[Later[Any], Any, T]
"""Work that waits for others; an exception as a value is raised where the work waits."""


class End(Generic[T]):
    """The end of a generator, with its result."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value


def resumed(steps: Generator[S, Any, T] | Coroutine[S, Any, T], sent: Any) -> S | End[T]:
    """Resume a generator with a value, or raise an exception in it; return its next step."""
    try:
        return steps.throw(sent) if isinstance(sent, BaseException) else steps.send(sent)
    except StopIteration as end:
        return End(end.value)


def drive(steps: Generator[S, Any, T], on_step: Callable[[S], Any] | None = None) -> Later[T]:
    """Run a generator up to its end, or until it waits; it continues by itself later.

    It gets what ``on_step`` returns for each step, by default the step itself; of a `Later` it gets
    the value. An exception, also one that ``on_step`` raises, is raised in it.
    """
    later: Later[T] = Later()
    _proceed(steps, on_step, later, None)
    return later


def _proceed(
    steps: Generator[S, Any, T], on_step: Callable[[S], Any] | None, end: Later[T], sent: Any
) -> None:
    while True:
        try:
            step = resumed(steps, sent)
        except Exception as error:
            end.resolve(error)
            return
        if isinstance(step, End):
            end.resolve(step.value)
            return
        try:
            sent = step if on_step is None else on_step(step)
        except Exception as error:
            sent = error
        if isinstance(sent, Later):
            if not sent.done:
                sent.when_done(partial(_resume, steps, on_step, end, sent))
                return
            sent = sent.value


def _resume(
    steps: Generator[S, Any, T], on_step: Callable[[S], Any] | None, end: Later[T], sent: Later[Any]
) -> None:
    _proceed(steps, on_step, end, sent.value)


def all_of(laters: Iterable[Later[Any]]) -> Later[None]:
    """Return what is done once all of these are."""
    return drive(_each(laters))


def _each(laters: Iterable[Later[Any]]) -> Waits[None]:
    for later in laters:
        with suppress(Exception):
            yield later
