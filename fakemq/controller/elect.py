"""Which replica becomes the master of a group.

Source: controller/elect/impl/DefaultElectPolicy.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.protocol.java import int32, java_hash_map_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.controller.state import BrokerReplicaInfo, SyncStateInfo


class Standing(Protocol):
    """What the last heartbeats of a broker said of its log."""

    epoch: int
    """The last epoch of its file of epochs."""
    max_offset: int
    """Where its log ends, in bytes."""
    election_priority: int
    """The lower one is preferred."""


class Alive(Protocol):
    """The brokers that live, by heartbeats."""

    def is_alive(self, cluster: str | None, broker_name: str, broker_id: int) -> bool:
        """Return whether the last heartbeat of a broker still counts."""

    def standing(self, cluster: str | None, broker_name: str, broker_id: int) -> Standing | None:
        """Return what a broker's heartbeats said; None if it sends none."""


def elect(
    alive: Alive,
    broker_name: str,
    replicas: BrokerReplicaInfo,
    sync: SyncStateInfo,
    *,
    unclean: bool,
    designated: int | None,
) -> int | None:
    """Return the id of the master to be: the old one if it lives; None if no replica may be it.

    Members of the set are asked first; with ``unclean`` all replicas are then. With ``designated``
    it is that one or none. Among members any may win, not the longest log alone: what is compared
    is up to a heartbeat old.
    """
    sources = [sync.sync_state_set, replicas.replicas.keys()] if unclean else [sync.sync_state_set]
    for source in sources:
        live = {one for one in source if alive.is_alive(replicas.cluster, broker_name, one)}
        old = sync.master_broker_id
        if old in live and designated in (None, old):
            return old
        if designated in live:
            return designated
        if live and designated is None:
            return _best(live, broker_name, replicas.cluster, alive)
    return None


def _best(live: Iterable[int], broker_name: str, cluster: str | None, alive: Alive) -> int:
    """Return the first by epoch, length of log, and priority; of equal ones that of Java's set.

    Java's comparator casts differences to an int. So if two logs differ by more than 2 GiB, the
    shorter one may win.
    """
    best: int | None = None
    best_said: Standing | None = None
    for broker_id in java_hash_map_order(live):
        said = alive.standing(cluster, broker_name, broker_id)
        if best_said is None or (said is not None and _compared(said, best_said) < 0):
            best, best_said = broker_id, said
    assert best is not None, "a set with a living member"
    return best


def _compared(one: Standing, other: Standing) -> int:
    """Return less than zero if ``one`` comes first, as Java's comparator."""
    if one.epoch != other.epoch:
        return int32(other.epoch - one.epoch)
    if one.max_offset != other.max_offset:
        return int32(other.max_offset - one.max_offset)
    return int32(one.election_priority - other.election_priority)
