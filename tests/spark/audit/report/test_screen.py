"""An audit's summary as text."""

from __future__ import annotations

import msgspec

from fakemq.spark.audit.command import has_findings
from fakemq.spark.audit.report.screen import LAGS_SHOWN, MESSAGES_SHOWN, lines
from tests.support.summaries import EMPTY, full


def test_empty_audit_is_short() -> None:
    assert list(lines(EMPTY)) == [
        "Audit of nothing",
        "from 1970-01-01 00:00:00.000 to 1970-01-01 00:00:00.000 UTC",
        "Nothing to judge: no message was found.",
    ]
    assert not has_findings(EMPTY)


def test_everything_is_shown_in_tables() -> None:
    summary = full()
    shown = list(lines(summary))
    assert has_findings(summary)
    assert [line for line in shown if line.startswith("-- ")] == [
        "-- verdicts",
        "-- messages",
        "-- faults and losses",
        "-- records by node",
        "-- milliseconds from stored to first delivered",
        "-- lag",
        "-- notes",
    ]
    messages = shown[shown.index("-- messages") + 2 : shown.index("-- faults and losses")]
    assert len(messages) == MESSAGES_SHOWN + 1
    assert messages[-1] == f"and {len(summary.messages) - MESSAGES_SHOWN} more"
    assert messages[0].split()[:5] == [
        *("lost", "orders", "billing", summary.messages[0].msg_id, "key-0")
    ]
    lag = shown[shown.index("-- lag") + 2 : shown.index("-- notes")]
    topics = {one.topic for one in summary.lag}
    assert len(lag) == LAGS_SHOWN * len(topics)
    assert shown[-1] == summary.notes[-1]
    damaged = [line for line in shown if line.startswith("broker-a/1/")]
    assert damaged == [f"broker-a/1/{summary.stores[1].damaged[0]}"]


def test_unprintable_text_stays_in_its_line() -> None:
    summary = full(messages=1)
    (message,) = summary.messages
    odd = msgspec.structs.replace(message, keys="a\nb\x1b[31m")
    shown = list(lines(msgspec.structs.replace(summary, messages=[odd])))
    assert any(r"a\nb\x1b[31m" in line for line in shown)
    assert all(line.isprintable() for line in shown)
