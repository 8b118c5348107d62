"""A cluster on its own thread and loop, for synchronous callers."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fakemq.clock.slices import Work, finished
from fakemq.errors import FakemqError
from fakemq.serving.driver import EventLoop
from fakemq.serving.server import ClusterServer

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.config.spec import ClusterSpec

T = TypeVar("T")

STOPPED = "the cluster has been stopped"
_LAST_TURNS_S = 1.0


class ServedCluster(Protocol):
    """A running cluster, and the way for its caller to reach it from any thread."""

    server: ClusterServer

    def call(self, function: Callable[[], T]) -> T:
        """Call ``function`` on the cluster's thread; return its result or raise its error."""

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the cluster's loop to its end and return its result."""

    def require_waiting(self) -> None:
        """Raise an error for a caller that cannot wait for the cluster."""

    def carry_out(self, steps: Steps[T]) -> T:
        """Do long work on the cluster's thread, in slices unless the caller is there already."""

    def stop(self) -> None:
        """Stop the cluster cleanly."""


class ClusterThread:
    """Runs one cluster server; every method may be called from any thread but its own.

    A forked child has a copy of this object, but no such thread: there every call raises
    FakemqError, and `stop` does nothing.
    """

    def __init__(self, spec: ClusterSpec) -> None:
        self._pid = os.getpid()
        self.server = ClusterServer(spec)
        self._loop = EventLoop()
        self._awaited: set[Future[Any]] = set()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="fakemq", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._loop.run_until_complete(self.server.stop())
            self._loop.close()
            raise FakemqError(
                f"the system refuses the cluster a thread: {error}; its limit (ulimit -u) or that"
                " of addresses (ulimit -v) is too small"
            ) from None
        try:
            self.wait(self.server.start())
        except BaseException:
            self.close()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Call ``function`` on the cluster's thread; return its result or raise its error."""
        if threading.current_thread() is self._thread:
            return function()
        future: Future[T] = Future()

        def run() -> None:
            try:
                result = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                # One turn later: a loop such as uvloop hands written bytes to the kernel then.
                self._loop.call_soon(future.set_result, result)

        self._submit(lambda: self._loop.call_soon_threadsafe(run))
        return self._result(future)

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the cluster's loop to its end and return its result."""
        try:
            self.require_waiting()
            future = self._submit(lambda: asyncio.run_coroutine_threadsafe(coroutine, self._loop))
        except FakemqError:
            coroutine.close()
            raise
        return self._result(future)

    def require_waiting(self) -> None:
        """Raise FakemqError for a caller that cannot wait for the cluster: its own thread."""
        if threading.current_thread() is self._thread:
            raise FakemqError(
                "the cluster's own thread cannot wait for it: it waits itself for the function that"
                " was called, such as that of a consumer inside the cluster"
            )

    def carry_out(self, steps: Steps[T]) -> T:
        """Do long work in slices on the cluster's thread; return its result or raise its error.

        Ctrl-C in the caller's thread ends it.
        """
        if threading.current_thread() is self._thread:
            return finished(steps)
        work = Work(steps, peer=object())
        try:
            return self.wait(self.server.done(work))
        except BaseException:
            # Ctrl-C is raised in any line of this thread, while the work is under way.
            with suppress(FakemqError):
                self._submit(lambda: self._loop.call_soon_threadsafe(self.server.give_up, work))
            raise

    def stop(self) -> None:
        """Stop the cluster cleanly and end the thread; do nothing if it has ended."""
        if self._thread.is_alive() and not self._is_inherited:
            self.server.core.end_moves()
            try:
                self.wait(self.server.stop())
            finally:
                self.close()

    def close(self) -> None:
        """End the thread."""
        if self._thread.is_alive() and not self._is_inherited:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    @property
    def _is_inherited(self) -> bool:
        """Whether a fork copied this object."""
        return os.getpid() != self._pid

    def _submit(self, submit: Callable[[], T]) -> T:
        if self._is_inherited:
            raise FakemqError(
                f"this cluster runs in process {self._pid}, and this is a forked child of it:"
                " connect clients to its ports, or start a cluster in the child"
            )
        try:
            return submit()
        except RuntimeError:
            raise FakemqError(STOPPED) from None

    def _result(self, future: Future[T]) -> T:
        """Wait for the result; raise FakemqError if the thread ends before that."""
        self._awaited.add(future)
        if self._ended:
            self._give_up()
        try:
            return future.result()
        except CancelledError:
            raise FakemqError(STOPPED) from None
        finally:
            self._awaited.discard(future)

    def _cancel_all(self) -> None:
        """End tasks of other threads that the stop interrupts, such as a restart."""
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._loop.run_until_complete(asyncio.wait(tasks, timeout=_LAST_TURNS_S))

    def _give_up(self) -> None:
        for future in list(self._awaited):
            with suppress(InvalidStateError):  # done meanwhile
                future.set_exception(FakemqError(STOPPED))

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._cancel_all()
            asyncio.set_event_loop(None)
            self._loop.close()
            self._ended = True
            self._give_up()
