"""CONTROLLER_ELECT_MASTER (1002) says in the journal why there is another master."""

from __future__ import annotations

from fakemq.events.controller import MasterElected
from tests.support.controller_lab import ControllerLab


def test_election_by_a_broker_or_an_admin_says_so() -> None:
    lab = ControllerLab()
    first, second = (lab.broker(number).join() for number in (1, 2))
    first.elect()
    first.alter([1, 2], epoch=1, set_epoch=1)
    second.elect(2, designate=True)
    assert [one.why for one in lab.journal.find(MasterElected)] == ["asked", "designated"]
