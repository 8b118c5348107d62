"""Allows one process at a time in a store directory, fakemq or Java, and in its other folders.

Source: store/DefaultMessageStore.java#start (4.9.7), which locks the first byte of ``lock`` in the
root of a store, and nothing else: brokers with different roots may share a commit log there. Here
every folder that is written is locked itself. That leaves no file in it, because Java takes each
file in the folder of a log for one of the log.
"""

from __future__ import annotations

import os
from contextlib import suppress

from fakemq.errors import StoreError
from fakemq.files.regular import open_regular, require_utf8
from fakemq.forked_sockets import close_in_children

_held: set[str] = set()
"""The folders that this process has locked: the system lets one process lock a file twice."""


class DirectoryLock:
    """The file ``lock`` of a store directory, locked from `take` to `release`.

    So are the folders that are claimed meanwhile.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._claimed: dict[str, _FolderLock] = {}
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
        try:
            self.claim(self._root)
        except StoreError:
            self.release()
            raise

    def claim(self, folder: str) -> None:
        """Lock a folder in which files are written, until `release`.

        Raise StoreError if another store has locked it, under whatever path. A file system without
        such locks (some of networks) is used without.
        """
        if folder not in self._claimed:
            real_path = os.path.realpath(folder)
            lock = self._claimed.get(real_path) or _FolderLock(folder)
            if lock.is_open:  # of one that is missing now, the next claim asks again
                self._claimed[folder] = self._claimed[real_path] = lock

    def release(self) -> None:
        """Unlock the directory; do nothing if it is not locked."""
        for lock in self._claimed.values():
            lock.release()
        self._claimed.clear()
        number, self._number = self._number, None
        if number is not None:
            _held.discard(self._real_path)
            os.close(number)

    def _taken(self) -> StoreError:
        return StoreError(
            f"{self._root}: Lock failed,MQ already started: another broker has this store open"
        )


class _FolderLock:
    """The lock of one folder.

    A child that is forked closes its copy: with it, the lock would stay after the parent is killed.
    """

    def __init__(self, folder: str) -> None:
        import fcntl

        self._number = -1
        try:
            self._number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return  # what is wrong there is said by the call that reads or writes it
        except OSError as error:
            raise StoreError(f"{folder}: cannot be opened: {error.strerror}") from None
        close_in_children(self)
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise StoreError(
                f"{folder}: another broker has this folder open, and one folder takes the files of"
                " one broker (storePathRootDir, storePathCommitLog)"
            ) from None
        except OSError:  # no locks on this file system
            pass

    @property
    def is_open(self) -> bool:
        """Whether the folder could be opened."""
        return self._number != -1

    def close(self) -> None:
        """Close this process' copy, as a child does; the lock is that of all copies."""
        number, self._number = self._number, -1
        if number != -1:
            os.close(number)

    def release(self) -> None:
        """Unlock the folder; do nothing if it is not locked.

        To close it alone would not do: a child that was forked just now has its copy still.
        """
        import fcntl

        if self.is_open:
            with suppress(OSError):  # no locks on this file system
                fcntl.flock(self._number, fcntl.LOCK_UN)
        self.close()
