"""What commands print: tables and colours on a terminal, lines in a pipe, JSON if asked.

The package ``rich`` draws tables; it comes with the extra ``cli``. Without it a terminal gets
aligned columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fakemq.commands.connection_options import connection_options
from fakemq.commands.running_cluster import RunningCluster, connected, failures_reported
from fakemq.commands.said import say
from fakemq.errors import ConfigError, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleRenderable, Group
    from rich.table import Table as RichTable

Row = Mapping[str, object]


class Table(NamedTuple):
    """Rows with the same names; a name that ends with ``_ms`` is a time in milliseconds.

    ``note`` is a line below it. JSON has the rows alone, each with ``kind``. With ``by_field``
    people see each field of a row on a line of its own. A terminal that is too narrow leaves out
    the columns of ``minor``, the first first.
    """

    kind: str
    columns: Sequence[str]
    rows: Sequence[Row]
    note: str = ""
    by_field: bool = False
    minor: Sequence[str] = ()


WATCH_DEFAULT = "2s"


def json_line(row: Row) -> str:
    """Return a row as one line of standard JSON."""
    import msgspec

    return msgspec.json.encode(row).decode()


def write_line(line: str) -> None:
    """Write a line to stdout; replace letters that its encoding does not have.

    What would control a terminal is escaped, as JSON and Python do. Tabs stay, between cells.
    """
    out = sys.stdout
    if not line.isprintable():
        line = "".join(map(_escaped, line))
    try:
        try:
            out.write(line + "\n")
        except UnicodeEncodeError:
            out.write(line.encode(out.encoding, "backslashreplace").decode(out.encoding) + "\n")
    except BrokenPipeError:
        raise  # the reader of the pipe has ended
    except OSError as error:
        raise ConfigError(f"standard output: cannot be written: {error.strerror}") from None


def _escaped(char: str) -> str:
    if char.isprintable() or char == "\t":
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def cell(name: str, value: object) -> str:
    """Return a value as text for people: one line, without control characters."""
    if value is None:
        return ""
    if name.endswith("_ms") and isinstance(value, int):
        return time_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, (list, tuple)):
        return printable(" ".join(map(str, value)))
    if isinstance(value, dict):
        return printable(" ".join(f"{key}={one}" for key, one in value.items()))
    return printable(str(value))


def time_text(at_ms: int) -> str:
    """Return a time in UTC; "" for 0 and below, by which RocketMQ says "never"."""
    from fakemq.dump.show import time_text

    return time_text(at_ms) if at_ms > 0 else ""


def label(name: str) -> str:
    """Return the headline of a column."""
    return printable(name.removesuffix("_ms").removesuffix("_at").replace("_", " "))


def is_terminal() -> bool:
    """Return whether people read stdout."""
    return sys.stdout.isatty()


def console() -> Console | None:
    """Return what draws tables; None without a terminal, or without the extra ``cli``."""
    if not is_terminal():
        return None
    try:
        from rich.console import Console
    except ImportError:
        _say_once("tables and colours need rich: pip install 'fakemq[cli]'")
        return None
    return Console(highlight=False)


@cache
def _say_once(text: str) -> None:
    click.secho(text, err=True, dim=True)


def show(tables: Iterable[Table], *, as_json: bool) -> None:
    """Print tables for the reader that there is."""
    screen = None if as_json else console()
    for number, table in enumerate(tables):
        if as_json:
            for row in table.rows:
                write_line(json_line({"kind": table.kind, **row}))
        elif screen is not None:
            # Names are not broken: what does not fit makes long lines, as in docker and ps.
            screen.print(drawn(_for_people(table), screen.width), crop=False)
        else:
            if number:
                write_line("")
            for line in lines(_for_people(table), aligned=is_terminal()):
                write_line(line)


def lines(table: Table, *, aligned: bool = False) -> list[str]:
    """Return a table's headline and rows with tabs between cells; aligned with blanks if asked."""
    rows = [[label(name) for name in table.columns]] if table.rows else []
    rows += [[cell(name, row.get(name)) for name in table.columns] for row in table.rows]
    if aligned:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        texts = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
    else:
        texts = ["\t".join(row) for row in rows]
    return texts + ([printable(table.note)] if table.note else [])


_WARNS = ("lag", "behind")
"""Columns whose numbers over 0 stand out."""


_GAP, _EDGES = 2, 2
"""Cells between two columns, and at both ends of a line."""


