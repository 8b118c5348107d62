"""The recordings of mqadmin, the accepted differences, and the table of the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.mqadmin.compare import (
    Difference,
    as_text,
    diff,
    differences,
    expected,
    recorded,
    table,
)
from conformance.mqadmin.normalise import Output
from conformance.mqadmin.parts import ALL_PARTS
from conformance.mqadmin.script import PARTS, Part
from conformance.mqadmin.state import State

DOCS = Path(__file__).parents[2] / "docs" / "mqadmin.md"
STATE = State(
    {"namesrv": "127.0.0.1:9876", "broker-a": "127.0.0.1:10911"},
    {"order-0": "7F00000100002A9F0000000000000000"},
    {"order-0": "7F0000010A0B0C0D0E0F1011121300FF"},
    {"consumer": "10.0.0.1@mqadmin-consumer"},
)


@pytest.mark.parametrize("part", ALL_PARTS, ids=lambda part: part.name)
def test_recording_has_the_steps_of_the_script(part: Part) -> None:
    titles = [title.partition("  #")[0] for title in recorded(part)]
    assert titles == [step.line for step in part.steps]


def test_every_accepted_difference_still_applies() -> None:
    for part in ALL_PARTS:
        expected(part, differences())
    assert {row.part for row in differences()} <= {part.name for part in ALL_PARTS}
    run = {step.line.split()[0] for part in ALL_PARTS for step in part.steps}
    assert {row.command.split()[0] for row in differences()} <= run


def test_difference_that_no_longer_applies_is_refused() -> None:
    part = PARTS[0]
    row = Difference(part.name, part.steps[0].line, "", "no such line", "")
    with pytest.raises(ValueError, match="no such line"):
        expected(part, [row])


def test_diff_names_the_sub_command() -> None:
    assert diff({"topicList": ["A"]}, {"topicList": ["A"]}, "fakemq") == ""
    assert "mqadmin topicList, on fakemq" in diff({"topicList": ["A"]}, {"topicList": []}, "fakemq")


def test_text_has_each_sub_command_and_its_output() -> None:
    assert as_text({"topicList -c": ["A", "", "  B"]}) == "$ mqadmin topicList -c\n  A\n\n    B\n"


def test_docs_have_the_table_of_sub_commands() -> None:
    assert "\n".join(table()) in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        ("#Addr    127.0.0.1:10911   V4", "#Addr <broker-a> V4"),
        ("OffsetID: 7F00000100002A9F0000000000000000", "OffsetID: <id order-0>"),
        ("msgId=7F0000010A0B0C0D0E0F1011121300FF", "msgId=<key order-0>"),
        ("msgId=7F0000010A0B0C0D0E0F1011121300FE", "msgId=<id>"),
        ("Store Timestamp:     2026-11-23 15:00:00,123", "Store Timestamp: <date>"),
        ("clientId 10.0.0.1@mqadmin-consumer", "clientId <consumer>"),
        ("clientId 10.0.0.1@42#17", "clientId <client>"),
        ("at 1700000000000", "at <now>"),
        ("since 1970-01-01 08:00:00,000", "since 1970-01-01 08:00:00,000"),
        ("export /tmp/x/export/a.json success", "export <home>/export/a.json success"),
        ("    indented  more   ", "    indented more"),
        ("putTps  : 0.1 0.2 0.3", "putTps : <of this run>"),
    ],
)
def test_output_is_without_what_differs_from_run_to_run(printed: str, line: str) -> None:
    assert Output(STATE, "/tmp/x").lines([printed], {}) == [line]


def test_output_is_without_stack_traces() -> None:
    trace = ["java.lang.Exception: no", "\tat a.B.c(B.java:1)", "\t... 3 more", ""]
    assert Output(STATE, "/tmp/x").lines(trace, {}) == ["java.lang.Exception: no"]


def test_output_of_a_hash_table_is_sorted() -> None:
    assert Output(STATE, "/tmp/x").lines(["b", "a"], {}, unordered=True) == ["a", "b"]
