"""How a handle reaches the running cluster, and how calls wait that may take long.

A handle holds no state of the cluster: it asks the running cluster again at each use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from fakemq.errors import FakemqError

if TYPE_CHECKING:
    from fakemq.biographies.biographer import Biographer
    from fakemq.core.cluster import ClusterCore
    from fakemq.serving.thread import ServedCluster

T = TypeVar("T")
Running = Callable[[], "ServedCluster"]
"""A function that returns the running cluster, or raises RuntimeError."""

PRODUCERS = "producers"
"""The group of a producer that is given none."""


class OpenClient(Protocol):
    """Something that a cluster closes when it stops."""

    def close(self) -> None:
        """End it; do nothing if it has ended."""


class LongCall:
    """One call that may take long: the journal wakes it, and its caller can abandon it."""

    def __init__(self) -> None:
        self.news = threading.Event()
        """Set when the journal has grown, or the cluster has been stopped."""
        self.given_up = False
        """Set when the caller no longer waits; the call checks it and ends early."""

    def give_up(self) -> None:
        """End the call soon. May be called from any thread."""
        self.given_up = True
        self.news.set()


class ClusterLife:
    """One run of a cluster; shared by its `Cluster` and `AsyncCluster` objects."""

    def __init__(self, running: ServedCluster | None = None) -> None:
        self.thread = running
        """None before the start and after the stop."""
        self.control_url: str | None = None
        """The URL of the control port while the cluster runs with one."""
        self.biographer: Biographer | None = None
        """Created when the first biography is read; it reads one core's journal only."""
        self.clients: list[OpenClient] = []
        """Clients with sockets that a test has of its cluster, the oldest first."""
        self.waits: set[LongCall] = set()
        """Calls to wake when the cluster is stopped."""

    def running(self) -> ServedCluster:
        """Return the running cluster; raise RuntimeError if it does not run."""
        if self.thread is None:
            raise RuntimeError(
                "the cluster is not running: use it inside 'with fakemq.Cluster() as mq:'"
            )
        return self.thread

    def close_sockets(self) -> None:
        """Close all clients with sockets that a test has of this cluster."""
        while self.clients:
            self.clients.pop().close()

    def close_clients(self) -> None:
        """Close all clients that a test has of this cluster, inside or with sockets."""
        self.close_sockets()
        if self.thread is not None:
            self.thread.call(self.thread.server.core.close_guests)

    def end(self) -> ServedCluster | None:
        """Clear the running cluster and return it; every waiting call fails."""
        thread, self.thread = self.thread, None
        self.control_url = self.biographer = None
        # A copy, because a woken call removes itself from the set on its own thread.
        for wait in list(self.waits):
            wait.news.set()
        return thread


class Handle:
    """The base of every handle: a reference to the cluster while it runs."""

    def __init__(self, running: Running) -> None:
        self._running = running

    @property
    def _core(self) -> ClusterCore:
        return self._running().server.core

    def _metrics_addr(self, node: str) -> str:
        found = self._running().server.exporters.get(node)
        if found is None:
            raise FakemqError(
                f"{node} has no port for Prometheus: start the cluster with"
                ' reference="5.5.0" and config={"metricsExporterType": "PROM"}'
            )
        return found.port.addr

    def _call(self, function: Callable[[], T]) -> T:
        """Call ``function`` on the cluster's thread and return its result."""
        return self._running().call(function)


def moved(running: ServedCluster, move: Callable[[], T], wait: LongCall | None = None) -> T:
    """Call ``move``, which moves time, on the cluster's thread, and return its result.

    The move ends early when ``wait`` is given up, or at Ctrl-C in the caller's thread.
    """
    wait = wait or LongCall()
    try:
        return running.call(partial(running.server.core.until_given_up, wait, move))
    finally:
        # After Ctrl-C the move is still under way on the cluster's thread: end it there, too.
        wait.give_up()


async def in_thread(function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
    """Run a blocking call on another thread, without blocking the caller's asyncio or trio loop.

    With ``abandon_on_cancel`` a cancelled caller continues at once, and the call ends by itself.
    """
    import anyio.to_thread  # only asynchronous tests need it

    return await anyio.to_thread.run_sync(function, abandon_on_cancel=abandon_on_cancel)


async def waited(call: Callable[[LongCall], T]) -> T:
    """Run a call that waits on another thread and return its result.

    A cancelled caller continues at once, and the thread ends soon after.
    """
    wait = LongCall()
    try:
        return await in_thread(lambda: call(wait), abandon_on_cancel=True)
    finally:
        wait.give_up()
