"""The seal of a clean stop: a start that finds it unbroken need not read the log.

A start checks the last files of the log, record by record, as Java's does. If no file of the store
was written, replaced, added or removed since a clean stop, it would find what that stop left. So a
stop writes down the times and numbers that the system keeps of each file, and where the log ends.
A write changes the times of its file, and a copy has others: then the start reads the log. Only a
write within milliseconds of the stop, by a program that then sets back the time, stays unnoticed.
The seal stands in the file ``checkpoint`` behind what Java reads of it.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING

from fakemq.regular_files import open_regular
from fakemq.store import checkpoint as checkpoints

if TYPE_CHECKING:
    from fakemq.store.directory_files import DirectoryFiles

_AT = 2048
"""The position in the checkpoint."""
_MAGIC = b"fakemq 1"
_DIGEST_BYTES = 32
_SEAL = Struct(f">8s{_DIGEST_BYTES}sq")


def write(files: DirectoryFiles, folders: tuple[str, ...], more: str, log_end: int) -> None:
    """Seal a store that is closed. Raise OSError if the disk refuses.

    ``more`` is what else a start depends on, such as its config.
    """
    seal = _SEAL.pack(_MAGIC, _digest(files, folders, more), log_end)
    number = open_regular(files.path_of(checkpoints.PATH), os.O_RDWR)
    try:
        os.pwrite(number, seal, _AT)
    finally:
        os.close(number)


def read(files: DirectoryFiles, folders: tuple[str, ...], more: str) -> int | None:
    """Return where the log of a sealed store ends; None if it is not as it was sealed."""
    try:
        number = open_regular(files.path_of(checkpoints.PATH), os.O_RDONLY)
        try:
            data = os.pread(number, _SEAL.size, _AT)
        finally:
            os.close(number)
        if len(data) < _SEAL.size:
            return None
        magic, digest, log_end = _SEAL.unpack(data)
        if magic != _MAGIC or digest != _digest(files, folders, more):
            return None
    except OSError:
        return None
    return int(log_end)


def _digest(files: DirectoryFiles, folders: tuple[str, ...], more: str) -> bytes:
    digest = blake2b(more.encode(), digest_size=_DIGEST_BYTES)
    for folder in folders:
        for path in files.list(folder):
            status = os.stat(files.path_of(path))
            digest.update(
                f"{path}\n{status.st_dev} {status.st_ino} {status.st_size}"
                f" {status.st_mtime_ns} {status.st_ctime_ns}\n".encode()
            )
    return digest.digest()