def drawn(table: Table, screen_width: int) -> RichTable:
    """Return a table for a terminal of a width in cells. It folds texts between words only.

    It leaves out minor columns if it is too wide; if it is too wide without them, too, it stays so,
    and folds nothing.
    A table by fields breaks words, because its values can be long.
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    columns, left_out = list(table.columns), list[str]()
    for name in table.minor:
        if _least_width(table, columns) > screen_width:
            columns.remove(name)
            left_out.append(label(name))
    narrow = f"not shown, the terminal is too narrow: {', '.join(left_out)}" if left_out else ""
    result = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    notes = [printable(text) for text in (table.note, narrow) if text]
    result.caption = Text("\n".join(notes)) if notes else None
    result.caption_justify = "left"
    widths = _widths(table, columns, screen_width)
    for name in columns:
        numbers = all(isinstance(row.get(name), (int, float, type(None))) for row in table.rows)
        is_time = name.endswith("_ms")
        result.add_column(
            label(name),
            justify="right" if numbers and not is_time else "left",
            overflow="fold",
            width=widths.get(name),
        )
    if widths:
        result.width = sum(widths.values()) + _GAP * (len(widths) - 1) + _EDGES
    for row in table.rows:
        cells = []
        for name in columns:
            value = row.get(name)
            stands_out = name in _WARNS and isinstance(value, int) and value > 0
            style = "bold yellow" if stands_out else "cyan" if name == table.columns[0] else ""
            cells.append(Text(cell(name, value), style=style))
        result.add_row(*cells)
    return result


def _texts(table: Table, name: str) -> list[str]:
    return [label(name), *(cell(name, row.get(name)) for row in table.rows)]


def _least(table: Table, name: str) -> int:
    """Return the length of the longest word of a column; a time is one word."""
    from rich.cells import cell_len

    texts = _texts(table, name)
    words = texts if name.endswith("_ms") else [word for text in texts for word in text.split()]
    return max(map(cell_len, words), default=0)


def _least_width(table: Table, columns: Sequence[str]) -> int:
    return sum(_least(table, name) for name in columns) + _GAP * (len(columns) - 1) + _EDGES


def _widths(table: Table, columns: Sequence[str], screen_width: int) -> dict[str, int]:
    """Return the width of each column, with every word whole; the longest texts get what is left.

    If the words do not fit, each text is one line: the terminal breaks the lines anyway. {} for a
    table by fields whose values do not fit: `rich` breaks them. Names of fields are never broken.
    """
    from rich.cells import cell_len

    left = screen_width - _least_width(table, columns)
    if table.by_field and left < 0:
        return {}
    widths = {name: _least(table, name) for name in columns}
    more = {name: max(map(cell_len, _texts(table, name))) - width for name, width in widths.items()}
    if left < 0:
        left = sum(more.values())
    first = columns[0] if table.by_field else None
    for name in sorted(columns, key=lambda name: (name != first, -more[name])):
        given = min(more[name], left)
        widths[name] += given
        left -= given
    return widths


View = Callable[..., Iterable[Table]]


def shows(look: View) -> Callable[..., None]:
    """Make a command of a function that returns tables of a cluster, named ``cluster``.

    Add the options of a connection, ``--json`` and ``--watch``.
    """

    @wraps(look)
    def call(as_json: bool, watch: str | None, **given: Any) -> None:
        every_ms = None if watch is None else _interval_ms(watch)
        with connected(given) as cluster:
            if every_ms is None:
                with failures_reported(cluster):
                    show(look(cluster=cluster, **given), as_json=as_json)
                return
            try:
                _watch(cluster, lambda: look(cluster=cluster, **given), every_ms, as_json)
            except KeyboardInterrupt:
                return

    call = click.option("--json", "as_json", is_flag=True, help="A line of JSON for each row.")(
        call
    )
    call = click.option(
        "-w",
        "--watch",
        is_flag=False,
        flag_value=WATCH_DEFAULT,
        metavar="[DURATION]",
        help=f"Look again, every {WATCH_DEFAULT} unless a time is given, until Ctrl-C.",
    )(call)
    return connection_options(call)


def _interval_ms(text: str) -> int:
    from fakemq.clock.durations import duration_ms

    every_ms = duration_ms(text, name="watch")
    if every_ms < 100:
        raise ConfigError(f"watch={text}: expected at least 100ms")
    return every_ms


def _watch(
    cluster: RunningCluster, look: Callable[[], Iterable[Table]], every_ms: int, as_json: bool
) -> None:
    screen = None if as_json else console()
    if screen is None:
        while True:
            cluster.forget()
            show(look(), as_json=as_json)
            for text in cluster.take_failures():
                say(f"Error: {text}")
            cluster.client.poll(timeout_ms=every_ms)
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    with Live(console=screen, auto_refresh=False, screen=True) as live:
        while True:
            cluster.forget()
            tables = [drawn(_for_people(one), screen.width) for one in look()]
            errors = [Text(f"Error: {text}", style="red") for text in cluster.take_failures()]
            live.update(_fitting(screen, Group(*errors, *tables)), refresh=True)
            cluster.client.poll(timeout_ms=every_ms)


def _fitting(screen: Console, group: Group) -> ConsoleRenderable:
    """Return what fits on the screen, and below it how many lines do not."""
    from rich.console import Group
    from rich.segment import SegmentLines
    from rich.text import Text

    lines = screen.render_lines(group, pad=False)
    if len(lines) <= screen.height:
        return group
    shown = lines[: screen.height - 1]
    more = Text(f"{len(lines) - len(shown)} more lines do not fit; without --watch all are shown")
    return Group(SegmentLines(shown, new_lines=True), more)


def as_fields(kind: str, row: Row) -> Table:
    """Return one row as a table with a line for each field; JSON has it as it is."""
    return Table(kind, tuple(row), [row], by_field=True)


def _for_people(table: Table) -> Table:
    """Return a table of one long row as a table with a line for each of its fields."""
    if not table.by_field:
        return table
    rows = [
        {"field": label(name), "value": cell(name, row[name])}
        for row in table.rows
        for name in table.columns
        if row[name] is not None
    ]
    return Table(table.kind, ("field", "value"), rows, table.note, by_field=True)
