"""Messages of a queue are consumed in order, and messages of a shard are stored in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fakemq.events.core import DeadLettered
from fakemq.events.store import UnsyncedLost
from fakemq.sim.events import Consumed, Received, Sent
from fakemq.sim.history import MASTER, History, Violation, broker_name
from fakemq.sim.invariants.durability import SEND_OK

NAME = "order per queue"


def out_of_order(history: History, unordered: Collection[str] = ()) -> Iterator[Violation]:
    """Yield messages that are out of order. There are two cases:

    1. A group began to consume a message for the first time after a later one of its queue.
    2. A message of a shard was stored before an earlier one of the shard, in the same queue: the
       gRPC front chooses among the queues of the brokers that are there.

    A member may process messages of a queue at the same time, but begins them in order. Consuming
    messages again, from a committed offset, is allowed. A message in the DLQ of the group has left
    its queue: a member may still work on it when the front takes it out, because the attempt that
    delivered it was repeated and counted too often. A master that lost a part of its log
    assigns queue offsets twice, so its queues are not checked from then on. Members of a group in
    ``unordered`` pop different messages of a queue at the same time.
    """
    last: dict[tuple[str, str, str, int], int] = {}
    had: set[tuple[str, str, str]] = set()
    buried: set[tuple[str, str]] = set()
    stored: dict[tuple[str, str, int], Sent] = {}
    cut: set[str] = set()
    for entry in history.entries:
        event = entry.event
        if isinstance(event, UnsyncedLost):
            if event.log_bytes and event.node.endswith(MASTER):
                cut.add(broker_name(event.node))
        elif isinstance(event, DeadLettered):
            buried.add((event.group, event.msg_id))
        elif isinstance(event, Consumed | Received | Sent) and event.broker in cut:
            continue
        elif isinstance(event, Consumed | Received):
            if event.group in unordered:
                continue
            place = (event.group, event.broker, event.topic, event.queue_id)
            message = (event.group, event.topic, event.msg_id)
            before = last.get(place, -1)
            if message in had or (event.group, event.msg_id) in buried:
                continue
            had.add(message)
            last[place] = max(before, event.queue_offset)
            if event.queue_offset < before:
                yield Violation(
                    NAME,
                    f"{event.key} ({event.msg_id}), offset {event.queue_offset} of {event.topic}"
                    f" queue {event.queue_id} at {event.broker}, was first consumed by"
                    f" {event.group} after offset {before}",
                    (event.key, event.msg_id),
                )
        elif isinstance(event, Sent) and event.shard and event.status == SEND_OK:
            queue = (event.shard, event.broker, event.queue_id)
            earlier = stored.get(queue)
            if earlier is not None and event.queue_offset <= earlier.queue_offset:
                yield Violation(
                    NAME,
                    f"{event.key} was stored at offset {event.queue_offset}, and {earlier.key},"
                    f" sent before it, at {earlier.queue_offset}",
                    (event.key, earlier.key),
                )
            stored[queue] = event
