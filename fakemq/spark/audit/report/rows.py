"""The findings of an audit as CSV, for spreadsheets and other programs."""

from __future__ import annotations

import csv

from fakemq.dump.show import time_text
from fakemq.errors import FakemqError, printable
from fakemq.spark.audit.summary import Summary

COLUMNS = (
    *("verdict", "cause", "topic", "group", "msg_id", "keys", "broker", "queue_id", "offset"),
    *("at_ms", "at_utc", "deliveries"),
)
_FORMULAS = ("=", "+", "-", "@")
"""How a cell begins that a spreadsheet would calculate."""


def write_csv(summary: Summary, path: str) -> None:
    """Write a row for each message of the summary; FakemqError if the file cannot be written.

    Texts of peers are one line, and none is a formula.
    """
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COLUMNS)
            for one in summary.messages:
                rows.writerow(
                    (
                        *(one.verdict.value, _text(one.cause), _text(one.topic), _text(one.group)),
                        *(_text(one.msg_id), _text(one.keys), _text(one.broker), one.queue_id),
                        *(one.offset, one.at_ms, time_text(one.at_ms), one.deliveries),
                    )
                )
    except OSError as error:
        raise FakemqError(f"{path}: cannot write the findings: {error.strerror}") from None


def _text(text: str) -> str:
    text = printable(text)
    return f"'{text}" if text.startswith(_FORMULAS) else text
