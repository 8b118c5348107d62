"""What a group may lack, because it took a record that was lost."""

from __future__ import annotations

from fakemq.events.core import LogAppended
from fakemq.sim.invariants.given import Given
from fakemq.sim.invariants.holes import RecordOrigin

PLACE = "orders", 0, 7
LATER = RecordOrigin("broker-a@2", 2, 200)


def stored(given: Given, origin: RecordOrigin) -> None:
    topic, queue_id, queue_offset = PLACE
    record = LogAppended(
        node=origin.node,
        topic=topic,
        queue_id=queue_id,
        queue_offset=queue_offset,
        phy_offset=origin.phy_offset,
        size_bytes=100,
        msg_id="ID-a",
    )
    given.stored("broker-a", origin, record)


def is_of_the_first_master(origin: RecordOrigin) -> bool:
    return origin.node == "broker-a@1"


def test_message_that_two_masters_delivered_may_be_passed_over() -> None:
    given = Given()
    stored(given, LATER)
    assert given.ids_at_lost("broker-a", {PLACE: "ID-a"}, is_of_the_first_master) == set()
    stored(given, RecordOrigin("broker-a@1", 1, 100))
    assert given.ids_at_lost("broker-a", {PLACE: "ID-a"}, is_of_the_first_master) == {"ID-a"}
    assert given.ids_at_lost("broker-a", {PLACE: "ID-a"}, lambda origin: False) == set()
