"""CLEAN_BROKER_DATA (1011) says in the journal what was forgotten."""

from __future__ import annotations

from fakemq.events.controller import ReplicasCleaned
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


def test_cleaned_ids_and_groups_are_journaled() -> None:
    lab = ControllerLab()
    first, second = (lab.broker(number).join() for number in (1, 2))
    first.elect()
    second.peer.close()
    fields = {"brokerName": "broker-a", "clusterName": "c"}
    for more in ({"brokerControllerIdsToClean": "2"}, {"isCleanLivingBroker": "true"}):
        code = RequestCode5.CLEAN_BROKER_DATA
        assert first.peer.ask(code, ext_fields=fields | more).code == 0
    assert [one.broker_ids for one in lab.journal.find(ReplicasCleaned)] == [(2,), ()]
