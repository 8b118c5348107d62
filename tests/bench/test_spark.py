"""How measurements of Spark are judged; only the bench runs the readings themselves."""

from __future__ import annotations

from pathlib import Path

from bench.measure import Round
from bench.spark_growth import straight
from bench.spark_reading import WARM_UPS, in_turns, link_log_files


def test_cost_in_proportion_is_straight_and_its_square_is_not() -> None:
    assert straight("reading", "files", {1: 30.0, 4: 60.0, 16: 160.0, 64: 560.0}).met
    proportional = straight("reading", "files", {16: 160.0, 64: 640.0})
    assert proportional.value == 1
    assert not straight("reading", "files", {16: 160.0, 64: 160.0 * 16}).met


def test_rounds_alternate_and_begin_when_both_sides_are_warm() -> None:
    asked: list[str] = []

    def reading(side: str) -> float:
        asked.append(side)
        return float(len(asked))

    rounds = in_turns(2, lambda: reading("theirs"), lambda: reading("ours"))
    begin = 2.0 * WARM_UPS
    assert rounds == [Round(begin + 1, begin + 2), Round(begin + 3, begin + 4)]
    assert asked == ["theirs", "ours"] * (WARM_UPS + 2)


def test_log_sample_takes_full_files_only(tmp_path: Path) -> None:
    log = tmp_path / "store" / "commitlog"
    log.mkdir(parents=True)
    for number in range(4):
        (log / f"{number:020}").write_bytes(b"x" * number)
    assert link_log_files(tmp_path / "store", tmp_path / "all") == 3
    assert link_log_files(tmp_path / "store", tmp_path / "two", 2) == 2
    assert sorted(one.name[-1] for one in (tmp_path / "two" / "commitlog").iterdir()) == ["0", "1"]
