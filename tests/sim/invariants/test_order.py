"""Messages that are consumed out of order, and messages that are only consumed again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fakemq.events.core import DeadLettered
from fakemq.events.store import UnsyncedLost
from fakemq.sim.invariants.order import out_of_order
from tests.support.histories import consumed, history, sent

CRASH = UnsyncedLost(node="broker-a-0", pages=9, lost_pages=3, log_offset=100, log_bytes=50)


def test_skipped_message_delivered_later_is_a_violation() -> None:
    story = history(consumed("a", 0), consumed("c", 2), consumed("b", 1))
    (violation,) = out_of_order(story)
    assert violation.text == (
        "b (ID-b), offset 1 of orders queue 0 at broker-a, was first consumed by workers"
        " after offset 2"
    )


def test_repeated_messages_are_in_order() -> None:
    story = [consumed("a", 0), consumed("b", 1), consumed("a", 0, node="workers-2")]
    assert not list(out_of_order(history(*story, consumed("b", 1), consumed("c", 2))))


def test_dead_letter_of_the_group_has_left_its_queue() -> None:
    buried = DeadLettered(
        node="broker-a-0",
        group="workers",
        reconsume_times=1,
        from_phy_offset=0,
        phy_offset=9,
        origin_msg_id="",
        msg_id="ID-b",
    )
    story = consumed("a", 0), buried, consumed("c", 2), consumed("b", 1)
    assert not list(out_of_order(history(*story)))
    elsewhere = replace(buried, group="audit"), replace(buried, msg_id="ID-a")
    assert len(list(out_of_order(history(*elsewhere, *story[2:])))) == 1


def test_queues_and_groups_are_judged_separately() -> None:
    story = history(
        consumed("c", 2),
        consumed("b", 1, queue_id=1),
        consumed("a", 0, broker="broker-b"),
        consumed("b", 1, group="audit"),
    )
    assert not list(out_of_order(story))


def test_queues_of_a_truncated_log_are_not_judged() -> None:
    cut = [consumed("z", 9), sent("old", 9, shard="s"), CRASH]
    assert not list(out_of_order(history(*cut, consumed("new", 5), sent("new", 5, shard="s"))))


@pytest.mark.parametrize(
    "crash",
    [
        replace(CRASH, node="broker-b-0"),
        replace(CRASH, node="broker-a-1"),
        replace(CRASH, log_bytes=0),
    ],
)
def test_other_crashes_are_no_excuse(crash: UnsyncedLost) -> None:
    assert len(list(out_of_order(history(consumed("z", 9), crash, consumed("y", 5))))) == 1


def test_shard_stored_in_another_order_than_sent_is_a_violation() -> None:
    story = history(sent("one", 4, shard="s"), sent("two", 3, shard="s"), sent("three", 0))
    (violation,) = out_of_order(story)
    assert violation.text == "two was stored at offset 3, and one, sent before it, at 4"
