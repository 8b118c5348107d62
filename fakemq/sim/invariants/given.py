"""What a consumer was given is never taken back, and an acknowledged message is confirmed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from fakemq.sim.history import Violation

if TYPE_CHECKING:
    from fakemq.events.core import LogAppended
    from fakemq.events.replication import ReplicationWaited
    from fakemq.sim.events import Consumed
    from fakemq.sim.invariants.acknowledged import IsExcused
    from fakemq.sim.invariants.holes import RecordOrigin

CONFIRMED = "what is acknowledged is confirmed"
READABLE = "what can be read is everywhere in the set"
NAME = "what a consumer was given stays"

Place: TypeAlias = tuple[str, int, int]
"""Topic, queue id and queue offset."""


def unconfirmed(waited: ReplicationWaited, confirm_offset: int) -> Iterator[Violation]:
    """Yield a wait that ended well before the master's confirm offset had reached its end."""
    if waited.transferred and confirm_offset < waited.offset:
        text = (
            f"{waited.node} answered SEND_OK for a message that ends at {waited.offset} of its"
            f" log, and has confirmed {confirm_offset}"
        )
        yield Violation(CONFIRMED, text, (waited.node, str(waited.offset)))


def beyond(
    master: str, readable: int, ends: Mapping[str, int], msg_at: Callable[[int], str]
) -> Iterator[Violation]:
    """Yield a replica that may be elected, and lacks what consumers can read of its master.

    ``ends`` has the ends of the logs of those replicas; ``msg_at`` returns the id of the message
    at an offset of the master's log.
    """
    for node, end in ends.items():
        if end < readable:
            msg_id = msg_at(end)
            text = (
                f"{master} lets consumers read up to {readable}, and the log of {node}, which may"
                f" be elected, ends at {end}: it lacks {msg_id}"
            )
            yield Violation(READABLE, text, (msg_id, node))


class Given:
    """The messages that consumers were given, and which master stored each."""

    def __init__(self) -> None:
        self._given: dict[str, dict[tuple[Place, str], Consumed]] = {}
        self._stored: dict[tuple[str, Place, str], list[RecordOrigin]] = {}

    def stored(self, broker_name: str, origin: RecordOrigin, appended: LogAppended) -> None:
        """Take that a master of a group has put a record into its log."""
        place = appended.topic, appended.queue_id, appended.queue_offset
        self._stored.setdefault((broker_name, place, appended.msg_id), []).append(origin)

    def take(self, consumed: Consumed) -> None:
        """Take that a consumer was given a message."""
        place = consumed.topic, consumed.queue_id, consumed.queue_offset
        self._given.setdefault(consumed.broker, {}).setdefault((place, consumed.msg_id), consumed)

    def ids_at_lost(
        self,
        broker_name: str,
        there: Mapping[Place, str],
        is_excused: IsExcused,
    ) -> set[str]:
        """Return the ids of the messages that had a place whose record is lost, and may be.

        A group that has consumed the lost record never reads what a later master puts there, not
        even the same message: two masters deliver a delayed one. The arguments are those of
        `taken_back`.
        """
        of_group = [one for one in self._stored.items() if one[0][0] == broker_name]
        lost = {
            place
            for (_, place, msg_id), stored in of_group
            if (there.get(place) != msg_id or len(stored) > 1) and any(map(is_excused, stored))
        }
        return {msg_id for (_, place, msg_id), _ in of_group if place in lost}

    def taken_back(
        self,
        broker_name: str,
        there: Mapping[Place, str],
        is_excused: IsExcused,
    ) -> Iterator[Violation]:
        """Yield the messages that the last master does not have; ``there`` are those it has."""
        for (place, msg_id), consumed in self._given.get(broker_name, {}).items():
            if there.get(place) == msg_id:
                continue
            stored = self._stored.get((broker_name, place, msg_id), [])
            if any(map(is_excused, stored)):
                continue
            topic, queue_id, queue_offset = place
            text = (
                f"{consumed.key} ({msg_id}), offset {queue_offset} of {topic} queue {queue_id} at"
                f" {broker_name}, was given to {consumed.node}; the last master has"
                f" {there.get(place, 'nothing')} there"
            )
            yield Violation(NAME, text, (consumed.key, msg_id))
