"""Figures: ratios and verdicts, lines of the table, the JSON, the plot."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from bench.kept import Change
from bench.measure import Figure, Plan, Round, compared, curves, missed
from bench.plot import draw
from bench.table import HEADER, line, number, report

ROUNDS = [Round(java=100, fake=150), Round(java=200, fake=180), Round(java=100, fake=120)]
SENDS = compared("traffic", "sends/s", ROUNDS, "/s", at_least=1.0)
LATE = compared("traffic", "p99", ROUNDS, "ms", at_most=1.0)
RESET = Figure(group="start", name="reset", value=0.4, unit="ms", at_most=1, note="warm")
POINTS = [
    Figure(group="growth", name="route", x=x, x_unit="topics", value=value, unit="µs")
    for x, value in ((1000, 11.0), (1, 10.0))
]


def test_ratio_is_the_median_of_the_rounds_not_of_the_medians() -> None:
    assert (SENDS.java, SENDS.value) == (100, 150)
    assert SENDS.ratios == (1.5, 0.9, 1.2)
    assert SENDS.ratio == 1.2


def test_verdicts_follow_from_ratios() -> None:
    assert SENDS.met
    assert not LATE.met
    assert RESET.met
    assert not Figure(group="start", name="reset", value=1.1, unit="ms", at_most=1).met
    free = Figure(group="speed", name="sends", value=1, unit="/s")
    assert free.met
    assert not free.has_target
    assert missed([SENDS, LATE, RESET, free]) == [LATE]


def test_equal_figures_pass() -> None:
    same = [Round(java=3, fake=3)]
    assert compared("g", "n", same, "/s", at_least=1.0).met
    assert compared("g", "n", same, "ms", at_most=1.0).met


def test_line_beside_java_shows_ratio_and_spread() -> None:
    words = line(SENDS).split()
    assert words == [
        *("traffic", "sends/s", "/s", "100", "150", "1.20", "0.90..1.50", "≥", "1", "ok"),
    ]
    assert "MISSED" in line(LATE)


def test_line_shows_the_change_since_the_kept_result() -> None:
    assert line(SENDS, Change(1.5, 1.2, "LOSS")).endswith("1.50 -20 % LOSS")
    assert line(SENDS, Change(1.19, 1.2, "")).endswith("1.19 +1 %")
    assert line(RESET, Change(0, 0.4, "LOSS")).split()[-3:] == ["0.00", "LOSS", "warm"]


def test_line_shows_what_other_processes_used() -> None:
    text = line(msgspec.structs.replace(SENDS, others=0.256))
    assert text[HEADER.index("others") :].split()[0] == "0.26"


def test_lines_are_aligned_under_their_header() -> None:
    for figure in (SENDS, LATE):
        text = line(figure, Change(1.5, 1.2, "LOSS"))
        assert text.index("1.20") + 4 == HEADER.index("ratio") + 5
        assert text.index("0.90..") == HEADER.index("spread")
        assert len(text[: HEADER.index("verdict")].rstrip()) == HEADER.index("target") + 3
        assert text.index("-20 %") == HEADER.index("change")


def test_line_without_java_leaves_its_columns_empty() -> None:
    assert line(RESET).split() == ["start", "reset", "ms", "0.40", "≤", "1", "ok", "warm"]


def test_point_shows_its_position() -> None:
    assert POINTS[0].label == "route, 1,000 topics"
    assert "route, 1,000 topics" in line(POINTS[0])


@pytest.mark.parametrize(
    ("value", "text"), [(0.123, "0.12"), (12.34, "12.3"), (123.4, "123"), (12345.6, "12,346")]
)
def test_numbers_are_formatted_by_size(value: float, text: str) -> None:
    assert number(value) == text


def test_points_form_a_curve_in_the_order_of_x() -> None:
    (curve,) = curves([SENDS, *POINTS])
    assert (curve.name, curve.x_unit, curve.unit) == ("route", "topics", "µs")
    assert (curve.x, curve.y) == ([1, 1000], [10.0, 11.0])


def test_json_has_machine_figures_and_curves() -> None:
    whole = json.loads(report({"cores": "2"}, [SENDS, RESET, *POINTS]))
    assert whole["machine"] == {"cores": "2"}
    sends, reset, *_ = whole["figures"]
    assert (sends["ratio"], sends["met"], sends["ratios"]) == (1.2, True, [1.5, 0.9, 1.2])
    assert (reset["ratio"], reset["java"], reset["value"]) == (None, None, 0.4)
    assert whole["curves"][0]["x"] == [1, 1000]


def test_plan_selects_figures_by_name() -> None:
    assert Plan().wants("anything")
    assert Plan(only="16 t").wants("sends/s, 16 threads")
    assert not Plan(only="64 t").wants("sends/s, 16 threads")


def test_rounds_end_when_there_is_no_time_for_another() -> None:
    passed_s = iter([0, 100, 100, 250, 250, 350, 350])
    plan = Plan(rounds=5, until_s=490)
    assert list(plan.turns(lambda: next(passed_s))) == [0, 1, 2]  # the next may take 150 s


def test_one_round_is_made_however_late_it_is() -> None:
    late = Plan(until_s=-1)
    assert list(late.turns()) == [0]
    assert list(late.part(0.5).turns()) == [0]
    assert len(list(Plan(rounds=3).turns())) == 3


def test_repeated_rounds_are_collected_by_name() -> None:
    rounds = iter(ROUNDS)
    found = Plan(rounds=3).repeat(lambda: {"sends/s": next(rounds)})
    assert found == {"sends/s": ROUNDS}


def test_plot_is_not_drawn_without_curves_or_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plot.svg"
    assert draw([RESET], "a machine", path) == "nothing to plot"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert draw([SENDS], "a machine", path) == "no plot: the extra bench is not installed"
    assert not path.exists()


@pytest.mark.slow  # matplotlib looks for fonts
def test_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="only make bench installs it")
    path = tmp_path / "folder" / "plot.svg"
    assert draw([SENDS, LATE, RESET, *POINTS], "a machine", path) == str(path)
    assert b"<svg" in path.read_bytes()
