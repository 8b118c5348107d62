"""A summary as tables of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fakemq.dump.show import time_text
from fakemq.spark.audit.report.answer import answer

if TYPE_CHECKING:
    from fakemq.spark.audit.summary import LagPoint, Summary

MESSAGES_SHOWN = 50
LAGS_SHOWN = 8
"""The number of points for each topic and group; the last point is always shown."""


def lines(summary: Summary) -> Iterator[str]:
    """Yield the lines that the command prints."""
    yield summary.title
    yield f"from {time_text(summary.begin_ms)} to {time_text(summary.end_ms)} UTC"
    yield answer(summary).text
    yield from _verdicts(summary)
    yield from _messages(summary)
    yield from _table(
        "faults and losses",
        ("time", "node", "messages", "what"),
        [(time_text(one.at_ms), one.node, one.messages, one.text) for one in summary.faults],
    )
    yield from _stores(summary)
    yield from _table(
        "milliseconds from stored to first delivered",
        ("topic / group", "50%", "99%", "most"),
        summary.latency_ms,
    )
    yield from _lag(summary)
    if summary.notes:
        yield "-- notes"
        yield from summary.notes


def _verdicts(summary: Summary) -> Iterator[str]:
    rows = [(one.topic, one.group, one.verdict.value, one.messages) for one in summary.counts]
    yield from _table("verdicts", ("topic", "group", "verdict", "messages"), rows)


def _messages(summary: Summary) -> Iterator[str]:
    shown = summary.messages[:MESSAGES_SHOWN]
    rows = [
        (
            *(one.verdict.value, one.topic, one.group, one.msg_id, one.keys),
            *(f"{one.broker}/{one.queue_id}@{one.offset}", one.deliveries, one.cause),
        )
        for one in shown
    ]
    headline = ("verdict", "topic", "group", "message", "keys", "place", "deliveries", "cause")
    yield from _table("messages", headline, rows)
    left = len(summary.messages) - len(shown) + summary.messages_left_out
    if left:
        yield f"and {left} more"


def _stores(summary: Summary) -> Iterator[str]:
    kinds = list(dict.fromkeys(kind for one in summary.stores for kind in one.records))
    rows = [
        (one.node, *(one.records.get(kind, 0) for kind in kinds), one.missing, len(one.damaged))
        for one in summary.stores
    ]
    yield from _table("records by node", ("node", *kinds, "missing", "damaged"), rows)
    for store in summary.stores:
        yield from (f"{store.node}/{line}" for line in store.damaged)


def _lag(summary: Summary) -> Iterator[str]:
    by_group: dict[tuple[str, str], list[LagPoint]] = {}
    for point in summary.lag:
        by_group.setdefault((point.topic, point.group), []).append(point)
    rows = [
        (topic, group, time_text(point.at_ms), point.messages)
        for (topic, group), points in by_group.items()
        for point in _some(points)
    ]
    yield from _table("lag", ("topic", "group", "time", "messages"), rows)


def _some(points: list[LagPoint]) -> list[LagPoint]:
    """Return a few points, evenly chosen, with the first and the last."""
    if len(points) <= LAGS_SHOWN:
        return points
    step = (len(points) - 1) / (LAGS_SHOWN - 1)
    return [points[round(number * step)] for number in range(LAGS_SHOWN)]


def _table(title: str, headline: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield a table with numbers aligned right; nothing if there are no rows."""
    if not rows:
        return
    yield f"-- {title}"
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headline, *cells, strict=True)]
    right = [isinstance(value, int) for value in rows[0]]
    for row in (headline, *cells):
        padded = [
            text.rjust(width) if numeric else text.ljust(width)
            for text, width, numeric in zip(row, widths, right, strict=True)
        ]
        yield "  ".join(padded).rstrip()


def _cell(value: object) -> str:
    text = str(value)
    return text if text.isprintable() else repr(text)[1:-1]
