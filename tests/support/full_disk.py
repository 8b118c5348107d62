"""A disk that refuses what is written to some of its files."""

from __future__ import annotations

import errno
import os

import pytest


class FullDisk:
    """Refuses writes to the files whose paths contain one of ``full``, with ``number``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full: tuple[str, ...] = ()
        self.number = errno.ENOSPC
        self._pwrite = os.pwrite
        monkeypatch.setattr(os, "pwrite", self._write)

    def _write(self, number: int, data: bytes, offset: int) -> int:
        if self.full and any(part in os.readlink(f"/proc/self/fd/{number}") for part in self.full):
            raise OSError(self.number, os.strerror(self.number))
        return self._pwrite(number, data, offset)


class NoDescriptors:
    """Refuses to open the files whose paths contain one of ``refused``, as a limit would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused: tuple[str, ...] = ()
        self._open = os.open
        monkeypatch.setattr(os, "open", self._refuse)

    def _refuse(self, path: str, flags: int, mode: int = 0o777) -> int:
        if any(part in str(path) for part in self.refused):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return self._open(path, flags, mode)
