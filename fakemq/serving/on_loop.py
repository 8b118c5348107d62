"""The way to a cluster for who is on its loop already: what a thread would be asked is done."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from fakemq.serving.server import ClusterServer

T = TypeVar("T")


class OnLoop:
    """As a `ClusterThread`, on whose own thread its user is; nothing can be waited for."""

    def __init__(self, server: ClusterServer) -> None:
        self.server = server

    def call(self, function: Callable[[], T]) -> T:
        """Give what ``function`` gives."""
        return function()

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Refuse: the loop would wait for itself."""
        coroutine.close()
        raise RuntimeError("the cluster's own loop cannot wait for it")

    def stop(self) -> None:
        """Refuse: who runs the server stops it."""
        raise RuntimeError("the cluster's own loop cannot stop it")
