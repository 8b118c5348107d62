"""The files of one node's store, found and read without the store's own code.

Damaged files must still be readable as far as possible, so nothing is assumed about their bytes.
Files are read, not mapped: where a file was shortened, or a full tmpfs has no page for a hole, the
access to a mapping ends the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fakemq.errors import ConfigError, printable
from fakemq.files.regular import open_regular
from fakemq.files.texts import DiskTextFile
from fakemq.protocol.layout.codecs import CHECKPOINT, RECORD_HEAD, RECORD_LEAST_BYTES
from fakemq.protocol.message import (
    LARGEST_RECORD_BYTES,
    MESSAGE_MAGIC_CODE,
    RecordCheck,
    RecordStatus,
    check_record,
)
from fakemq.store.log_folders import placed
from fakemq.store.queue_folders import EXTENSION_FOLDER, NoQueueError, queue_folder, queue_id_of
from fakemq.store.queue_folders import FOLDER as QUEUES
from fakemq.store.stored_file import BLOCK_BYTES, OpenFiles, StoredFile, cannot_read
from fakemq.store.timer import LOG_FOLDER as TIMERS

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt

PARTS = ("commitlog", "consumequeue", "index", "config")
"""The folder of a node has at least one of these, with something of a store in it."""
_OWN_FILES = ("checkpoint", "abort", "config/topics.json", "config/consumerOffset.json")
"""One of these is in the folder of each node, unless it has files with numbers."""

_FEW_BYTES = 1 << 12
"""How many bytes are read at once where each of many files keeps what it has read."""
_NAME_DIGITS = 20


class Window:
    """Reads a file from place to place; the last block is kept."""

    def __init__(self, file: StoredFile, block_bytes: int) -> None:
        self.file = file
        self._block_bytes = block_bytes
        self._first = 0
        self._view = memoryview(b"")

    def read(self, position: int, size_bytes: int) -> bytes:
        """As `StoredFile.read`."""
        at = self._reach(position, size_bytes)
        data = bytes(self._view[at : at + size_bytes])
        if at and not any(data):  # a broker may have written them since
            self._load(position, max(size_bytes, self._block_bytes))
            return bytes(self._view[:size_bytes])
        return data

    def _reach(self, position: int, size_bytes: int) -> int:
        """Return where in the block ``position`` is; that many bytes are behind it then."""
        at = position - self._first
        if at < 0 or at + size_bytes > len(self._view):
            self._load(position, max(size_bytes, self._block_bytes))
            return 0
        return at

    def _load(self, position: int, size_bytes: int) -> None:
        self._first, self._view = position, memoryview(self.file.read(position, size_bytes))


class RecordWindow(Window):
    """Finds records in a log file."""

    def __init__(self, file: StoredFile) -> None:
        super().__init__(file, BLOCK_BYTES)

    def check(self, position: int, *, check_crc: bool = True) -> RecordCheck:
        """Check the record at ``position``."""
        at = self._reach(position, RECORD_LEAST_BYTES)
        left_bytes = len(self._view) - at
        if left_bytes < RECORD_HEAD.size:
            return check_record(self._view, at)
        size_bytes, magic_code = RECORD_HEAD.unpack_from(self._view, at)
        is_record = magic_code == MESSAGE_MAGIC_CODE
        if is_record and size_bytes > left_bytes:
            at = self._reach(position, size_bytes)
        check = check_record(self._view, at, check_crc=check_crc)
        if check.status is RecordStatus.BAD:
            # A broker may have written it since; and what is wrong with the sizes of a record must
            # not depend on what else is in the block.
            self._load(
                position, max(size_bytes, LARGEST_RECORD_BYTES) if is_record else BLOCK_BYTES
            )
            check = check_record(self._view, check_crc=check_crc)
        return check


class FileRow:
    """Files that are addressed as one long file, such as a commit log."""

    def __init__(self, files: OpenFiles, folders: Sequence[str], name: str) -> None:
        self.name = name
        self.files = [
            StoredFile(files, os.path.join(folder, one), f"{name}/{one}")
            for one, folder in placed((one, folder) for folder in folders for one in listed(folder))
            if len(one) == _NAME_DIGITS and one.isdecimal()
        ]
        self.file_size_bytes = self.files[0].size_bytes if self.files else 0
        self.min_offset = self.files[0].offset if self.files else 0
        self._window: Window | None = None

    def find(self, offset: int) -> StoredFile | None:
        """Return the file that contains ``offset``."""
        size_bytes = self.file_size_bytes
        if not size_bytes or offset < self.min_offset:
            return None
        guess = (offset - self.min_offset) // size_bytes
        for file in self.files[guess : guess + 1] or ():
            if file.offset <= offset < file.offset + file.size_bytes:
                return file
        # A file is missing, or of another size.
        for file in self.files:
            if file.offset <= offset < file.offset + file.size_bytes:
                return file
        return None

    def read(self, offset: int, size_bytes: int) -> bytes | None:
        """Read this number of bytes; None if they are not all in one file."""
        file = self.find(offset)
        if file is None:
            return None
        if self._window is None or self._window.file is not file:
            self._window = Window(file, _FEW_BYTES)
        data = self._window.read(offset - file.offset, size_bytes)
        return data if len(data) == size_bytes else None


class StoredNode:
    """The store files and config files of one node."""

    def __init__(self, root: str, log_folders: Sequence[str] = ()) -> None:
        self.root = root
        self.log_folders = log_folders or (os.path.join(root, "commitlog"),)
        self.name = os.path.basename(os.path.abspath(root))
        self._files = OpenFiles()
        self.log = FileRow(self._files, self.log_folders, "commitlog")
        self.timer_log = FileRow(self._files, (os.path.join(root, TIMERS),), TIMERS)
        self._queues: dict[tuple[str, str, int], FileRow | None] = {}
        self._last_asked: tuple[int, MessageExt | None] = (-1, None)
        self._window: RecordWindow | None = None
        """Where the last record was; the next one is often near."""

    def queues(self) -> Iterator[tuple[str, int, FileRow]]:
        """Yield topic, queue id and files of every consume queue, sorted."""
        folder = os.path.join(self.root, QUEUES)
        for topic in listed(folder):
            ids = map(queue_id_of, listed(os.path.join(folder, topic)))
            for queue_id in sorted(one for one in ids if one is not None):
                row = self.queue(topic, queue_id)
                if row is not None:
                    yield topic, queue_id, row

    def queue(self, topic: str, queue_id: int) -> FileRow | None:
        """Return the files of one consume queue; None if it has no folder, or cannot have one."""
        return self._queue(topic, queue_id, QUEUES)

    def extension(self, topic: str, queue_id: int) -> FileRow | None:
        """Return the files of the extension of a queue; None as for `queue`."""
        return self._queue(topic, queue_id, EXTENSION_FOLDER)

    def _queue(self, topic: str, queue_id: int, below: str) -> FileRow | None:
        key = below, topic, queue_id
        if key not in self._queues:
            self._queues[key] = self._read_queue(topic, queue_id, below)
        return self._queues[key]

    def _read_queue(self, topic: str, queue_id: int, below: str) -> FileRow | None:
        try:
            name = queue_folder(topic, queue_id, below)
        except NoQueueError:
            return None
        folder = os.path.join(self.root, *name.split("/"))
        return FileRow(self._files, (folder,), name) if os.path.isdir(folder) else None

    def index_files(self) -> list[StoredFile]:
        """Return the index files, oldest first."""
        folder = os.path.join(self.root, "index")
        return [
            StoredFile(self._files, os.path.join(folder, name), f"index/{name}")
            for name in listed(folder)
            if name.isdecimal()
        ]

    def file(self, name: str) -> StoredFile | None:
        """Return a file by its path below the node's folder; None if there is none."""
        path = os.path.join(self.root, *name.split("/"))
        return StoredFile(self._files, path, name) if os.path.lexists(path) else None

    def record(self, phy_offset: int) -> MessageExt | None:
        """Return the complete record at an offset, or None; its CRC is not checked."""
        if (
            phy_offset != self._last_asked[0]
        ):  # the index often has several successive entries for one record
            self._last_asked = phy_offset, self._read_record(phy_offset)
        return self._last_asked[1]

    def _read_record(self, phy_offset: int) -> MessageExt | None:
        file = self.log.find(phy_offset)
        if file is None:
            return None
        if self._window is None or self._window.file is not file:
            self._window = RecordWindow(file)
        return self._window.check(phy_offset - file.offset, check_crc=False).message

    def checkpoint(self) -> bytes | None:
        """Return the checkpoint's times as they are stored; None if there is no such file."""
        path = os.path.join(self.root, "checkpoint")
        if not os.path.lexists(path):
            return None
        try:
            with open(path, "rb", opener=open_regular) as file:
                return file.read(CHECKPOINT.size)
        except OSError as error:
            raise cannot_read(path, error) from None

    @property
    def stopped(self) -> bool:
        """Whether a broker ran here and was stopped, not killed."""
        there = [os.path.lexists(os.path.join(self.root, name)) for name in ("checkpoint", "abort")]
        return there == [True, False]

    def config_text(self, name: str) -> str | None:
        """Return the text of a config file; None if there is none."""
        path = os.path.join(self.root, "config", name)
        try:
            return DiskTextFile(path).read()
        except OSError as error:
            raise cannot_read(path, error) from None

    @property
    def size_bytes(self) -> int:
        """The size of the commit log and the queues, with holes."""
        rows = [self.log, *(row for _, _, row in self.queues())]
        return sum(file.size_bytes for row in rows for file in row.files)


