"""What an audit prints."""

from __future__ import annotations

import msgspec

from fakemq.spark.audit.report.tables import CELL_CHARACTERS, SHOWN_MESSAGES, lines_of, plain
from fakemq.spark.audit.summary import Count, FaultSummary, Store, Verdict
from tests.support.summaries import EMPTY, NOON_MS, full, message

WHOLE = r"""Audit of one
2026-06-01 12:00:00.000 to 2026-06-01 12:00:00.001 UTC
Found: 1 lost, of 1,008 messages; 1 without a known cause; 1 damaged range in stores; 1 note on what could not be judged.

Messages by topic, group and verdict; one that several groups consume counts for each:
  topic   group     lost  stuck  duplicated  out of order  pending  delivered    all
  orders  billing      1      0           0             0        0          7      8
  clean   no group     0      0           0             0        0      1,000  1,000

Findings by cause:
  verdict  cause    messages  topics  groups   first at, UTC            keys of the first
  lost     unknown         1  orders  billing  2026-06-01 12:00:00.007  a\nb

Messages that are not as they should be:
  message                           verdict  cause    topic   group    keys  queue and offset  at, UTC                  deliveries
  7F0000010A2018B4AAC2000000000001  lost     unknown  orders  billing  a\nb  broker-a/3@1      2026-06-01 12:00:00.007           0

Records in the store of each node by kind:
  node      message  half  op  delayed  retry  dlq  snapshot  missing  damaged ranges
  broker-a        8     0   0        0      0    0         1        0               1

Damaged ranges of stores:
  node      damage
  broker-a  file at 3: torn

Faults, and how many messages they explain:
  fault  at, UTC                  node      what happened  messages
      1  2026-06-01 12:00:00.000  broker-a  killed                1

Could not be judged:
  no journal of deliveries

Read:
  a directory
"""  # noqa: E501 - as wide as a terminal shows it


def test_complete_audit_is_printed() -> None:
    summary = msgspec.structs.replace(
        EMPTY,
        title="Audit of one",
        begin_ms=NOON_MS,
        end_ms=NOON_MS + 1,
        counts=[
            Count("clean", "", Verdict.DELIVERED, 1000),
            Count("orders", "billing", Verdict.DELIVERED, 7),
            Count("orders", "billing", Verdict.LOST, 1),
        ],
        messages=[message(1, keys="a\nb")],
        stores=[Store("broker-a", {"snapshot": 1, "message": 8}, 0, ["file at 3: torn"])],
        faults=[FaultSummary(NOON_MS, "broker-a", "killed", 1)],
        notes=["no journal of deliveries"],
        inputs=["a directory"],
    )
    assert list(lines_of(summary)) == WHOLE.splitlines()


def test_worst_of_many_messages_are_shown() -> None:
    lines = list(lines_of(msgspec.structs.replace(full(400), messages_left_out=1)))
    shown = [line for line in lines if line.startswith("  7F0000010A2018B4AAC2")]
    assert len(shown) == SHOWN_MESSAGES
    assert all(" lost " in line for line in shown)
    assert "  351 more messages are left out; the counts have them all" in lines


def test_empty_audit_is_few_lines() -> None:
    assert len(list(lines_of(EMPTY))) == 3


def test_text_cannot_control_the_terminal() -> None:
    assert plain("\x1b[2J\u202e\ud800") == "\\x1b[2J\\u202e\\ud800"
    assert plain("k" * 5000) == "k" * CELL_CHARACTERS + "… (4,800 characters more)"
