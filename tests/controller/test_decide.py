"""What a leader decides: answers with Java's codes and texts, in the order of Java's checks."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.controller import decide
from fakemq.controller.decide import Decision
from fakemq.controller.state import State
from fakemq.protocol.errors import IllegalArgumentError, NullFieldError
from fakemq.protocol.v5.bodies.controller import ElectMasterResponseBody, SyncStateSet
from fakemq.protocol.v5.headers import controller as headers
from tests.support.replicas_lab import GROUP, ReplicasLab, Said

EQUAL = "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet"


def said(decision: Decision[Any]) -> tuple[int, str | None]:
    return decision.reply.code, decision.reply.remark


def test_first_master_is_the_first_that_asks() -> None:
    machine = ReplicasLab()
    machine.alive.ids.clear()
    answer = machine.elect(2).reply
    assert answer.code == 0
    assert answer.header.encode() == {
        "masterBrokerId": "2",
        "masterAddress": "h:2",
        "masterEpoch": "1",
        "syncStateSetEpoch": "1",
    }
    body = ElectMasterResponseBody.decode(answer.body)
    assert body.sync_state_set == [2]
    assert body.broker_member_group is not None
    assert body.broker_member_group.broker_addrs == {1: "h:1", 2: "h:2", 3: "h:3"}


def test_first_master_may_be_one_that_never_registered() -> None:
    answer = ReplicasLab().elect(9).reply
    assert answer.header.encode().get("masterAddress") is None
    assert answer.header.master_broker_id == 9


def test_living_master_stays_and_the_answer_has_all_that_a_broker_needs() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    answer = machine.elect(2).reply
    text = "The old master 1 is still alive, not need to elect new master for broker broker-a"
    assert (answer.code, answer.remark) == (2011, text)
    assert answer.body == b'{"syncStateSet":[1]}'
    assert answer.header.master_epoch == 1


def test_dead_master_is_followed_by_the_member_with_the_longest_log() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    machine.alter([1, 2, 3], 1)
    del machine.alive.ids[1]
    machine.alive.ids |= {2: Said(max_offset=5), 3: Said(max_offset=6)}
    assert machine.elect().reply.header.encode() == {
        "masterBrokerId": "3",
        "masterAddress": "h:3",
        "masterEpoch": "2",
        "syncStateSetEpoch": "3",
    }


@pytest.mark.parametrize(
    ("second", "third", "elected"),
    [
        (Said(epoch=2), Said(epoch=1, max_offset=9), 2),
        (Said(election_priority=2), Said(election_priority=1), 3),
        (Said(), Said(), 2),
    ],
    ids=["epoch first", "then priority", "then the lower id"],
)
def test_members_are_compared_by(second: Said, third: Said, elected: int) -> None:
    machine = ReplicasLab()
    machine.elect(1)
    machine.alter([1, 2, 3], 1)
    machine.alive.ids = {2: second, 3: third}
    assert machine.elect().reply.header.master_broker_id == elected


def test_controller_that_finds_no_broker_forgets_the_master_and_ends_the_epoch() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    machine.alive.ids = {2: Said()}
    text = "Old master has down and failed to elect a new broker master"
    for epoch in (2, 3, 4):
        assert said(machine.elect()) == (2004, text)
        sync = machine.state.sync_state_infos[GROUP]
        assert (sync.master_broker_id, sync.master_epoch) == (None, epoch)
        assert sync.sync_state_set == {1}


def test_broker_outside_the_set_is_elected_only_if_unclean_elections_are_allowed() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    machine.alive.ids = {2: Said()}
    assert said(machine.elect(2)) == (2012, "Failed to elect a new master")
    machine.unclean = True
    assert machine.elect(2).reply.header.master_broker_id == 2


def test_admin_gets_the_named_one_or_none() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    machine.alter([1, 2], 1)
    assert said(machine.elect(3, designate=True)) == (2012, "Failed to elect a new master")
    assert machine.elect(2, designate=True).reply.header.master_broker_id == 2


def test_election_of_an_unknown_group_is_refused() -> None:
    assert said(ReplicasLab(replicas=0).elect(1)) == (2010, "Broker hasn't been registered")


@pytest.mark.parametrize(
    ("ids", "epoch", "master", "master_epoch", "expected"),
    [
        ([1], 99, 9, 9, (2013, EQUAL)),
        ([1, 2], 99, 9, 9, (2002, "the current leader is:{1}, not {9}")),
        ([1, 2], 99, 1, 9, (2000, "the current master epoch is:{1}, not {9}")),
        ([1, 2], 99, 1, 1, (2001, "the current syncStateSet epoch is:{1}, not {99}")),
        ([1, 7], 1, 1, 1, (2003, "the replicas {7} don't exist")),
        ([1, 2], 1, 1, 1, (2006, "the replicas {2} don't alive")),
        ([3], 1, 1, 1, (2013, "the newSyncStateSet don't contains origin leader {1}")),
    ],
    ids=["equal first", "master", "epoch", "epoch of the set", "unknown", "dead", "no master"],
)
def test_set_is_refused_in_the_order_of_javas_checks(
    ids: list[int], epoch: int, master: int, master_epoch: int, expected: tuple[int, str]
) -> None:
    machine = ReplicasLab()
    machine.elect(1)
    del machine.alive.ids[2]
    decision = machine.alter(ids, epoch, master=master, master_epoch=master_epoch)
    code, text = expected
    rejecting = "" if ids == [1] else "Rejecting alter syncStateSet request because "
    assert said(decision) == (code, rejecting + text)
    assert decision.events == ()
    assert decision.reply.header.encode() == {"newSyncStateSetEpoch": "0"}


def test_set_is_altered() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    answer = machine.alter([2, 1], 1).reply
    assert (answer.code, answer.header.encode()) == (0, {"newSyncStateSetEpoch": "2"})
    assert answer.body == b'{"syncStateSet":[1,2],"syncStateSetEpoch":2}'
    assert machine.alter([1, 2], 1).reply.code == 2013, "a retry of a lost answer"


@pytest.mark.parametrize("missing", ["set", "epoch"])
def test_set_without_what_java_reads_is_a_null_pointer(missing: str) -> None:
    machine = ReplicasLab()
    machine.elect(1)
    asked = SyncStateSet(sync_state_set=None if missing == "set" else [1, 2])
    header = headers.AlterSyncStateSetRequestHeader(broker_name=GROUP, master_broker_id=1)
    with pytest.raises(NullFieldError):
        decide.alter_sync_state_set(machine.state, header, asked, machine.alive)


def test_id_is_given_once_and_again_to_its_holder() -> None:
    machine = ReplicasLab(replicas=2)
    assert machine.next_id == 3
    assert said(machine.apply_id(2)) == (0, None)
    assert machine.next_id == 3
    remark = "Fail to apply brokerId: 2 in broker-set: broker-a"
    assert said(machine.apply_id(2, "other:1;2")) == (2014, remark)


def test_group_begins_with_the_first_id() -> None:
    machine = ReplicasLab(replicas=0)
    assert machine.next_id == 1
    remark = (
        "Broker-set: broker-a hasn't been registered in controller, but broker try to apply"
        " brokerId: 2"
    )
    assert said(machine.apply_id(2)) == (2014, remark)


def test_group_has_a_bounded_number_of_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "MOST_REPLICAS", 2)
    machine = ReplicasLab(replicas=2)
    assert machine.apply_id(3).reply.code == 2014
    assert machine.apply_id(2).reply.code == 0


def register(machine: ReplicasLab, broker_id: int, address: str, cluster: str = "c") -> Any:
    header = headers.RegisterBrokerToControllerRequestHeader(
        cluster_name=cluster, broker_name=GROUP, broker_id=broker_id, broker_address=address
    )
    return machine.done(decide.register_broker(machine.state, header, machine.alive))


def test_registration_names_the_master_if_it_lives() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    answer = register(machine, 2, "h:2").reply
    assert answer.header.encode() == {
        "clusterName": "c",
        "brokerName": GROUP,
        "masterBrokerId": "1",
        "masterAddress": "h:1",
        "masterEpoch": "1",
        "syncStateSetEpoch": "1",
    }
    assert answer.body == b'{"syncStateSet":[1],"syncStateSetEpoch":1}'
    assert "masterEpoch" not in register(machine, 2, "h:2", "another").reply.header.encode()
    del machine.alive.ids[1]
    assert register(machine, 2, "h:2").reply.header.encode() == {
        "clusterName": "c",
        "brokerName": GROUP,
    }


def test_registration_notes_a_new_address() -> None:
    machine = ReplicasLab()
    assert register(machine, 2, "h:2").events == ()
    register(machine, 2, "new:2")
    assert machine.state.replica_infos[GROUP].address(2) == "new:2"


def test_registration_of_an_unknown_id_or_group_is_refused() -> None:
    remark = "BrokerId: 8 hasn't been registered in broker-set: broker-a"
    assert said(register(ReplicasLab(), 8, "h:8")) == (2010, remark)
    remark = "Broker-set: broker-a hasn't been registered in controller"
    assert said(register(ReplicasLab(replicas=0), 1, "h:1")) == (2010, remark)


def test_group_is_shown_in_halves() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    del machine.alive.ids[3]
    info = decide.replicas_info(machine.state, GROUP, machine.alive)
    assert info is not None
    assert [one.broker_id for one in info.in_sync_replicas or ()] == [1]
    assert [(one.broker_id, one.alive) for one in info.not_in_sync_replicas or ()] == [
        (2, True),
        (3, False),
    ]
    assert decide.replicas_info(machine.state, "other", machine.alive) is None


def test_replica_info_always_has_the_epoch() -> None:
    header = headers.GetReplicaInfoRequestHeader(broker_name=GROUP)
    answer = decide.get_replica_info(ReplicasLab().state, header).reply
    assert answer.header is not None
    assert answer.header.encode() == {"masterEpoch": "0"}
    assert answer.body == b'{"syncStateSet":[],"syncStateSetEpoch":0}'
    unknown = decide.get_replica_info(State(), header)
    assert said(unknown) == (2008, "Broker metadata is not existed")


def test_group_with_a_master_is_not_cleaned_without_force() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    machine.alive.ids.clear()
    assert said(machine.clean()) == (2009, "Broker broker-a is still alive, clean up failure")
    assert said(machine.clean("1", living=True)) == (0, None)
    assert machine.state.replica_infos == {}, "the ids count for nothing"


def test_ids_to_clean_are_numbers_of_the_dead() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    remark = (
        "Please set the option <brokerControllerIdsToClean> according to the format, exception:"
        ' java.lang.NumberFormatException: For input string: "x"'
    )
    assert said(machine.clean("1;x")) == (2009, remark)
    remark = "Broker [broker-a,  2] is still alive, clean up failure"
    assert said(machine.clean("2")) == (2009, remark)
    del machine.alive.ids[2]
    assert said(machine.clean("2")) == (0, None)
    assert sorted(machine.state.replica_infos[GROUP].replicas) == [1, 3]
    assert machine.next_id == 4


def test_ids_to_clean_have_a_limit() -> None:
    with pytest.raises(IllegalArgumentError, match="100001 characters: expected 100000 at most"):
        ReplicasLab().clean("1" + ";1" * 50_000)


def test_unknown_group_is_not_cleaned() -> None:
    remark = "Broker broker-a is not existed,clean broker data failure."
    assert said(ReplicasLab(replicas=0).clean(living=True)) == (2009, remark)


def test_group_that_lost_its_set_counts_as_unknown_but_its_ids_continue() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    machine.alive.ids.clear()
    machine.clean("1")
    assert machine.elect(2).reply.code == 2010
    assert machine.next_id == 4


def test_semicolons_clean_the_whole_group() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    assert said(machine.clean(";;")) == (0, None)
    assert machine.state.replica_infos == {}


def test_group_needs_a_master_if_its_own_is_dead_and_another_lives() -> None:
    machine = ReplicasLab()

    def needs() -> bool:
        group = machine.state.group(GROUP)
        assert group is not None
        return decide.needs_master(GROUP, *group, machine.alive)

    assert not needs(), "it never had one"
    machine.elect(1)
    assert not needs()
    del machine.alive.ids[1]
    assert needs()
    machine.alive.ids.clear()
    assert not needs(), "none is there"


@pytest.mark.parametrize("field", ["broker_name", "cluster_name", "register_check_code"])
def test_half_of_a_surrogate_pair_is_refused_as_no_log_could_keep_it(field: str) -> None:
    fields = {"broker_name": "b", "cluster_name": "c", "register_check_code": "h:1;7"}
    header = headers.ApplyBrokerIdRequestHeader(**fields | {field: "\ud800"}, applied_broker_id=1)
    with pytest.raises(IllegalArgumentError):
        decide.apply_broker_id(State(), header)


def test_set_of_more_ids_than_a_group_may_have_is_refused() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    assert machine.alter(list(range(1, 1_001)), 1).reply.code == 2003
    answer = machine.alter(list(range(1, 1_002)), 1).reply
    text = "Rejecting alter syncStateSet request because the set has 1001 replicas"
    assert (answer.code, (answer.remark or "")[: len(text)]) == (2003, text)


def test_application_that_is_repeated_changes_nothing() -> None:
    machine = ReplicasLab()
    decision = machine.apply_id(2)
    assert (said(decision), decision.events) == ((0, None), ())
    machine.elect(1)
    machine.alive.ids.clear()
    machine.clean("1")  # the group lost its set: it begins anew
    assert len(machine.apply_id(2).events) == 1


def test_ids_to_clean_that_the_group_does_not_have_are_not_kept() -> None:
    machine = ReplicasLab()
    machine.elect(1)
    del machine.alive.ids[2]
    decision = machine.clean(";".join(map(str, [2, *range(100, 5_000)])))
    assert decision.events[0].broker_id_set_to_clean == (2,)
    decision = machine.clean("77;78")
    assert said(decision) == (0, None)
    assert decision.events[0].broker_id_set_to_clean == (77,), "an empty one cleans the group"
    assert sorted(machine.state.replica_infos[GROUP].replicas) == [1, 3]


def test_number_of_groups_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "MOST_GROUPS", 1)
    machine = ReplicasLab()
    header = headers.ApplyBrokerIdRequestHeader(
        broker_name="other", applied_broker_id=1, register_check_code="h:1;7"
    )
    remark = "Fail to apply brokerId: 1 in broker-set: other"
    assert said(decide.apply_broker_id(machine.state, header)) == (2014, remark)
    assert machine.apply_id(4).reply.code == 0


@pytest.mark.parametrize("field", ["broker_name", "cluster_name", "register_check_code"])
def test_long_text_is_not_kept(field: str) -> None:
    fields = {"broker_name": "b", "cluster_name": "c", "register_check_code": "h:1;7"}
    for length, is_kept in ((1_000, True), (1_001, False)):
        long = headers.ApplyBrokerIdRequestHeader(
            **fields | {field: "x" * length}, applied_broker_id=1
        )
        if is_kept:
            assert decide.apply_broker_id(State(), long).reply.code == 0
            continue
        with pytest.raises(IllegalArgumentError, match="1001 characters: expected 1000 at most"):
            decide.apply_broker_id(State(), long)


def test_long_address_is_not_kept() -> None:
    with pytest.raises(IllegalArgumentError):
        register(ReplicasLab(), 1, "h" * 1_001)
