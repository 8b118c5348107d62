"""A cluster on a thread and loop of its own, for synchronous callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol, TypeVar

from fakemq.errors import FakemqError
from fakemq.net.driver import EventLoop
from fakemq.net.server import ClusterServer

if TYPE_CHECKING:
    from fakemq.cluster_spec import ClusterSpec

T = TypeVar("T")


class Running(Protocol):
    """The way to a running cluster, from wherever one is."""

    server: ClusterServer

    def call(self, function: Callable[[], T]) -> T:
        """Run ``function`` where the cluster runs and give what it gives or raises."""

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the cluster's loop to its end."""

    def stop(self) -> None:
        """Stop the cluster cleanly."""


class ClusterThread:
    """Runs one cluster server; every method may be called from any thread but its own."""

    def __init__(self, spec: ClusterSpec) -> None:
        self.server = ClusterServer(spec)
        self._loop = EventLoop()
        self._thread = threading.Thread(target=self._run, name="fakemq", daemon=True)
        self._thread.start()
        try:
            self.wait(self.server.start())
        except BaseException:
            self.close()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Run ``function`` on the cluster's thread and give what it gives or raises."""
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

        self._submit(run)
        return future.result()

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the cluster's loop to its end."""
        if not self._thread.is_alive():
            coroutine.close()
            raise FakemqError("the cluster has been stopped")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stop(self) -> None:
        """Stop the cluster cleanly and end the thread; again does nothing."""
        if self._thread.is_alive():
            try:
                self.wait(self.server.stop())
            finally:
                self.close()

    def close(self) -> None:
        """End the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _submit(self, run: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(run)
        except RuntimeError as error:
            raise FakemqError("the cluster has been stopped") from error

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()
