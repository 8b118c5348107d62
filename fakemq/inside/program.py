"""A client program inside a cluster: one client id, with its carrier, services and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from fakemq.client.instance import ClientInstance
from fakemq.client.services import ClientServices
from fakemq.errors import FakemqError
from fakemq.events.core import NodeStarted, NodeStopped
from fakemq.inside.carrier import InsideCarrier
from fakemq.later import Later

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.client.options import ClientConfig
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
        self._unfinished: dict[Later[Any], None] = {}

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
            outcome.resolve(self._ended())

    # -- tasks --------------------------------------------------------------------------------

    def begin(self, task: Task[T], name: str) -> Later[T]:
        """Begin a task, and deliver what leads to its end as far as that needs no time.

        Its result is an error if the program ends before it. An abandoned one ends where it is.
        """
        outcome: Later[T] = Later()
        self._unfinished[outcome] = None

        def done(value: T | None, error: BaseException | None) -> None:
            self._unfinished.pop(outcome, None)
            outcome.resolve(cast("T", value) if error is None else error)

        def give_up() -> None:
            self._unfinished.pop(outcome, None)
            tasks.cancel(running)

        tasks = self.services.tasks
        running = tasks.start(task, name, done)
        if not self.alive:
            outcome.resolve(self._ended())
        outcome.on_abandoned = give_up
        self.core.guests.finish(lambda: outcome.done)
        return outcome

    def _ended(self) -> FakemqError:
        return FakemqError(f"the client {self.name} ended before it was done")

    def __repr__(self) -> str:
        return f"<client {self.name}, {len(self.services.tasks)} tasks>"
