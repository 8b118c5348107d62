"""What RocketMQ's benchmark programs print, and what is taken from it."""

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


def test_a_producers_report() -> None:
    assert parse_report(PRODUCER) == {
        "Send TPS": 4595,
        "Max RT(ms)": 938,
        "Average RT(ms)": 14.208,
        "Send Failed": 0,
        "Response Failed": 0,
    }


def test_a_batch_producer_counts_requests_and_messages() -> None:
    report = parse_report(BATCH_PRODUCER)
    assert (report["Send TPS"], report["Send MPS"]) == (1653, 26455)
    assert report["Send Message Failed"] == 0


def test_a_consumers_report() -> None:
    report = parse_report(CONSUMER)
    assert report["Consume TPS"] == 29088
    assert report["MAX(B2C) RT(ms)"] == 13845


@pytest.mark.parametrize(
    "line",
    ["", "Consumer Started.", "topic: Bench1, threadCount: 64, messageSize: 128", "ready"],
)
def test_other_lines_are_none(line: str) -> None:
    assert parse_report(line) == {}


def reports(*maxima: int) -> list[dict[str, float]]:
    return [
        {"MAX(B2C) RT(ms)": maximum, "Consume TPS": number}
        for number, maximum in enumerate(maxima, 1)
    ]


def test_the_last_report_counts_while_there_is_something_to_consume() -> None:
    assert last_busy(reports(9, 9, 9))["Consume TPS"] == 3


def test_a_report_on_a_second_that_may_have_idled_does_not_count() -> None:
    assert last_busy(reports(9, 9, 9, 0, 0))["Consume TPS"] == 2


@pytest.mark.parametrize("maxima", [(0, 0), (9, 0)])
def test_a_backlog_that_is_gone_too_early_is_told(maxima: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="is gone before"):
        last_busy(reports(*maxima))


def test_percentiles() -> None:
    values = [*range(1, 102)]
    assert (percentile(values, 50), percentile(values, 99)) == (51, 100)
