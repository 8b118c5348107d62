"""The sockets of this process that a forked child must not keep.

Otherwise a killed broker's port would still accept, and a peer would see no connection end, for as
long as the child lives. A child that closes its copy of a socket does not end the connection.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Closable(Protocol):
    """A socket, or a selector, whose descriptor a child shares with its parent, too."""

    def close(self) -> None:
        """Close this process's copy."""


_sockets: WeakSet[Closable] = WeakSet()


def close_in_children(sock: Closable) -> None:
    """Let each forked child close its copy of a socket as its first act."""
    _sockets.add(sock)


def _close_copies() -> None:
    for sock in list(_sockets):
        sock.close()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_close_copies)
