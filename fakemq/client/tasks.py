"""Tasks: what a client does for a long time, without the transport, threads or a loop.

A task is a generator, as an `Operation` is, with more kinds of steps. It yields a step and is
resumed with the step's result; an error of the step is thrown into it:

    def heartbeats(self) -> Task[None]:
        while True:
            yield from self.instance.heartbeat()      # an operation is a task, too
            yield Sleep(30_000, "heartbeat")

A `Carrier` carries out the steps: over sockets and threads, over anyio, or inside a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from fakemq.client.operation import Call

T = TypeVar("T")


class Sleep(NamedTuple):
    """Resume after ``ms`` milliseconds with None; ``kind`` names the timer of the clock."""

    ms: int
    kind: str = "client_task"


class Signal:
    """A flag that tasks wait for: ``yield Wait(signal)``.

    `set` wakes every task that waits. The flag stays set until `clear`.
    """

    __slots__ = ("_waiting", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._waiting: dict[Callable[[], None], None] = {}

    def set(self) -> None:
        """Set the flag and wake the tasks that wait; do nothing if it is set."""
        if self.is_set:
            return
        self.is_set = True
        waiting, self._waiting = self._waiting, {}
        for wake in waiting:
            wake()

    def clear(self) -> None:
        """Clear the flag, so that the next `Wait` waits again."""
        self.is_set = False

    def add_waiter(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` once, when the flag is set. Only for runners of tasks."""
        self._waiting[wake] = None

    def remove_waiter(self, wake: Callable[[], None]) -> None:
        """Forget a waiter; do nothing if it is gone."""
        self._waiting.pop(wake, None)


class Wait(NamedTuple):
    """Resume with True when the signal is set, with False after ``timeout_ms`` without it."""

    signal: Signal
    timeout_ms: int | None = None
    kind: str = "client_task"


class Perform(NamedTuple):
    """Call a function of the user; resume with its result, or throw its error.

    The carrier decides where it runs: in a thread of a pool, awaited in the event loop if it is a
    coroutine function, or at once inside a cluster. The task waits, other tasks proceed.
    """

    function: Callable[..., object]
    args: tuple[Any, ...] = ()


Step: TypeAlias = Call | Sleep | Wait | Perform
Task: TypeAlias = Generator[Step, Any, T]
