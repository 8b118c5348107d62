"""How replicas get their ids from a controller, and what it says of their groups."""

from __future__ import annotations

import json

from conformance.replica_group import CLUSTER, ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from fakemq.protocol.v5.codes import RequestCode5 as Code

NEXT_ID, APPLY, REGISTER = (
    Code.CONTROLLER_GET_NEXT_BROKER_ID,
    Code.CONTROLLER_APPLY_BROKER_ID,
    Code.CONTROLLER_REGISTER_BROKER,
)
INFO, SYNC_DATA = Code.CONTROLLER_GET_REPLICA_INFO, Code.CONTROLLER_GET_SYNC_STATE_DATA


@scenario("controller: what it says of itself", controllers=1)
def controller_metadata(run: Run) -> None:
    run.ask("controller-0", Code.CONTROLLER_GET_METADATA_INFO)
    run.note("fields and a body that it has no use for")
    run.ask("controller-0", Code.CONTROLLER_GET_METADATA_INFO, {"a": "b"}, "body")


@scenario("controller: the next id of a group counts those that were applied for", controllers=1)
def controller_next_id(run: Run) -> None:
    group = ReplicaGroup(run, "s-next-id")
    run.note("a group that it does not know")
    group.next_id(1)
    run.note("to ask for an id takes nothing")
    group.next_id(2)
    group.apply(1)
    group.next_id(2)
    run.note("of another cluster: the group counts by its name alone")
    group.ask(2, NEXT_ID, {"clusterName": "SOther", "brokerName": group.name})
    group.apply(2)
    group.next_id(3)


@scenario("controller: the next id, asked for with fields that are missing", controllers=1)
def controller_next_id_fields(run: Run) -> None:
    group = ReplicaGroup(run, "s-next-id-fields")
    group.ask(1, NEXT_ID, {"brokerName": group.name})
    group.ask(1, NEXT_ID, {"clusterName": CLUSTER})
    group.ask(1, NEXT_ID, {"brokerName": "", "clusterName": ""})
    group.ask(1, NEXT_ID, {})
    group.ask(1, NEXT_ID)


@scenario("controller: ids that are applied for, by check codes", controllers=1)
def controller_apply_id(run: Run) -> None:
    group = ReplicaGroup(run, "s-apply")
    run.note("a group begins with 1")
    group.apply(2)
    group.apply(1)
    run.note("again, as after a lost answer: the same check code has the id")
    group.apply(1)
    run.note("another check code has not")
    group.apply(1, registerCheckCode="127.0.0.12:10911;1100000000001")
    run.note("an id above the next one")
    group.apply(5)
    group.next_id(3)
    group.apply(3)
    group.next_id(4)
    run.note("a taken one of those")
    group.apply(5, registerCheckCode="127.0.0.13:10911;1100000000001")
    run.note("two ids with one check code")
    group.apply(6, registerCheckCode=group.check_code(5))


@scenario("controller: ids that are applied for with fields that are missing", controllers=1)
def controller_apply_id_fields(run: Run) -> None:
    group = ReplicaGroup(run, "s-apply-fields")
    run.note("no id")
    group.apply(1, appliedBrokerId=None)
    run.note("no number")
    group.apply(1, appliedBrokerId="one")
    run.note("zero, and less")
    group.apply(1, appliedBrokerId=0)
    group.apply(1, appliedBrokerId=-1)
    run.note("no cluster")
    group.apply(1, clusterName=None)
    group.next_id(2)


@scenario("controller: check codes of another form", controllers=1)
def controller_check_codes(run: Run) -> None:
    group = ReplicaGroup(run, "s-check-codes")
    run.note("none for the first id")
    group.apply(1, registerCheckCode=None)
    group.next_id(1)
    run.note("a text without a time")
    group.apply(1, registerCheckCode="127.0.0.11:10911")
    group.next_id(1)
    group.register(1)


@scenario("controller: a replica registers", controllers=1)
def controller_register(run: Run) -> None:
    group = ReplicaGroup(run, "s-register")
    run.note("a group that it does not know")
    group.register(1)
    group.apply(1)
    run.note("an id that no replica has applied for")
    group.register(8)
    run.note("there is no master yet")
    group.register(1)
    group.info()
    run.note("with a master that has never beaten")
    group.elect(1)
    group.register(1)
    run.note("with one that beats")
    group.beat(1)
    group.register(1)
    group.sync_data()


