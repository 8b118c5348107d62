"""The files of one node in a directory: sparse, with Java's sizes and the cluster's times.

Source: store/MappedFileQueue.java, store/config/StorePathConfigHelper.java (4.9.7)
"""

# Over 400 lines: what is done to files, their folders and their disk shares the table of open ones.

from __future__ import annotations

import errno
import mmap
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.config.log_folders import LogPaths
from fakemq.files.regular import open_regular, require_regular, require_utf8
from fakemq.store import wrong_sizes
from fakemq.store.commitlog import FOLDER as LOG_FOLDER
from fakemq.store.directory_file import PAGE_BYTES, DirectoryFile, descriptor, store_error
from fakemq.store.files import Files, LateReader
from fakemq.store.index import FOLDER as INDEX_FOLDER
from fakemq.store.log_folders import LogFolders
from fakemq.store.memory_files import size_text
from fakemq.store.queue_folders import EXTENSION_FOLDER
from fakemq.store.queue_folders import FOLDER as QUEUES_FOLDER
from fakemq.store.record_scan import SECTOR_BYTES
from fakemq.store.timer import LOG_FOLDER as TIMERS_FOLDER

if TYPE_CHECKING:
    from random import Random

    from fakemq.clock.node_clock import NodeClock

FOLDERS: Final = (LOG_FOLDER, QUEUES_FOLDER, EXTENSION_FOLDER, INDEX_FOLDER, TIMERS_FOLDER)
"""The folders of a store that have files of fixed size."""
_LOG_PREFIX: Final = f"{LOG_FOLDER}/"
_FOLDERS_BELOW: Final = dict.fromkeys(FOLDERS, 0) | {QUEUES_FOLDER: 2, EXTENSION_FOLDER: 2}
"""How many levels of folders are between a folder of a store and its files."""
ABORT: Final = "abort"
"""A file that exists while a broker runs on the store; it remains if the broker is killed."""
_CONFIG_FOLDER: Final = "config"
_LEAST_FREE_BYTES: Final = 16 << 20
"""Left free for other processes."""
_MOST_DESCRIPTORS: Final = 64
"""Held for files that are written; the others are opened again when they are."""


class DiskCapacity(NamedTuple):
    """The size of a disk, and how much of it can still be written."""

    total_bytes: int
    free_bytes: int


