"""The command ``dump``, from the directory to the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from fakemq.clock.progress import ProgressBar
from fakemq.dump import rows, show
from fakemq.dump.check import check
from fakemq.errors import ConfigError, counted, did_you_mean
from fakemq.store.stored_node import find_nodes, require_logs

if TYPE_CHECKING:
    from fakemq.store.stored_entries import Passed
    from fakemq.store.stored_node import StoredNode

_LOOK_EVERY = 1_024
"""In how many records the clock is read once."""

FOUND = 1
"""The exit code of a check with findings."""

Rows: TypeAlias = "Callable[[StoredNode, rows.Selection, Passed], Iterator[rows.Row]]"

PARTS: dict[str, Rows] = {
    "commitlog": rows.log_rows,
    "consumequeue": rows.queue_rows,
    "index": rows.index_rows,
    "offsets": rows.offset_rows,
    "config": rows.config_rows,
}


def dump(
    path: str,
    write: show.Write,
    *,
    log_folders: Sequence[str] = (),
    parts: Sequence[str] = (),
    topic: str | None = None,
    queue_id: int | None = None,
    limit: int | None = None,
    as_json: bool = False,
) -> int:
    """Show the store, all or only ``parts``, at most ``limit`` rows of each; return 0.

    ``log_folders`` are as for `find_nodes`.
    Raise ConfigError for a directory that is no store or cannot be read, and for a topic of which
    it has nothing.
    """
    nodes = find_nodes(path, log_folders)
    require_logs(nodes)
    of = rows.Selection(topic, queue_id)
    shown = 0

    def noting(found: Iterator[rows.Row]) -> Iterator[rows.Row]:
        nonlocal shown
        for row in found:
            shown += 1
            yield row

    with _progress(nodes) as progress:
        # A bar among rows on the same terminal would be in the way.
        passed = progress.passed if not sys.stdout.isatty() else _ignore
        for node in nodes:
            for part in parts or PARTS:
                found = noting(islice(PARTS[part](node, of, passed), limit))
                if as_json:
                    for row in found:
                        write(show.json_line(part, node.name, row))
                else:
                    write(f"-- {part} of {node.name}")
                    show.table(part, found, write)
    if topic is not None and not shown:
        known = sorted({one for node in nodes for one in rows.topics(node)})
        if topic not in known:
            raise ConfigError(
                f"topic={topic}: {path} has no such topic{did_you_mean(topic, known)}"
            )
    return 0


def check_store(
    path: str, write: show.Write, *, log_folders: Sequence[str] = (), as_json: bool = False
) -> int:
    """Print one line for each finding; return `FOUND`, or 0 if there is none."""
    nodes = find_nodes(path, log_folders)
    count = 0
    with _progress(nodes) as progress:
        for node in nodes:
            for finding in check(node, progress.passed):
                count += 1
                progress.clear()
                if as_json:
                    write(show.json_line("finding", node.name, finding._asdict()))
                else:
                    where = f"{node.name}/" if len(nodes) > 1 else ""
                    write(f"{where}{finding.file}:{finding.offset}: {finding.text}")
    if not as_json:
        # A folder of config files alone has few of them that could be wrong, and no message.
        empty = [node.name for node in nodes if not count and not node.log.files]
        without = f"; there is no file of a commit log in {', '.join(empty)}" if empty else ""
        write(f"{counted(count, 'finding')} in {', '.join(node.name for node in nodes)}{without}")
    return FOUND if count else 0


def _progress(nodes: Sequence[StoredNode]) -> ProgressBar:
    return ProgressBar(sum(node.size_bytes for node in nodes), sys.stderr, look_every=_LOOK_EVERY)


def _ignore(size_bytes: int) -> None:
    pass
