"""A group of controllers: one leads, another takes over, and without most of them none does."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.config.v5.controller.model import ControllerConfig
from fakemq.controller.group import ELECTION_MS
from fakemq.events.controller import ControllerDeposed, ControllerElected, ReplicasCleaned
from fakemq.faults.plan import ALWAYS, ActiveFault, Scope
from fakemq.faults.points import PARTITION
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


def metadata(lab: ControllerLab, at: int) -> dict[str, str]:
    peer = lab.broker(1, at).peer
    answer = peer.ask(RequestCode5.CONTROLLER_GET_METADATA_INFO)
    assert answer.code == 0
    return answer.ext_fields


def test_first_controller_leads_and_all_say_so() -> None:
    lab = ControllerLab(3)
    peers = "n0:127.0.0.1:9800;n1:127.0.0.1:9801;n2:127.0.0.1:9802;"
    for at in range(3):
        assert metadata(lab, at) == {
            "group": "g",
            "controllerLeaderId": "n0",
            "controllerLeaderAddress": "127.0.0.1:9800",
            "isLeader": "true" if at == 0 else "false",
            "peers": peers,
        }


def test_follower_refuses_what_needs_a_leader() -> None:
    lab = ControllerLab(3)
    answer = lab.broker(1, at=1).apply()
    assert (answer.code, answer.remark) == (2007, "The controller is not in leader state")
    assert answer.ext_fields == {}


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_leader_that_is_gone_is_replaced_after_a_deadline(how: str) -> None:
    lab = ControllerLab(3)
    lab.broker(1).join()
    if how == "kill":
        lab.controllers[0].stop("kill")
    else:
        lab.controllers[0].pause()
    assert metadata(lab, 1)["controllerLeaderId"] == "n0", "they still believe in it"
    lab.clock.advance_ms(6_000)
    assert "controllerLeaderId" not in metadata(lab, 1)
    assert lab.broker(1, at=1).apply().code == 2007
    lab.clock.advance_ms(3_200)
    leader = lab.group.leader
    assert leader in lab.controllers[1:]
    at = [one.leads for one in lab.controllers].index(True)
    assert lab.broker(1, at).apply().code == 0, "it knows what the old one knew"
    assert [one.term for one in lab.journal.find(ControllerElected)] == [1, 2]
    assert lab.journal.find(ControllerDeposed)[-1] == ControllerDeposed(
        node="controller-0", why=how
    )


def test_paused_leader_follows_when_it_continues() -> None:
    lab = ControllerLab(3)
    lab.controllers[0].pause()
    lab.clock.advance_ms(9_200)
    lab.controllers[0].resume()
    assert lab.broker(1).apply().code == 2007
    assert metadata(lab, 0)["isLeader"] == "false"


@pytest.mark.parametrize(("kind", "paused_ms"), [("DLedger", 6_999), ("jRaft", 500)])
def test_leader_that_continues_before_the_deadline_still_leads(kind: str, paused_ms: int) -> None:
    lab = ControllerLab(3, ControllerConfig(controller_type=kind))
    replica = lab.broker(1).join()
    lab.controllers[0].pause()
    assert [one.leads for one in lab.controllers] == [False] * 3
    assert not lab.group.can_commit
    lab.clock.advance_ms(paused_ms)
    lab.controllers[0].resume()
    assert [one.leads for one in lab.controllers] == [True, False, False]
    assert replica.info().code == 0
    assert lab.broker(2).apply().code == 0
    assert metadata(lab, 1)["isLeader"] == "false"
    lab.clock.advance_ms(60_000)
    assert lab.journal.find(ControllerDeposed) == []
    assert [one.term for one in lab.journal.find(ControllerElected)] == [1]


def test_leader_without_majority_reads_but_changes_nothing_and_then_leads_no_more() -> None:
    lab = ControllerLab(3)
    replica = lab.broker(1).join()
    for one in lab.controllers[1:]:
        one.stop("kill")
    assert replica.info().code == 0
    late = lab.broker(2)
    answer = late.peer.send(
        RequestCode5.CONTROLLER_APPLY_BROKER_ID,
        ext_fields={"brokerName": "broker-a", "appliedBrokerId": "2", "registerCheckCode": "a;1"},
        timeout_ms=20_000,
    )
    assert not answer.over
    lab.clock.advance_ms(5_000)
    assert answer.response is not None
    assert answer.response.code == 1
    lab.clock.advance_ms(4_200)
    assert replica.info().code == 2007
    assert "controllerLeaderAddress" not in metadata(lab, 0)
    lab.controllers[1].start("127.0.0.1:9801")
    lab.clock.advance_ms(9_200)
    assert lab.group.leader is not None
    assert lab.group.state.replica_infos["broker-a"].replicas.keys() == {1}


def test_leader_that_gets_its_majority_back_stays() -> None:
    lab = ControllerLab(3)
    for one in lab.controllers[1:]:
        one.stop("kill")
    lab.controllers[1].start("127.0.0.1:9801")
    lab.clock.advance_ms(20_000)
    assert lab.group.leader is lab.controllers[0]
    assert lab.broker(1).apply().code == 0


def test_election_of_jraft_is_shorter_and_has_its_own_texts() -> None:
    lab = ControllerLab(3, ControllerConfig(controller_type="jRaft"))
    assert metadata(lab, 1)["group"] == "jRaft-Controller"
    assert metadata(lab, 1)["peers"] == "127.0.0.1:9800;127.0.0.1:9801;127.0.0.1:9802;"
    lab.controllers[0].stop("kill")
    lab.clock.advance_ms(1_000)
    if lab.group.leader is None:
        assert metadata(lab, 1)["controllerLeaderId"] == ""
    lab.clock.advance_ms(ELECTION_MS[True][1])
    assert lab.group.leader is not None


def test_new_leader_elects_a_master_whose_death_no_controller_saw() -> None:
    lab = ControllerLab(3)
    first = lab.broker(1).join()
    second = [lab.broker(2, at) for at in range(3)]
    second[0].apply()
    for one in second:
        one.beat()
    first.elect()
    first.alter([1, 2], epoch=1, set_epoch=1)
    lab.controllers[0].stop("kill")
    for _ in range(15):
        lab.clock.advance_ms(1_000)
        for one in second[1:]:
            one.beat()
    leader = lab.group.leader
    assert leader is not None
    at = [one.leads for one in lab.controllers].index(True)
    assert lab.broker(9, at).master == ("2", "2")


def test_controllers_of_one_seed_elect_the_same_leader() -> None:
    leaders = set()
    for _ in range(3):
        lab = ControllerLab(5)
        lab.controllers[0].stop("kill")
        lab.clock.advance_ms(9_200)
        assert lab.group.leader is not None
        leaders.add(lab.group.leader.name)
    assert len(leaders) == 1


@pytest.mark.parametrize("end", ["resume", "kill"])
def test_controller_that_is_alone_leads_on_after_a_pause(end: str) -> None:
    lab = ControllerLab()
    lab.broker(1).join()
    lab.controllers[0].pause()
    lab.clock.advance_ms(60_000)
    if end == "resume":
        lab.controllers[0].resume()
        assert lab.broker(1).info().code == 0
        assert lab.broker(2).apply().code == 0
        assert lab.journal.find(ControllerDeposed) == []
    else:
        lab.controllers[0].stop("kill")
        assert lab.group.leader is None
        lab.controllers[0].start("127.0.0.1:9800")
        lab.clock.advance_ms(9_200)
        assert lab.broker(2).apply().code == 0


def lose_leader(lab: ControllerLab) -> int:
    """Kill the leader of jRaft; return which one is its successor."""
    lab.controllers[0].stop("kill")
    lab.clock.advance_ms(ELECTION_MS[True][1])
    return [one.leads for one in lab.controllers].index(True)


def two_of_jraft() -> ControllerLab:
    """Three controllers of jRaft, and two replicas in sync that beat at the leader only."""
    lab = ControllerLab(3, ControllerConfig(controller_type="jRaft"))
    first, second = lab.broker(1).join(), lab.broker(2).join()
    second.beat(epoch=2, max_offset=700)
    first.elect()
    first.alter([1, 2], epoch=1, set_epoch=1)
    return lab


def test_new_leader_of_jraft_knows_which_brokers_live() -> None:
    lab = two_of_jraft()
    at = lose_leader(lab)
    standing = lab.controllers[at].liveness.standing("c", "broker-a", 2)
    assert standing is not None
    assert (standing.epoch, standing.max_offset) == (2, 700)
    second = lab.broker(2, at)
    assert second.elect().code == 2011, "the master lives"
    lab.broker(1, at).beat()
    second.beat(epoch=1, max_offset=900)
    standing = lab.controllers[at].liveness.standing("c", "broker-a", 2)
    assert standing is not None
    assert (standing.epoch, standing.max_offset) == (2, 700), "it is behind what the last one knew"


def test_broker_that_another_leader_knew_dies_with_its_first_connection_to_the_new_one() -> None:
    lab = two_of_jraft()
    at = lose_leader(lab)
    first = lab.broker(1, at)
    first.beat()
    first.peer.close()
    assert lab.broker(2, at).master == ("2", "2")


def test_broker_that_another_leader_knew_dies_by_its_time_out() -> None:
    lab = two_of_jraft()
    at = lose_leader(lab)
    for _ in range(15):
        lab.clock.advance_ms(1_000)
        lab.broker(2, at).beat()
    assert lab.broker(2, at).master == ("2", "2")


def test_new_leader_of_jraft_knows_no_other_brokers() -> None:
    lab = two_of_jraft()
    for at in (1, 2):
        lab.broker(3, at).beat()
    at = lose_leader(lab)
    assert not lab.controllers[at].liveness.is_alive("c", "broker-a", 3)


def test_new_leader_of_jraft_forgets_brokers_whose_time_out_is_over() -> None:
    lab = two_of_jraft()
    for one in lab.controllers[:2]:
        one.stop("kill")
    lab.clock.advance_ms(20_000)
    lab.controllers[1].start("127.0.0.1:9801")
    lab.clock.advance_ms(ELECTION_MS[True][1])
    at = [one.leads for one in lab.controllers].index(True)
    assert lab.controllers[at].liveness.standing("c", "broker-a", 2) is None


def part(lab: ControllerLab, *others: int) -> list[ActiveFault[None]]:
    """Separate the first controller from others."""
    faults = []
    for other in others:
        scope = Scope(node="controller-0")
        faults.append(lab.faults.place(PARTITION, None, "partition", scope, ALWAYS))
        lab.group.part("controller-0", f"controller-{other}", faults[-1])
    return faults


def rejoin(lab: ControllerLab, faults: list[ActiveFault[None]]) -> None:
    for fault in faults:
        fault.remove()
    lab.group.rejoin()


def test_leader_that_is_cut_off_answers_until_another_one_leads() -> None:
    lab = ControllerLab(3)
    replica = lab.broker(1).join()
    faults = part(lab, 1, 2)
    assert replica.info().code == 0
    lab.clock.advance_ms(6_000)
    assert metadata(lab, 0)["controllerLeaderId"] == "n0"
    assert "controllerLeaderId" not in metadata(lab, 1)
    lab.clock.advance_ms(3_200)
    leader = lab.group.leader
    assert leader in lab.controllers[1:]
    assert lab.journal.find(ControllerDeposed)[-1].why == "no majority"
    assert "controllerLeaderId" not in metadata(lab, 0), "no other reaches it"
    assert replica.info().code == 2007
    rejoin(lab, faults)
    assert metadata(lab, 0)["controllerLeaderId"] == leader.peer_id
    lab.clock.advance_ms(20_000)
    assert lab.group.leader is leader


def test_leader_stays_that_still_reaches_most_of_them() -> None:
    lab = ControllerLab(3)
    faults = part(lab, 2)
    lab.clock.advance_ms(20_000)
    assert lab.group.leader is lab.controllers[0]
    assert lab.broker(1).apply().code == 0
    assert "controllerLeaderId" not in metadata(lab, 2)
    assert metadata(lab, 1)["controllerLeaderId"] == "n0"
    rejoin(lab, faults)
    assert metadata(lab, 2)["controllerLeaderId"] == "n0"


def test_partition_that_ends_in_time_costs_no_leader() -> None:
    lab = ControllerLab(3)
    faults = part(lab, 1, 2)
    lab.clock.advance_ms(6_500)
    rejoin(lab, faults)
    lab.clock.advance_ms(20_000)
    assert lab.group.leader is lab.controllers[0]
    assert lab.journal.find(ControllerDeposed) == []


@pytest.mark.parametrize("count", [1, 3])
def test_deposed_leader_is_replaced_by_another_one_if_there_is_one(count: int) -> None:
    lab = ControllerLab(count)
    lab.broker(1).join()
    lab.group.depose()
    assert lab.broker(1).info().code == 2007
    with pytest.raises(LookupError, match="no controller leads now"):
        lab.group.depose()
    lab.clock.advance_ms(9_200)
    assert lab.group.leader is not None
    assert (lab.group.leader is lab.controllers[0]) is (count == 1)
    assert lab.journal.find(ControllerDeposed)[-1].why == "deposed"


def test_forgotten_groups_are_forgotten_by_the_log_too(tmp_path: Path) -> None:
    lab = ControllerLab(1, folder=str(tmp_path))
    lab.broker(1).join()
    assert lab.broker(1).info().code == 0
    lab.group.forget()
    assert lab.broker(1).info().code == 2008
    assert lab.journal.find(ReplicasCleaned) == [
        ReplicasCleaned(node="controllers", broker_name="broker-a", broker_ids=())
    ]
    lab.group.close()
    assert not ControllerLab(1, folder=str(tmp_path)).group.state.replica_infos
