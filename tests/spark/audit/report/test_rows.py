"""The findings as CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec
import pytest

from fakemq.errors import FakemqError
from fakemq.spark.audit.report.rows import COLUMNS, write_csv
from fakemq.spark.audit.summary import MessageSummary, Verdict
from tests.support.summaries import EMPTY, message


def written(path: Path, *found: MessageSummary) -> list[str]:
    """Write findings; return the lines of the file."""
    write_csv(msgspec.structs.replace(EMPTY, messages=[*found]), str(path))
    return path.read_text().splitlines()


def lost(**more: object) -> MessageSummary:
    found = msgspec.structs.replace(
        message(), verdict=Verdict.LOST, topic="orders", group="billing"
    )
    return msgspec.structs.replace(found, **{"msg_id": "A", "keys": "k1", "cause": "kill", **more})


def test_csv_has_a_row_for_each_finding(tmp_path: Path) -> None:
    lines = written(tmp_path / "found.csv", lost(), lost(keys='a,"b"', cause=""))
    headline, *rows = csv.reader(lines)
    assert tuple(headline) == COLUMNS
    assert [row[:6] for row in rows] == [
        ["lost", "kill", "orders", "billing", "A", "k1"],
        ["lost", "", "orders", "billing", "A", 'a,"b"'],
    ]
    assert rows[0][6] == "broker-a"


@pytest.mark.parametrize("keys", ["=1+1", "+1", "-1", "@x", "a\nb", "\x1b[31m"])
def test_text_of_a_peer_is_one_line_and_no_formula(tmp_path: Path, keys: str) -> None:
    lines = written(tmp_path / "found.csv", lost(keys=keys))
    assert len(lines) == 2
    cell = next(csv.reader(lines[1:]))[5]
    assert cell.isprintable()
    assert not cell.startswith(("=", "+", "-", "@"))


def test_csv_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(FakemqError, match="cannot write the findings: "):
        write_csv(EMPTY, str(tmp_path / "nowhere" / "found.csv"))
