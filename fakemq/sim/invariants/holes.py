"""Where RocketMQ's masters acknowledge what a replica lacks that may be elected.

A master drops a slave from its set as soon as their connection closes, and asks the controllers
afterwards. Until they agree they may elect that slave. What the master acknowledges meanwhile is
lost then (apache/rocketmq#7017), also a send that waits for the slave when the connection closes.
The same bytes are what consumers read too early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.sim.history import broker_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class RecordOrigin(NamedTuple):
    """Where a record was first: in the log of a node, which was the master of an epoch."""

    node: str
    epoch: int
    phy_offset: int


class Shown:
    """The parts of logs that replicas showed to consumers since a start, before they had a role.

    A broker that was stopped brings all of its log to its queues at its next start, also what was
    not confirmed; after a kill it does not. Until it has a role it answers pulls, and a name server
    that it could not notify still has its route.
    Source: store/CommitLog.java#recoverNormally (5.5.0)
    """

    def __init__(self) -> None:
        self._of: dict[str, list[tuple[int, int, int]]] = {}

    def take(
        self, broker_name: str, epochs: Sequence[tuple[int, int, int]], start: int, end: int
    ) -> None:
        """Take a part of the log of a replica; ``epochs`` are its own, with start and end."""
        self._of.setdefault(broker_name, []).extend(
            (epoch, max(start, first), min(end, behind)) for epoch, first, behind in epochs
        )

    def has(self, origin: RecordOrigin) -> bool:
        """Return whether a replica showed a record of a master."""
        return any(
            epoch == origin.epoch and start <= origin.phy_offset < end
            for epoch, start, end in self._of.get(broker_name(origin.node), ())
        )


class _Hole:
    """Bytes of the log of an epoch's master, from ``start`` to ``end``, without some replicas."""

    def __init__(self, epoch: int, start: int, end: int, lost: frozenset[int]) -> None:
        self.epoch = epoch
        """After a cut the same node stores other bytes there, as the master of a later one."""
        self.start = start
        self.end = end
        self.lost = lost
        """The replicas without it. None are left when it is over."""
        self.agreed = False
        """Whether the controllers have agreed: what is in it counts, and no other replica does."""
        self.settled: set[str] = set()
        """The nodes that agree with the master since, on these bytes or without them."""


class Holes:
    """The parts of logs that masters acknowledged without a replica that might be elected."""

    def __init__(self) -> None:
        self._of: dict[str, list[_Hole]] = {}

    def counts_without(
        self,
        node: str,
        epoch: int,
        missing: Collection[int],
        disconnected: Collection[int],
        confirmed: int,
        end: int,
    ) -> None:
        """Take which replicas a master does not count, though the controllers may elect them.

        A hole begins with one that is not connected, too, at what was ``confirmed`` then; a later
        one may have less than that. It lasts until there is none of these any more, or the
        ``epoch`` is over. The log ends at ``end``.
        """
        hole = self._open(node)
        if hole is not None and hole.epoch != epoch:
            hole.lost, hole = frozenset(), None
        if hole is not None:
            hole.start = min(hole.start, confirmed)
            hole.lost = frozenset(missing) & (hole.lost | frozenset(disconnected))
            hole.agreed = not hole.lost
        elif disconnected:
            hole = _Hole(epoch, confirmed, end, frozenset(disconnected))
            self._of.setdefault(node, []).append(hole)

    def stored(self, node: str, end: int) -> None:
        """Take that a node has put a record into its log, which ends at ``end`` now."""
        hole = self._open(node)
        if hole is not None:
            hole.end = end

    def none(self, node: str) -> None:
        """Take that a node is no master, or none any more."""
        hole = self._open(node)
        if hole is not None:
            hole.lost = frozenset()

    def settle(self, node: str) -> None:
        """Take that a node was elected, or joined the set of another master."""
        for hole in self._of_group(node):
            hole.settled.add(node)

    def has(self, origin: RecordOrigin) -> bool:
        """Return whether a master acknowledged its record in a hole."""
        return any(
            hole.epoch == origin.epoch and hole.start <= origin.phy_offset < hole.end
            for hole in self._of.get(origin.node, ())
        )

    def first(self, node: str, otherwise: int) -> int:
        """Return where the first hole begins in which a node may differ from others.

        It may be a copy of another one's, whose slave the node was.
        """
        holes = [one for one in self._of_group(node) if not one.agreed]
        return min((one.start for one in holes if node not in one.settled), default=otherwise)

    def _of_group(self, node: str) -> list[_Hole]:
        name = broker_name(node)
        return [
            hole
            for master, holes in self._of.items()
            if broker_name(master) == name
            for hole in holes
        ]

    def _open(self, node: str) -> _Hole | None:
        holes = self._of.get(node)
        return holes[-1] if holes and holes[-1].lost else None
