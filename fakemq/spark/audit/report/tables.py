"""The tables of an audit, the same for a terminal and for the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from fakemq.dump.show import time_text
from fakemq.spark.audit.report.answer import BAD, answer
from fakemq.spark.audit.report.series import deliveries, lag_lines
from fakemq.spark.audit.summary import FaultSummary, MessageSummary, Summary, Verdict

SHOWN_MESSAGES = 50
"""A terminal shows this number of messages; the report shows more."""
SHOWN_DAMAGES = 500
SHOWN_NAMES = 5
CELL_CHARACTERS = 200
"""Longer texts are cut, because keys may be kilobytes."""

KINDS = ("message", "half", "op", "delayed", "retry", "dlq")
"""Kinds of records in the order of a message's life; other kinds follow."""
_WORST_FIRST = (*BAD, Verdict.PENDING, Verdict.DELIVERED)


class Column(NamedTuple):
    """A headline, and how its cells are shown."""

    name: str
    kind: Literal["text", "number", "time"] = "text"


class ReportTable(NamedTuple):
    """Rows of plain text as in the data; ``left_out`` says which rows are missing."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[str, ...]]
    left_out: str = ""


def counts_table(summary: Summary) -> ReportTable:
    """Return messages by verdict for each topic and group; bad verdicts come first."""
    of: dict[tuple[str, str], Counter[Verdict]] = {}
    for count in summary.counts:
        of.setdefault((count.topic, count.group), Counter())[count.verdict] += count.messages
    order = sorted(of, key=lambda key: (*(-of[key][verdict] for verdict in BAD), key))
    columns = [Column("topic"), Column("group"), *(Column(v.value, "number") for v in _WORST_FIRST)]
    return ReportTable(
        "counts",
        "Messages by topic, group and verdict; one that several groups consume counts for each",
        (*columns, Column("all", "number")),
        [
            (
                *(topic, group or "no group"),
                *(f"{of[topic, group][verdict]:,}" for verdict in _WORST_FIRST),
                f"{of[topic, group].total():,}",
            )
            for topic, group in order
        ],
    )


def messages_table(summary: Summary, at_most: int) -> ReportTable:
    """Return what happened to each message, the worst first, and why."""
    rank = {verdict: number for number, verdict in enumerate(_WORST_FIRST)}
    found = sorted(
        summary.messages, key=lambda m: (rank[m.verdict], m.at_ms, m.topic, m.group, m.offset)
    )
    left_out = summary.messages_left_out + max(0, len(found) - at_most)
    return ReportTable(
        "messages",
        "Messages that are not as they should be",
        (
            *(Column("message"), Column("verdict"), Column("cause"), Column("topic")),
            *(
                Column("group"),
                Column("keys"),
                Column("queue and offset"),
                Column("at, UTC", "time"),
            ),
            Column("deliveries", "number"),
        ),
        [
            (
                *(one.msg_id, one.verdict.value, one.cause or "unknown", one.topic),
                *(one.group or "no group", one.keys, f"{one.broker}/{one.queue_id}@{one.offset}"),
                *(time_text(one.at_ms), f"{one.deliveries:,}"),
            )
            for one in found[:at_most]
        ],
        f"{left_out:,} more messages are left out; the counts have them all" * bool(left_out),
    )


def causes_table(summary: Summary) -> ReportTable:
    """Return the findings grouped by verdict and cause: the worst first, then the most frequent."""
    rank = {verdict: number for number, verdict in enumerate(_WORST_FIRST)}
    of: dict[tuple[Verdict, str], list[MessageSummary]] = {}
    for message in summary.messages:
        if message.verdict in BAD:
            of.setdefault((message.verdict, message.cause), []).append(message)
    order = sorted(of, key=lambda key: (rank[key[0]], -len(of[key]), key[1]))
    left_out = summary.messages_left_out
    return ReportTable(
        "causes",
        "Findings by cause",
        (
            *(Column("verdict"), Column("cause"), Column("messages", "number")),
            *(Column("topics"), Column("groups"), Column("first at, UTC", "time")),
            Column("keys of the first"),
        ),
        [
            (
                *(verdict.value, cause or "unknown", f"{len(of[verdict, cause]):,}"),
                _names(one.topic for one in of[verdict, cause]),
                _names(one.group or "no group" for one in of[verdict, cause]),
                time_text(min(one.at_ms for one in of[verdict, cause])),
                _names(one.keys for one in of[verdict, cause] if one.keys),
            )
            for verdict, cause in order
        ],
        f"{left_out:,} more messages are not grouped; the counts have them all" * bool(left_out),
    )


def _names(names: Iterable[str]) -> str:
    """Return the first different names, and how many more there are."""
    different = list(dict.fromkeys(names))
    more = len(different) - SHOWN_NAMES
    return ", ".join(different[:SHOWN_NAMES]) + f" and {more:,} more" * (more > 0)


def stores_table(summary: Summary) -> ReportTable:
    """Return what each node's store contains."""
    others = {kind for store in summary.stores for kind in store.records} - set(KINDS)
    kinds = (*KINDS, *sorted(others))
    return ReportTable(
        "stores",
        "Records in the store of each node by kind",
        (
            Column("node"),
            *(Column(kind, "number") for kind in (*kinds, "missing", "damaged ranges")),
        ),
        [
            (
                store.node,
                *(f"{store.records.get(kind, 0):,}" for kind in kinds),
                *(f"{store.missing:,}", f"{len(store.damaged):,}"),
            )
            for store in summary.stores
        ],
    )


