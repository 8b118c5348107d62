"""Files of a store whose size is not that of the config: which are mended, and which are refused.

Source: store/MappedFileQueue.java#load (4.9.7), which refuses all of them
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from fakemq.errors import StoreError
from fakemq.store.commitlog import FOLDER as LOG
from fakemq.store.directory_file import MOST_END_ZEROS
from fakemq.store.findings import wrong_size
from fakemq.store.queue_folders import EXTENSION_FOLDER
from fakemq.store.queue_folders import FOLDER as QUEUES
from fakemq.store.timer import LOG_FOLDER as TIMERS

_CUT = (LOG, QUEUES, EXTENSION_FOLDER, TIMERS)
"""The folders of rows whose ends are cut off. An index file of a wrong size is made anew."""


class CheckedDirectory(Protocol):
    """What is asked of the directory with the files."""

    after_kill: bool
    """Whether the last broker there was killed."""
    on_mended: Callable[[str, int, str], None]
    """Called with a file that was mended, its wrong size in bytes, and what it means."""

    def path_of(self, path: str) -> str:
        """Return the path in the file system."""

    def list(self, folder: str) -> list[str]:
        """Return the paths of all files below ``folder``, sorted."""


def mend(files: CheckedDirectory, path: str, number: int, has_bytes: int, size_bytes: int) -> None:
    """Make an open file as long as it should be, if a kill inside a cut explains its size.

    Earlier releases cut a file by making it shorter and long again. Then it is the last one of its
    row, ends with a record or an entry, and is the only one of another size. Raise StoreError for
    all others: the config may be wrong, and a file of another size would not fit the right one.
    """
    if not _was_being_cut(files, path, number, has_bytes, size_bytes):
        raise StoreError(f"{files.path_of(path)}: {wrong_size(has_bytes, size_bytes)}")
    os.ftruncate(number, size_bytes)
    why = f"a kill left {has_bytes} of its {size_bytes} bytes, it is as long as before again"
    files.on_mended(path, has_bytes, why)


def _was_being_cut(
    files: CheckedDirectory, path: str, number: int, has_bytes: int, size_bytes: int
) -> bool:
    folder = path.partition("/")[0]
    if has_bytes > size_bytes or folder not in _CUT or not files.after_kill:
        return False
    if not any(os.pread(number, MOST_END_ZEROS, max(0, has_bytes - MOST_END_ZEROS))):
        return False
    paths = files.list(folder)
    row = path.rpartition("/")[0] + "/"
    is_last = path == max(one for one in paths if one.startswith(row))
    others = (os.path.getsize(files.path_of(one)) for one in paths if one != path)
    return is_last and all(other in (0, size_bytes) for other in others)
