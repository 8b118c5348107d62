"""The seal of a clean stop: where the log ended, and by what its files are known again.

A start checks the last files of the log, record by record. After a clean stop it would find what
that stop left, unless another program wrote there meanwhile. So a stop leaves the file `PATH`, and
a start that finds every other file as it was checks only what is behind the end that the seal says.
The start removes the seal when the store is open; one that is refused leaves it with all other
files. Java does not read it, and leaves it there; but Java writes its checkpoint at each stop.

A file counts as it was if its name, size and time are the same, so a copy that keeps the times is
sealed too. The last bytes of the log are compared as well. A byte that rots on the disk changes no
time: such a byte stays unnoticed, where Java compares the bodies of the last three files with their
checksums, and cuts the log at the first that differs.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.files.regular import open_regular, write_regular
from fakemq.store import checkpoint as checkpoints
from fakemq.store.commitlog import FOLDER as LOG
from fakemq.store.directory_file import descriptor
from fakemq.store.directory_files import FOLDERS

if TYPE_CHECKING:
    from fakemq.config.model import BrokerConfig
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.directory_files import DirectoryFiles

PATH = "fakemq.seal"
LEAST_BYTES = 1 << 20
"""A shorter log is not sealed: a start reads it in milliseconds."""
_TAIL_BYTES = 1 << 16
"""How many of the last bytes of the log are compared."""
_MOST_BYTES = 256
"""Of a seal."""


def is_worth_it(log: CommitLog) -> bool:
    """Return whether a start would read so much of a log that the log should be sealed."""
    return log.max_offset - log.min_offset >= LEAST_BYTES


def leave(files: DirectoryFiles, config: BrokerConfig, log_end: int) -> None:
    """Seal the closed files of a store whose last record ends at a physical offset.

    Without a seal, because the disk refuses it, the next start reads the log.
    """
    with suppress(OSError, StoreError):
        path = files.path_of(PATH)
        text = _text(files, config, log_end)
        write_regular(path, text.encode("ascii"))


def sealed_to(files: DirectoryFiles, config: BrokerConfig) -> int | None:
    """Return where the log ends, or None without a seal, or if a file is not as it was sealed."""
    with suppress(OSError, ValueError, StoreError):
        with open(files.path_of(PATH), encoding="ascii", opener=open_regular) as file:
            text = file.read(_MOST_BYTES)
        log_end = int(text.partition(" ")[0])
        if text == _text(files, config, log_end):
            return log_end
    return None


def _text(files: DirectoryFiles, config: BrokerConfig, log_end: int) -> str:
    """Return the seal of the files as they are: the log's end, and a digest of what it is for.

    A start that compares the records with other delay levels, or their checksums, reads them.
    """
    digest = blake2b(f"{config.message_delay_level}\n{config.check_crc_on_recover}\n".encode())
    paths = [path for folder in FOLDERS for path in files.list(folder)]
    for path in (*paths, checkpoints.PATH):
        status = os.stat(files.path_of(path))
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    digest.update(_tail(files, log_end))
    return f"{log_end} {digest.hexdigest()}\n"


def _tail(files: DirectoryFiles, log_end: int) -> bytes:
    """Return the last bytes of the log that are in its last file; raise OSError without a file."""
    path = max(files.list(LOG), default="")
    with descriptor(files.path_of(path), os.O_RDONLY) as number:
        end = min(log_end - int(path.rpartition("/")[2]), os.fstat(number).st_size)
        begin = max(0, end - _TAIL_BYTES)
        return os.pread(number, max(0, end - begin), begin)
