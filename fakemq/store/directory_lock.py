"""Allows one process at a time in a store directory, fakemq or Java.

Source: store/DefaultMessageStore.java#start (4.9.7), which locks the first byte of ``lock``.
"""

from __future__ import annotations

import os

from fakemq.errors import StoreError
from fakemq.regular_files import open_regular, require_utf8

_held: set[str] = set()
"""The folders that this process has locked: the system lets one process lock a file twice."""


class DirectoryLock:
    """The file ``lock`` of a store directory, locked from `take` to `release`."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._number: int | None = None
        self._real_path = ""

    def take(self) -> None:
        """Lock the directory; create it if necessary.

        Raise StoreError if another store has it open, or it cannot be written.
        """
        import fcntl  # not on every system, and a store in memory does not need it

        try:
            require_utf8(self._root)
            os.makedirs(self._root, exist_ok=True)
            real_path = os.path.realpath(self._root)
            if real_path in _held:
                raise self._taken()
            path = os.path.join(self._root, "lock")
            number = open_regular(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            where = error.filename or self._root
            raise StoreError(f"{where}: cannot keep a store here: {error.strerror}") from None
        try:
            fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
            os.pwrite(number, b"lock", 0)
            os.fsync(number)
        except BlockingIOError:
            os.close(number)
            raise self._taken() from None
        except OSError as error:
            os.close(number)
            raise StoreError(f"{path}: cannot be locked: {error.strerror}") from None
        self._number, self._real_path = number, real_path
        _held.add(real_path)

    def release(self) -> None:
        """Unlock the directory; do nothing if it is not locked."""
        number, self._number = self._number, None
        if number is not None:
            _held.discard(self._real_path)
            os.close(number)

    def _taken(self) -> StoreError:
        return StoreError(
            f"{self._root}: Lock failed,MQ already started: another broker has this store open"
        )
