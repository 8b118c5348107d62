"""A client program inside a cluster: one client id, with its carrier, services and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fakemq.client.instance import ClientInstance
from fakemq.client.services import ClientServices
from fakemq.errors import FakemqError
from fakemq.events.core import NodeStarted, NodeStopped
from fakemq.inside.carrier import InsideCarrier

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.client.options import ClientConfig
    from fakemq.client.running_task import RunningTask
    from fakemq.client.tasks import Task
    from fakemq.core.cluster import ClusterCore

T = TypeVar("T")


class InsideProgram:
    """A client program: `services` are its client's, and ``name`` is its node and its client id.

    It is a guest of the cluster from `start` on, until `close` or `kill`.
    """

    def __init__(self, core: ClusterCore, name: str, config: ClientConfig) -> None:
        self.name = name
        self.core = core
        self.carrier = InsideCarrier(core, name, config.credentials)
        self.journal = core.journal
        self.clock = self.carrier.clock
        self.instance = ClientInstance(
            ";".join(core.namesrv_addrs), config, time=self.carrier, ip="127.0.0.1", pid=1
        )
        self.services = ClientServices(self.instance, self.carrier)
        self.leaving: Callable[[], Task[None]] = self.instance.unregister_all
        """Makes the task of an orderly end, which is given up where it needs time."""
        self.alive = False
        # What was begun and has not ended, so that no caller waits longer than the program lives.
        self._unfinished: dict[Outcome[Any], None] = {}

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Enter the cluster. Tasks may run from now on."""
        self.alive = True
        self.core.guests.add(self)
        self.journal.add(NodeStarted(node=self.name, addr=self.name))

    def close(self) -> None:
        """Leave the groups as far as that needs no time, then end; do nothing if it has ended."""
        if self.alive:
            self.begin(self.leaving(), "close")
        if self.alive:  # no function that was called meanwhile has ended it
            self._end("stop")

    def kill(self, *, silently: bool = False) -> None:
        """End at once. ``silently``, as when its machine dies: no peer sees a connection close."""
        if self.alive:
            self._end("vanish" if silently else "kill")

    def _end(self, how: str) -> None:
        self.alive = False
        self.core.guests.discard(self)
        self.services.shutdown()
        if how == "vanish":
            self.carrier.vanish()
        else:
            self.carrier.close(f"client {how}")
        self.journal.add(NodeStopped(node=self.name, how=how))
        unfinished, self._unfinished = self._unfinished, {}
        for outcome in unfinished:
            outcome.on_end()

    # -- tasks --------------------------------------------------------------------------------

    def begin(self, task: Task[T], name: str) -> Outcome[T]:
        """Begin a task, and deliver what leads to its end as far as that needs no time."""
        outcome = Outcome[T](self)
        self._unfinished[outcome] = None
        outcome.running = self.services.tasks.start(task, name, outcome.set)
        self.core.guests.finish(outcome.is_over)
        return outcome

    def ended(self, outcome: Outcome[Any]) -> None:
        """An outcome calls this when its task has ended."""
        self._unfinished.pop(outcome, None)

    def __repr__(self) -> str:
        return f"<client {self.name}, {len(self.services.tasks)} tasks>"


class Outcome(Generic[T]):
    """What becomes of a task of a program: its result, its error, or neither."""

    __slots__ = ("_error", "_is_set", "_program", "_value", "on_end", "running")

    def __init__(self, program: InsideProgram) -> None:
        self._program = program
        self._is_set = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self.on_end: Callable[[], None] = _nothing
        """Called when the task ends, or its program does."""
        self.running: RunningTask[T] | None = None

    def set(self, value: T | None, error: BaseException | None) -> None:
        """Take the result, as `Tasks.start` passes it."""
        self._is_set, self._value, self._error = True, value, error
        self._program.ended(self)
        self.on_end()

    def is_over(self) -> bool:
        """Return whether the task has ended, or its program has."""
        return self._is_set or not self._program.alive

    def cancel(self) -> None:
        """End the task where it is."""
        if self.running is not None and not self.is_over():
            self._program.ended(self)
            self._program.services.tasks.cancel(self.running)

    def result(self) -> T:
        """Return the result or raise the error; the task must be over."""
        if self._error is not None:
            raise self._error
        if not self._is_set:
            raise FakemqError(f"the client {self._program.name} ended before it was done")
        return self._value  # type: ignore[return-value]  # T may be None itself


def _nothing() -> None:
    pass
