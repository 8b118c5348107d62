"""The reports that RocketMQ's benchmark programs print, and the values taken from them."""

from __future__ import annotations

import pytest

from bench.benchmark import parse_report
from bench.traffic import last_busy, percentile

PRODUCER = (
    "Current Time: 2026-11-21 14:52:19,133 | Send TPS: 4595 | Max RT(ms): 938 | "
    "Average RT(ms):  14.208 | Send Failed: 0 | Response Failed: 0"
)
BATCH_PRODUCER = (
    "Current Time: 2026-11-21 15:41:33,912 | Send TPS: 1653 | Send MPS: 26455 | Max RT(ms): 1505 | "
    "Average RT(ms):   9.698 | Average Message RT(ms):   0.606 | Send Failed: 0 | "
    "Send Message Failed: 0"
)
CONSUMER = (
    "Current Time: 2026-11-21 15:41:49,001 | Consume TPS: 29088 | AVG(B2C) RT(ms): 15623.187 | "
    "AVG(S2C) RT(ms): 15618.261 | MAX(B2C) RT(ms): 13845 | MAX(S2C) RT(ms): 13843 | Consume Fail: 0"
)


def test_producer_report_is_parsed() -> None:
    assert parse_report(PRODUCER) == {
        "Send TPS": 4595,
        "Max RT(ms)": 938,
        "Average RT(ms)": 14.208,
        "Send Failed": 0,
        "Response Failed": 0,
    }


def test_batch_producer_report_counts_requests_and_messages() -> None:
    report = parse_report(BATCH_PRODUCER)
    assert (report["Send TPS"], report["Send MPS"]) == (1653, 26455)
    assert report["Send Message Failed"] == 0


def test_consumer_report_is_parsed() -> None:
    report = parse_report(CONSUMER)
    assert report["Consume TPS"] == 29088
    assert report["MAX(B2C) RT(ms)"] == 13845


@pytest.mark.parametrize(
    "line",
    ["", "Consumer Started.", "topic: Bench1, threadCount: 64, messageSize: 128", "ready"],
)
def test_other_lines_are_no_report(line: str) -> None:
    assert parse_report(line) == {}


def reports(*maxima: int) -> list[dict[str, float]]:
    return [
        {"MAX(B2C) RT(ms)": maximum, "Consume TPS": number}
        for number, maximum in enumerate(maxima, 1)
    ]


def test_last_report_counts_while_a_backlog_is_left() -> None:
    assert last_busy(reports(9, 9, 9))["Consume TPS"] == 3


def test_report_is_ignored_when_the_consumer_may_have_idled() -> None:
    assert last_busy(reports(9, 9, 9, 0, 0))["Consume TPS"] == 2


@pytest.mark.parametrize("maxima", [(0, 0), (9, 0)])
def test_benchmark_fails_when_the_backlog_ends_too_early(maxima: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="is gone before"):
        last_busy(reports(*maxima))


def test_percentiles_are_interpolated() -> None:
    values = [*range(1, 102)]
    assert (percentile(values, 50), percentile(values, 99)) == (51, 100)
