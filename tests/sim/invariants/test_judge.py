"""The verdict of a run in which machines lost bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakemq.events.store import UnsyncedLost
from fakemq.sim.drawing import draw_plan
from fakemq.sim.run import SimulationRun
from tests.support.histories import sent

PROMISES_NOTHING = next(
    plan
    for plan in map(draw_plan, range(200))
    if (plan.cluster.role, plan.cluster.flush) == ("ASYNC_MASTER", "ASYNC_FLUSH")
    if not plan.cluster.on_disk and not plan.cluster.slaves
)


@pytest.fixture
def sim() -> Iterator[SimulationRun]:
    """A run that has only begun, with a sent message that no broker has."""
    sim = SimulationRun(PROMISES_NOTHING)
    sim.core.stop_logging()
    sim.start()
    sim.core.journal.add(sent(offset=5))
    yield sim
    sim.close()


def broken(sim: SimulationRun, log_offset: int, log_bytes: int) -> set[str]:
    """Return the invariants that are violated when the master lost these bytes of its log."""
    sim.core.journal.add(
        UnsyncedLost(
            node="broker-a-0", pages=9, lost_pages=3, log_offset=log_offset, log_bytes=log_bytes
        )
    )
    return {violation.invariant for violation in sim.verdict()}


@pytest.mark.parametrize(("log_offset", "log_bytes"), [(0, 0), (501, 80)])
def test_broker_that_lost_no_record_is_not_excused(
    sim: SimulationRun, log_offset: int, log_bytes: int
) -> None:
    assert broken(sim, log_offset, log_bytes) == {"SEND_OK is kept", "delivered or dead"}


def test_broker_that_lost_an_unpromised_record_is_excused(sim: SimulationRun) -> None:
    assert broken(sim, 500, 80) == set()