def listed(folder: str) -> list[str]:
    """Return the names in a folder, sorted; none if there is no such folder."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise cannot_read(folder, error) from None


def find_nodes(path: str, log_folders: Sequence[str] = ()) -> list[StoredNode]:
    """Return the nodes in a directory: the directory itself, or those below it.

    ``log_folders`` are those of the commit log, if it is elsewhere; there may be one node then.
    Raise ConfigError if there is no store.
    """
    if not os.path.isdir(path):
        raise ConfigError(printable(f"{path}: there is no such directory"))
    below = [path] if is_node(path) else [os.path.join(path, name) for name in listed(path)]
    roots = [one for one in below if is_node(one)]
    if log_folders and len(roots) > 1:
        named = ",".join(log_folders)
        raise ConfigError(
            f"{path}: it has {len(roots)} stores; storePathCommitLog={named} is for one"
        )
    for folder in log_folders:
        if not os.path.isdir(folder):
            raise ConfigError(printable(f"{folder}: there is no such directory"))
    nodes = [StoredNode(one, log_folders) for one in roots]
    if not nodes:
        raise ConfigError(
            f"{path}: no store: neither it nor a directory in it has any of {', '.join(PARTS)}"
            " with files of a store"
        )
    return nodes


def require_logs(nodes: list[StoredNode]) -> None:
    """Raise ConfigError for a store whose commit log is in another folder."""
    for node in nodes:
        if not node.log.files and any(row.files for _, _, row in node.queues()):
            raise ConfigError(
                f"{node.root}: it has consume queues and no commit log; if that is elsewhere"
                " (storePathCommitLog), name its folders (dump --store-path-commit-log DIR,DIR;"
                f" {node.root},DIR,DIR for audit and store_from), or link it, or the files of its"
                " folders, to"
                f" {os.path.join(node.root, 'commitlog')}"
            )


def is_node(path: str) -> bool:
    """Return whether a folder is that of a node; many projects have a folder ``config``."""
    folders = [os.path.join(path, part) for part in PARTS]
    if not any(map(os.path.isdir, folders)):
        return False
    log, queues, index, _ = folders
    return (
        any(os.path.lexists(os.path.join(path, name)) for name in _OWN_FILES)
        or any(name.isdecimal() for folder in (log, index) for name in listed(folder))
        or bool(listed(queues))
    )
