"""The biographies of an audit: whose they are, and why there are none."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fakemq.spark.audit import biographies
from fakemq.spark.audit.summary import MessageSummary
from tests.support.audit_runs import faulty_run
from tests.support.summaries import message


def finding(msg_id: str) -> MessageSummary:
    return msgspec.structs.replace(message(), msg_id=msg_id)


def test_findings_have_their_biographies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = faulty_run(tmp_path)
    found = [finding(one) for one in sorted(run.lost)]
    found_lives, why_none = biographies.biographies(str(run.journal), found)
    assert [one.msg_id for one in found_lives] == sorted(run.lost)
    assert why_none == ""
    assert all("risk-" in one.name and "stored in orders" in one.steps[0] for one in found_lives)
    monkeypatch.setattr(biographies, "MOST", 2)
    monkeypatch.setattr(biographies, "LINES_MOST", 1)
    cut, _ = biographies.biographies(str(run.journal), found)
    assert [one.msg_id for one in cut] == sorted(run.lost)[:2]
    assert [(len(one.steps), one.steps[1][:4]) for one in cut] == [(2, "and ")] * 2


def test_reason_for_no_biographies_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    found = [finding("A")]
    assert biographies.biographies(None, found) == ([], "")
    assert biographies.biographies(str(path), []) == ([], "")
    assert biographies.biographies(str(path), found)[1].endswith("is no file of this machine")
    path.write_text("no entry\n")
    assert "line 1: no entry of a journal" in biographies.biographies(str(path), found)[1]
    monkeypatch.setattr(biographies, "JOURNAL_MAX_BYTES", 4)
    assert "the journal has over" in biographies.biographies(str(path), found)[1]
