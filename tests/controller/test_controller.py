"""A controller elects masters as heartbeats come and cease, and notifies the living."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.config.v5.controller.model import ControllerConfig
from fakemq.controller import controller as controllers
from fakemq.controller import liveness
from fakemq.events.controller import MasterElected, ReplicaInactive, SyncStateSetChanged
from fakemq.events.core import Warned
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import GROUP, ControllerLab, PlayedReplica


def three(lab: ControllerLab, *, outside: bool = False) -> list[PlayedReplica]:
    """Three replicas of which the first is the master, and all are in sync."""
    replicas = [lab.broker(number, outside=outside).join() for number in (1, 2, 3)]
    assert replicas[0].elect().code == 0
    assert replicas[0].alter([1, 2, 3], epoch=1, set_epoch=1).code == 0
    return replicas


def beat_for(lab: ControllerLab, seconds: int, *replicas: PlayedReplica) -> None:
    for _ in range(seconds):
        lab.clock.advance_ms(1_000)
        for one in replicas:
            one.beat()


def test_closed_connection_of_a_master_elects_another_at_once() -> None:
    lab = ControllerLab()
    first, second, third = three(lab)
    third.beat(max_offset=100)
    first.peer.close()
    assert second.master == ("3", "2")
    last = lab.journal.find(MasterElected)[-1]
    assert last == MasterElected(
        node="controller-0",
        broker_name=GROUP,
        broker_id=3,
        master_epoch=2,
        last_set=(1, 2, 3),
        why="inactive",
    )


def test_election_has_the_death_as_its_cause() -> None:
    lab = ControllerLab()
    first, *_ = three(lab)
    first.peer.close()
    last = [one for one in lab.journal if isinstance(one.event, MasterElected)][-1]
    cause = lab.journal.at(last.cause)
    assert cause is not None
    assert cause.event == ReplicaInactive(
        node="controller-0", broker_name=GROUP, broker_id=1, why="channel closed"
    )


def test_change_of_a_set_is_journaled() -> None:
    lab = ControllerLab()
    three(lab)
    assert lab.journal.find(SyncStateSetChanged)[-1] == SyncStateSetChanged(
        node="controller-0",
        broker_name=GROUP,
        sync_state_set=(1, 2, 3),
        sync_state_set_epoch=2,
        last_set=(1,),
    )


def test_silent_master_is_replaced_at_the_scan_after_its_time_out() -> None:
    lab = ControllerLab()
    _, second, third = three(lab)
    beat_for(lab, 11, second, third)
    assert second.master == ("1", "1"), "the scans are at 2 s, 7 s, 12 s"
    beat_for(lab, 1, second, third)
    assert second.master == ("2", "2")


def test_silent_master_is_replaced_at_the_scan_for_masters_if_that_comes_first() -> None:
    lab = ControllerLab()
    first, second, third = three(lab)
    beat_for(lab, 3, first, second, third)
    beat_for(lab, 11, second, third)
    assert second.master == ("1", "1"), "its heartbeat counts until 13 s; the scan is at 15 s"
    beat_for(lab, 1, second, third)
    assert second.master == ("2", "2")
    assert not first.peer.closed
    beat_for(lab, 2, second, third)
    assert first.peer.closed, "the scan for dead brokers is at 17 s"


def test_silent_master_under_jraft_is_replaced_at_the_scan_for_brokers() -> None:
    lab = ControllerLab(config=ControllerConfig(controller_type="jRaft"))
    first, second, third = three(lab)
    beat_for(lab, 3, first, second, third)
    beat_for(lab, 13, second, third)
    assert second.master == ("1", "1")
    beat_for(lab, 1, second, third)
    assert second.master == ("2", "2")


def test_silence_of_outside_brokers_is_real_time() -> None:
    lab = ControllerLab()
    first, second, _ = three(lab, outside=True)
    lab.clock.advance_ms(60_000)
    assert second.master == ("1", "1")
    lab.time.passed_ms += 9_000
    lab.clock.fire_due()
    second.beat()
    lab.time.passed_ms += 4_000
    lab.clock.fire_due()
    assert second.master == ("2", "2")
    assert first.peer.closed


def test_late_close_of_the_first_connection_kills_a_broker_that_beats_on_another() -> None:
    lab = ControllerLab()
    first, second, _ = three(lab)
    again = lab.broker(1)
    again.beat()
    first.peer.close()
    assert second.master == ("2", "2"), "Java's trap"
    again.beat()
    assert again.elect().code == 2011


def test_heartbeats_of_one_connection_die_one_by_one() -> None:
    lab = ControllerLab()
    three(lab)
    several = lab.broker(4)
    for number in (6, 5, 4):
        several.id = number
        several.beat()
    several.peer.close()
    alive = [one for one in (4, 5, 6) if lab.controllers[0].liveness.is_alive("c", GROUP, one)]
    assert alive == [5, 6]


def test_heartbeat_of_an_older_state_changes_no_offset() -> None:
    lab = ControllerLab()
    replica = lab.broker(1).join()
    replica.beat(epoch=2, max_offset=10)
    for epoch, offset in ((1, 99), (2, 9)):
        replica.beat(epoch=epoch, max_offset=offset)
    standing = lab.controllers[0].liveness.standing("c", GROUP, 1)
    assert standing is not None
    assert (standing.epoch, standing.max_offset) == (2, 10)


def test_heartbeat_without_an_id_is_refused() -> None:
    lab = ControllerLab()
    answer = lab.broker(1).peer.ask(
        RequestCode5.BROKER_HEARTBEAT,
        ext_fields={"clusterName": "c", "brokerAddr": "a", "brokerName": GROUP},
    )
    assert (answer.code, answer.remark) == (2005, "Heart beat with empty brokerId")


def test_group_without_members_of_its_set_is_without_master_three_epochs_later() -> None:
    lab = ControllerLab()
    first, second = (lab.broker(number).join() for number in (1, 2))
    first.elect()
    first.peer.close()
    assert second.master == (None, "4"), "each of three tries ends an epoch"
    assert second.elect().code == 2012


def test_unclean_election_is_allowed_by_a_request() -> None:
    lab = ControllerLab()
    first, second = (lab.broker(number).join() for number in (1, 2))
    first.elect()
    first.peer.close()
    second.peer.ask(RequestCode5.UPDATE_CONTROLLER_CONFIG, body=b"enableElectUncleanMaster=true")
    assert second.elect().code == 0
    assert second.master == ("2", "5")


def test_elected_master_that_never_beat_is_replaced_at_the_next_scan() -> None:
    lab = ControllerLab()
    first, second = lab.broker(1), lab.broker(2)
    first.apply()
    first.elect()
    second.join()
    first.beat(timeout_ms=1)
    first.alter([1, 2], epoch=1, set_epoch=1)
    lab.clock.advance_ms(2)
    assert second.master == ("1", "1")
    lab.clock.advance_ms(5_000)
    assert second.master == ("2", "2")


def listening(lab: ControllerLab, *replicas: PlayedReplica) -> list[tuple[str, Any]]:
    """Let replicas listen where they say they are; return what reaches them, as it comes."""
    came: list[tuple[str, Any]] = []

    for one in replicas:

        def accept(link: Any, one: PlayedReplica = one) -> Any:
            from fakemq.net.session import Session

            return Session(link, one.peer, lambda _, command: came.append((one.addr, command)))

        lab.network.listen(one.addr, accept)
    return came


def test_living_brokers_are_notified_of_a_new_master() -> None:
    lab = ControllerLab()
    first, second, third = three(lab)
    came = listening(lab, first, second, third)
    first.peer.close()
    lab.network.settle()
    assert [addr for addr, _ in came] == [second.addr, third.addr]
    command = came[0][1]
    assert command.code == RequestCode5.NOTIFY_BROKER_ROLE_CHANGED
    assert command.flag & 2, "one-way"
    assert command.ext_fields == {
        "masterAddress": second.addr,
        "masterEpoch": "2",
        "syncStateSetEpoch": "3",
        "masterBrokerId": "2",
    }
    assert command.body == b'{"syncStateSet":[2],"syncStateSetEpoch":3}'


def test_brokers_are_not_notified_if_the_config_says_so() -> None:
    lab = ControllerLab(config=ControllerConfig(notify_broker_role_changed=False))
    first, second, _ = three(lab)
    came = listening(lab, second)
    first.peer.close()
    lab.network.settle()
    assert came == []
    assert second.master == ("2", "2")


def test_failed_election_notifies_no_broker() -> None:
    lab = ControllerLab()
    first, second, third = three(lab)
    came = listening(lab, first, second, third)
    assert second.elect().code == 2011
    lab.network.settle()
    assert came == []


def test_number_of_watched_brokers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "MOST_BROKERS", 1)
    lab = ControllerLab()
    lab.broker(1).beat()
    lab.broker(2).beat()
    assert not lab.controllers[0].liveness.is_alive("c", GROUP, 2)


def test_number_of_tries_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controllers, "MOST_TRIES", 5)
    lab = ControllerLab(config=ControllerConfig(elect_master_max_retry_count=2**31 - 1))
    first, second = (lab.broker(number).join() for number in (1, 2))
    first.elect()
    first.peer.close()
    assert second.master == (None, "6")


@pytest.mark.parametrize("timeout_ms", [-(2**63), -1, 0, 2**63 - 1])
def test_odd_time_outs_of_heartbeats_do_no_harm(timeout_ms: int) -> None:
    lab = ControllerLab()
    replica = lab.broker(1).join()
    replica.beat(timeout_ms=timeout_ms)
    lab.clock.advance_ms(7_000)
    assert lab.controllers[0].liveness.is_alive("c", GROUP, 1) is (timeout_ms > 0)


def test_idle_controller_has_no_timers() -> None:
    lab = ControllerLab()
    assert lab.clock.timers() == []


def test_reset_forgets_how_far_logs_go() -> None:
    lab = ControllerLab()
    replica = lab.broker(1).join()
    replica.beat(epoch=9, max_offset=99)
    lab.controllers[0].reset()
    replica.beat(epoch=1, max_offset=5)
    standing = lab.controllers[0].liveness.standing("c", GROUP, 1)
    assert standing is not None
    assert (standing.epoch, standing.max_offset) == (1, 5)


def test_brokers_whose_connection_has_closed_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "MOST_BROKERS", 3)
    lab = ControllerLab()
    several = lab.broker(1)
    for several.id in (1, 2, 3):
        several.beat(timeout_ms=2**62)
    several.peer.close()  # ends one of them
    for number in (4, 5, 6, 7):
        lab.broker(number).beat()
    alive = [one for one in range(1, 8) if lab.controllers[0].liveness.is_alive("c", GROUP, one)]
    assert alive == [4, 5, 6]
    assert [one.why for one in lab.journal.find(ReplicaInactive)] == [
        "channel closed",
        "no room",
        "no room",
    ]


def test_broker_that_still_beats_makes_room_after_those_that_are_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(liveness, "MOST_BROKERS", 2)
    lab = ControllerLab()
    several = lab.broker(1)
    for several.id in (1, 2):
        several.beat()
    other = lab.broker(3)
    several.peer.close()
    other.beat()
    (left,) = [one for one in (1, 2) if lab.controllers[0].liveness.is_alive("c", GROUP, one)]
    again = lab.broker(left)
    again.beat()
    assert lab.controllers[0].liveness.is_alive("c", GROUP, left)
    lab.broker(4).beat()
    assert not lab.controllers[0].liveness.is_alive("c", GROUP, left), "none other could go"


def test_number_of_brokers_of_one_connection_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "MOST_OF_SESSION", 2)
    lab = ControllerLab()
    several = lab.broker(1)
    for several.id in (1, 2, 3):
        several.beat()
    lab.broker(4).beat()
    alive = [one for one in range(1, 5) if lab.controllers[0].liveness.is_alive("c", GROUP, one)]
    assert alive == [1, 2, 4]


def test_heartbeat_with_a_long_name_is_lost() -> None:
    lab = ControllerLab()
    for name in ("n" * 1_000, "m" * 1_001):
        lab.broker(1).beat(name=name)
    assert [one.broker_name for one in lab.controllers[0].liveness.alive()] == ["n" * 1_000]
    (warned,) = lab.journal.find(Warned)
    assert "a heartbeat with a name of 1,001 characters is lost" in warned.text


def test_scan_has_a_least_period() -> None:
    lab = ControllerLab(config=ControllerConfig(scan_inactive_master_interval=1))
    first = lab.broker(1)
    first.apply()
    first.elect()  # it never beats: the scan is repeated
    (scan,) = [one for one in lab.clock.timers() if one.kind == "controller_scan"]
    assert scan.due_ms == 10
