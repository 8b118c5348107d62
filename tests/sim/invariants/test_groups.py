"""The verdict of a run with controllers: what is excused when masters acknowledge too early."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fakemq.clock.slices import finished
from fakemq.core.inspection import seed
from fakemq.events.core import LogAppended
from fakemq.sim.drawing import DRAWN, draw_plan
from fakemq.sim.events import Probed
from fakemq.sim.invariants.acknowledged import NAME as KEPT
from fakemq.sim.invariants.delivery import NAME as DELIVERED
from fakemq.sim.invariants.groups import unserved
from fakemq.sim.invariants.holes import RecordOrigin
from fakemq.sim.replica_watch import ReplicaWatch
from fakemq.sim.run import SimulationRun
from tests.support.histories import history, sent

UP_AFTER_MS = 20_000
REPORTED_AFTER_MS = 6_000
"""A slave reports 5 s after it has connected."""
NEVER_ENDED = "it was not sent, or its send did not end"
SENT = sent(offset=50)
HOLE_AT = SENT.phy_offset


PROMISES = next(
    plan
    for plan in (draw_plan(seed, reference="5.5.0", controllers=DRAWN) for seed in range(200))
    if plan.cluster.replicas is not None and plan.cluster.replicas.all_ack_in_sync_state_set
    if not plan.cluster.on_disk and plan.cluster.slaves == 2
)


@pytest.fixture
def sim() -> Iterator[SimulationRun]:
    """A run whose groups have masters, and in which nothing was sent and nothing is disturbed."""
    sim = SimulationRun(replace(PROMISES, producers=(), faults=()))
    sim.core.stop_logging()
    sim.start()
    sim.pass_to(UP_AFTER_MS)
    yield sim
    sim.close()


def stored(sim: SimulationRun, key: str, phy_offset: int) -> None:
    """Say that a master, which no node knows any more, stored a message in ``orders``."""
    sim.core.journal.add(
        LogAppended(
            node="broker-a@1",
            topic=SENT.topic,
            queue_id=SENT.queue_id,
            queue_offset=SENT.queue_offset,
            phy_offset=phy_offset,
            size_bytes=100,
            msg_id=f"ID-{key}",
        )
    )


def begin_hole(sim: SimulationRun, at: int) -> None:
    """Let the first broker drop its slave at an offset of its log."""
    watch = sim.replica_watch
    assert isinstance(watch, ReplicaWatch)
    watch.holes.counts_without("broker-a@1", 1, {2}, {2}, at, at)


def violated(sim: SimulationRun) -> set[str]:
    """Return which of two invariants do not hold; the others are judged too early for them."""
    return {found.invariant for found in sim.verdict()} & {KEPT, DELIVERED}


def test_message_without_a_hole_is_not_excused(sim: SimulationRun) -> None:
    sim.core.journal.add(SENT)
    assert violated(sim) == {KEPT, DELIVERED}


@pytest.mark.parametrize("at", [0, HOLE_AT + 100])
def test_hole_elsewhere_excuses_nothing(sim: SimulationRun, at: int) -> None:
    begin_hole(sim, at)
    sim.core.journal.add(SENT)
    assert violated(sim) == {KEPT, DELIVERED}


def test_lost_message_in_a_hole_is_excused(sim: SimulationRun) -> None:
    begin_hole(sim, HOLE_AT)
    stored(sim, "m-1", HOLE_AT)
    sim.core.journal.add(SENT)
    assert violated(sim) == set()


def test_message_at_the_place_of_a_lost_one_need_not_be_delivered(sim: SimulationRun) -> None:
    begin_hole(sim, HOLE_AT)
    stored(sim, "m-1", HOLE_AT)
    stored(sim, "m-2", HOLE_AT + 100)
    sim.core.journal.add(sent("m-2", phy_offset=HOLE_AT + 100))
    assert DELIVERED not in violated(sim)


def test_member_without_a_report_may_lack_what_is_read(sim: SimulationRun) -> None:
    """It has connected again, and is in the controllers' set: their answer was lost."""
    watch, core = sim.replica_watch, sim.core
    assert isinstance(watch, ReplicaWatch)
    assert core.controllers is not None

    def store() -> RecordOrigin:
        """Let each master store messages; return where the first one begins."""
        begin = core.brokers["broker-a@1"].store.log.max_offset
        finished(seed(core, "orders", [b"hello"] * 16, "", "", {}, None))
        return RecordOrigin("broker-a@1", 1, begin)

    store()  # Java does not count slaves of an empty log
    sim.pass_to(UP_AFTER_MS + REPORTED_AFTER_MS)
    watch.look()
    assert not watch.is_read_early(store())
    slave = core.brokers["broker-a@2"]
    slave.kill()
    core.network.settle()
    core.start_broker(slave)
    core.network.settle()
    core.controllers.group.state.sync_state_infos["broker-a"].sync_state_set = frozenset({1, 2, 3})
    begun = store()
    assert watch.is_read_early(begun)
    assert not watch.is_excused(begun)
    sim.pass_to(UP_AFTER_MS + 2 * REPORTED_AFTER_MS)
    watch.look()
    assert not watch.is_read_early(store())


def probed(number: int, status: str = "SEND_OK") -> Probed:
    return Probed(node="probe", key=f"probe-broker-a-{number}", broker="broker-a", status=status)


def test_probe_that_is_missing_or_fails_is_named() -> None:
    found = list(unserved(history(probed(0), probed(1, "timeout")), ("broker-a",)))
    assert [one.text for one in found] == [
        "probe-broker-a-1, for broker-a with all up and connected: timeout",
        f"probe-broker-a-2, for broker-a with all up and connected: {NEVER_ENDED}",
    ]


def test_group_without_probes_is_not_served() -> None:
    served = history(*map(probed, range(3)))
    assert not list(unserved(served, ("broker-a",)))
    found = list(unserved(served, ("broker-a", "broker-b")))
    assert [one.words[0] for one in found] == [f"probe-broker-b-{number}" for number in range(3)]
