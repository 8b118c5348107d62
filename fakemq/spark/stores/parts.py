"""Into what parts a commit log is cut, so that many workers can read it at the same time.

The driver looks at names, sizes and the very ends of files. Where a range of bytes begins and ends
exactly, at a record, its worker finds out: `fakemq.spark.stores.log_walk.LogFile.boundary`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from fakemq.dump.stored import find_nodes
from fakemq.errors import ConfigError
from fakemq.spark.stores.log_walk import LARGEST_RECORD_BYTES
from fakemq.spark.stores.options import NAME

if TYPE_CHECKING:
    from fakemq.dump.stored import StoredFile, StoredNode
    from fakemq.spark.stores.options import StoreOptions

_NODE = re.compile(r"(?P<broker>.+)-\d+")
_PIECE_BYTES = 1 << 20


@dataclass
class LogPart(InputPartition):
    """What begins in a range of one commit-log file."""

    root: str
    node: str
    name: str
    """The file, below ``root``; its last part is the offset of its first byte."""
    begin: int
    end: int
    """Bytes from the file's begin; the boundaries of records at or behind them count."""
    limit: int
    """What is read of the file at all, by all its parts."""
    is_last: bool
    """Nothing follows: the log ends in this file, perhaps in the middle of a record."""
    gap: str
    """What is missing in front of the file; "" for nothing."""


def nodes_of(options: StoreOptions) -> list[StoredNode]:
    """The nodes below all paths, each once; ConfigError for a path that is no store.

    Those in folders of one name, as Java's stores often are, get as much of their paths in front
    of it as tells them apart.
    """
    found: dict[str, StoredNode] = {}
    for path in options.paths:
        try:
            nodes = find_nodes(path)
        except ConfigError as error:
            raise ConfigError(f"{NAME}: {error}") from None
        for node in nodes:
            found.setdefault(os.path.realpath(node.root), node)
    _tell_apart(list(found.values()))
    return list(found.values())


def _tell_apart(nodes: Sequence[StoredNode]) -> None:
    names = [node.name for node in nodes]
    if len(set(names)) == len(names):
        return
    paths = [PurePath(os.path.abspath(node.root)).parts for node in nodes]
    for node, parts in zip(nodes, paths, strict=True):
        depth = 1
        while sum(other[-depth:] == parts[-depth:] for other in paths) > 1:
            depth += 1
        node.name = "/".join(parts[-depth:])


def broker_of(node: str) -> str | None:
    """The broker's name in a folder's, which is ``broker-a-0`` where fakemq made it.

    No record and no file of a store has it.
    """
    found = _NODE.fullmatch(os.path.basename(node))
    return found["broker"] if found else None


def log_parts(node: StoredNode, options: StoreOptions) -> Iterator[LogPart]:
    """The parts of one node's commit log, in its order."""
    files = node.log.files
    ends = [data_end(file) for file in files]
    last = max((at for at, end in enumerate(ends) if end), default=-1)
    behind = None
    for at, file in enumerate(files[: last + 1]):
        # What is written behind this end from now on is not read, so that no two parts read it.
        end = ends[at] if at == last else file.size_bytes
        gap = ""
        if behind is not None and file.offset != behind:
            gap = f"the file before ends at {behind}, this one begins at {file.offset}"
        behind = file.offset + file.size_bytes
        cuts = [*_cuts(end, options.max_partition_bytes), end]
        for begin, until in pairwise(cuts):
            yield LogPart(
                os.path.abspath(node.root),
                node.name,
                file.name,
                begin,
                until,
                end,
                at == last,
                "" if begin else gap,
            )


def _cuts(end: int, max_bytes: int) -> Iterator[int]:
    """Where parts begin. None begins where a broker may be writing at this moment."""
    yield 0
    yield from range(max_bytes, end - LARGEST_RECORD_BYTES, max_bytes)


def data_end(file: StoredFile) -> int:
    """The place behind a file's last byte that is no zero; holes cost nothing."""
    with open(file.path, "rb") as opened:
        for begin, end in reversed(list(_extents(opened.fileno(), file.size_bytes))):
            while end > begin:
                at = max(begin, end - _PIECE_BYTES)
                left = len(os.pread(opened.fileno(), end - at, at).rstrip(b"\0"))
                if left:
                    return at + left
                end = at
    return 0


def _extents(descriptor: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Where a file is not a hole."""
    at = 0
    while at < size_bytes:
        try:
            begin = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            return
        at = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, min(at, size_bytes)