class DirectoryFiles(Files):
    """The `Files` of one node in a directory, ``root``; its commit log may be in other folders.

    ``disk`` returns the size of the disk of a folder. ``broken`` is the reason why nothing is
    written any more, or empty.
    """

    durable = True
    limit_bytes = 0  # others write to the same disk: `has_room` asks it now and then

    def __init__(self, root: str, clock: NodeClock, log_paths: LogPaths | None = None) -> None:
        self.root = os.path.abspath(root)
        self.unflushed: dict[DirectoryFile, None] = {}
        self.captures: list[LateReader] = []
        self.used_bytes = 0
        self.broken = ""
        self.damaged = False
        self.disk: Callable[[str], DiskCapacity] = _ask_disk
        self.log_folders = LogFolders(log_paths or LogPaths((os.path.join(root, LOG_FOLDER),)))
        self.log_paths = log_paths
        """The folders of the log; None for the usual one below ``root``."""
        self.after_kill = False
        """Whether the last broker here was killed: what its calls left undone is mended."""
        self.claim: Callable[[str], None] = _ignore
        """Called with each folder before a file in it is opened; raises StoreError if another
        broker has it."""
        self.on_mended: Callable[[str, int, str], None] = _ignore
        """Called with a file whose size was wrong, that size in bytes, and what it means."""
        self._clock = clock
        self._files: dict[str, DirectoryFile] = {}
        self._with_descriptor: dict[DirectoryFile, None] = {}  # the oldest first
        self._room_bytes = 0  # bytes that may be appended before the disk is asked again

    def path_of(self, path: str) -> str:
        """Return the path of a file of the store on this machine."""
        folder, slash, rest = path.partition("/")
        if folder == LOG_FOLDER:
            return self.log_folders.folder_of(rest) + slash + rest
        return f"{self.root}/{path}"

    # -- files --------------------------------------------------------------------------------

    def open(
        self,
        path: str,
        size_bytes: int,
        now_ms: int | None = None,
        *,
        grows: bool = False,
        sparse: bool = False,
    ) -> DirectoryFile:
        """As `Files.open`; an existing file counts as written to its end.

        Raise StoreError if it has another size, or cannot be opened, made or mapped.
        """
        file = self._files.get(path)
        if file is None:
            at_ms = self._clock.now_ms() if now_ms is None else now_ms
            file = self._files[path] = self._map(path, size_bytes, at_ms, sparse)
        return file

    def _map(self, path: str, size_bytes: int, now_ms: int, sparse: bool) -> DirectoryFile:
        full_path = self.path_of(path)
        made = not os.path.lexists(full_path)
        if made and path.startswith(_LOG_PREFIX):
            self.log_folders.choose(path.removeprefix(_LOG_PREFIX), size_bytes)
            full_path = self.path_of(path)
        try:
            if made:
                os.makedirs(os.path.dirname(full_path), exist_ok=True)
            self.claim(self._folder_of(path))
            with descriptor(full_path, os.O_RDWR | (os.O_CREAT if made else 0)) as number:
                status = os.fstat(number)
                if not status.st_size and (
                    "/" not in path or self.after_kill or self.exists(ABORT)
                ):
                    # The process was killed before the file had its size, or the disk refused both
                    # the size and the removal of the file, and this is the next attempt.
                    made = True
                if made:
                    os.ftruncate(number, size_bytes)
                else:
                    if status.st_size != size_bytes:
                        wrong_sizes.mend(self, path, number, status.st_size, size_bytes)
                    self.used_bytes += status.st_blocks * 512
                time_ms = now_ms if made else status.st_mtime_ns // 1_000_000
                pages = _mapped(number, size_bytes)
                identity = status.st_dev, status.st_ino
                file = DirectoryFile(self, path, pages, identity, time_ms, made)
                if not made and not sparse:
                    file.look(number)
        except (OSError, ValueError, OverflowError) as error:
            if made:
                with suppress(OSError):
                    os.unlink(full_path)  # the next attempt would find a file of the wrong size
            raise store_error(full_path, "cannot be opened", error) from None
        return file

    def _folder_of(self, path: str) -> str:
        """Return the folder on this machine that has a file, or the folders of its kind."""
        folder, slash, rest = path.partition("/")
        if folder == LOG_FOLDER:
            return self.log_folders.folder_of(rest)
        return f"{self.root}/{folder}" if slash else self.root

    def descriptor_of(self, file: DirectoryFile) -> int:
        """Open a file for reading and writing; raise OSError if the system refuses.

        The descriptors of the files that were opened first are closed again, if there are many, or
        if the process has no more.
        """
        opened = self._with_descriptor
        full_path = self.path_of(file.path)
        while len(opened) >= _MOST_DESCRIPTORS:
            self._release(next(iter(opened)))
        try:
            number = open_regular(full_path, os.O_RDWR)
        except OSError as error:
            if error.errno != errno.EMFILE or not opened:
                raise
            for other in list(opened):
                self._release(other)
            number = open_regular(full_path, os.O_RDWR)
        try:
            file.require_same(os.fstat(number))
        except OSError:
            os.close(number)
            raise
        opened[file] = None
        return number

    def _release(self, file: DirectoryFile) -> None:
        if file in self._with_descriptor:
            del self._with_descriptor[file]
            file.release()

    def delete(self, path: str) -> None:
        """As `Files.delete`; a folder that becomes empty goes too, if it is a queue's."""
        full_path = self.path_of(path)
        if path in self._files:
            self.changing(self._files[path])
        if path.startswith(_LOG_PREFIX):
            name = path.removeprefix(_LOG_PREFIX)
            for left in self.log_folders.left_over(name):
                _unlink(left)
            self.log_folders.forget(name)
        _unlink(full_path)
        file = self._files.pop(path, None)
        if file is not None:
            self.unflushed.pop(file, None)
            self._release(file)
            self.used_bytes = max(0, self.used_bytes - file.position)
        if path.count("/") > 1:
            with suppress(OSError):
                os.rmdir(os.path.dirname(full_path))

    def claim_folders(self) -> None:
        """Claim the folders of the store that are there, and make those of new log files.

        Raise StoreError if another broker has one, or it cannot be made.
        Source: store/DefaultMessageStore.java#DefaultMessageStore (4.9.7), which makes them
        """
        for folder in self.log_folders.writable:
            try:
                os.makedirs(folder, exist_ok=True)
            except FileExistsError:
                continue  # what is there is refused when it is listed
            except OSError as error:
                raise store_error(folder, "cannot be made", error) from None
        others = (f"{self.root}/{name}" for name in (*FOLDERS[1:], _CONFIG_FOLDER))
        for folder in (*self.log_folders.folders, *others):
            if os.path.isdir(folder):
                self.claim(folder)

    def list(self, folder: str) -> list[str]:
        folder = folder.rstrip("/")
        if folder == LOG_FOLDER:
            return sorted(self._log_files())
        depth = _FOLDERS_BELOW[folder.split("/")[0]] - folder.count("/")
        return sorted(self._below(folder, self.path_of(folder), depth))

    def _log_files(self) -> Iterator[str]:
        """Yield the files of the log, from all of its folders."""
        found = self.log_folders.found
        for folder in self.log_folders.folders:
            for path in self._below(LOG_FOLDER, folder, _FOLDERS_BELOW[LOG_FOLDER]):
                if found(path.removeprefix(_LOG_PREFIX), folder):
                    yield path

    def _below(self, folder: str, full_path: str, depth: int) -> Iterator[str]:
        """Yield the files of a folder, and those of the ``depth`` levels of folders below it.

        Raise StoreError for what is neither a file nor a folder, and for a folder in place of a
        file. Links are followed: a user may keep a topic on another disk.
        """
        try:
            with os.scandir(full_path) as scan:
                entries = list(scan)
        except OSError as error:
            if not os.path.lexists(full_path):
                return
            raise store_error(full_path, "cannot be listed", error) from None
        for entry in entries:
            try:
                require_utf8(entry.path)
                is_file, is_folder = entry.is_file(), entry.is_dir()
                if not (is_file or is_folder) or (not depth and entry.name.isdecimal()):
                    require_regular(entry.path)
            except OSError as error:
                raise store_error(entry.path, "cannot be opened", error) from None
            path = f"{folder}/{entry.name}"
            if entry.is_symlink():
                real_path = os.path.realpath(entry.path)
                self.claim(os.path.dirname(real_path) if is_file else real_path)
            if is_file:
                yield path
            elif depth:
                yield from self._below(path, entry.path, depth - 1)

    def opened(self) -> Iterable[DirectoryFile]:
        return self._files.values()

    def dirty(self, *folders: str) -> Sequence[DirectoryFile]:
        prefixes = tuple([folder + "/" for folder in folders])
        return [file for file in self.unflushed if file.path.startswith(prefixes)]

    def is_dirty(self, file: object) -> bool:
        return file in self.unflushed

    def clear(self) -> None:
        """Delete the files of the log, the queues, the index and the timers, and nothing else."""
        for folder in FOLDERS:
            for path in self.list(folder):
                self.delete(path)
        self.used_bytes = 0
        self.broken = ""

    def close(self) -> None:
        """Close all files without a flush and set their times; slices of them stay valid."""
        for file in self._files.values():
            self.changing(file)
            file.set_time()
            self._release(file)
        self._files.clear()
        self.unflushed.clear()
        self.log_folders.forget()
        self.used_bytes = 0
        self.broken = ""
        self.damaged = False

    # -- files without a fixed size ---------------------------------------------------------------

    def exists(self, path: str) -> bool:
        """Return whether the file is on the disk; raise StoreError if something else is there."""
        full_path = self.path_of(path)
        try:
            require_regular(full_path)
        except OSError as error:
            raise store_error(full_path, "cannot be opened", error) from None
        return os.path.exists(full_path)

    def create(self, path: str) -> None:
        """Create an empty file unless it exists; raise StoreError if the disk refuses."""
        full_path = self.path_of(path)
        try:
            os.makedirs(os.path.dirname(full_path), exist_ok=True)
            with descriptor(full_path, os.O_WRONLY | os.O_CREAT):
                pass
        except OSError as error:
            raise store_error(full_path, "cannot be written", error) from None

    # -- room ---------------------------------------------------------------------------------

    @property
    def total_bytes(self) -> int:
        return self.disk(self.root).total_bytes

    def has_room(self, size_bytes: int) -> bool:
        if self.broken:
            return False
        self._room_bytes -= size_bytes
        if self._room_bytes < 0:
            # Ask again after a sixteenth of the free bytes: other processes write to the disk too.
            free_bytes = self._least_free()[0] - _LEAST_FREE_BYTES
            self._room_bytes = free_bytes // 16
            return free_bytes >= size_bytes
        return True

    def _least_free(self) -> tuple[int, str]:
        """Return how many bytes are free where a put writes, and the folder with the fewest."""
        log, root = self.log_folders, self.root
        folders = {root, log.newest} if self.log_paths is not None else {root}
        return min((self.disk(folder).free_bytes, folder) for folder in folders)

    def used_ratio(self) -> float:
        if self.log_paths is None:
            return self._ratio(self.root)
        return min(self.used_ratios().values())

    def used_ratios(self) -> dict[str, float]:
        log = self.log_folders
        return {name: self._ratio(log.by_name[name]) for name in log.named}

    def avoid(self, folders: frozenset[str]) -> None:
        self.log_folders.full = folders

    def _ratio(self, folder: str) -> float:
        total_bytes, free_bytes = self.disk(folder)
        return 1 - free_bytes / total_bytes if total_bytes else 1.0

    def full_reason(self) -> str:
        if self.broken:
            return self.broken
        free_bytes, folder = self._least_free()
        verb = "is" if free_bytes < _LEAST_FREE_BYTES else "would stay"
        return f"less than {_LEAST_FREE_BYTES >> 20} MiB {verb} free on the disk of {folder}"

    # -- crashes ------------------------------------------------------------------------------

    def lose_unflushed(self, randomness: Random) -> tuple[int, int]:
        """Undo unflushed writes as a power failure does; return the pages at risk and those lost.

        There are three cases: 1. The system had already written some of the pages, in any order;
        they stay. 2. The last of these was written only in part. 3. The other pages are lost, and
        every page of a file whose flush was lost by a fault.
        """
        all_pages = [(file, page) for file in self.unflushed for page in file.unflushed_pages()]
        pages = [(file, page) for file, page in all_pages if not file.flush_is_lost]
        for file, page in all_pages:
            if file.flush_is_lost:
                file.lose(page)
        randomness.shuffle(pages)
        written = randomness.randint(0, len(pages))
        for file, page in pages[written:]:
            file.lose(page)
        if written:
            file, page = pages[written - 1]
            sectors = randomness.randrange(PAGE_BYTES // SECTOR_BYTES)
            file.lose(page, sectors * SECTOR_BYTES)
        return len(all_pages), len(all_pages) - written

    def __repr__(self) -> str:
        return f"<{len(self._files)} files in {self.root}, {size_text(self.used_bytes)}>"


def _mapped(number: int, size_bytes: int) -> mmap.mmap:
    """Return a mapping of a file; from Python 3.13 on it holds no descriptor of its own."""
    if sys.version_info >= (3, 13):
        return mmap.mmap(number, size_bytes, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(number, size_bytes, access=mmap.ACCESS_READ)


def _ignore(*_: object) -> None:
    """Default of `claim` and `on_mended`: for a reader, and before a broker runs."""


def _unlink(full_path: str) -> None:
    """Delete a file if it is there; raise StoreError if the disk refuses."""
    try:
        os.unlink(full_path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise store_error(full_path, "cannot be deleted", error) from None


def _ask_disk(folder: str) -> DiskCapacity:
    """Return the size of the disk of a folder, which may not be made yet."""
    while not os.path.exists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    try:
        status = os.statvfs(folder)
    except OSError as error:
        raise store_error(folder, "its disk cannot be asked for its size", error) from None
    return DiskCapacity(status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize)
