"""The output of rows and findings: streamed tables and JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fakemq.protocol import fastjson

if TYPE_CHECKING:
    from fakemq.dump.rows import Row

COLUMNS: dict[str, tuple[tuple[str, int], ...]] = {
    "commitlog": (
        *(("phyOffset", -12), ("size", -7), ("topic", 24), ("queueId", -7), ("queueOffset", -11)),
        *(("storeTimestamp", 23), ("bodySize", -8), ("msgId", 32), ("tags", 8), ("keys", 8)),
    ),
    "consumequeue": (
        *(("topic", 24), ("queueId", -7), ("queueOffset", -11), ("phyOffset", -12)),
        *(("size", -7), ("tagsCode", -14)),
    ),
    "index": (
        *(("file", 23), ("entry", -8), ("slot", -8), ("keyHash", -11), ("phyOffset", -12)),
        *(("storeTimestamp", 23), ("previousEntry", -13)),
    ),
    "offsets": (("of", 10), ("name", 24), ("topic", 24), ("queueId", -7), ("offset", -13)),
    "config": (("of", 6), ("name", 32), ("settings", 0)),
}
"""The columns of each part's table and their widths; a negative width aligns right."""

Write = Callable[[str], None]


def table(part: str, rows: Iterable[Row], write: Write) -> None:
    """Write rows under their headline; write nothing if there are none."""
    columns = COLUMNS[part]
    for number, row in enumerate(rows):
        if not number:
            write(_line([(name, width) for name, width in columns]))
        write(_line([(_cell(name, row[name]), width) for name, width in columns]))


def _line(cells: list[tuple[str, int]]) -> str:
    # A text that is too long is not cut; the rest of its line moves to the right.
    padded = [text.rjust(-width) if width < 0 else text.ljust(width) for text, width in cells]
    return "  ".join(padded).rstrip()


def _cell(name: str, value: Any) -> str:
    if name == "storeTimestamp":
        return time_text(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if value.isprintable() else repr(value)[1:-1]
    if isinstance(value, dict):
        return " ".join(
            f"{key}={_cell('', one)}" for key, one in value.items() if key not in _SAID_ALREADY
        )
    return str(value)


_SAID_ALREADY = ("topicName", "groupName", "topic", "consumerGroup", "bloomFilterData")


def time_text(at_ms: int) -> str:
    """Return a time in UTC, or the number itself if it is no valid time."""
    try:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(at_ms)
    return at.strftime("%Y-%m-%d %H:%M:%S.") + f"{at_ms % 1000:03}"


def json_line(kind: str, node: str, row: Row) -> str:
    """Return a row as one line of JSON, with its part and node in front."""
    return fastjson.dumps({"kind": kind, "node": node, **row})
