"""What a history says of popped messages: which pop holds each of them, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fakemq.events.core import ClockSkewed, LogAppended, NodeStopped
from fakemq.events.pop import Acknowledged, InvisibleTimeChanged, Popped, Revived
from fakemq.events.store import UnsyncedLost
from fakemq.sim.history import MASTER, broker_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fakemq.journal.entries import Entry


class GroupQueue(NamedTuple):
    """A queue of a node as one group sees it; ``topic`` may be the group's retry topic."""

    node: str
    group: str
    topic: str
    queue_id: int


class PopHold(msgspec.Struct):
    """A message that is out, by one pop or one change of its invisible time."""

    queue: GroupQueue
    queue_offset: int
    pop_time_ms: int
    until_ms: int
    """When it ends, by the wall clock of the node."""
    in_order: bool
    attempt_id: str | None
    at_ms: int
    """When it began, in wall time of the cluster."""
    acked_at_ms: int | None = None
    """The same of its acknowledgement; None if there was none."""
    revived: bool = False
    replaced: bool = False
    """Whether a change of the invisible time, or a later pop in order, took its place."""
    may_repeat: bool = False
    """Whether its broker was killed since, which may have lost how far the group was."""
    uncertain: bool = False
    """Whether its broker may have forgotten it."""
    may_be_lost: bool = False
    """Whether that is because a record in the log may be lost."""
    popped_at_slave: bool = False
    """Whether it began with a pop at a slave, of which no other node knows."""

    @property
    def is_open(self) -> bool:
        return self.acked_at_ms is None and not self.revived and not self.replaced

    def __str__(self) -> str:
        queue = self.queue
        return (
            f"offset {self.queue_offset} of {queue.topic} queue {queue.queue_id} at {queue.node},"
            f" popped by {queue.group}"
        )


def _ignore(*args: object) -> None:
    pass


