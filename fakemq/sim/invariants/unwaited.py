"""What masters store without waiting for a replica, and later masters need not have.

RocketMQ stores with WAIT=false what a consumer sends back, what a delay level delivers, what a
commit stores, and a half message that is checked. A slave without the record may be elected, and
never make it again: the group has committed the message that it sent back, and slaves take over
how far their master's delay levels and half messages are, even before they have what it stored
for these.

Source: broker/processor/AbstractSendMessageProcessor.java#consumerSendMsgBack,
broker/schedule/ScheduleMessageService.java#messageTimeUp,
broker/processor/EndTransactionProcessor.java#endMessageTransaction,
broker/transaction/queue/TransactionalMessageBridge.java#renewHalfMessageInner,
broker/slave/SlaveSynchronize.java#syncDelayOffset, #syncConsumerOffset (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fakemq.events.core import (
    DeadLettered,
    Dispatched,
    LogAppended,
    RequestHandled,
    ScheduledDelivered,
    SentBack,
    TransactionChecked,
    TransactionEnded,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import RETRY_PREFIX, TRANS_HALF_TOPIC
from fakemq.sim.history import broker_name
from fakemq.sim.invariants.holes import RecordOrigin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fakemq.journal.entries import Entry
    from fakemq.journal.journal import Journal

_Key: TypeAlias = tuple[str, int]
"""A node, and an offset of its log."""


class _Unwaited(NamedTuple):
    """A record of a message for which its master did not wait."""

    seq: int
    """Of the journal's entry."""
    origin: RecordOrigin
    msg_id: str
    group: str | None
    """The only group that may lack the message; None for all."""
    copied_by: RequestCode | None
    """The request by which slaves copy that it is done; None if nothing says so."""


class UnwaitedRecords:
    """The records of a run for which no master waited; ``epoch_of`` returns the epoch of a node."""

    def __init__(self, journal: Journal, epoch_of: Callable[[str], int]) -> None:
        self._epoch_of = epoch_of
        self._found: list[_Unwaited] = []
        self._newest: dict[_Key, RecordOrigin] = {}
        """The last record that a master put there."""
        self._confirmed: set[RecordOrigin] = set()
        self._halves: dict[tuple[str, int], int] = {}
        """A node, and an offset in its queue of half messages → the offset in its log."""
        self._answers: dict[tuple[str, int], int] = {}
        """A node and a request's code → the journal's last entry of an answer."""
        journal.listen(self._appended, LogAppended)
        journal.listen(self._dispatched, Dispatched)
        journal.listen(self._answered, RequestHandled)
        journal.listen(self._sent_back, SentBack, DeadLettered)
        journal.listen(self._delivered, ScheduledDelivered)
        journal.listen(self._committed, TransactionEnded)
        journal.listen(self._checked, TransactionChecked)

    def lost(self, name: str, has: Callable[[int, str], bool]) -> Iterator[tuple[str | None, str]]:
        """Yield group, or None for all groups, and id of the messages that a group of brokers lost.

        Its last master ``has`` a message at an offset of its log, or not. A record that its master
        has confirmed is everywhere in the set: it is not excused here.
        """
        for one in self._found:
            is_of_group = broker_name(one.origin.node) == name
            if not is_of_group or one.origin in self._confirmed or not self._is_copied(one):
                continue
            if not has(one.origin.phy_offset, one.msg_id):
                yield one.group, one.msg_id

    def _is_copied(self, one: _Unwaited) -> bool:
        return (
            one.copied_by is None
            or self._answers.get((one.origin.node, one.copied_by), 0) > one.seq
        )

    # -- events ---------------------------------------------------------------------------------

    def _appended(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, LogAppended)
        key = event.node, event.phy_offset
        self._newest[key] = RecordOrigin(event.node, self._epoch_of(event.node), event.phy_offset)
        if event.topic == TRANS_HALF_TOPIC:
            self._halves[event.node, event.queue_offset] = event.phy_offset

    def _dispatched(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, Dispatched)
        origin = self._newest.get((event.node, event.phy_offset))
        # A slave brings to its queues what another master has put there.
        if origin is not None and origin.epoch == self._epoch_of(event.node):
            self._confirmed.add(origin)

    def _answered(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, RequestHandled)
        self._answers[event.node, event.code] = entry.seq

    def _sent_back(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, SentBack | DeadLettered)
        self._take(entry, event.phy_offset, event.msg_id, event.group)

    def _delivered(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, ScheduledDelivered)
        is_retry = event.topic.startswith(RETRY_PREFIX)
        group = event.topic.removeprefix(RETRY_PREFIX) if is_retry else None
        copied_by = RequestCode.GET_ALL_DELAY_OFFSET
        self._take(entry, event.phy_offset, event.msg_id, group, copied_by)

    def _committed(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, TransactionEnded)
        if event.phy_offset is not None:
            copied_by = RequestCode.GET_ALL_CONSUMER_OFFSET
            self._take(entry, event.phy_offset, event.msg_id, None, copied_by)

    def _checked(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, TransactionChecked)
        phy_offset = self._halves[event.node, event.half_offset]
        copied_by = RequestCode.GET_ALL_CONSUMER_OFFSET
        self._take(entry, phy_offset, event.msg_id, None, copied_by)

    def _take(
        self,
        entry: Entry,
        phy_offset: int,
        msg_id: str,
        group: str | None,
        copied_by: RequestCode | None = None,
    ) -> None:
        origin = self._newest[entry.event.node, phy_offset]
        self._found.append(_Unwaited(entry.seq, origin, msg_id, group, copied_by))
