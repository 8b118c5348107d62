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
        """All sets together for which the controller is asked; None if it has answered.

        It may accept each of them. A refusal is no answer: the proposed sets count until the next
        one that is accepted.
        """
        self._newest: Members = frozenset()
        """The proposed set that is the newest."""
        self.accepted: Members = frozenset()
        """The set of the controller's last answer."""
        self.epoch = 0
        """The epoch of that answer."""
        self.caught_up: dict[int, CaughtUp] = {}
        """Slaves by id; those that have left the sets stay as long as they are connected."""

    @property
    def is_settled(self) -> bool:
        """Whether the controller has accepted what this master has, and nothing else is asked."""
        return self.proposed is None and self.local == self.accepted

    @property
    def union(self) -> Members:
        """The members that count now."""
        return self.local if self.proposed is None else self.local | self.proposed

    @property
    def size(self) -> int:
        """How many members there are for minInSyncReplicas: not those of several sets.

        Source: AutoSwitchHAService.java#inSyncReplicasNums (5.5.0)
        """
        return max(len(self.local), len(self._newest))

    def take(self, members: Members, epoch: int) -> None:
        """Take the controller's set."""
        self.local = self.accepted = members
        self.proposed, self._newest = None, frozenset()
        self.epoch = epoch

    def propose(self, members: Members) -> None:
        """Let the members of another set count, too, beside those that are proposed already."""
        self.proposed = members | (self.proposed or frozenset())
        self._newest = members

    def skip(self, ms: int) -> None:
        """Take note that slaves inside the cluster had all for so long, which was skipped."""
        for member, last in self.caught_up.items():
            if not last.outside:
                self.caught_up[member] = last._replace(elapsed_ms=last.elapsed_ms + ms)

    def forget_all_but(self, connected: Members) -> None:
        """Forget when slaves had all that are neither connected nor in a set."""
        kept = self.union | self.accepted | connected
        self.caught_up = {one: last for one, last in self.caught_up.items() if one in kept}

    def lose(self, member: int) -> Members | None:
        """Remove a member whose connection is lost, at once; return the set to propose, or None."""
        if member not in self.local:
            return None
        self.local -= {member}
        self.proposed = (self.proposed or frozenset()) - {member}
        self.propose(self.local)
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
            self.propose(kept)
        return kept

    def __repr__(self) -> str:
        proposed = "" if self.proposed is None else f", proposed {sorted(self.proposed)}"
        return f"<in-sync set {sorted(self.local)} #{self.epoch}{proposed}>"
