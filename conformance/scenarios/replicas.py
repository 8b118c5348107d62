"""Replicas whose master controllers elect: roles, statuses of sends, fail-over, what is cut."""

from __future__ import annotations

import zlib

from conformance.replica_group import CLUSTER, ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.controller_groups import leader_among
from conformance.wire.peer import Answer
from conformance.wire.requests import (
    UNIQUE_ID,
    properties,
    pull_fields,
    queue_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5 as Code

ALL_ACK = {"allAckInSyncStateSet": "true"}
FIRST, SECOND, THIRD = "broker-a@1", "broker-a@2", "broker-a@3"
WITHIN_MS = 90_000
"""A slave that knows its master late asks for it again after up to 30 s."""
BEAT_MS = 2_500
"""After this the controller knows where every log ends, and so which is the first of equals."""


def unique_id(body: str) -> str:
    """Return the id of a message: one that a broker makes is as long as its address is."""
    return UNIQUE_ID.format(zlib.crc32(body.encode()) & 0xFFFF)


def send(run: Run, place: str, topic: str, body: str) -> Answer:
    """Send, ready to wait for replicas."""
    fields = send_v2_fields(topic, i=properties(WAIT="true", UNIQ_KEY=unique_id(body)))
    pending = run.send(place, RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")
    return run.answer_within(pending, 10_000)


def epochs(run: Run, *places: str) -> None:
    """Ask replicas for their epochs."""
    for place in places:
        run.ask(place, Code.GET_BROKER_EPOCH_CACHE, {}, peer="admin")


def route(run: Run) -> None:
    fields = {"topic": "TBW102"}
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, fields, peer="admin")


def until_in_sync(group: ReplicaGroup, *replicas: int) -> None:
    """Wait until these are the set, written down."""

    def found() -> set[int]:
        return {int(row["brokerId"]) for row in group.state()["inSyncReplicas"]}

    group.run.wait(lambda: found() == set(replicas), WITHIN_MS, f"the set {replicas}")
    group.run.note(f"in sync: {', '.join(map(str, replicas))}")


def until_master(group: ReplicaGroup, replica: int) -> None:
    """Wait until a replica is master, and takes messages."""
    run, place = group.run, f"{group.name}@{replica}"
    run.wait(lambda: group.state().get("masterBrokerId") == replica, WITHIN_MS, f"master {replica}")
    text = properties(UNIQ_KEY=unique_id("ready"))
    fields = {key: str(value) for key, value in send_v2_fields("SReady", i=text).items()}
    peer = run.quiet_peer(place)
    run.wait(
        lambda: peer.quietly(RequestCode.SEND_MESSAGE_V2, fields, b"ready").code == 0,
        WITHIN_MS,
        f"{place} serving",
    )
    peer.close()
    run.note(f"{place} is the master")


def until_stored(run: Run, topic: str, end: int, *places: str) -> None:
    """Wait until a queue ends there at each of these replicas."""

    fields = {name: str(value) for name, value in queue_fields(topic).items()}

    def is_there(place: str) -> bool:
        peer = run.quiet_peer(place)
        answer = peer.quietly(RequestCode.GET_MAX_OFFSET, fields)
        peer.close()
        return answer.fields.get("offset") == str(end)

    run.wait(lambda: all(map(is_there, places)), WITHIN_MS, f"{end} messages in {topic}")


def ends(run: Run, topic: str, *places: str) -> None:
    for place in places:
        run.ask(place, RequestCode.GET_MAX_OFFSET, queue_fields(topic), peer="admin")


@scenario(
    "replicas: what they are, and what each of them answers",
    controllers=1,
    replicas=3,
    config=ALL_ACK,
    real_s=60,
)
def replica_roles(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    group.info()
    group.sync_data()
    route(run)
    members = {"clusterName": CLUSTER, "brokerName": "broker-a"}
    run.ask("namesrv", Code.GET_BROKER_MEMBER_GROUP, members, peer="admin")
    epochs(run, FIRST, SECOND)
    topic = "SRoles"
    send(run, FIRST, topic, "to the master")
    send(run, SECOND, topic, "to a slave")
    until_stored(run, topic, 1, FIRST, SECOND, THIRD)
    run.note("reads at a slave")
    run.ask(SECOND, RequestCode.PULL_MESSAGE, pull_fields(topic), peer="consumer")
    ends(run, topic, SECOND)
    epochs(run, FIRST, SECOND)


@scenario(
    "replicas: the master dies, and comes back",
    controllers=1,
    replicas=3,
    config=ALL_ACK,
    real_s=90,
)
def replica_fail_over(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SFailOver"
    for number in range(3):
        send(run, FIRST, topic, f"before {number}")
    run.pass_time(BEAT_MS)
    run.kill(FIRST)
    until_master(group, 2)
    group.info()
    send(run, SECOND, topic, "after")
    until_in_sync(group, 2, 3)
    run.start(FIRST)
    until_in_sync(group, 1, 2, 3)
    until_stored(run, topic, 4, FIRST, SECOND, THIRD)
    epochs(run, FIRST, SECOND)
    route(run)
    send(run, FIRST, topic, "to the old master")


@scenario(
    "replicas: an admin changes the master", controllers=1, replicas=3, config=ALL_ACK, real_s=60
)
def replica_designated(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SDesignated"
    send(run, FIRST, topic, "first")
    until_stored(run, topic, 1, FIRST, SECOND, THIRD)
    group.elect_by_admin(3)
    until_master(group, 3)
    send(run, THIRD, topic, "second")
    send(run, FIRST, topic, "to the old master")
    group.elect_by_admin(3)
    epochs(run, THIRD)


@scenario(
    "replicas: sends wait for the whole set, which must not be too small",
    controllers=1,
    replicas=2,
    config={**ALL_ACK, "minInSyncReplicas": "2", "slaveTimeout": "1000"},
    real_s=80,
)
def replica_send_statuses(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SStatuses"
    send(run, FIRST, topic, "both are there")
    run.pause(SECOND)
    run.note("it is waited for as long as it is in the set")
    send(run, FIRST, topic, "one is silent")
    until_in_sync(group, 1)
    send(run, FIRST, topic, "the set is too small")
    run.resume(SECOND)
    until_in_sync(group, 1, 2)
    send(run, FIRST, topic, "both are there again")
    until_stored(run, topic, 3, FIRST, SECOND)


@scenario(
    "replicas: sends wait for a number of slaves, dead or not",
    controllers=1,
    replicas=2,
    config={"inSyncReplicas": "2", "slaveTimeout": "1000"},
    real_s=50,
)
def replica_sends_to_two(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "STwo"
    send(run, FIRST, topic, "both are there")
    run.kill(SECOND)
    until_in_sync(group, 1)
    send(run, FIRST, topic, "one is dead")
    run.start(SECOND)
    until_in_sync(group, 1, 2)
    send(run, FIRST, topic, "both are there again")


def first_returns(run: Run, group: ReplicaGroup, topic: str) -> None:
    """Let the second replica store a message, and the first one come back as its slave."""
    send(run, SECOND, topic, "the other has it")
    run.start(FIRST)
    until_in_sync(group, 1, 2)
    until_stored(run, topic, 2, FIRST, SECOND)
    run.ask(FIRST, RequestCode.PULL_MESSAGE, pull_fields(topic), peer="consumer")
    epochs(run, FIRST, SECOND)


@scenario(
    "replicas: by default a send waits for no slave, and can be lost",
    controllers=1,
    replicas=2,
    config={"enableElectUncleanMaster": "true", "slaveReadEnable": "true"},
    real_s=80,
)
def replica_truncated(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SCut"
    send(run, FIRST, topic, "both have it")
    until_stored(run, topic, 1, FIRST, SECOND)
    run.kill(SECOND)
    until_in_sync(group, 1)
    send(run, FIRST, topic, "one has it")
    send(run, FIRST, topic, "one has it, too")
    run.kill(FIRST)
    group.until_epoch(4)
    run.start(SECOND)
    until_master(group, 2)
    group.info()
    first_returns(run, group, topic)


@scenario(
    "replicas: one that finds no controller is fenced",
    controllers=1,
    replicas=2,
    config=ALL_ACK,
    real_s=60,
)
def replica_fenced(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SFenced"
    send(run, FIRST, topic, "before")
    until_stored(run, topic, 1, FIRST, SECOND)
    run.kill("controller-0")
    run.note("the data continues without a controller")
    send(run, FIRST, topic, "without a controller")
    run.kill(SECOND)
    send(run, FIRST, topic, "without a slave")
    run.start(SECOND)
    send(run, SECOND, topic, "to one that does not know its role")
    ends(run, topic, SECOND)
    epochs(run, SECOND)
    run.start("controller-0")
    leader_among(run, "controller-0")
    until_in_sync(group, 1, 2)
    until_stored(run, topic, 3, FIRST, SECOND)
    send(run, SECOND, topic, "to a slave")


@scenario("replicas: a learner is in no set", controllers=1, replicas=3, config=ALL_ACK, real_s=60)
def replica_learner(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SLearner"
    run.kill(THIRD)
    until_in_sync(group, 1, 2)
    run.start(THIRD, asyncLearner="true")
    send(run, FIRST, topic, "for all")
    until_stored(run, topic, 1, FIRST, SECOND, THIRD)
    run.pass_time(7_000)
    group.sync_data()
    run.note("no send waits for it")
    run.pause(THIRD)
    send(run, FIRST, topic, "for members")
    run.resume(THIRD)
    until_stored(run, topic, 2, FIRST, SECOND, THIRD)
    run.note("and it is no master")
    group.elect_by_admin(3)


@scenario(
    "replicas: a master without slave and controller acknowledges what is cut later",
    controllers=1,
    replicas=2,
    config={**ALL_ACK, "slaveReadEnable": "true", "slaveTimeout": "1000"},
    real_s=80,
)
def replica_isolated(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SIsolated"
    send(run, FIRST, topic, "both have it")
    until_stored(run, topic, 1, FIRST, SECOND)
    run.kill("controller-0")
    run.pause(SECOND)
    run.note("27 s later: the master has dropped its silent slave, and has asked no controller")
    run.pass_time(27_000)
    send(run, FIRST, topic, "one has it")
    run.kill(FIRST)
    run.start("controller-0")
    leader_among(run, "controller-0")
    run.resume(SECOND)
    run.note("for the controller both are in the set, and one of them is alive")
    until_master(group, 2)
    group.info()
    first_returns(run, group, topic)
