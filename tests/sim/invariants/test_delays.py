"""Messages that leave their delay level before they are due."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fakemq.events import ClockMoved, ClockSkewed, Scheduled, ScheduledDelivered
from fakemq.sim.invariants.delays import too_early
from tests.support.histories import history

SCHEDULED = Scheduled(
    node="broker-a-0",
    level=3,
    schedule_offset=0,
    phy_offset=500,
    due_at_ms=10_000,
    topic="orders",
    msg_id="ID",
)
DELIVERED = ScheduledDelivered(
    node="broker-a-0",
    level=3,
    schedule_offset=0,
    from_phy_offset=500,
    phy_offset=900,
    topic="orders",
    queue_id=0,
    queue_offset=0,
    msg_id="ID",
)


def skewed(skew_ms: int, node: str = "broker-a-0") -> ClockSkewed:
    return ClockSkewed(node=node, skew_ms=skew_ms)


def test_delivery_in_time_or_late_is_accepted() -> None:
    assert not list(too_early(history((0, SCHEDULED), (10_000, DELIVERED))))
    assert not list(too_early(history((0, SCHEDULED), (99_000, DELIVERED))))


def test_delivery_a_millisecond_early_is_a_violation() -> None:
    (violation,) = too_early(history((0, SCHEDULED), (9_999, DELIVERED)))
    assert violation.text == "ID for orders left level 3 of broker-a-0 1 ms too early"


def test_repeated_delivery_is_accepted_and_an_early_one_is_not() -> None:
    story = [(0, SCHEDULED), (10_000, DELIVERED)]
    assert not list(too_early(history(*story, (10_001, DELIVERED))))
    (violation,) = too_early(history(*story, (9_000, DELIVERED)))
    assert violation.text.endswith("1000 ms too early")


@pytest.mark.parametrize(
    "other", [{"phy_offset": 501}, {"node": "broker-a-1"}, {"msg_id": "other"}, {"level": 4}]
)
def test_message_that_was_never_delayed_is_a_violation(other: dict[str, int | str]) -> None:
    (violation,) = too_early(history((0, replace(SCHEDULED, **other)), (99_000, DELIVERED)))
    assert violation.text == (
        "ID for orders left level 3 of broker-a-0 and was never scheduled at offset 500 of its log"
    )
    assert violation.words == ("ID",)


def test_brokers_own_clock_counts() -> None:
    ahead = skewed(4_000)
    assert not list(too_early(history((0, SCHEDULED), (1, ahead), (6_000, DELIVERED))))
    assert list(too_early(history((0, SCHEDULED), (1, ahead), (5_999, DELIVERED))))
    other = skewed(4_000, "broker-b-0")
    assert list(too_early(history((0, SCHEDULED), (1, other), (6_000, DELIVERED))))


@pytest.mark.parametrize(
    "set_back",
    [
        (skewed(-4_000),),
        (skewed(4_000), skewed(0)),
        (ClockMoved(node="cluster", how="jump", by_ms=-4_000),),
    ],
)
def test_waiting_while_the_clock_went_back_is_excused(
    set_back: tuple[ClockSkewed | ClockMoved, ...],
) -> None:
    assert not list(too_early(history((0, SCHEDULED), *set_back, (2, DELIVERED))))
    assert list(too_early(history(*set_back, (1, SCHEDULED), (2, DELIVERED))))


def test_jump_ahead_is_no_excuse() -> None:
    jump = ClockMoved(node="cluster", how="jump", by_ms=4_000)
    assert list(too_early(history((0, SCHEDULED), (4_000, jump), (9_999, DELIVERED))))
