"""What a run's brokers know of popped messages, compared with what the journal says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fakemq.broker.v5.pop.revive import PopRevive
from fakemq.broker.v5.pop.revive_log import ReviveLog
from fakemq.sim.drawing import draw_plan
from fakemq.sim.replay import store_folder
from fakemq.sim.run import SimulationRun

PLAN = replace(draw_plan(1, 5, "5.5.0"), faults=())


def found() -> set[str]:
    """Return what is wrong with messages in the first minute of a run without faults."""
    with store_folder() as root:
        sim = SimulationRun(PLAN, root)
        sim.core.stop_logging()
        sim.start()
        sim.pass_to(60_000)
        assert sim.pop_watch is not None
        sim.pop_watch.look()
        texts = [violation.text for violation in sim.pop_watch.found]
        sim.close()
    return {text.rpartition(", ")[2] for text in texts}


def drop_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReviveLog, "keep_checkpoint", lambda self, *arguments: True)


def read_no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PopRevive, "_read_checkpoint", lambda self, *arguments: None)


@pytest.mark.slow  # a minute of a whole run
def test_run_without_faults_has_no_message_that_is_lost() -> None:
    assert found() == set()


@pytest.mark.slow  # a minute of a whole run each
@pytest.mark.parametrize("plant", [drop_checkpoints, read_no_checkpoint])
def test_popped_messages_without_a_checkpoint_are_found(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)
    assert found() == {"is not acknowledged and never comes"}
