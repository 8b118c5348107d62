"""All that a program does to the files below a folder, call by call; and any prefix of it again.

What a killed process leaves is what its calls so far have done. So one run shows what each kill
would leave: `RecordedDisk` writes down the calls, `states` makes the folder after each of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

from fakemq.store.directory_file import PAGE_BYTES, extents

CHANGES = ("write", "pwrite", "ftruncate", "unlink", "rmdir", "mkdir", "replace", "rename", "utime")
"""The functions of `os` that change files, beside `os.open`."""
SYNCS = ("fsync", "fdatasync")
NOT_USED = (
    *("truncate", "link", "symlink", "posix_fallocate", "pwritev", "writev", "sendfile"),
    *("copy_file_range", "removedirs", "renames", "mkfifo", "mknod", "remove"),
)
"""Further ones, which would be missed here: no code of a store may call them."""


class Call(NamedTuple):
    """One call. In ``arguments`` a descriptor is the number of its ``open``."""

    name: str
    arguments: tuple[Any, ...]
    at_ms: int
    """The cluster's time."""


class Note(NamedTuple):
    """What the program had promised between two calls."""

    value: Any
    at_ms: int


class RecordedDisk:
    """Records the calls of this process below ``folder`` during a ``with`` block.

    ``now_ms`` returns the cluster's time.
    """

    def __init__(self, folder: Path, now_ms: Callable[[], int]) -> None:
        self.folder = folder
        self.entries: list[Call | Note] = []
        self._now_ms = now_ms
        self._handles: dict[int, int] = {}  # descriptor -> number of its open
        self._opens = 0
        self._real = {name: getattr(os, name) for name in (*CHANGES, *SYNCS, "open", "close")}

    def note(self, value: Any) -> None:
        """Write down what is promised from now on."""
        self.entries.append(Note(value, self._now_ms()))

    def __enter__(self) -> Self:
        for name in (*CHANGES, *SYNCS):
            setattr(os, name, self._recorded(name))
        os.open = self._open
        setattr(os, "close", self._close)  # noqa: B010 - mypy knows its argument by another name
        return self

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _is_inside(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and self.folder in Path(path).parents

    def _recorded(self, name: str) -> Callable[..., Any]:
        real = self._real[name]

        def call(first: Any, *others: Any, **named: Any) -> Any:
            result = real(first, *others, **named)
            what: int | str | None = self._handles.get(first) if isinstance(first, int) else None
            if what is None and self._is_inside(first):
                what = self._relative(first)
            if what is not None:
                kept = [self._kept(one) for one in (*others, *named.values())]
                self.entries.append(Call(name, (what, *kept), self._now_ms()))
            return result

        return call

    def _kept(self, argument: Any) -> Any:
        if isinstance(argument, bytes | bytearray | memoryview):
            return bytes(argument)
        return self._relative(argument) if self._is_inside(argument) else argument

    def _relative(self, path: str) -> str:
        return str(Path(path).relative_to(self.folder))

    def _open(self, path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        number: int = self._real["open"](path, flags, mode, **more)
        if self._is_inside(path):
            self._opens += 1
            self._handles[number] = self._opens
            kept = (self._relative(path), flags, mode)
            self.entries.append(Call("open", (self._opens, *kept), self._now_ms()))
        return number

    def _close(self, number: int) -> None:
        self._handles.pop(number, None)
        self._real["close"](number)


class State(NamedTuple):
    """A folder as one kill leaves it."""

    folder: Path
    number: int
    """How many calls were done that changed something."""
    torn: bool
    """Whether the last write was done in part."""
    notes: list[Any]
    """All that was promised before."""
    at_ms: int
    last: Call

    def __str__(self) -> str:
        arguments = [repr(one)[:60] for one in self.last.arguments]
        torn = ", in part" if self.torn else ""
        return f"after call {self.number}: {self.last.name}({', '.join(arguments)}){torn}"


def states(
    disk: RecordedDisk,
    begun: Path,
    to: Path,
    random: Random,
    *,
    wanted: Callable[[int], bool] = lambda number: True,
    loses_pages: bool = False,
) -> Iterator[State]:
    """Yield what a kill after each call leaves; the next one takes the place of its folder.

    ``begun`` is a copy of the folder before the first call, ``wanted`` says after which calls, of
    those that change something.
    Sometimes the kill comes in the middle of a write. With ``loses_pages`` the power fails as well,
    and some pages are lost that were not flushed.
    """
    mirror = Mirror(to / "mirror", begun)
    notes: list[Any] = []
    number = 0
    try:
        for entry in disk.entries:
            if isinstance(entry, Note):
                notes.append(entry.value)
                continue
            torn = entry.name == "pwrite" and len(entry.arguments[1]) > 1 and random.random() < 0.3
            if torn and wanted(number + 1):
                handle, data, at = entry.arguments
                half = data[: random.randrange(1, len(data))]
                mirror.do(Call("pwrite", (handle, half, at), entry.at_ms))
                yield _state(mirror, to, number + 1, True, notes, entry, random, loses_pages)
            if mirror.do(entry):
                number += 1
                if wanted(number):
                    yield _state(mirror, to, number, False, notes, entry, random, loses_pages)
    finally:
        mirror.close()


def _state(
    mirror: Mirror,
    to: Path,
    number: int,
    torn: bool,
    notes: list[Any],
    entry: Call,
    random: Random,
    loses_pages: bool,
) -> State:
    folder = to / "state"
    shutil.rmtree(folder, ignore_errors=True)
    copy_tree(mirror.folder, folder)
    if loses_pages:
        mirror.lose_pages(folder, random)
    return State(folder, number, torn, list(notes), entry.at_ms, entry)


class Mirror:
    """A folder in which recorded calls are done again."""

    def __init__(self, folder: Path, begun: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        copy_tree(begun, folder)
        self._numbers: dict[int, int] = {}  # number of an open -> descriptor
        self._paths: dict[int, str] = {}
        self._before: dict[str, dict[int, bytes]] = {}  # path -> page -> what the disk has

    def do(self, call: Call) -> bool:
        """Do a call; return whether it changed anything."""
        name, (what, *others) = call.name, call.arguments
        if name == "open":
            path, flags, mode = others
            full_path = self.folder / path
            there = full_path.exists()
            self._numbers[what] = os.open(full_path, flags & ~os.O_EXCL, mode)
            self._paths[what] = path
            return not there or bool(flags & os.O_TRUNC)
        if name in SYNCS:
            self._before.pop(self._paths[what], None)
            return False
        if name == "pwrite":
            self._keep_pages(what, len(others[0]), others[1])
        first = self._numbers[what] if isinstance(what, int) else self.folder / what
        if name in ("replace", "rename"):
            others = [self.folder / others[0]]
        if name == "utime":
            os.utime(first, ns=others[0])
            return False
        getattr(os, name)(first, *others)
        return True

    def _keep_pages(self, what: int, size_bytes: int, at: int) -> None:
        pages = self._before.setdefault(self._paths[what], {})
        for page in range(at // PAGE_BYTES, -(-(at + size_bytes) // PAGE_BYTES)):
            if page not in pages:
                pages[page] = os.pread(self._numbers[what], PAGE_BYTES, page * PAGE_BYTES)

    def lose_pages(self, copy: Path, random: Random) -> None:
        """Undo some writes in a copy that the disk need not have."""
        for path, pages in self._before.items():
            if (copy / path).exists():
                with (copy / path).open("r+b") as file:
                    for page, before in pages.items():
                        if random.random() < 0.5:
                            file.seek(page * PAGE_BYTES)
                            file.write(before)

    def close(self) -> None:
        for number in self._numbers.values():
            os.close(number)
        shutil.rmtree(self.folder)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder with its holes and times."""
    target.mkdir(parents=True)
    for entry in os.scandir(source):
        if entry.is_dir():
            copy_tree(Path(entry.path), target / entry.name)
            continue
        status = entry.stat()
        with open(entry.path, "rb") as old, (target / entry.name).open("wb") as new:
            for begin, end in extents(old.fileno(), 0, status.st_size):
                new.seek(begin)
                new.write(os.pread(old.fileno(), end - begin, begin))
            new.truncate(status.st_size)
        os.utime(target / entry.name, ns=(status.st_atime_ns, status.st_mtime_ns))
