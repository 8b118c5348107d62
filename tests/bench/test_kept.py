"""Kept results: written, found again, and compared with what later rounds show."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.kept import FOLDER, Kept, compare, keep, newest, read, spread_of
from bench.measure import Figure, Round, compared

MACHINE = {
    "date": "2026-11-22T10:00:00Z",
    "commit": "abc",
    "form": "pure Python",
    "processor": "A",
    "cores": "2",
}


def sends(*ratios: float) -> Figure:
    """Return a figure whose rounds had these ratios; Java's rate differs from round to round."""
    rounds = [
        Round(java=1000 + 100 * at, fake=ratio * (1000 + 100 * at))
        for at, ratio in enumerate(ratios)
    ]
    return compared("traffic", "sends/s, 16 threads", rounds, "/s", at_least=1.0)


def took(*ratios: float) -> Figure:
    rounds = [Round(java=2.0, fake=2.0 * ratio) for ratio in ratios]
    return compared("store", "recovery", rounds, "s", at_most=1.0)


def single(value: float, unit: str = "ms", at_most: float | None = None) -> Figure:
    return Figure(group="start", name="reset", value=value, unit=unit, at_most=at_most)


def verdict(before: Figure, after: Figure, **machine: str) -> str | None:
    change = compare(Kept(machine=MACHINE, figures=(before,)), after, MACHINE | machine)
    return None if change is None else change.verdict


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((0.45, 0.47, 0.52), (0.98, 1.02, 1.05), "gain"),
        ((0.98, 1.02, 1.05), (0.45, 0.47, 0.52), "LOSS"),
        ((0.98, 1.02, 1.05), (0.90, 0.95, 1.03), ""),  # the old median is within the new rounds
        ((0.80, 1.02, 1.05), (0.81, 0.90, 0.95), ""),  # the new median is within the old rounds
        ((1.00, 1.00, 1.00), (0.98, 0.98, 0.98), ""),  # equal rounds spread by 3 % nevertheless
    ],
)
def test_change_counts_beyond_the_spread_of_both(
    before: tuple[float, ...], after: tuple[float, ...], expected: str
) -> None:
    assert verdict(sends(*before), sends(*after)) == expected


def test_slower_is_a_loss() -> None:
    assert verdict(took(1.0, 1.1, 1.2), took(1.6, 1.7, 1.8)) == "LOSS"
    assert verdict(took(1.6, 1.7, 1.8), took(1.0, 1.1, 1.2)) == "gain"


def test_single_round_is_taken_to_spread_by_a_tenth() -> None:
    assert spread_of(took(1.0)) == pytest.approx((0.9, 1.1))
    assert verdict(took(1.0), took(1.08)) == ""
    assert verdict(took(1.0), took(1.2)) == "LOSS"


def test_counted_instructions_hardly_spread() -> None:
    assert verdict(single(128_000, "Ir"), single(128_400, "Ir")) == ""
    assert verdict(single(128_000, "Ir"), single(131_000, "Ir")) == "LOSS"


def test_value_far_below_its_target_may_vary() -> None:
    assert verdict(single(3, "", at_most=100), single(9, "", at_most=100)) == ""
    assert verdict(single(0, "", at_most=0), single(2, "", at_most=0)) == "LOSS"


def test_values_of_another_machine_are_not_compared() -> None:
    assert verdict(single(1.0), single(9.0), cores="8") is None
    assert verdict(single(1.0), single(9.0)) == "LOSS"
    assert verdict(sends(1.0, 1.0), sends(0.5, 0.5), cores="8") == "LOSS"


def test_figures_are_compared_by_group_name_and_unit() -> None:
    assert verdict(single(1.0), single(1.0, "µs")) is None
    assert verdict(single(1.0, "/s"), sends(1.0)) is None
    with_java = Figure(group="start", name="reset", value=1.0, unit="ms", ratios=(1.0,))
    assert verdict(with_java, single(1.0)) is None


def test_change_has_the_ratios_and_their_difference() -> None:
    kept = Kept(machine=MACHINE, figures=(sends(0.5, 0.5),))
    change = compare(kept, sends(0.6, 0.6), MACHINE)
    assert change is not None
    assert (change.before, change.after) == pytest.approx((0.5, 0.6))
    assert change.percent == pytest.approx(20)


def test_kept_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    point = Figure(group="growth", name="route", x=1, x_unit="topics", value=11.2, unit="µs")
    figures = (sends(0.9, 1.5, 1.2), single(0.4, at_most=1), single(7, unit=""))
    path = keep(MACHINE, [*figures, point], tmp_path / "results")
    assert path.name == "2026-11-22-abc-pure.json"
    assert read(path) == Kept(machine=MACHINE, figures=figures)
    assert b"null" not in path.read_bytes()


def test_newest_result_of_the_form_is_found(tmp_path: Path) -> None:
    assert newest("pure Python", tmp_path) is None
    for day, form in (("21", "pure Python"), ("20", "pure Python"), ("22", "compiled")):
        machine = MACHINE | {"date": f"2026-11-{day}T10:00:00Z", "form": form}
        keep(machine, [single(1.0)], tmp_path)
    found = newest("pure Python", tmp_path)
    assert found is not None
    assert found.machine["date"] == "2026-11-21T10:00:00Z"


def test_committed_results_can_be_read() -> None:
    for path in FOLDER.glob("*.json"):
        kept = read(path)
        assert MACHINE.keys() <= kept.machine.keys()
        assert kept.figures
