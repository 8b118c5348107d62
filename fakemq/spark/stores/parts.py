"""Divides a commit log into parts, so that many workers can read it at the same time.

The driver reads only names, sizes and the ends of files. The worker of a part finds the records at
its exact begin and end: `fakemq.spark.stores.log_walk.LogFile.boundary`.
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

from fakemq.errors import ConfigError
from fakemq.protocol.message import LARGEST_RECORD_BYTES
from fakemq.spark.stores.options import NAME
from fakemq.store.stored_node import find_nodes

if TYPE_CHECKING:
    from fakemq.spark.stores.options import StoreOptions
    from fakemq.store.stored_node import StoredNode

_NODE = re.compile(r"(?P<broker>.+)-\d+")


@dataclass
class LogPart(InputPartition):
    """The records that begin in a range of one commit-log file."""

    path: str
    node: str
    name: str
    """The file, as the node names it; its base name is the log offset of its first byte."""
    begin: int
    end: int
    """Bytes from the begin of the file; each is moved to the next record boundary."""
    limit: int
    """Up to here all parts of the file together read it."""
    is_last: bool
    """True if the log ends in this file, perhaps in the middle of a record."""
    gap: str
    """The bytes that are missing before the file; "" for none."""


def nodes_of(options: StoreOptions) -> list[StoredNode]:
    """Return the nodes below all paths, each once. Raise ConfigError for a path without a store.

    Nodes in folders with equal names, as Java's stores often are, are named by as many parts of
    their paths as distinguish them.
    """
    found: dict[str, StoredNode] = {}
    for path in options.paths:
        try:
            nodes = find_nodes(path, options.log_folders)
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
    """Return the broker name in a folder's name, which is ``broker-a-0`` for a store of fakemq.

    No record and no file of a store contains the broker name.
    """
    found = _NODE.fullmatch(os.path.basename(node))
    return found["broker"] if found else None


def log_parts(node: StoredNode, options: StoreOptions) -> Iterator[LogPart]:
    """Yield the parts of one node's commit log, in log order."""
    files = node.log.files
    ends = [file.data_end() for file in files]
    last = max((at for at, end in enumerate(ends) if end), default=-1)
    behind = None
    for at, file in enumerate(files[: last + 1]):
        # Bytes written after this end are not read, so that no two parts read the same record.
        end = ends[at] if at == last else file.size_bytes
        gap = ""
        if behind is not None and file.offset != behind:
            gap = f"the previous file ends at {behind}, this one begins at {file.offset}"
        behind = file.offset + file.size_bytes
        cuts = [*_cuts(end, options.max_partition_bytes), end]
        for begin, until in pairwise(cuts):
            yield LogPart(
                os.path.abspath(file.path),
                node.name,
                file.name,
                begin,
                until,
                end,
                at == last,
                "" if begin else gap,
            )


def _cuts(end: int, max_bytes: int) -> Iterator[int]:
    """Yield where parts begin. None begins where a broker may be writing at this moment."""
    yield 0
    yield from range(max_bytes, end - LARGEST_RECORD_BYTES, max_bytes)
