"""What masters stored without waiting for a replica, and later masters need not have."""

from __future__ import annotations

import pytest

from fakemq.clock.clock import Clock
from fakemq.events.core import (
    DeadLettered,
    Dispatched,
    Event,
    LogAppended,
    RequestHandled,
    ScheduledDelivered,
    SentBack,
    TransactionChecked,
    TransactionEnded,
)
from fakemq.journal.journal import Journal
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from fakemq.sim.invariants.unwaited import UnwaitedRecords

NODE, AT, MSG_ID = "broker-a@1", 700, "ID-a"
DELAYS, OFFSETS = RequestCode.GET_ALL_DELAY_OFFSET, RequestCode.GET_ALL_CONSUMER_OFFSET

SENT_BACK = SentBack(
    node=NODE,
    group="workers",
    level=3,
    reconsume_times=1,
    from_phy_offset=100,
    phy_offset=AT,
    origin_msg_id="7F00",
    msg_id=MSG_ID,
)
DEAD = DeadLettered(
    node=NODE,
    group="workers",
    reconsume_times=1,
    from_phy_offset=100,
    phy_offset=AT,
    origin_msg_id="7F00",
    msg_id=MSG_ID,
)
COMMITTED = TransactionEnded(
    node=NODE,
    how="commit",
    topic="orders",
    half_offset=3,
    phy_offset=AT,
    from_check=False,
    msg_id=MSG_ID,
)
CHECKED = TransactionChecked(
    node=NODE,
    topic="orders",
    from_half_offset=3,
    half_offset=8,
    times=1,
    group="producers",
    peer=None,
    msg_id=MSG_ID,
)


def delivered(topic: str) -> ScheduledDelivered:
    return ScheduledDelivered(
        node=NODE,
        level=2,
        schedule_offset=5,
        from_phy_offset=100,
        phy_offset=AT,
        topic=topic,
        queue_id=0,
        queue_offset=9,
        msg_id=MSG_ID,
    )


DELIVERED = delivered("orders")


class Life:
    """The journal of a group whose master is `NODE`, of epoch 1."""

    def __init__(self) -> None:
        self.journal = Journal(Clock(frozen=True))
        self.epoch = 1
        self.records = UnwaitedRecords(self.journal, lambda node: self.epoch)

    def stored(self, event: Event, topic: str = "orders") -> None:
        """Let the master put a record into its log, for what ``event`` says."""
        record = LogAppended(
            node=NODE,
            topic=topic,
            queue_id=0,
            queue_offset=8,
            phy_offset=AT,
            size_bytes=100,
            msg_id=MSG_ID,
        )
        self.journal.add(record)
        self.journal.add(event)

    def dispatched(self) -> None:
        """Let the node bring a record to its queue: its own, or that of its master."""
        record = Dispatched(node=NODE, topic="orders", queue_id=0, queue_offset=8, phy_offset=AT)
        self.journal.add(record)

    def answer(self, code: RequestCode) -> None:
        """Let the node answer how far it is."""
        self.journal.add(RequestHandled(node=NODE, code=code, peer="peer", response_code=0))

    def lost(self, has: bool = False, name: str = "broker-a") -> set[tuple[str | None, str]]:
        return set(self.records.lost(name, lambda phy_offset, msg_id: has))


@pytest.mark.parametrize("event", [SENT_BACK, DEAD])
def test_message_that_was_sent_back_may_be_lost_for_its_group(event: Event) -> None:
    life = Life()
    life.stored(event)
    assert life.lost() == {("workers", MSG_ID)}
    assert life.lost(has=True) == life.lost(name="broker-b") == set()


@pytest.mark.parametrize(
    ("event", "code", "group"),
    [
        (DELIVERED, DELAYS, None),
        (delivered("%RETRY%workers"), DELAYS, "workers"),
        (COMMITTED, OFFSETS, None),
        (CHECKED, OFFSETS, None),
    ],
)
def test_message_may_be_lost_when_a_slave_copied_that_it_is_done(
    event: Event, code: RequestCode, group: str | None
) -> None:
    life = Life()
    life.answer(code)
    life.stored(event, TRANS_HALF_TOPIC)
    life.answer(OFFSETS if code is DELAYS else DELAYS)
    assert life.lost() == set()
    life.answer(code)
    assert life.lost() == {(group, MSG_ID)}


def test_confirmed_record_is_not_excused() -> None:
    life = Life()
    life.stored(SENT_BACK)
    life.dispatched()
    assert life.lost() == set()


def test_record_that_another_master_put_there_confirms_none() -> None:
    life = Life()
    life.stored(SENT_BACK)
    life.epoch = 2
    life.dispatched()
    assert life.lost() == {("workers", MSG_ID)}
