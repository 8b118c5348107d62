"""Tables and plots as HTML; text from the data is escaped here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

from fakemq.spark.audit.report.answer import BAD
from fakemq.spark.audit.report.series import css
from fakemq.spark.audit.report.tables import Column, ReportTable, plain
from fakemq.spark.audit.summary import MessageBiography

if TYPE_CHECKING:
    from fakemq.spark.audit.report.plots import Plot, PlotKey

FILTERED_FROM = 10
"""A table with fewer rows needs no filter."""

_LINE_CHARACTERS = 40
"""Longer texts are wrapped, so that a table does not become too wide."""

_CLASSES = {verdict.value: verdict.name.lower() for verdict in BAD}


def text_of(text: str) -> str:
    """Return a text of the data as HTML, for elements and attributes."""
    return escape(plain(text))


def section(title: str, parts: Iterable[str]) -> str:
    """Return a headline and its content; "" if there is no content."""
    inside = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{escape(title)}</h2>\n{inside}\n</section>" if inside else ""


def aside(text: str) -> str:
    """Return a note in small print; "" if there is none."""
    return f'<p class="aside">{escape(text)}.</p>' if text else ""


def items(texts: Iterable[str]) -> str:
    """Return a list; "" if it is empty."""
    inside = "".join(f"<li>{text_of(text)}</li>\n" for text in texts)
    return f"<ul>\n{inside}</ul>" if inside else ""


def table(
    one: ReportTable, verdicts: Iterable[str] = (), links: Mapping[str, str] | None = None
) -> str:
    """Return a table with its filter; the filter offers ``verdicts`` if there are any.

    ``links`` has, for texts of the first column, the id of what they lead to.
    """
    if not one.rows:
        return aside(one.left_out)
    return "\n".join(_table(one, list(verdicts), links or {}))


def _table(one: ReportTable, verdicts: list[str], links: Mapping[str, str]) -> Iterator[str]:
    if len(one.rows) >= FILTERED_FROM:
        yield _filter(one, verdicts)
    # It has a name and takes the focus, so that it can be scrolled by keyboard.
    yield (
        f'<div class="wide rows" role="region" tabindex="0" aria-labelledby="{one.name}-caption">'
        f'\n<table id="{one.name}">\n<caption id="{one.name}-caption">{escape(one.caption)}'
        "</caption>\n<thead><tr>"
    )
    for column in one.columns:
        yield f'<th scope="col"{_class(_kind(column))}>{text_of(column.name)}</th>'
    yield "</tr></thead>\n<tbody>"
    for row in one.rows:
        cells = [_cell(*cell) for cell in zip(row[1:], one.columns[1:], strict=True)]
        yield f"<tr>{_head(row[0], one.columns[0], links.get(row[0]))}{''.join(cells)}</tr>"
    yield "</tbody>\n</table>\n</div>"
    yield aside(one.left_out)


def _head(text: str, column: Column, link: str | None) -> str:
    shown = text_of(text)
    if link is not None:
        shown = f'<a href="#{link}">{shown}</a>'
    return f'<th scope="row"{_classes(text, column)}>{shown}</th>'


def _cell(text: str, column: Column) -> str:
    return f"<td{_classes(text, column)}>{text_of(text)}</td>"


def _classes(text: str, column: Column) -> str:
    found = _CLASSES.get(text if column.name == "verdict" else column.name)
    marked = "zero" if column.kind == "number" and text == "0" else found
    long = "long" if column.kind == "text" and len(text) > _LINE_CHARACTERS else None
    return _class(_kind(column), marked, long)


def _kind(column: Column) -> str | None:
    return None if column.kind == "text" else column.kind


def _class(*names: str | None) -> str:
    there = " ".join(name for name in names if name)
    return f' class="{there}"' if there else ""


def _filter(one: ReportTable, verdicts: list[str]) -> str:
    choice = ""
    if verdicts:
        options = "".join(f"<option>{escape(verdict)}</option>" for verdict in verdicts)
        choice = (
            '<label>Verdict <select name="verdict"><option value="">all</option>'
            f"{options}</select></label>"
        )
    # Hidden until its script shows it.
    return (
        f'<form class="filter" data-table="{one.name}" hidden>'
        f'<label>Filter <input name="words" type="search"></label>{choice}'
        '<output aria-live="polite"></output></form>'
    )


def biography_ids(lives: Iterable[MessageBiography]) -> dict[str, str]:
    """Return the id of the first biography of each message."""
    found: dict[str, str] = {}
    for number, one in enumerate(lives):
        found.setdefault(one.msg_id, f"biography-{number}")
    return found


def biographies(lives: Iterable[MessageBiography]) -> Iterator[str]:
    """Yield each biography: its name and its steps, folded up until it is opened or linked to."""
    for number, one in enumerate(lives):
        steps = "".join(f"<li>{text_of(step)}</li>\n" for step in one.steps)
        yield (
            f"<details><summary>{text_of(one.name)}</summary>\n"
            # Inside: a browser opens what a link leads into.
            f'<ol id="biography-{number}">\n{steps}</ol>\n</details>'
        )


def figure(plot: Plot, numbers: str = "") -> str:
    """Return a plot, its legend, and its ``numbers`` as a table that can be opened."""
    head, _, inside = plot.svg.partition(">")
    parts = (
        "<figure>",
        f"<figcaption>{text_of(plot.title)}</figcaption>",
        f'<div class="wide" role="region" tabindex="0" aria-label="{text_of(plot.title)}">',
        f'{head} role="img" aria-labelledby="{plot.name}-title {plot.name}-desc">',
        f'<title id="{plot.name}-title">{text_of(plot.title)}</title>',
        f'<desc id="{plot.name}-desc">{text_of(plot.description)}</desc>{inside}',
        "</div>",
        f'<ul class="legend">{"".join(map(_legend, plot.legend))}</ul>' * bool(plot.legend),
        aside(f"Left out: {plot.left_out}") if plot.left_out else "",
        f"<details><summary>The numbers</summary>\n{numbers}\n</details>" * bool(numbers),
        "</figure>",
    )
    return "\n".join(part for part in parts if part)


def _legend(key: PlotKey) -> str:
    return (
        '<li><svg viewBox="0 0 32 8" aria-hidden="true"><path d="M0 4H32" fill="none"'
        f' stroke-width="2" stroke-dasharray="{key.dashes}" style="stroke: {css(key.color)}"/>'
        f"</svg>{text_of(key.name)}</li>"
    )
