"""Rows as tables on a terminal, as lines in a pipe, as JSON."""

from __future__ import annotations

import builtins
import io
import json
import re
import sys
from collections.abc import Callable

import pytest

from fakemq.commands import output
from fakemq.commands.output import Table, _fitting, as_fields, cell, drawn, lines, show

TABLE = Table(
    "lag",
    ("topic", "lag", "stored_at_ms"),
    [
        {"topic": "orders", "lag": 3, "stored_at_ms": 1_700_000_000_000},
        {"topic": "b\x1b[31m", "lag": 0, "stored_at_ms": 0},
    ],
    note="two topics",
)


class Terminal(io.StringIO):
    """An output that people read."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_lines_have_tabs_in_a_pipe_and_blanks_for_people() -> None:
    assert lines(TABLE) == [
        "topic\tlag\tstored",
        "orders\t3\t2023-11-14 22:13:20.000",
        "b\\x1b[31m\t0\t",
        "two topics",
    ]
    aligned = lines(TABLE, aligned=True)
    assert aligned[0].index("lag") == aligned[1].index("3")


def test_json_has_raw_values(capsys: pytest.CaptureFixture[str]) -> None:
    show([TABLE], as_json=True)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"kind": "lag", **TABLE.rows[0]}
    assert second["topic"] == "b\x1b[31m"


def test_terminal_gets_a_table_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    console = pytest.importorskip("rich.console")
    out = Terminal()
    console.Console(file=out, width=80, force_terminal=True).print(drawn(TABLE, 80))
    assert "\x1b[1;33m" in out.getvalue(), "a lag over 0 stands out"
    assert "b\\x1b[31m" in out.getvalue()
    assert "two topics" in out.getvalue()


BROKERS = Table(
    "broker",
    ("cluster", "broker", "id", "addr", "version", "in_tps", "out_tps", "in_today", "out_today"),
    [
        {
            "cluster": "DefaultCluster",
            "broker": "broker-a",
            "id": 0,
            "addr": "127.0.0.1:10911",
            "version": "V4_9_7",
            **dict.fromkeys(("in_tps", "out_tps", "in_today", "out_today"), 0),
        }
    ],
    minor=("out_today", "in_today", "version"),
)


def shown_at(width: int, table: Table, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a terminal of this width gets, without colours."""
    pytest.importorskip("rich")
    out = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setenv("COLUMNS", str(width))
        patch.setenv("TERM", "xterm")
        show([table], as_json=False)
    return re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())


@pytest.mark.parametrize(
    ("width", "left_out"),
    [
        (100, ""),
        (86, ""),
        (78, "out today"),
        (60, "out today, in today, version"),
        (40, "out today, in today, version"),
    ],
)
def test_narrow_terminal_breaks_no_name(
    monkeypatch: pytest.MonkeyPatch, width: int, left_out: str
) -> None:
    text = shown_at(width, BROKERS, monkeypatch)
    for name in ("DefaultCluster", "broker-a", "127.0.0.1:10911"):
        assert name in text
    assert ("V4_9_7" in text) == ("version" not in left_out)
    note = f"not shown, the terminal is too narrow: {left_out}"
    assert (note in " ".join(text.split())) == bool(left_out)
    assert width == 40 or max(map(len, text.splitlines())) <= width


def test_narrow_terminal_folds_lists_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = [f"a-topic-{number}" for number in range(4)]
    table = Table("group", ("group", "topics"), [{"group": "a-group", "topics": topics}])
    text = shown_at(30, table, monkeypatch)
    assert all(topic in text for topic in topics)
    assert max(map(len, text.splitlines())) <= 30


def test_table_that_is_too_wide_folds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"group": "a-name-that-is-wider-than-the-terminal", "state": "waits for the group"}
    text = shown_at(30, Table("consumed", tuple(row), [row]), monkeypatch)
    assert "a-name-that-is-wider-than-the-terminal  waits for the group" in text


def test_name_of_a_field_is_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"reconsume_times": 0, "properties": "KEYS=k2 TAGS=paid CLUSTER=DefaultCluster"}
    text = shown_at(44, as_fields("message", row), monkeypatch)
    assert "reconsume times  0" in text
    assert max(map(len, text.splitlines())) <= 44


def test_narrow_terminal_breaks_long_values_by_field(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown_at(30, as_fields("message", {"body": "x" * 50}), monkeypatch)
    assert text.count("x") == 50
    assert max(map(len, text.splitlines())) <= 30


def test_terminal_without_rich_gets_columns_and_one_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    imported: Callable[..., object] = builtins.__import__

    def without_rich(name: str, *args: object) -> object:
        if name.startswith("rich"):
            raise ImportError(name)
        return imported(name, *args)

    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(builtins, "__import__", without_rich)
    output._say_once.cache_clear()
    show([TABLE], as_json=False)
    show([as_fields("message", {"body": "x", "tags": None})], as_json=False)
    assert out.getvalue().splitlines()[0].startswith("topic")
    assert "body   x" in out.getvalue()
    assert capsys.readouterr().err.count("pip install 'fakemq[cli]'") == 1


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("n", None, ""),
        ("n", True, "yes"),
        ("n", 1.5, "1.50"),
        ("n", ["a", "b"], "a b"),
        ("n", {"k": "v"}, "k=v"),
        ("at_ms", 0, ""),
        ("n", "a\nb", "a\\nb"),
    ],
)
def test_cell_is_one_line(name: str, value: object, text: str) -> None:
    assert cell(name, value) == text


def test_watched_tables_fit_the_screen() -> None:
    pytest.importorskip("rich")
    from rich.console import Console, Group
    from rich.text import Text

    screen = Console(file=io.StringIO(), width=80, height=10)

    def shown(count: int) -> list[str]:
        group = Group(*(Text(f"row {number}") for number in range(count)))
        with screen.capture() as capture:
            screen.print(_fitting(screen, group), end="")
        return capture.get().splitlines()

    assert shown(10) == [f"row {number}" for number in range(10)]
    more = "3 more lines do not fit; without --watch all are shown"
    assert shown(12) == [*(f"row {number}" for number in range(9)), more]