@scenario("controller: a replica registers with a new address", controllers=1)
def controller_register_address(run: Run) -> None:
    group = ReplicaGroup(run, "s-address")
    group.join(1, 2)
    group.lead(1)
    group.register(2, brokerAddress="127.0.0.77:10911")
    group.sync_data()
    run.note("the master, too")
    group.register(1, brokerAddress="127.0.0.78:10911")
    group.info()
    run.note("of another cluster")
    group.register(2, clusterName="SOther")
    group.sync_data()


@scenario("controller: a registration with fields that are missing", controllers=1)
def controller_register_fields(run: Run) -> None:
    group = ReplicaGroup(run, "s-register-fields")
    group.join(1, 2)
    group.lead(1)
    run.note("no name")
    group.register(2, brokerName=None)
    run.note("no id")
    group.register(2, brokerId=None)
    run.note("no cluster")
    group.register(2, clusterName=None)
    run.note("no number")
    group.register(2, brokerId="two")
    run.note("no address")
    group.register(2, brokerAddress=None)
    group.sync_data()


@scenario("controller: master and set of a group", controllers=1)
def controller_replica_info(run: Run) -> None:
    group = ReplicaGroup(run, "s-info")
    run.note("a group that it does not know")
    group.info()
    group.apply(1)
    run.note("a group without a master")
    group.info()
    group.join(1, 2)
    group.lead(1, 2)
    group.info()
    run.note("without a name")
    group.ask(1, INFO, {})
    group.ask(1, INFO)


@scenario("controller: replicas of several groups", controllers=1)
def controller_sync_data(run: Run) -> None:
    first, second = ReplicaGroup(run, "s-data-one"), ReplicaGroup(run, "s-data-two")
    first.join(1)
    run.note("a group without a master")
    first.sync_data()
    first.lead(1)
    second.join(1, 2, 3)
    second.lead(1, 2)
    run.note("of several, and of one that it does not know")
    names: list[object] = [second.name, "s-data-none", first.name]
    run.ask("controller-0", SYNC_DATA, None, names, peer="admin")
    run.note("one that dies")
    second.dies(3)
    second.silence(3)
    second.sync_data()
    run.note("a group twice")
    run.ask("controller-0", SYNC_DATA, None, [first.name, first.name], peer="admin")


@scenario("controller: what is no list of groups", controllers=1)
def controller_sync_data_bodies(run: Run) -> None:
    for said, body in {
        "no body": b"",
        "an empty list": b"[]",
        "no JSON": b"s-data-one",
        "a group alone": b'"s-data-one"',
        "numbers": b"[1]",
        "null": b"null",
        "a list with null": b"[null]",
    }.items():
        run.note(said)
        run.ask("controller-0", SYNC_DATA, None, body, peer="admin")
    run.note("a map")
    run.ask("controller-0", SYNC_DATA, None, json.dumps({"a": "b"}), peer="admin")


@scenario("controller: requests that it does not serve", controllers=1)
def controller_other_codes(run: Run) -> None:
    run.note("a name server, and what is asked of it, are at another port")
    run.ask("controller-0", 105, {"topic": "SNowhere"})
    run.ask("namesrv", Code.CONTROLLER_GET_METADATA_INFO)
    run.ask("namesrv", Code.CONTROLLER_GET_REPLICA_INFO, {"brokerName": "s-other"})
    for code in (28, 34, 310, Code.GET_BROKER_EPOCH_CACHE, Code.NOTIFY_BROKER_ROLE_CHANGED):
        run.ask("controller-0", code, {})
    run.note("what only the log of jRaft has")
    for code in range(1014, 1019):
        run.ask("controller-0", code, {})


@scenario("controller: requests in other forms", controllers=1)
def controller_forms(run: Run) -> None:
    group = ReplicaGroup(run, "s-forms")
    fields = group.apply_fields(1)
    run.note("a header in RocketMQ's own form")
    run.ask("controller-0", APPLY, fields, binary=True)
    run.ask("controller-0", INFO, {"brokerName": group.name}, binary=True)
    run.note("another language, an old version, and fields that are unknown")
    fields = {**group.register_fields(1), "unknown": "field"}
    run.ask("controller-0", REGISTER, fields, language="PYTHON", version=0)
    run.note("one-way")
    beat = group.beat_fields(1)
    run.send("controller-0", Code.BROKER_HEARTBEAT, beat, peer="replica 1", oneway=True)
    run.until(lambda: group.alive()[1], "a heartbeat")
    group.sync_data()
