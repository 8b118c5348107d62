"""Answers that may come later, and work that waits for them.

An RPC's handler is a function, or a generator that yields each `Later` it waits for and gets its
value. If the value is there already, the generator continues at once: most RPCs never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast

from fakemq.clock.slices import finished

if TYPE_CHECKING:
    from collections.abc import Hashable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.proxy.call import Connection

T = TypeVar("T")

Steps: TypeAlias = Generator["Later[Any]", Any, T]
"""Work that waits for others; an exception as a value is raised where the work waits."""


class Later(Generic[T]):
    """A value, or the exception that came instead, now or later."""

    __slots__ = ("_then", "done", "value")

    def __init__(self) -> None:
        self.done = False
        self.value: T | Exception | None = None
        self._then: Callable[[], None] | None = None

    def resolve(self, value: T | Exception) -> None:
        """Set the value; a second call does nothing."""
        if self.done:
            return
        self.done, self.value = True, value
        then, self._then = self._then, None
        if then is not None:
            then()

    def when_done(self, then: Callable[[], None]) -> None:
        """Call ``then`` once the value is there: now, if it is."""
        if self.done:
            then()
        else:
            self._then = then


FEW_STEPS: Final = 50
"""Work of more steps is done in slices."""


def in_slices(
    clock: NodeClock, steps: Generator[None, None, T], peer: Connection, count: int
) -> Later[T]:
    """Do work that a request has caused; others have their turns in between.

    ``count`` is about the number of its steps: if they are few, it is done at once. If the peer's
    connection closes meanwhile, there is never a value.
    """
    later: Later[T] = Later()

    def done() -> None:
        try:
            later.resolve(work.result())
        except Exception as error:
            later.resolve(error)

    if not peer.outside or count <= FEW_STEPS:  # as `fakemq.dispatch.long_work`
        try:
            later.resolve(finished(steps))
        except Exception as error:
            later.resolve(error)
        return later
    work = clock.begin(steps, peer=cast("Hashable", peer))
    if work.done and not work.dropped:
        done()
    elif not work.dropped:
        work.on_done = done
    return later


def called_each(functions: Iterable[Callable[[], None]]) -> Generator[None, None, None]:
    """Call functions, one in each step."""
    for function in functions:
        function()
        yield


def carry_out(
    steps: Steps[T],
    on_result: Callable[[T], None],
    on_error: Callable[[Exception], None],
    sent: Any = None,
) -> None:
    """Do work up to its end, or until it waits; continue by itself later."""
    while True:
        try:
            later = steps.throw(sent) if isinstance(sent, Exception) else steps.send(sent)
        except StopIteration as end:
            on_result(end.value)
            return
        except Exception as error:
            on_error(error)
            return
        if not later.done:
            later.when_done(partial(_continue, steps, on_result, on_error, later))
            return
        sent = later.value


def begun(steps: Steps[T]) -> Later[T]:
    """Begin work, and return its result as a value that is there now or later."""
    later: Later[T] = Later()
    carry_out(steps, later.resolve, later.resolve)
    return later


def _continue(
    steps: Steps[T],
    on_result: Callable[[T], None],
    on_error: Callable[[Exception], None],
    later: Later[Any],
) -> None:
    carry_out(steps, on_result, on_error, later.value)
