"""Which threads run functions of the user now."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class UserThreads:
    """The threads that run functions or loops of the user now, for whose end a shutdown waits."""

    def __init__(self) -> None:
        self.running: dict[object, int] = {}
        """The ident of the thread of each function call and each loop with a message. A thread may
        have several: a loop within a loop, a call within a call."""

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Be around a call of such a function."""
        call = object()
        self.running[call] = threading.get_ident()
        try:
            yield
        finally:
            del self.running[call]

    def enter(self, loop: int) -> None:
        """Note that a loop has a message in the calling thread."""
        self.running[loop] = threading.get_ident()

    def leave(self, loop: int) -> None:
        """Note that a loop is done with its message; any thread may say it, also twice."""
        self.running.pop(loop, None)

    def has_here(self, loop: int) -> bool:
        """Whether the loop has a message in the calling thread."""
        return self.running.get(loop) == threading.get_ident()

    @property
    def has_this(self) -> bool:
        """Whether the calling thread is one of them."""
        return threading.get_ident() in list(self.running.values())
