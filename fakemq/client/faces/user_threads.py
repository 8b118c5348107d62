"""Which threads run functions of the user now."""

from __future__ import annotations

import threading


class UserThreads:
    """The threads that run functions or loops of the user now, for whose end a shutdown waits.

    ``with user_threads:`` is around each call of such a function.
    """

    def __init__(self) -> None:
        self.threads: set[int] = set()
        """Their idents."""

    def __enter__(self) -> None:
        self.threads.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        self.threads.discard(threading.get_ident())

    def enter(self) -> int:
        """Note that the calling thread begins with a message; return it for `leave`."""
        thread = threading.get_ident()
        self.threads.add(thread)
        return thread

    def leave(self, thread: int) -> None:
        """Note that a thread is done with its message; any thread may say it."""
        self.threads.discard(thread)

    @property
    def has_this(self) -> bool:
        """Whether the calling thread is one of them."""
        return threading.get_ident() in self.threads