class PopHistory:
    """Follows the entries of a history, oldest first.

    ``popped`` is called with every hold of a pop before it counts; ``revived`` with every event
    `Revived`, the hold that it ends if there is one, and the time at the node.

    A kill may lose what a broker writes only now and then: consumer offsets, and what is out in
    order. So after it a message may be popped again. The loss of a machine may lose records, and
    what they said is then uncertain.

    A slave keeps no checkpoints. What it popped is acknowledged at the master, and there its
    invisible time is changed. So a change may begin a hold without a pop at its node, and the
    first pop of the message may come behind that. If both pop it in the same millisecond, or the
    master pops it in the one in which it changed that time, no event says which of both holds it
    is about, so they are then uncertain.
    """

    def __init__(
        self,
        popped: Callable[[PopHold], None] = _ignore,
        revived: Callable[[Revived, PopHold | None, int], None] = _ignore,
    ) -> None:
        self._popped = popped
        self._revived = revived
        self._holds: dict[GroupQueue, dict[int, list[PopHold]]] = {}
        self._skew_ms: dict[str, int] = {}
        self._appends: dict[str, list[tuple[int, int]]] = {}
        """Node → log offset and time of its records."""
        self._msg_ids: dict[tuple[str, str, int, int], str] = {}
        """Node, topic, queue id and queue offset → message id, if machines lose logs."""
        self._at_slaves: dict[tuple[GroupQueue, int], set[int]] = {}
        """Pops at slaves: queue with its brokerName as the node, and queue offset → pop times."""
        self.lossy: set[str] = set()
        """Nodes that lost a part of their log."""

    # -- reading ------------------------------------------------------------------------------

    def of(self, queue: GroupQueue) -> Iterator[PopHold]:
        """Yield all holds of a queue."""
        for holds in self._holds.get(queue, {}).values():
            yield from holds

    def last(self, queue: GroupQueue, queue_offset: int) -> PopHold | None:
        """Return the last hold of a message; None if it was never popped."""
        holds = self._holds.get(queue, {}).get(queue_offset)
        return holds[-1] if holds else None

    def had(self, queue: GroupQueue, queue_offset: int) -> bool:
        """Return whether a message was ever popped at its broker, or at a slave of it."""
        if self.last(queue, queue_offset) is not None:
            return True
        of_any = queue._replace(node=broker_name(queue.node))
        return (of_any, queue_offset) in self._at_slaves

    def lost(self) -> set[tuple[str, str]]:
        """Return group and message id of messages that may be lost for the group."""
        return {
            (queue.group, self._msg_ids.get((queue.node, queue.topic, queue.queue_id, offset), ""))
            for queue, by_offset in self._holds.items()
            for offset, holds in by_offset.items()
            if any(hold.may_be_lost for hold in holds)
        }

    # -- following ----------------------------------------------------------------------------

    def follow(self, entries: Sequence[Entry]) -> None:
        """Take note of the next entries."""
        for entry in entries:
            event = entry.event
            match event:
                case Popped():
                    self._pop(event, entry.at_ms)
                case Acknowledged():
                    self._acknowledge(event, entry.at_ms)
                case InvisibleTimeChanged():
                    self._change(event, entry.at_ms)
                case Revived():
                    self._revive(event, entry.at_ms)
                case ClockSkewed():
                    self._skew_ms[event.node] = event.skew_ms
                case LogAppended():
                    self._append(event, entry.at_ms)
                case NodeStopped():
                    if event.how == "kill":
                        self._killed(event.node)
                case UnsyncedLost():
                    if event.log_bytes:
                        self._lose(event.node, event.log_offset)
                case _:
                    pass

    def _append(self, event: LogAppended, at_ms: int) -> None:
        self._appends.setdefault(event.node, []).append((event.phy_offset, at_ms))
        place = (event.node, event.topic, event.queue_id, event.queue_offset)
        self._msg_ids[place] = event.msg_id

    def _pop(self, event: Popped, at_ms: int) -> None:
        queue = GroupQueue(event.node, event.group, event.topic, event.queue_id)
        holds = self._holds.setdefault(queue, {})
        for offset in range(event.start_offset, event.start_offset + event.count):
            hold = PopHold(
                queue=queue,
                queue_offset=offset,
                pop_time_ms=event.pop_time_ms,
                until_ms=event.invisible_until_ms,
                in_order=event.in_order,
                attempt_id=event.attempt_id,
                at_ms=at_ms,
                popped_at_slave=not event.node.endswith(MASTER),
            )
            self._popped(hold)
            if hold.popped_at_slave:
                of_any = queue._replace(node=broker_name(queue.node))
                self._at_slaves.setdefault((of_any, offset), set()).add(event.pop_time_ms)
            if event.in_order:
                for one in holds.get(offset, ()):
                    one.replaced = True
            elif (same := self._find(queue, offset, event.pop_time_ms)) is not None:
                same.uncertain = hold.uncertain = True
            holds.setdefault(offset, []).append(hold)

    def _find(self, queue: GroupQueue, queue_offset: int, pop_time_ms: int) -> PopHold | None:
        holds = self._holds.get(queue, {}).get(queue_offset, ())
        return next((hold for hold in reversed(holds) if hold.pop_time_ms == pop_time_ms), None)

    def _acknowledge(self, event: Acknowledged, at_ms: int) -> None:
        queue = GroupQueue(event.node, event.group, event.topic, event.queue_id)
        hold = self._find(queue, event.queue_offset, event.pop_time_ms)
        if hold is not None and hold.in_order and not event.has_effect:
            return  # the group's offset is past it, or it was popped again
        if hold is not None and hold.is_open:
            hold.acked_at_ms = at_ms
            if self._was_at_slave(queue, event.queue_offset, event.pop_time_ms):
                hold.uncertain = True

    def _change(self, event: InvisibleTimeChanged, at_ms: int) -> None:
        queue = GroupQueue(event.node, event.group, event.topic, event.queue_id)
        before = self._find(queue, event.queue_offset, event.pop_time_ms)
        in_order = event.next_pop_time_ms == event.pop_time_ms
        if in_order:
            if before is not None and before.is_open and event.has_effect:
                before.until_ms = event.invisible_until_ms
            return
        at_slave = self._was_at_slave(queue, event.queue_offset, event.pop_time_ms)
        if before is not None:
            before.replaced = True
            before.uncertain = before.uncertain or at_slave
        # A handle of a message that is acknowledged or visible again is as good as any.
        holds = self._holds.setdefault(queue, {}).setdefault(event.queue_offset, [])
        holds[:] = [one for one in holds if one.pop_time_ms != event.next_pop_time_ms]
        holds.append(
            PopHold(
                queue=queue,
                queue_offset=event.queue_offset,
                pop_time_ms=event.next_pop_time_ms,
                until_ms=event.invisible_until_ms,
                in_order=False,
                attempt_id=None,
                at_ms=at_ms,
                uncertain=at_slave and before is not None,
                popped_at_slave=at_slave or (before is not None and before.popped_at_slave),
            )
        )

    def _was_at_slave(self, queue: GroupQueue, queue_offset: int, pop_time_ms: int) -> bool:
        """Return whether a slave of the same brokerName has popped a message then."""
        of_any = queue._replace(node=broker_name(queue.node))
        return pop_time_ms in self._at_slaves.get((of_any, queue_offset), ())

    def _revive(self, event: Revived, at_ms: int) -> None:
        queue = GroupQueue(event.node, event.group, event.topic, event.queue_id)
        hold = self._find(queue, event.queue_offset, event.pop_time_ms)
        self._revived(event, hold, at_ms + self._skew_ms.get(event.node, 0))
        if hold is not None:
            hold.revived = True

    def _killed(self, node: str) -> None:
        for queue, by_offset in self._holds.items():
            if queue.node == node:
                for holds in by_offset.values():
                    for hold in holds:
                        hold.may_repeat = True
                        hold.uncertain = hold.uncertain or hold.in_order

    def _lose(self, node: str, log_offset: int) -> None:
        """Take what was recorded in the lost part of a log as uncertain."""
        self.lossy.add(node)
        times = [at_ms for offset, at_ms in self._appends.get(node, ()) if offset >= log_offset]
        lost_from_ms = min(times, default=0)
        for queue, by_offset in self._holds.items():
            if queue.node != node:
                continue
            for holds in by_offset.values():
                if any(max(one.at_ms, one.acked_at_ms or 0) >= lost_from_ms for one in holds):
                    for hold in holds:
                        hold.uncertain = hold.may_be_lost = True
