"""The bytes of a whole store as a value.

`take` makes it from a store, `Capture` does so in steps, `read` makes it from a directory,
`restore` puts it into a store.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import finished
from fakemq.errors import StoreError
from fakemq.files.regular import open_regular
from fakemq.journal.journal import Journal
from fakemq.store import checkpoint as checkpoints
from fakemq.store.checkpoint import StoreCheckpoint
from fakemq.store.commitlog import FOLDER as LOG
from fakemq.store.consumequeue import UNIT_BYTES
from fakemq.store.directory_file import extents
from fakemq.store.directory_files import ABORT, FOLDERS, DirectoryFiles
from fakemq.store.index import ENTRY_BYTES, HEADER_BYTES, SLOT_BYTES
from fakemq.store.index import FOLDER as INDEX
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.queue_folders import EXTENSION_FOLDER
from fakemq.store.queue_folders import FOLDER as QUEUES
from fakemq.store.recovery import Recovery
from fakemq.store.timer import CHECKPOINT_PATH

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.config.log_folders import LogPaths
    from fakemq.config.model import BrokerConfig
    from fakemq.store.files import File, Files
    from fakemq.store.store import MessageStore

_PIECE_BYTES = 1 << 16
_PAGE_BYTES = 1 << 12
_NO_LIMIT_BYTES = 1 << 62
_GROWING = (QUEUES, EXTENSION_FOLDER)


class FileImage(NamedTuple):
    """A file. ``pieces`` are pairs of position and bytes; pieces of zeros are left out."""

    size_bytes: int
    position: int
    mtime_ms: int
    pieces: tuple[tuple[int, bytes], ...]


class StoreImage(NamedTuple):
    """The files of a store by path, and the sizes of its config."""

    files: dict[str, FileImage]
    sizes: dict[str, int]
    """Values of the config's attributes in `SIZES`: bytes, slots, entries."""


SIZES = (
    *("mapped_file_size_commit_log", "mapped_file_size_consume_queue"),
    *("max_hash_slot_num", "max_index_num", "mapped_file_size_consume_queue_ext"),
)


def take(store: MessageStore) -> StoreImage:
    """Return the bytes of a store, with a complete index; of a slave's log only whole records."""
    return finished(Capture(store).image())


