"""Kinds of events of controllers, and of the groups of replicas that they keep.

``broker_name`` is the name of a group; ``broker_id`` is an id of it as controllers know it, which
stays the same whatever role the broker has.
"""

from __future__ import annotations

from fakemq.events.core import Event


class ControllerElected(Event, frozen=True, kw_only=True, gc=False):
    """A controller leads from now on; ``term`` counts the leaders of its group."""

    term: int


class ControllerDeposed(Event, frozen=True, kw_only=True, gc=False):
    """A controller leads no more; ``why`` is ``stop``, ``kill``, ``pause``, ``reset``,
    ``restore``, ``deposed`` or ``no majority``."""

    why: str


class ReplicaJoined(Event, frozen=True, kw_only=True, gc=False):
    """A broker of a group has an id now, and ``broker_addr`` is where it says it is."""

    broker_name: str
    broker_id: int
    broker_addr: str


class ReplicaMoved(Event, frozen=True, kw_only=True, gc=False):
    """A broker of a group has registered from another address."""

    broker_name: str
    broker_id: int
    broker_addr: str


class ReplicasCleaned(Event, frozen=True, kw_only=True, gc=False):
    """Controllers forgot ids of a group; no ``broker_ids``: they forgot the group."""

    broker_name: str
    broker_ids: tuple[int, ...]


class ReplicaInactive(Event, frozen=True, kw_only=True, gc=False):
    """A controller counts a broker as dead; ``why``: ``expired``, ``channel closed``, ``no room``.

    Its last heartbeat is older than its time-out, or the connection has closed on which the first
    one came. Or there are too many brokers, and its connection has closed, too.
    """

    broker_name: str
    broker_id: int
    why: str


class MasterElected(Event, frozen=True, kw_only=True, gc=False):
    """A group has a new master, which alone is in sync with itself.

    A ``broker_id`` of None: no replica could be elected, so the group has none, and its epoch ends.
    """

    broker_name: str
    broker_id: int | None
    master_epoch: int
    last_set: tuple[int, ...]
    """The replicas that were in sync before."""
    why: str
    """``asked`` by a broker, ``designated`` by an admin, or ``inactive``: its master was dead."""


class SyncStateSetChanged(Event, frozen=True, kw_only=True, gc=False):
    """The master of a group reported another set of replicas that are in sync."""

    broker_name: str
    sync_state_set: tuple[int, ...]
    sync_state_set_epoch: int
    last_set: tuple[int, ...]
