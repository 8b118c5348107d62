"""What the judge of a run makes of what its machines lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakemq.events.store import UnsyncedLost
from fakemq.sim.plan import draw_plan
from fakemq.sim.run import Simulation
from tests.support.made_up import sent

PROMISES_NOTHING = next(
    plan
    for plan in map(draw_plan, range(200))
    if (plan.cluster.role, plan.cluster.flush) == ("ASYNC_MASTER", "ASYNC_FLUSH")
    if not plan.cluster.on_disk and not plan.cluster.slaves
)


@pytest.fixture
def sim() -> Iterator[Simulation]:
    """A run that has only begun, with a message that nobody has."""
    sim = Simulation(PROMISES_NOTHING)
    sim.core.stop_logging()
    sim.start()
    sim.core.journal.add(sent(offset=5))
    yield sim
    sim.close()


def broken(sim: Simulation, log_offset: int, log_bytes: int) -> set[str]:
    """The names of what did not hold if the master lost so much of its log."""
    sim.core.journal.add(
        UnsyncedLost(
            node="broker-a-0", pages=9, lost_pages=3, log_offset=log_offset, log_bytes=log_bytes
        )
    )
    return {violation.invariant for violation in sim.verdict()}


@pytest.mark.parametrize(("log_offset", "log_bytes"), [(0, 0), (501, 80)])
def test_who_lost_no_record_of_it_is_not_excused(
    sim: Simulation, log_offset: int, log_bytes: int
) -> None:
    assert broken(sim, log_offset, log_bytes) == {"SEND_OK is kept", "delivered or dead"}


def test_who_lost_it_and_promised_nothing_is_excused(sim: Simulation) -> None:
    assert broken(sim, 500, 80) == set()
