"""Answers that may come later, and work that waits for them.

An RPC's handler is a function, or a generator that yields each `Later` it waits for and gets its
value. If the value is there already, the generator continues at once: most RPCs never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Hashable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.proxy.call import Connection

T = TypeVar("T")

Waits: TypeAlias = Generator["Later[Any]", Any, T]
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


def sliced(clock: NodeClock, steps: Steps[T], peer: Connection, count: int) -> Later[T]:
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

    # A peer inside the cluster has it done at once, as by `fakemq.dispatch.long_work`.
    count = count if peer.outside else 0
    work = clock.begin(steps, peer=cast("Hashable", peer), count=count)
    if work.done and not work.dropped:
        done()
    elif not work.dropped:
        work.on_done = done
    return later


def carry_out(
    steps: Waits[T],
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


def begun(steps: Waits[T]) -> Later[T]:
    """Begin work, and return its result as a value that is there now or later."""
    later: Later[T] = Later()
    carry_out(steps, later.resolve, later.resolve)
    return later


def _continue(
    steps: Waits[T],
    on_result: Callable[[T], None],
    on_error: Callable[[Exception], None],
    later: Later[Any],
) -> None:
    carry_out(steps, on_result, on_error, later.value)
