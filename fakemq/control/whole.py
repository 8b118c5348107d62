"""Endpoints of the whole cluster: reset it, take a snapshot of it, restore one."""

from __future__ import annotations

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import endpoint
from fakemq.control.results import Done
from fakemq.core.snapshots import Snapshot


class SnapshotState(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot, which this process keeps until it is deleted."""

    id: int
    nodes: list[str]
    size_bytes: int


@endpoint("POST", "/v1/reset")
async def reset(control: Control) -> Done:
    """Reset the cluster to its start: topics, groups, messages, offsets, faults, journal, clock.

    Brokers that are down or paused run again. Live connections and snapshots stay.
    """
    async with control.changing:
        await control.server.reset()
    control.holds.clear()
    return Done()


@endpoint("GET", "/v1/snapshots")
def get_snapshots(control: Control) -> list[SnapshotState]:
    """Return all snapshots."""
    return [_state(number, snapshot) for number, snapshot in control.snapshots.items()]


@endpoint("POST", "/v1/snapshots", waits=True)
async def take_snapshot(control: Control) -> SnapshotState:
    """Take a snapshot of the brokers' messages, topics, groups, offsets and settings."""
    core = control.core
    steps = Snapshot.in_steps(core.brokers, core.name_servers, core.controllers)
    snapshot = await control.server.carry_out(steps)
    return _state(control.snapshots.keep(snapshot), snapshot)


@endpoint("POST", "/v1/snapshots/{snapshot}/restore")
async def restore_snapshot(control: Control, snapshot: str) -> SnapshotState:
    """Restore the brokers' data from a snapshot; the clock and the journal continue."""
    number, found = control.snapshots.of(snapshot)
    async with control.changing:
        await control.server.restore(found)
    return _state(number, found)


@endpoint("DELETE", "/v1/snapshots/{snapshot}")
def delete_snapshot(control: Control, snapshot: str) -> Done:
    """Delete a snapshot."""
    number, _ = control.snapshots.of(snapshot)
    del control.snapshots[number]
    return Done()


def _state(number: int, snapshot: Snapshot) -> SnapshotState:
    return SnapshotState(id=number, nodes=snapshot.nodes, size_bytes=snapshot.size_bytes)
