"""The folders of a broker's commit log, as its config names them.

Source: store/CommitLog.java#CommitLog, store/MultiPathMappedFileQueue.java (4.9.7)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fakemq.errors import ConfigError

if TYPE_CHECKING:
    from fakemq.config.model import BrokerConfig

SEPARATOR = ","


class LogPaths(NamedTuple):
    """Folders of a commit log; each is a path as the user wrote it."""

    named: tuple[str, ...]
    """Those of ``storePathCommitLog``, in its order."""
    read_only: tuple[str, ...] = ()
    """Only files that are there already are read in these."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every folder once."""
        return tuple(dict.fromkeys((*self.named, *self.read_only)))

    @property
    def writable(self) -> tuple[str, ...]:
        """Those that new files go into, as Java sorts them."""
        return tuple(sorted(set(self.named) - set(self.read_only)))


def log_paths(config: BrokerConfig) -> LogPaths | None:
    """Return the folders of a broker's log; None for ``commitlog`` in the folder of the store.

    Read-only folders count only beside a ``storePathCommitLog`` with a comma, as in Java. Raise
    ConfigError for folders that Java would take for others than the user meant, or could not write.
    """
    text = config.store_path_commit_log
    if not text or config.store_path_root_dir is None:
        return None
    if SEPARATOR not in text:
        return LogPaths((text,))
    node = config.node_name
    found = LogPaths(
        _paths(node, "storePathCommitLog", text),
        _paths(node, "readOnlyCommitLogStorePaths", config.read_only_commit_log_store_paths or ""),
    )
    if not found.writable:
        raise ConfigError(
            f"{node}: storePathCommitLog={text}: expected a folder for new files too, one that"
            " readOnlyCommitLogStorePaths does not name"
        )
    spelled: dict[str, str] = {}
    for path in found.all:
        other = spelled.setdefault(os.path.abspath(path), path)
        if other != path:
            raise ConfigError(
                f"{node}: storePathCommitLog={text}: {other} and {path} are one folder"
            )
    return found


def _paths(node: str, key: str, text: str) -> tuple[str, ...]:
    """Return the paths of a list as Java splits it: only the ends of the whole are trimmed."""
    parts = text.strip().split(SEPARATOR)
    while parts and not parts[-1]:
        parts.pop()
    for part in parts:
        if not part or part != part.strip():
            raise ConfigError(
                f"{node}: {key}={text}: expected folders with one comma between two, and no blanks"
                f" beside it; {part!r} is none"
            )
    return tuple(dict.fromkeys(parts))
