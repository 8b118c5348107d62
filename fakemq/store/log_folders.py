"""The folders of a commit log on disk: which file is in which, and where the next one goes.

Source: store/MultiPathMappedFileQueue.java (4.9.7)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from fakemq.config.log_folders import LogPaths
from fakemq.errors import StoreError, printable
from fakemq.files.regular import open_regular
from fakemq.store.directory_file import extents

_PIECE_BYTES = 1 << 16


class LogFolders:
    """The folders of one log. A file has one name in the log, and is in one of them."""

    def __init__(self, paths: LogPaths) -> None:
        self.named = paths.named
        """The folders of ``storePathCommitLog`` as the user wrote them."""
        self.by_name = {name: os.path.abspath(name) for name in paths.all}
        """All folders as the user wrote them, with their absolute paths."""
        self.full: frozenset[str] = frozenset()
        """Those whose disks are so full that new files avoid them, by the names."""
        self._writable = paths.writable
        self._places: dict[str, str] = {}  # the folder of each file that was found or made

    @property
    def folders(self) -> Iterable[str]:
        """The absolute paths of all folders."""
        return self.by_name.values()

    @property
    def writable(self) -> Iterable[str]:
        """The absolute paths of the folders that new files go into."""
        return [self.by_name[name] for name in self._writable]

    @property
    def newest(self) -> str:
        """The folder of the last file: that which is written; the first one before there is any."""
        return self.folder_of(max(self._places, default=""))

    def folder_of(self, file_name: str) -> str:
        """Return the folder of a file; for one that is unknown, where it is, or the first one."""
        folder = self._places.get(file_name)
        if folder is None:
            there = (one for one in self.folders if os.path.lexists(os.path.join(one, file_name)))
            first = next(iter(self.folders))
            folder = next(there, first) if file_name and len(self.by_name) > 1 else first
        return folder

    def choose(self, file_name: str, size_bytes: int) -> None:
        """Choose the folder of a file that is about to be made.

        The files go round the folders by their number, and pass over those with full disks; if all
        are full, over none.
        Source: store/MultiPathMappedFileQueue.java#tryCreateMappedFile (4.9.7)
        """
        roomy = [name for name in self._writable if name not in self.full] or self._writable
        number = int(file_name) // size_bytes if file_name.isdecimal() and size_bytes else 0
        self._places[file_name] = self.by_name[roomy[number % len(roomy)]]

    def found(self, file_name: str, folder: str) -> bool:
        """Note where a file is; return False if another folder has it, and this one is empty.

        Java makes each file one file ahead. If it is killed, and another folder is chosen later,
        an empty file stays, which Java then takes for a part of the log. Raise StoreError if both
        files have bytes.
        """
        other = self._places.setdefault(file_name, folder)
        if other == folder:
            return True
        paths = os.path.join(other, file_name), os.path.join(folder, file_name)
        empty = [_is_empty(path) for path in paths]
        if not any(empty):
            raise StoreError(
                printable(
                    f"{paths[0]} and {paths[1]}: the log has one file of this name; move the"
                    " wrong one away"
                )
            )
        if not empty[1]:
            self._places[file_name] = folder
        return False

    def left_over(self, file_name: str) -> list[str]:
        """Return the paths of the files that `found` has passed over for this one."""
        if len(self.by_name) == 1:
            return []
        place = self.folder_of(file_name)
        paths = [os.path.join(one, file_name) for one in self.folders if one != place]
        return [path for path in paths if os.path.lexists(path)]

    def forget(self, file_name: str | None = None) -> None:
        """Forget where a deleted file was; None: where all are, for others may move them."""
        if file_name is None:
            self._places.clear()
        else:
            self._places.pop(file_name, None)


def placed(named: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return names of files with their folders, by the names; of one name the file with bytes.

    Raise StoreError as `LogFolders.found` does.
    """
    pairs = list(named)
    folders = dict.fromkeys(folder for _, folder in pairs)
    if len(folders) > 1:
        log = LogFolders(LogPaths(tuple(folders)))
        for name, folder in pairs:
            log.found(name, os.path.abspath(folder))
        pairs = [(name, log.folder_of(name)) for name in {name for name, _ in pairs}]
    return sorted(pairs)


def _is_empty(path: str) -> bool:
    """Return whether a file has no byte but zeros; raise StoreError if it cannot be read."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            return not any(map(any, _pieces(file.fileno())))
    except OSError as error:
        raise StoreError(printable(f"{path}: cannot be read: {error.strerror}")) from None


def _pieces(number: int) -> Iterator[bytes]:
    for begin, end in extents(number, 0, os.fstat(number).st_size):
        for at in range(begin, end, _PIECE_BYTES):
            yield os.pread(number, min(_PIECE_BYTES, end - at), at)
