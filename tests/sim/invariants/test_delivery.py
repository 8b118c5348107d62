"""Messages that a group has not received at the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pytest

from fakemq.events import (
    DeadLettered,
    Event,
    HalfStored,
    Scheduled,
    ScheduledDelivered,
    SentBack,
    TransactionEnded,
)
from fakemq.sim.events import Decided
from fakemq.sim.history import History, Violation
from fakemq.sim.invariants import delivery
from tests.support.histories import consumed, history, sent

GROUPS = {"workers": ("orders",), "ledger": ("payments",)}
LOST_LETTER_AT = 9_000


def undelivered(
    story: History,
    groups: Mapping[str, Collection[str]] = GROUPS,
    lost_from: Mapping[str, int] | None = None,
) -> list[Violation]:
    """Call `delivery.undelivered`; every record except the one at LOST_LETTER_AT is stored."""
    return list(
        delivery.undelivered(
            story, groups, lost_from or {}, lambda name, at, _: at < LOST_LETTER_AT
        )
    )


def dead(key: str, phy_offset: int = 2) -> DeadLettered:
    return DeadLettered(
        node="broker-a-0",
        group="workers",
        reconsume_times=3,
        from_phy_offset=1,
        phy_offset=phy_offset,
        origin_msg_id="",
        msg_id=f"ID-{key}",
    )


def decided(key: str, how: str) -> Decided:
    return Decided(node="producer", topic="orders", key=key, how=how)


def test_undelivered_message_is_a_violation() -> None:
    (violation,) = undelivered(history(sent("a"), sent("b"), consumed("a")))
    assert violation.text == (
        "b (ID-b), sent to orders queue 0 at broker-a was not delivered to workers:"
        " it never consumed it"
    )
    assert violation.words == ("b", "ID-b")


def test_message_lost_after_being_sent_back_is_a_violation() -> None:
    (violation,) = undelivered(history(sent(), consumed(well=False)))
    assert "workers-1 sent it back, and it never came again" in violation.text


def test_delivered_or_dead_message_is_accepted() -> None:
    story = history(
        *(sent("a"), consumed("a", well=False), consumed("a", topic="%RETRY%workers")),
        *(sent("b"), consumed("b", well=False), dead("b")),
        sent("c", status="FLUSH_SLAVE_TIMEOUT"),
        sent("d", broker="broker-lost"),
    )
    assert not undelivered(story, lost_from={"broker-lost": 0})


def test_every_group_must_receive_the_message() -> None:
    groups = {"workers": ("orders",), "audit": ("orders", "payments")}
    (violation,) = undelivered(history(sent(), consumed()), groups)
    assert "was not delivered to audit" in violation.text


def test_rolled_back_message_needs_no_delivery() -> None:
    assert not undelivered(history(decided("a", "rollback"), sent("a")))
    (violation,) = undelivered(history(decided("a", "rollback"), sent("a"), consumed("a")))
    assert violation.text.endswith("was rolled back, and consumed by workers-1")
    assert undelivered(history(decided("a", "commit"), sent("a")))


def test_lost_dead_letter_is_no_end() -> None:
    story = [sent(), consumed(well=False), dead("m-1", LOST_LETTER_AT)]
    (violation,) = undelivered(history(*story))
    assert violation.text.endswith("no broker has its dead letter, offset 9000 of the log")
    assert not undelivered(history(*story, dead("m-1", 8_000))), "it was given up again"
    assert not undelivered(history(*story), lost_from={"broker-a": 8_500})


# -- what can be lost -------------------------------------------------------------------------

NODE, MSG_ID, EARLIER, LATER = "broker-a-0", "ID-m-1", 400, 600
"""The log is lost from offset 500 on; the message itself is at 100."""
HALF = HalfStored(node=NODE, topic="orders", queue_id=0, half_offset=0, phy_offset=0, msg_id=MSG_ID)


def scheduled(at: int) -> Event:
    return Scheduled(
        node=NODE,
        level=1,
        schedule_offset=0,
        phy_offset=at,
        due_at_ms=0,
        topic="orders",
        msg_id=MSG_ID,
    )


def left_its_level(at: int) -> Event:
    return ScheduledDelivered(
        node=NODE,
        level=1,
        schedule_offset=0,
        from_phy_offset=100,
        phy_offset=at,
        topic="orders",
        queue_id=0,
        queue_offset=0,
        msg_id=MSG_ID,
    )


def sent_back(at: int) -> Event:
    return SentBack(
        node=NODE,
        group="workers",
        level=3,
        reconsume_times=1,
        from_phy_offset=100,
        phy_offset=at,
        origin_msg_id="",
        msg_id=MSG_ID,
    )


def committed(at: int) -> Event:
    return TransactionEnded(
        node=NODE,
        how="commit",
        topic="orders",
        half_offset=0,
        phy_offset=at,
        from_check=False,
        msg_id=MSG_ID,
    )


def test_only_messages_behind_the_cut_are_excused() -> None:
    story = history(sent("before", 4), sent("behind", 5), sent("elsewhere", 5, broker="broker-b"))
    found = undelivered(story, lost_from={"broker-a": 500})
    assert [violation.words[0] for violation in found] == ["before", "elsewhere"]


@pytest.mark.parametrize("made", [scheduled, left_its_level, sent_back, committed])
def test_message_whose_next_record_was_lost_is_excused(made: Callable[[int], Event]) -> None:
    lost_from = {"broker-a": 500}
    assert not undelivered(history(sent(offset=1), made(LATER)), lost_from=lost_from)
    assert undelivered(history(sent(offset=1), made(EARLIER)), lost_from=lost_from)
    assert undelivered(history(sent(offset=1), made(LATER)))


def test_half_message_whose_end_may_be_lost_is_excused() -> None:
    lost_from = {"broker-a": 500}
    assert not undelivered(history(HALF, sent(offset=1)), lost_from=lost_from)
    assert undelivered(history(HALF, sent(offset=1), committed(EARLIER)), lost_from=lost_from)