class Capture:
    """The bytes of a store at one moment, which `image` reads in steps.

    To be made it takes 0.3 µs for each file. Files only grow, nearly always: the bytes of that
    moment stay where they are. If they do not, the file says so, and these pages of it are read
    before; all of it if it is cut or deleted. Call `end` if `image` is not called up to its end.
    """

    def __init__(self, store: MessageStore) -> None:
        files = store.settled_files()
        self._files = store.files
        self._sizes = {name: getattr(store.config, name) for name in SIZES}
        self._end = store.log.whole_end
        self._all = list(files)
        self._left = {file: (file.position, file.mtime_ms) for file in files}
        """Position and time of the files that have not been begun."""
        self._begun: tuple[File, Iterator[tuple[int, bytes]], list[tuple[int, bytes]]] | None = None
        """The file that is being read: its other pieces, and those that were read."""
        self._images: dict[File, FileImage] = {}
        self._pages: dict[File, dict[int, bytes]] = {}
        """The pages of files that have changed since, as they were, by number."""
        self._error: StoreError | None = None
        """Why a file could not be read before it was changed."""
        self._files.captures.append(self)

    def before_change(self, file: File, start: int, end: int | None) -> None:
        """Read the pages of a file, or all of it, that are about to change.

        A file that cannot be read is an error of this capture, and not of the change: `image`
        raises it.
        """
        try:
            if end is not None:
                if file in self._left or (self._begun is not None and self._begun[0] is file):
                    self._keep(file, start, end)
            elif file in self._left:
                for _ in self._read(file):
                    pass
            elif self._begun is not None and self._begun[0] is file:
                _, others, pieces = self._begun
                pieces += others
        except StoreError as error:
            self._error = error
            self.end()

    def _keep(self, file: File, start: int, end: int) -> None:
        """Keep the pages of a range as they are now."""
        pages = self._pages.setdefault(file, {})
        for page in range(start // _PAGE_BYTES, -(-end // _PAGE_BYTES)):
            if page not in pages:
                at = page * _PAGE_BYTES
                pages[page] = bytes(file.read(at, min(_PAGE_BYTES, file.size_bytes - at)))

    def image(self) -> Steps[StoreImage]:
        """Return work for all files; raise StoreError if one cannot be read."""
        try:
            for file in self._all:
                if self._error is not None:
                    raise self._error
                if file in self._left:
                    yield from self._read(file)
                    yield
            if self._error is not None:
                raise self._error
        finally:
            self.end()
        images = self._images
        files = {file.path: images[file] for file in self._all if file in images}
        return StoreImage(files, self._sizes)

    def end(self) -> None:
        """Read no more; the second call does nothing."""
        if self in self._files.captures:
            self._files.captures.remove(self)

    def _read(self, file: File) -> Steps[None]:
        position, mtime_ms = self._left.pop(file)
        folder, _, name = file.path.partition("/")
        if folder not in FOLDERS and file.path != CHECKPOINT_PATH:
            return
        whole = min(position, max(0, self._end - int(name))) if folder == LOG else position
        if not whole and position:
            return
        pieces: list[tuple[int, bytes]] = []
        others = _pieces(file, whole, self._pages.setdefault(file, {}))
        before, self._begun = self._begun, (file, others, pieces)
        for piece in others:
            pieces.append(piece)
            yield
        self._begun = before
        del self._pages[file]
        pieces = [piece for piece in pieces if piece[1]]
        self._images[file] = FileImage(file.size_bytes, whole, mtime_ms, tuple(pieces))


def restore(store: MessageStore, image: StoreImage, now_ms: int) -> None:
    """Replace a store's content by an image; the store's config must have the image's sizes."""
    _put(store.files, image)
    store.start_empty()
    recovery = Recovery(store, _ignore)
    recovery.adopt(now_ms)
    if store.disk is not None:
        store.disk.emptied(store.index)
        store.disk.flush.everything()
    store.stats.start()
    store.retention.start()


def _put(files: Files, image: StoreImage) -> None:
    """Replace all files by those of an image."""
    files.clear()
    for path, (size_bytes, position, mtime_ms, pieces) in image.files.items():
        folder = path.partition("/")[0]
        file = files.open(
            path, size_bytes, mtime_ms, grows=folder in _GROWING, sparse=folder == INDEX
        )
        # Appended bytes are counted as used, header and slots of an index file are not.
        slots = image.sizes["max_hash_slot_num"]
        fixed = HEADER_BYTES + slots * SLOT_BYTES + ENTRY_BYTES if folder == INDEX else 0
        file.truncate(fixed)
        for start, data in pieces:
            head = data[: max(0, fixed - start)]
            if head:
                file.write_at(start, head, mtime_ms)
            if len(head) < len(data):
                _append_at(file, start + len(head), data[len(head) :], mtime_ms)
        if folder == EXTENSION_FOLDER:
            file.truncate(position)  # behind its units it may be empty to its end
        else:
            _append_at(file, position, b"", mtime_ms)
        file.mtime_ms = mtime_ms


def _append_at(file: File, position: int, data: bytes, mtime_ms: int) -> None:
    """Append zeros up to a position, then ``data``."""
    while (gap_bytes := min(_PIECE_BYTES, position - file.position)) > 0:
        file.append(bytes(gap_bytes), mtime_ms)
    if data:
        file.append(data, mtime_ms)


def _pieces(file: File, end: int, pages: dict[int, bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield position and bytes of the pieces before ``end``; no bytes of one that is all zeros.

    ``pages`` are those that have changed meanwhile, as they were.
    """
    for start, part in file.data():
        for at in range(0, min(len(part), end - start), _PIECE_BYTES):
            piece = bytes(part[at : min(at + _PIECE_BYTES, end - start)])
            if pages:
                piece = _as_before(start + at, piece, pages)
            yield start + at, piece if piece.strip(b"\0") else b""


def _as_before(start: int, piece: bytes, pages: dict[int, bytes]) -> bytes:
    """Return a piece of a file with the pages that it had before."""
    end = start + len(piece)
    found = bytearray(piece)
    for page in range(start // _PAGE_BYTES, -(-end // _PAGE_BYTES)):
        was = pages.get(page)
        if was is not None:
            at = page * _PAGE_BYTES
            low, high = max(start, at), min(end, at + len(was))
            found[low - start : high - start] = was[low - at : high - at]
    return bytes(found)


# -- a directory --------------------------------------------------------------------------------


def read(root: str, config: BrokerConfig, log_paths: LogPaths | None = None) -> StoreImage:
    """Return the store that a broker would have after a start on a copy of this directory.

    The directory is not changed. The log is in ``log_paths``, if these are given. File sizes are
    those of the files found; for files that do not exist, those of ``config``. Raise StoreError if
    no broker could start there.
    """
    from fakemq.store.store import MessageStore

    config = config.copy()
    clock = NodeClock(Clock(frozen=True), config.node_name)
    files = MemoryFiles(clock, _NO_LIMIT_BYTES)
    store = MessageStore(config, files, clock, Journal(Clock()), config.node_name)
    directory = DirectoryFiles(root, clock, log_paths)
    config.assign(_copy(directory, files))
    store.start_empty()
    checkpoint = StoreCheckpoint(files.open(checkpoints.PATH, checkpoints.FILE_BYTES))
    recovery = Recovery(store, _ignore)
    recovery.run(clock.now_ms(), checkpoint, clean=not directory.exists(ABORT))
    return take(store)


def _ignore(path: str, offset: int, cut_bytes: int, why: str) -> None:
    """Report no repair: it is made in a copy, and the directory stays as it is."""


def _copy(directory: DirectoryFiles, files: MemoryFiles) -> dict[str, int]:
    """Copy a directory's files; return the sizes that the config must have."""
    sizes: dict[str, int] = {}
    names = {LOG: SIZES[0], QUEUES: SIZES[1], EXTENSION_FOLDER: SIZES[4]}
    for folder in FOLDERS:
        name = names.get(folder)
        for path in directory.list(folder):
            full_path = directory.path_of(path)
            size_bytes = _copy_file(full_path, path, files)
            if name:
                sizes.setdefault(name, size_bytes)
            elif folder == INDEX:
                sizes |= _index_sizes(full_path, size_bytes)
    for path in (checkpoints.PATH, CHECKPOINT_PATH):
        if directory.exists(path):
            _copy_file(directory.path_of(path), path, files)
    return sizes


def _copy_file(full_path: str, path: str, files: MemoryFiles) -> int:
    try:
        with open(full_path, "rb", opener=open_regular) as source:
            status = os.fstat(source.fileno())
            size_bytes = status.st_size
            grows = path.partition("/")[0] in _GROWING
            mtime_ms = status.st_mtime_ns // 1_000_000
            if size_bytes:
                file = files.open(path, size_bytes, mtime_ms, grows=grows)
                end = 0
                for start, data in _data(source.fileno(), size_bytes):
                    file.write_at(start, data, mtime_ms)
                    end = start + len(data)
                # The zeros at the end of a queue's last entry may be a hole in the file.
                if path.startswith(f"{QUEUES}/"):
                    end += -end % UNIT_BYTES
                elif path.startswith(f"{EXTENSION_FOLDER}/"):
                    from fakemq.store.queue_extension import MAX_UNIT_BYTES  # few stores have one

                    end += MAX_UNIT_BYTES  # so may the bits at the end of its last unit
                file.truncate(min(size_bytes, end))
            return size_bytes
    except OSError as error:
        raise StoreError(f"{full_path}: cannot be read: {error.strerror}") from None


def _data(number: int, size_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield position and bytes of the pieces of a file that are not all zeros."""
    for begin, end in extents(number, 0, size_bytes):
        for at in range(begin, end, _PIECE_BYTES):
            piece = os.pread(number, min(_PIECE_BYTES, end - at), at)
            if piece.strip(b"\0"):
                yield at, piece


def _index_sizes(full_path: str, size_bytes: int) -> dict[str, int]:
    """Return how many slots and entries an index file has, if its entries show that."""
    from fakemq.store.stored_entries import Index  # few clusters start from a copy
    from fakemq.store.stored_file import OpenFiles, StoredFile

    name = os.path.basename(full_path)
    if not name.isdecimal():
        return {}
    slots = Index(StoredFile(OpenFiles(), full_path, name)).slots
    if not slots:
        return {}
    entries = (size_bytes - HEADER_BYTES - slots * SLOT_BYTES) // ENTRY_BYTES
    return {SIZES[2]: slots, SIZES[3]: entries}