def damage_table(summary: Summary) -> ReportTable:
    """Return a row for each damaged range of a store."""
    rows = [(store.node, damage) for store in summary.stores for damage in store.damaged]
    left_out = len(rows) - SHOWN_DAMAGES
    return ReportTable(
        "damage",
        "Damaged ranges of stores",
        (Column("node"), Column("damage")),
        rows[:SHOWN_DAMAGES],
        f"{left_out:,} more damaged ranges are left out" * (left_out > 0),
    )


def faults_table(summary: Summary) -> ReportTable:
    """Return faults, numbered as in the plots, and how many messages each explains."""
    return ReportTable(
        "faults",
        "Faults, and how many messages they explain",
        (
            *(Column("fault", "number"), Column("at, UTC", "time"), Column("node")),
            *(Column("what happened"), Column("messages", "number")),
        ),
        [
            (str(number), time_text(one.at_ms), one.node, one.text, f"{one.messages:,}")
            for number, one in enumerate(in_time(summary), 1)
        ],
    )


def in_time(summary: Summary) -> list[FaultSummary]:
    """Return faults in the order of their numbers."""
    return sorted(summary.faults, key=lambda fault: fault.at_ms)


def latency_table(summary: Summary) -> ReportTable:
    """Return the times from stored to first delivered, the slowest first."""
    slowest = sorted(summary.latency_ms, key=lambda one: (-one[2], -one[3], one[0]))
    return ReportTable(
        "latency",
        "Milliseconds from stored to first delivered",
        (
            *(Column("topic / group"), Column("half within", "number")),
            *(Column("99 % within", "number"), Column("all within", "number")),
        ),
        [(name, *(f"{ms:,}" for ms in percentiles)) for name, *percentiles in slowest],
    )


def lag_table(summary: Summary) -> ReportTable:
    """Return how far behind each group was at its maximum and at the end."""
    rows = []
    for line in lag_lines(summary):
        (at_s, most), (_, last) = line.peak, line.points[-1]
        rows.append((line.name, f"{most:,}", time_text(round(at_s * 1000)), f"{last:,}"))
    return ReportTable(
        "lag",
        "Messages behind by topic and group",
        (
            *(Column("topic / group"), Column("at most", "number")),
            *(Column("which was at, UTC", "time"), Column("at last", "number")),
        ),
        rows,
    )


def deliveries_table(summary: Summary) -> ReportTable:
    """Return the numbers of the plot."""
    rate = deliveries(summary)
    per = f", mean of {rate.width_s:,} s each" * (rate.width_s > 1)
    return ReportTable(
        "deliveries",
        f"Deliveries per second{per}",
        (Column("from, UTC", "time"), Column("per second", "number")),
        [(time_text(at * 1000), f"{number:,.10g}") for at, number in rate.points],
    )


def plain(text: str) -> str:
    """Return a text of the data that is safe to show: one line, without control characters."""
    if not text.isprintable():
        text = repr(text)[1:-1]
    more = len(text) - CELL_CHARACTERS
    return text if more <= 0 else f"{text[:CELL_CHARACTERS]}… ({more:,} characters more)"


def lines_of(summary: Summary) -> Iterator[str]:
    """Yield an audit's results as lines for a terminal; the answer comes first."""
    yield plain(summary.title)
    yield f"{time_text(summary.begin_ms)} to {time_text(summary.end_ms)} UTC"
    yield answer(summary).text
    for table in (
        counts_table(summary),
        causes_table(summary),
        messages_table(summary, SHOWN_MESSAGES),
        stores_table(summary),
        damage_table(summary),
        faults_table(summary),
        lag_table(summary),
        latency_table(summary),
    ):
        if table.rows or table.left_out:
            yield ""
            yield from _lines(table)
    for name, texts in (("Could not be judged", summary.notes), ("Read", summary.inputs)):
        if texts:
            yield ""
            yield f"{name}:"
            yield from (f"  {plain(text)}" for text in texts)


def _lines(table: ReportTable) -> Iterator[str]:
    rows = [[plain(cell) for cell in row] for row in table.rows]
    names = [column.name for column in table.columns]
    widths = [max(map(len, cells)) for cells in zip(names, *rows, strict=True)]
    yield f"{table.caption}:"
    for row in (names, *rows):
        cells = zip(row, table.columns, widths, strict=True)
        yield (
            "  "
            + "  ".join(
                cell.rjust(width) if column.kind == "number" else cell.ljust(width)
                for cell, column, width in cells
            ).rstrip()
        )
    if table.left_out:
        yield f"  {table.left_out}"
