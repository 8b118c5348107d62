"""How fast a slave's log grows, and a slave that catches up within a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.measure import Plan
from bench.replication import Look, figures, looks, mib_per_s, within_a_process
from fakemq.cluster import Cluster

MIB = 1 << 20


def seen(*ends: int, behind: int = 0) -> Iterator[Look]:
    """A log that was looked at once a second; ``behind`` is for all looks but the last."""
    last = len(ends) - 1
    return (
        Look(float(number), end * MIB, 0 if number == last else behind)
        for number, end in enumerate(ends)
    )


@pytest.mark.parametrize(
    ("ends", "behind", "expected"),
    [
        ((10, 40), 0, 30.0),
        ((0, 0, 0, 10, 20, 40), 0, 15.0),
        ((0, 10, 40, 40, 40), 100, 10.0),
    ],
    ids=["two looks", "waiting does not count", "queues count"],
)
def test_log_growth_rate_is_computed_from_samples(
    ends: tuple[int, ...], behind: int, expected: float
) -> None:
    assert mib_per_s(40 * MIB, seen(*ends, behind=behind)) == expected


@pytest.mark.parametrize(
    ("ends", "why"),
    [((0, 0, 40), "before it was seen"), ((0, 10, 20), "has not come to 41943040")],
)
def test_log_growth_rate_is_unknown_when_samples_do_not_suffice(
    ends: tuple[int, ...], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        mib_per_s(40 * MIB, seen(*ends))


def test_broker_log_size_is_read() -> None:
    with Cluster(topics={"orders": 1}) as mq:
        mq.seed("orders", [b"x"])
        look = next(looks(mq.broker("broker-a").addr))
    assert (look.log_end > 0, look.behind_bytes) == (True, 0)


def test_slave_catches_up_within_a_process() -> None:
    assert within_a_process(2_000) > 0


def test_replication_bench_without_java_has_no_comparison() -> None:
    assert list(figures(Plan(java=False))) == []
