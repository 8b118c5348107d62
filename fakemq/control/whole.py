"""What is done to the cluster as a whole: back to the start, or to what it was at some moment."""

from __future__ import annotations

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import endpoint
from fakemq.control.results import Done
from fakemq.core.snapshots import Snapshot


class SnapshotState(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot, kept by this process until it is deleted."""

    id: int
    nodes: list[str]
    size_bytes: int


@endpoint("POST", "/v1/reset")
async def reset(control: Control) -> Done:
    """Back to the start state: topics, groups, messages, offsets, faults, journal, clock.

    Brokers that are down or paused run again. Live connections and snapshots stay.
    """
    async with control.changing:
        await control.server.reset()
    control.holds.clear()
    return Done()


@endpoint("GET", "/v1/snapshots")
def get_snapshots(control: Control) -> list[SnapshotState]:
    """The snapshots there are."""
    return [_state(number, snapshot) for number, snapshot in control.snapshots.items()]


@endpoint("POST", "/v1/snapshots")
def take_snapshot(control: Control) -> SnapshotState:
    """Keep all that the brokers hold now: messages, topics, groups, offsets and settings."""
    snapshot = control.mq.snapshot()
    return _state(control.snapshots.keep(snapshot), snapshot)


@endpoint("POST", "/v1/snapshots/{snapshot}/restore")
async def restore_snapshot(control: Control, snapshot: str) -> SnapshotState:
    """Have the brokers hold again what they held then; the clock and the journal go on."""
    number, found = control.snapshots.of(snapshot)
    async with control.changing:
        await control.server.restore(found)
    return _state(number, found)


@endpoint("DELETE", "/v1/snapshots/{snapshot}")
def delete_snapshot(control: Control, snapshot: str) -> Done:
    """Let a snapshot go."""
    number, _ = control.snapshots.of(snapshot)
    del control.snapshots[number]
    return Done()


def _state(number: int, snapshot: Snapshot) -> SnapshotState:
    return SnapshotState(id=number, nodes=snapshot.nodes, size_bytes=snapshot.size_bytes)
