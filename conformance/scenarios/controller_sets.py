"""How a controller takes or refuses a new set of replicas in sync."""

from __future__ import annotations

from conformance.replica_group import ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from fakemq.protocol.v5.codes import RequestCode5 as Code

ALTER = Code.CONTROLLER_ALTER_SYNC_STATE_SET


@scenario("set: a master takes replicas in, and puts them out", controllers=1)
def set_changes(run: Run) -> None:
    group = ReplicaGroup(run, "s-set")
    group.join(1, 2, 3)
    group.lead(1)
    group.alter(1, 1, [1, 2], 1)
    group.alter(1, 1, [1, 2, 3], 2)
    group.sync_data()
    group.alter(1, 1, [3, 1], 3)
    group.alter(1, 1, [1], 4)
    group.info()


@scenario("set: of a group that there is not, or that has no master", controllers=1)
def set_without_master(run: Run) -> None:
    group = ReplicaGroup(run, "s-set-none")
    group.alter(1, 1, [1, 2], 1)
    group.join(1, 2)
    run.note("no master yet")
    group.alter(1, 0, [1, 2], 0)
    group.alter(1, 0, [], 0)
    group.info()


@scenario("set: a retry after a lost answer", controllers=1)
def set_again(run: Run) -> None:
    group = ReplicaGroup(run, "s-set-again")
    group.join(1, 2)
    group.lead(1)
    group.alter(1, 1, [1, 2], 1)
    group.alter(1, 1, [1, 2], 1)
    run.note("equal is looked at first: with a wrong master, and wrong epochs")
    group.alter(1, 1, [2, 1], 2)
    group.alter(2, 7, [1, 2], 9)


@scenario("set: masters and epochs that are not those of the group", controllers=1)
def set_fenced(run: Run) -> None:
    group = ReplicaGroup(run, "s-set-fenced")
    group.join(1, 2, 3)
    group.lead(1, 2)
    run.note("another master; it is looked at before its epochs")
    group.alter(9, 1, [1, 2, 3], 2)
    group.alter(2, 7, [1, 2, 3], 9)
    run.note("another epoch of the master; it is looked at before the set's")
    group.alter(1, 2, [1, 2, 3], 2)
    group.alter(1, 0, [1, 2, 3], 9)
    run.note("another epoch of the set; it is looked at before the members")
    group.alter(1, 1, [1, 2, 3], 99)
    group.alter(1, 1, [1, 2, 7], 1)
    group.info()


@scenario("set: members that there are not, or that are dead", controllers=1)
def set_members(run: Run) -> None:
    group = ReplicaGroup(run, "s-set-members")
    group.join(1, 2)
    run.note("3 has never beaten")
    group.apply(3)
    group.lead(1)
    group.alter(1, 1, [1, 7], 1)
    group.alter(1, 1, [1, 3], 1)
    run.note("the first that is wrong is named, by the order of ids")
    group.alter(1, 1, [1, 3, 7], 1)
    group.alter(1, 1, [1, 0, 3], 1)
    run.note("without the master, and with no member")
    group.alter(1, 1, [2], 1)
    group.alter(1, 1, [], 1)
    run.note("a member dies")
    group.alter(1, 1, [1, 2], 1)
    group.dies(2)
    group.silence(2)
    group.alter(1, 1, [1, 2, 3], 2)
    group.info()


@scenario("set: a master that is dead, and says so itself", controllers=1)
def set_of_dead_master(run: Run) -> None:
    group = ReplicaGroup(run, "s-set-dead")
    group.apply(1)
    group.apply(2)
    group.elect(1)
    group.beat(2)
    run.note("the master has never beaten")
    group.alter(1, 1, [1, 2], 1)


@scenario("set: fields that are missing", controllers=1)
def set_fields(run: Run) -> None:
    group = ReplicaGroup(run, "s-set-fields")
    group.join(1, 2)
    group.lead(1)
    run.note("no name")
    group.alter(1, 1, [1, 2], 1, brokerName=None)
    run.note("no master")
    group.alter(1, 1, [1, 2], 1, masterBrokerId=None)
    run.note("no epoch")
    group.alter(1, 1, [1, 2], 1, masterEpoch=None)
    run.note("no number")
    group.alter(1, 1, [1, 2], 1, masterEpoch="one")
    run.note("nothing")
    group.ask(1, ALTER, {}, {"syncStateSet": [1, 2], "syncStateSetEpoch": 1})
    group.ask(1, ALTER, None, {"syncStateSet": [1, 2], "syncStateSetEpoch": 1})
    group.info()


@scenario("set: bodies that are none", controllers=1)
def set_bodies(run: Run) -> None:
    group = ReplicaGroup(run, "s-set-bodies")
    group.join(1, 2)
    group.lead(1)
    fields = {"brokerName": group.name, "masterBrokerId": 1, "masterEpoch": 1}
    for said, body in {
        "no body": b"",
        "no JSON": b"1,2",
        "no fields": b"{}",
        "no epoch": b'{"syncStateSet":[1,2]}',
        "no set": b'{"syncStateSetEpoch":1}',
        "texts": b'{"syncStateSet":["1","2"],"syncStateSetEpoch":"1"}',
    }.items():
        run.note(said)
        group.ask(1, ALTER, fields, body)
    group.info()
