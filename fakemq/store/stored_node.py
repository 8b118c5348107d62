"""The files of one node's store, found and read without the store's own code.

Damaged files must still be readable as far as possible, so nothing is assumed about their bytes.
"""

from __future__ import annotations

import mmap
import os
from collections import OrderedDict
from collections.abc import Iterator
from io import BufferedReader
from typing import TYPE_CHECKING

from fakemq.errors import ConfigError, printable
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.message import decode_record
from fakemq.regular_files import open_regular, require_regular
from fakemq.store.queue_folders import FOLDER as QUEUES
from fakemq.store.queue_folders import NoQueueError, queue_folder, queue_id_of
from fakemq.text_files import DiskTextFile

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt

PARTS = ("commitlog", "consumequeue", "index", "config")
"""A folder with at least one of these is the folder of a node."""

_OPEN_FILES = 64
_NAME_DIGITS = 20


class OpenFiles:
    """Files mapped for reading; only the 64 last used stay mapped."""

    def __init__(self) -> None:
        self._maps: OrderedDict[str, mmap.mmap | bytes] = OrderedDict()

    def get(self, path: str) -> mmap.mmap | bytes:
        """Return the bytes of a file; raise ConfigError if it cannot be read."""
        found = self._maps.pop(path, None)
        if found is None:
            found = _mapped(path)
            if len(self._maps) >= _OPEN_FILES:
                self._maps.popitem(last=False)
        self._maps[path] = found
        return found


def _mapped(path: str) -> mmap.mmap | bytes:
    try:
        with open(path, "rb", opener=open_regular) as file:
            if not os.fstat(file.fileno()).st_size:
                return b""  # an empty file cannot be mapped
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise cannot_read(path, error) from None


def cannot_read(path: str, error: OSError) -> ConfigError:
    """Return the error for a file or a folder of a store that cannot be read."""
    return ConfigError(printable(f"{path}: cannot be read: {error.strerror}"))


class StoredFile:
    """One of the files of a row; ``offset``, of its first byte, is its name."""

    __slots__ = ("_files", "name", "offset", "path", "size_bytes")

    def __init__(self, files: OpenFiles, path: str, name: str) -> None:
        self._files = files
        self.path = path
        self.name = name
        self.offset = int(os.path.basename(path))
        try:
            require_regular(path)
            self.size_bytes = os.path.getsize(path)
        except OSError as error:
            raise cannot_read(path, error) from None

    @property
    def data(self) -> mmap.mmap | bytes:
        return self._files.get(self.path)

    def data_from(self, position: int) -> int | None:
        """Return the first position from ``position`` on with a non-zero byte; None if none has."""
        with self.opened() as file:
            while position < self.size_bytes:
                try:
                    position = max(position, os.lseek(file.fileno(), position, os.SEEK_DATA))
                except OSError:  # nothing but a hole is left
                    return None
                piece = self.data[position : position + (1 << 16)]
                left = len(piece.lstrip(b"\0"))
                if left:
                    return position + len(piece) - left
                position += len(piece)
        return None

    def opened(self) -> BufferedReader:
        """Return the file, open for reading; raise ConfigError if that is not possible."""
        try:
            return open(self.path, "rb", opener=open_regular)
        except OSError as error:
            raise cannot_read(self.path, error) from None


class Row:
    """Files that are addressed as one long file, such as a commit log."""

    def __init__(self, files: OpenFiles, folder: str, name: str) -> None:
        self.folder = folder
        self.name = name
        self.files = [
            StoredFile(files, os.path.join(folder, one), f"{name}/{one}")
            for one in listed(folder)
            if len(one) == _NAME_DIGITS and one.isdecimal()
        ]

    @property
    def file_size_bytes(self) -> int:
        return self.files[0].size_bytes if self.files else 0

    @property
    def min_offset(self) -> int:
        return self.files[0].offset if self.files else 0

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
        position = offset - file.offset
        data = file.data[position : position + size_bytes]
        return data if len(data) == size_bytes else None


class StoredNode:
    """The store files and config files of one node."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.name = os.path.basename(os.path.abspath(root))
        self._files = OpenFiles()
        self.log = Row(self._files, os.path.join(root, "commitlog"), "commitlog")
        self._queues: dict[tuple[str, int], Row | None] = {}
        self._last_asked: tuple[int, MessageExt | None] = (-1, None)

    def queues(self) -> Iterator[tuple[str, int, Row]]:
        """Yield topic, queue id and files of every consume queue, sorted."""
        folder = os.path.join(self.root, QUEUES)
        for topic in listed(folder):
            ids = map(queue_id_of, listed(os.path.join(folder, topic)))
            for queue_id in sorted(one for one in ids if one is not None):
                row = self.queue(topic, queue_id)
                if row is not None:
                    yield topic, queue_id, row

    def queue(self, topic: str, queue_id: int) -> Row | None:
        """Return the files of one consume queue; None if it has no folder, or cannot have one."""
        key = topic, queue_id
        if key not in self._queues:
            self._queues[key] = self._queue(topic, queue_id)
        return self._queues[key]

    def _queue(self, topic: str, queue_id: int) -> Row | None:
        try:
            name = queue_folder(topic, queue_id)
        except NoQueueError:
            return None
        folder = os.path.join(self.root, *name.split("/"))
        return Row(self._files, folder, name) if os.path.isdir(folder) else None

    def index_files(self) -> list[StoredFile]:
        """Return the index files, oldest first."""
        folder = os.path.join(self.root, "index")
        return [
            StoredFile(self._files, os.path.join(folder, name), f"index/{name}")
            for name in listed(folder)
            if name.isdecimal()
        ]

    def record(self, phy_offset: int) -> MessageExt | None:
        """Return the complete record at an offset, or None; its CRC is not checked."""
        if (
            phy_offset != self._last_asked[0]
        ):  # the index often has several successive entries for one record
            self._last_asked = phy_offset, self._read_record(phy_offset)
        return self._last_asked[1]

    def _read_record(self, phy_offset: int) -> MessageExt | None:
        head = self.log.read(phy_offset, 4)
        if head is None:
            return None
        data = self.log.read(phy_offset, int.from_bytes(head, signed=True))
        try:
            return None if not data else decode_record(data)
        except RemoteProtocolError:
            return None

    def checkpoint(self) -> bytes | None:
        path = os.path.join(self.root, "checkpoint")
        return bytes(self._files.get(path)) if os.path.lexists(path) else None

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


def find_nodes(path: str) -> list[StoredNode]:
    """Return the nodes in a directory: the directory itself, or those below it.

    Raise ConfigError if there is no store.
    """
    if not os.path.isdir(path):
        raise ConfigError(printable(f"{path}: there is no such directory"))
    below = [path] if is_node(path) else [os.path.join(path, name) for name in listed(path)]
    nodes = [StoredNode(one) for one in below if is_node(one)]
    if not nodes:
        raise ConfigError(
            f"{path}: no store: neither it nor a directory in it has any of {', '.join(PARTS)}"
        )
    return nodes


def require_logs(nodes: list[StoredNode]) -> None:
    """Raise ConfigError for a store whose commit log is in another folder."""
    for node in nodes:
        if not node.log.files and any(row.files for _, _, row in node.queues()):
            raise ConfigError(
                f"{node.root}: it has consume queues and no commit log; if that is elsewhere"
                f" (storePathCommitLog), link it to {os.path.join(node.root, 'commitlog')}"
            )


def is_node(path: str) -> bool:
    """Return whether a folder is that of a node."""
    return any(os.path.isdir(os.path.join(path, part)) for part in PARTS)
