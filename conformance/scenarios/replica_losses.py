"""Replicas that leave, alone or with what only they have: which leads then, and what is cut."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.replica_group import ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.controller_groups import leader_among
from conformance.scenarios.replicas import (
    ALL_ACK,
    FIRST,
    SECOND,
    WITHIN_MS,
    ends,
    epochs,
    first_returns,
    route,
    send,
    unique_id,
    until_in_sync,
    until_master,
    until_stored,
)
from conformance.wire.requests import properties, pull_fields, send_v2_fields
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5 as Code

TWO = {"minInSyncReplicas": "2"}
TABLES_MS = 13_000
"""After this a slave has the tables of its master, and so the topic."""
TIMES = {"slaveTimeout": "4000", "slaveReadEnable": "true"}


def lose_what_only_the_master_has(run: Run, topic: str) -> None:
    """Take the slave and the controller from a master that sends, and let the slave lead then.

    One send waits for the slave when its connection ends, one comes later.
    """
    group = ReplicaGroup(run, "broker-a")
    send(run, FIRST, topic, "both have it")
    until_stored(run, topic, 1, FIRST, SECOND)
    run.kill("controller-0")
    run.pause(SECOND)
    fields = send_v2_fields(topic, i=properties(WAIT="true", UNIQ_KEY=unique_id("in flight")))
    pending = run.send(FIRST, RequestCode.SEND_MESSAGE_V2, fields, "in flight", peer="producer")
    run.pass_time(500)
    run.kill(SECOND)
    run.answer_within(pending, 10_000)
    send(run, FIRST, topic, "the slave is gone")
    run.kill(FIRST)
    run.start("controller-0")
    leader_among(run, "controller-0")
    run.start(SECOND)
    run.note("the controller knows of no smaller set")
    run.wait(lambda: group.state().get("masterBrokerId") == 2, WITHIN_MS, "another master")
    group.info()
    run.start(FIRST)
    until_in_sync(group, 1, 2)
    run.note("what only the old master had is gone")
    ends(run, topic, FIRST, SECOND)
    run.ask(FIRST, RequestCode.PULL_MESSAGE, pull_fields(topic), peer="consumer")
    epochs(run, FIRST, SECOND)


def isolated(config: Mapping[str, str]) -> dict[str, str]:
    return {**config, **TIMES}


@scenario(
    "replicas: a master loses slave and controller, and waits for the whole set",
    controllers=1,
    replicas=2,
    config=isolated(ALL_ACK),
    real_s=80,
)
def replica_isolated_all(run: Run) -> None:
    lose_what_only_the_master_has(run, "SLoses")


@scenario(
    "replicas: a master loses slave and controller, and waits for the whole set of at least two",
    controllers=1,
    replicas=2,
    config=isolated({**ALL_ACK, **TWO}),
    real_s=80,
)
def replica_isolated_all_of_two(run: Run) -> None:
    lose_what_only_the_master_has(run, "SLosesOne")


@scenario(
    "replicas: a master loses slave and controller, and waits for two of at least two",
    controllers=1,
    replicas=2,
    config=isolated({"inSyncReplicas": "2", **TWO}),
    real_s=80,
)
def replica_isolated_two(run: Run) -> None:
    lose_what_only_the_master_has(run, "SLosesNone")


@scenario(
    "replicas: one that is not in sync is no master until a request allows it",
    controllers=1,
    replicas=2,
    config={**ALL_ACK, "slaveReadEnable": "true"},
    real_s=90,
)
def replica_unclean(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SUnclean"
    send(run, FIRST, topic, "both have it")
    until_stored(run, topic, 1, FIRST, SECOND)
    run.kill(SECOND)
    until_in_sync(group, 1)
    send(run, FIRST, topic, "one has it")
    run.kill(FIRST)
    group.until_epoch(4)
    run.start(SECOND)
    group.elect(2)
    group.sync_data()
    route(run)
    send(run, SECOND, topic, "to one without a role")
    ends(run, topic, SECOND)
    text = "enableElectUncleanMaster=true\n"
    run.ask("controller-0", Code.UPDATE_CONTROLLER_CONFIG, None, text, peer="admin")
    until_master(group, 2)
    group.info()
    first_returns(run, group, topic)


@scenario(
    "replicas: a slave leaves twice, and returns with all that was sent",
    controllers=1,
    replicas=2,
    config={**ALL_ACK, "slaveReadEnable": "true"},
    real_s=90,
)
def replica_returns(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SReturns"
    send(run, FIRST, topic, "both have it")
    run.stop(SECOND)
    until_in_sync(group, 1)
    group.sync_data()
    route(run)
    send(run, FIRST, topic, "the slave has stopped")
    run.start(SECOND)
    until_in_sync(group, 1, 2)
    until_stored(run, topic, 2, FIRST, SECOND)
    run.kill(SECOND)
    until_in_sync(group, 1)
    send(run, FIRST, topic, "the slave is dead")
    run.start(SECOND)
    until_in_sync(group, 1, 2)
    until_stored(run, topic, 3, FIRST, SECOND)
    run.pass_time(TABLES_MS)
    run.note("its id is the one of before")
    group.sync_data()
    run.ask(SECOND, RequestCode.PULL_MESSAGE, pull_fields(topic), peer="consumer")
    epochs(run, FIRST, SECOND)
    run.note("no message comes before the old master knows the new epoch")
    group.elect_by_admin(2)
    until_in_sync(group, 1, 2)
    epochs(run, FIRST, SECOND)


@scenario(
    "replicas: a learner is alone, and no master",
    controllers=1,
    replicas=2,
    config=ALL_ACK,
    real_s=90,
)
def replica_learner_alone(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SAlone"
    run.kill(SECOND)
    until_in_sync(group, 1)
    run.start(SECOND, asyncLearner="true")
    send(run, FIRST, topic, "one of the set has it")
    until_stored(run, topic, 1, FIRST, SECOND)
    run.kill(FIRST)
    group.until_epoch(4)
    group.sync_data()
    send(run, SECOND, topic, "to a slave without a master")
    run.start(FIRST)
    until_master(group, 1)
    run.note("it is a member from now on")
    run.stop(SECOND)
    run.start(SECOND, asyncLearner="false")
    until_in_sync(group, 1, 2)
    epochs(run, FIRST, SECOND)
