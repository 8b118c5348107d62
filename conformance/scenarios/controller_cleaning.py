"""What a controller forgets of replicas, if it is asked to."""

from __future__ import annotations

from conformance.replica_group import ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from fakemq.protocol.v5.codes import RequestCode5 as Code


@scenario("cleaning: groups and ids that there are not", controllers=1)
def clean_unknown(run: Run) -> None:
    group = ReplicaGroup(run, "s-clean-unknown")
    group.clean()
    group.clean("1")
    group.clean(cleanLivingBroker=True)
    group.join(1, 2)
    group.lead(1)
    run.note("ids that there are not")
    group.clean("8;9")
    group.sync_data()


@scenario("cleaning: a group with a master, dead or alive", controllers=1)
def clean_with_master(run: Run) -> None:
    group = ReplicaGroup(run, "s-clean-master")
    group.join(1, 2)
    group.lead(1)
    group.clean()
    run.note("it is forgotten, when the controller has tried three times to find another")
    group.dies(1)
    group.until_epoch(4)
    group.clean()
    group.info()
    group.register(2)
    run.note("the group begins anew")
    group.next_id(1)
    group.apply(1)


@scenario("cleaning: replicas that are alive", controllers=1)
def clean_living(run: Run) -> None:
    group = ReplicaGroup(run, "s-clean-living")
    group.join(1, 2, 3)
    group.lead(1, 2)
    group.clean("3")
    group.clean("3;2")
    run.note("a dead one and a living one")
    group.dies(3)
    group.silence(3)
    group.clean("3;2")
    group.sync_data()
    group.clean("3")
    group.sync_data()
    run.note("the next id")
    group.next_id(4)
    run.note("what is gone")
    group.register(3)


@scenario("cleaning: living replicas as well", controllers=1)
def clean_whole_group(run: Run) -> None:
    group = ReplicaGroup(run, "s-clean-whole")
    group.join(1, 2)
    group.lead(1, 2)
    run.note("with the flag, ids do not count: the whole group goes")
    group.clean("2", cleanLivingBroker=True)
    group.sync_data()
    group.info()
    group.register(1)
    group.next_id(1)
    group.beat(1)


@scenario("cleaning: lists of ids that are none", controllers=1)
def clean_lists(run: Run) -> None:
    group = ReplicaGroup(run, "s-clean-lists")
    group.join(1)
    group.apply(2)
    group.lead(1)
    for ids in ("two", "2,3", "2 ;3", ";", "", "2;"):
        run.note(f"ids {ids!r}")
        group.clean(ids)
    group.sync_data()


@scenario("cleaning: fields that are missing", controllers=1)
def clean_fields(run: Run) -> None:
    group = ReplicaGroup(run, "s-clean-fields")
    group.join(1)
    group.apply(2)
    group.lead(1)
    run.note("no name")
    group.clean("2", brokerName=None)
    run.note("nothing")
    run.ask("controller-0", Code.CLEAN_BROKER_DATA, {}, peer="admin")
    run.note("no cluster, no flag")
    group.clean("2", clusterName=None, cleanLivingBroker=None)
    run.note("another cluster")
    group.apply(3)
    group.clean("3", clusterName="SOther")
    group.sync_data()


@scenario("cleaning: every member of the set, and the master with them", controllers=1)
def clean_members(run: Run) -> None:
    group = ReplicaGroup(run, "s-clean-members")
    run.note("members that have never beaten")
    group.apply(1)
    group.apply(2)
    group.elect(1)
    group.clean("1")
    run.note("without a set it counts as unknown, but for ids")
    group.info()
    group.sync_data()
    group.register(2)
    group.elect(2)
    group.next_id(3)
    group.apply(3)


@scenario("cleaning: a member of the set that is dead", controllers=1)
def clean_dead_member(run: Run) -> None:
    group = ReplicaGroup(run, "s-clean-dead")
    group.join(1, 2, 3)
    group.lead(1, 2, 3)
    group.dies(3)
    group.silence(3)
    group.clean("3")
    group.info()
    run.note("the master may report its own set still")
    group.alter(1, 1, [1, 2], 2)
    group.info()
