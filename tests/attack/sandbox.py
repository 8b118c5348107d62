"""A store deep in a tree of directories that are not its own, and what changed around it.

Two looks find a path that leaves the store. The tree around it is compared before and after. And
the server under attack reports by an audit hook of Python each file that it opens to write, each
directory that it makes, and each path that it removes or renames, wherever that is.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.imports import ROOT

_DEPTH = 6
_SENTINELS = ("pwned", "lock", "abort", "config", "topics.json", "x")

_INSIDE = re.compile(
    r"""(?xs)
    lock | abort | checkpoint | timerwheel | fakemq\.seal
    | (commitlog | index | timerlog) (/ \d{17,20})?
    | consumequeue (/ [^/]+ (/ \d{1,10} (/ \d{20})?)?)?
    | config (/ timercheck | / (
          (topics | subscriptionGroup | consumerOffset | consumerFilter | delayOffset
          | consumerOrderInfo | messageRequestMode) \.json
          | timermetrics
      ) (\.bak)?)?
    """
)
"""What a broker's store may contain, relative to its directory: a topic's name is one folder."""


class Sandbox:
    """The directories of one attack, below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        deep = folder.joinpath(*(f"d{number}" for number in range(_DEPTH)))
        self.store = deep / "store"
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        deep.mkdir(parents=True)
        for number, place in enumerate((folder, *list(deep.relative_to(folder).parents)[::-1])):
            where = folder / place
            for name in _SENTINELS:
                path = where / f"{name}{number or ''}"
                path.write_text(f"sentinel {path.name}")
        self._before = dict(self._outside())

    def _outside(self) -> Iterator[tuple[str, object]]:
        """Yield each path outside of the store, with what it contains."""
        for place, folders, files in os.walk(self.folder):
            folders[:] = [name for name in folders if Path(place, name) != self.store]
            for name in folders:
                yield os.path.relpath(Path(place, name), self.folder), "a directory"
            for name in files:
                path = Path(place, name)
                yield os.path.relpath(path, self.folder), path.read_bytes()[:1000]

    def escapes(self) -> Iterator[str]:
        """Yield what changed around the store, and names in it that no broker makes."""
        after = dict(self._outside())
        for name in sorted(self._before.keys() | after.keys()):
            if self._before.get(name) != after.get(name):
                yield f"changed outside of the store: {name!r}, now {after.get(name)!r:.80}"
        for node in sorted(self.store.iterdir()) if self.store.exists() else ():
            for path in sorted(node.rglob("*")):
                name = str(path.relative_to(node))
                if not _INSIDE.fullmatch(name):
                    yield f"in the store of {node.name}: {name!r}"


_CHANGES = frozenset(
    {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
)
_READABLE = tuple(
    str(path) for path in {sys.prefix, sys.base_prefix, *sys.path, ROOT, "/usr", "/lib", "/etc"}
    if path
)  # fmt: skip
_SYSTEM = ("/proc/", "/sys/", "/dev/")


def watch_paths(store: Path, report: Callable[[str], None]) -> None:
    """Report, until the process ends, each path outside of ``store`` that is opened or changed.

    The files of Python and of the system may be read.
    """
    inside = os.path.abspath(store)

    def look(path: object, what: str, changes: bool) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor
        place = os.path.abspath(os.fsdecode(path))
        if place == inside or place.startswith(inside + os.sep) or place.startswith(_SYSTEM):
            return
        if changes or not place.startswith(_READABLE):
            report(f"{what} of {place!r}, outside of the store")

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event == "open":
            flags = args[2]
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            look(args[0], "open to write" if writes else "open", bool(writes))
        elif event in _CHANGES:
            look(args[0], event, True)
            if event in ("os.rename", "os.link"):
                look(args[1], event, True)

    sys.addaudithook(hook)
