"""The inputs of an audit: store directories by node, and files of other programs."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import NamedTuple

from fakemq.config.log_folders import SEPARATOR
from fakemq.errors import ConfigError
from fakemq.store.stored_node import StoredNode, find_nodes, is_node, require_logs


class RunNode(NamedTuple):
    """One node's store; the master of a broker has the id 0."""

    name: str
    broker: str
    broker_id: int
    root: str
    log_folders: tuple[str, ...] = ()
    """Those of the commit log; none if it is below ``root``."""

    def stored(self) -> StoredNode:
        """Return the node's files."""
        return StoredNode(self.root, self.log_folders)

    @property
    def is_master(self) -> bool:
        return self.broker_id == 0


def split_name(name: str) -> tuple[str, int]:
    """Return broker name and id of a node: ``broker-a-1`` is the first slave of ``broker-a``."""
    broker, dash, number = name.rpartition("-")
    return (broker, int(number)) if dash and broker and number.isdecimal() else (name, 0)


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
    return sorted(nodes)


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
