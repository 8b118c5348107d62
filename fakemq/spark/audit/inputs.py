"""The inputs of an audit: store directories by node, and files of other programs."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fakemq.config.log_folders import SEPARATOR
from fakemq.errors import ConfigError, StoreError
from fakemq.files.texts import DiskTextFile
from fakemq.ha.autoswitch import epoch_file
from fakemq.ha.autoswitch.epochs import EpochCache
from fakemq.protocol.java import LONG_MAX
from fakemq.store.stored_node import StoredNode, find_nodes, is_node, require_logs

NUMBERED: Final = "^(.+)[-@]([0-9]+)$"
"""A name with a number: ``broker-a-1``, or ``broker-a@1``, which controllers may make a master."""


class RunNode(NamedTuple):
    """One node's store."""

    name: str
    broker: str
    broker_id: int
    root: str
    log_folders: tuple[str, ...] = ()
    """Those of the commit log; none if it is below ``root``."""
    is_master: bool = False
    """Whether clients read this store: it has the id 0, or the newest epoch of a controller."""
    cut_at: int = LONG_MAX
    """Where its log ends once its master, which has a newer epoch, has it as a slave."""

    def stored(self) -> StoredNode:
        """Return the node's files."""
        return StoredNode(self.root, self.log_folders)


def split_name(name: str) -> tuple[str, int]:
    """Return broker and number of a node: ``broker-a-1`` is the first slave of ``broker-a``."""
    found = re.match(NUMBERED, name, re.DOTALL)
    return (found[1], int(found[2])) if found else (name, 0)


def find_stores(specs: Sequence[str]) -> list[RunNode]:
    """Return the nodes whose stores are in ``DIR``, or are given as ``NAME=DIR``.

    The folders of a node's commit log may follow, separated by commas: ``NAME=DIR,LOG,LOG``.
    Raise ConfigError for a directory without a store, and for two nodes with one name.
    """
    nodes = [node for spec in specs for node in _nodes_of(spec)]
    by_name: dict[str, RunNode] = {}
    for node in nodes:
        other = by_name.setdefault(node.name, node)
        if other is not node:
            raise ConfigError(
                f"{other.root} and {node.root} would both be {node.name}; say which is which"
                f" as {node.broker}-0=DIR {node.broker}-1=DIR"
            )
    return sorted(_with_masters(nodes))


def _with_masters(nodes: Sequence[RunNode]) -> Iterable[RunNode]:
    """Say of each node whether it is its broker's master, and what its master would cut.

    If stores of a broker have epochs, it is the first of those with the newest one, whatever its
    number: a master that was replaced while it was away does not have it.
    """
    epochs = {node: _epochs(node) for node in nodes}
    for node in nodes:
        of_broker = [one for one in nodes if one.broker == node.broker]
        newest = max(epochs[one].last_epoch() for one in of_broker)
        first = min(one for one in of_broker if epochs[one].last_epoch() == newest)
        if not newest:
            yield node._replace(is_master=node.broker_id == 0)
        elif not len(epochs[node]):  # Java copies such a log whole, and so does fakemq
            yield node
        else:
            common = epochs[first].consistent_point(epochs[node])
            yield node._replace(is_master=node is first, cut_at=max(0, common))


def _epochs(node: RunNode) -> EpochCache:
    """Return the epochs of a store; none if no controller made a master of its broker."""
    try:
        found = epoch_file.read(DiskTextFile(os.path.join(node.root, epoch_file.NAME)))
    except StoreError as error:
        raise ConfigError(str(error)) from None
    return EpochCache.of(found)


def _nodes_of(spec: str) -> list[RunNode]:
    name, equals, path = spec.partition("=")
    directory, log_folders = _folders_of(spec)
    if not equals or os.path.isdir(directory):
        found = find_nodes(directory, log_folders)
        require_logs(found)
        roots = [(one.name, one.root) for one in found]
    else:
        if not name or "/" in name:
            raise ConfigError(f"{spec}: neither an existing directory nor NAME=DIR")
        directory, log_folders = _folders_of(path)
        if not is_node(directory):
            raise ConfigError(f"{directory}: no store; {name}= needs the directory of one node")
        require_logs(find_nodes(directory, log_folders))
        roots = [(name, directory)]
    return [
        RunNode(one, *split_name(one), os.path.abspath(root), log_folders) for one, root in roots
    ]


def _folders_of(path: str) -> tuple[str, tuple[str, ...]]:
    """Return the directory of a store and the folders of its log; an existing path is one."""
    directory, *folders = [path] if os.path.exists(path) else path.split(SEPARATOR)
    return directory, tuple(map(os.path.abspath, folders))


def is_parquet(path: str) -> bool:
    """Return True if a file, or the content of a directory, is Parquet; all others are JSON lines.

    Raise ConfigError if it does not exist. A remote file is judged by its name.
    """
    if "://" in path:
        return path.rstrip("/").endswith(".parquet")
    if not os.path.exists(path):
        raise ConfigError(f"{path}: there is no such file")
    if os.path.isdir(path):
        return bool(glob.glob(os.path.join(glob.escape(path), "**", "*.parquet"), recursive=True))
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
