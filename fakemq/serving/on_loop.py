"""A running cluster for callers on its own loop: each call is made directly."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, NoReturn, TypeVar

from fakemq.clock.slices import finished

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.serving.server import ClusterServer

T = TypeVar("T")


class OnLoop:
    """A `RunningCluster` for callers on the cluster's thread, which cannot wait for it."""

    def __init__(self, server: ClusterServer) -> None:
        self.server = server

    def call(self, function: Callable[[], T]) -> T:
        """Call ``function`` and return its result."""
        return function()

    def carry_out(self, steps: Steps[T]) -> T:
        """Do long work at once, and return its result."""
        return finished(steps)

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Raise an error: the loop would wait for itself."""
        coroutine.close()
        self.require_waiting()

    def require_waiting(self) -> NoReturn:
        """Raise an error: the loop would wait for itself."""
        raise RuntimeError("the cluster's own loop cannot wait for it")

    def stop(self) -> None:
        """Raise an error: the owner of the server stops it."""
        raise RuntimeError("the cluster's own loop cannot stop it")
