"""The audit's report: one HTML file that loads nothing else, made from a summary alone."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from fakemq.dump.show import time_text
from fakemq.errors import FakemqError
from fakemq.spark.audit.report.answer import BAD, answer
from fakemq.spark.audit.report.markup import (
    aside,
    biographies,
    biography_ids,
    figure,
    items,
    section,
    table,
    text_of,
)
from fakemq.spark.audit.report.tables import (
    ReportTable,
    causes_table,
    counts_table,
    damage_table,
    deliveries_table,
    faults_table,
    lag_table,
    latency_table,
    messages_table,
    plain,
    stores_table,
)
from fakemq.spark.audit.summary import Summary

if TYPE_CHECKING:
    from fakemq.spark.audit.report.plots import Plot

SHOWN_MESSAGES = 10_000
"""A browser still scrolls and filters this number of messages quickly."""


def write_report(summary: Summary, path: str) -> None:
    """Write the report and replace an older one; the file is complete or does not exist.

    Equal summaries make equal bytes. Raise FakemqError if the path cannot be written.
    """
    text, beside = page(summary), f"{path}.tmp"
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        try:
            with open(beside, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.replace(beside, path)
        except OSError:
            if os.path.isfile(beside):
                os.unlink(beside)
            raise
    except OSError as error:
        raise FakemqError(f"{path}: cannot write the report: {error.strerror}") from None


def page(summary: Summary) -> str:
    """Return the report as text."""
    found, script = answer(summary), _part("js")
    # Nothing is loaded, and only our script runs, whatever texts the messages contain.
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    return Template(_part("html")).substitute(
        title=text_of(summary.title),
        policy=policy,
        style=_part("css"),
        span=f"{time_text(summary.begin_ms)} to {time_text(summary.end_ms)} UTC",
        state=found.state,
        answer=escape(found.text),
        main="\n".join(part for part in _sections(summary) if part),
        script=script,
    )


def _sections(summary: Summary) -> Iterator[str]:
    drawn, missing = _drawn(summary)
    messages = messages_table(summary, SHOWN_MESSAGES)
    yield section("Notes", [items(summary.notes)])
    yield section("Verdicts", [*_plots(drawn, "verdicts"), table(counts_table(summary))])
    yield section("Causes", [table(causes_table(summary), [verdict.value for verdict in BAD])])
    lives = summary.biographies
    rows = table(messages, [verdict.value for verdict in BAD], biography_ids(lives))
    yield section("Messages", [rows])
    yield section("Biographies", [*biographies(lives), aside(plain(summary.biographies_left_out))])
    yield section("Faults", [table(faults_table(summary))])
    yield section("Stores", [table(stores_table(summary)), table(damage_table(summary))])
    yield section(
        "Over time",
        [
            *_plots(drawn, "lag", lag_table(summary)),
            *_plots(drawn, "deliveries", deliveries_table(summary)),
            *_plots(drawn, "latency", latency_table(summary)),
            aside(missing),
        ],
    )
    yield section("Read", [items(summary.inputs)])


def _drawn(summary: Summary) -> tuple[dict[str, Plot], str]:
    """Return the plots by name, and a note if there are none."""
    try:
        from fakemq.spark.audit.report.plots import plots
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        return {}, "No plots without matplotlib: pip install 'fakemq[spark]'"
    return {plot.name: plot for plot in plots(summary)}, ""


def _plots(drawn: dict[str, Plot], name: str, numbers: ReportTable | None = None) -> Iterable[str]:
    shown = table(numbers) if numbers is not None else ""
    if name in drawn:
        yield figure(drawn[name], shown)
    else:
        yield shown


def _part(suffix: str) -> str:
    return files("fakemq.spark.audit.report").joinpath(f"page.{suffix}.txt").read_text("utf-8")
