"""The in-sync set of a master: which brokers a message must reach, by id.

Source: store/ha/autoswitch/AutoSwitchHAService.java (5.5.0)
"""

from __future__ import annotations

from typing import NamedTuple

Members = frozenset[int]


class CaughtUp(NamedTuple):
    """When a slave last had all: in ms of the cluster's clock, or of real time if it is outside."""

    outside: bool
    elapsed_ms: int


class InSyncSet:
    """The set that the controller has said, less the slaves that are gone since.

    While the controller is asked for another one, messages wait for the members of both, so that
    it may elect any of them. Source: apache/rocketmq#5663
    """

    def __init__(self) -> None:
        self.local: Members = frozenset()
        self.proposed: Members | None = None
        """The set for which the controller is asked; None if it has answered.

        A refusal is no answer: the proposed set counts until the next one that is accepted.
        """
        self.accepted: Members = frozenset()
        """The set of the controller's last answer."""
        self.epoch = 0
        """The epoch of that answer."""
        self.caught_up: dict[int, CaughtUp] = {}
        """Slaves by id; those that have left the set stay as long as they are connected."""

    @property
    def union(self) -> Members:
        """The members that count now."""
        return self.local if self.proposed is None else self.local | self.proposed

    @property
    def size(self) -> int:
        """How many members there are for minInSyncReplicas: not those of the union.

        Source: AutoSwitchHAService.java#inSyncReplicasNums (5.5.0)
        """
        return max(len(self.local), 0 if self.proposed is None else len(self.proposed))

    def take(self, members: Members, epoch: int) -> None:
        """Take the controller's set."""
        self.local = self.accepted = members
        self.proposed = None
        self.epoch = epoch

    def lose(self, member: int) -> Members | None:
        """Remove a member whose connection is lost, at once; return the set to propose, or None."""
        if member not in self.local:
            return None
        self.local -= {member}
        self.proposed = self.local
        return self.local

    def shrink(self, late: Members, own_id: int | None) -> Members:
        """Return the set without ``late`` members and without those that have never connected.

        If there are such, the set is proposed.
        """
        kept = frozenset(
            member
            for member in self.local
            if member not in late and (member == own_id or member in self.caught_up)
        )
        if kept != self.local:
            self.proposed = kept
        return kept

    def __repr__(self) -> str:
        proposed = "" if self.proposed is None else f", proposed {sorted(self.proposed)}"
        return f"<in-sync set {sorted(self.local)} #{self.epoch}{proposed}>"
