"""Several controllers: what followers answer, a leader's death, and what they remember."""

from __future__ import annotations

from conformance.replica_group import ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from fakemq.protocol.v5.codes import RequestCode5 as Code

LEADER, FOLLOWER, OTHER = "controller-0", "controller-1", "controller-2"
IDS = ("controllerLeaderId", "peers")
"""Fields with ids of controllers, any of which may be the leader."""
ELECTED_MS = 60_000
JRAFT = {"controllerType": "jRaft"}


def ask_metadata(run: Run, place: str) -> None:
    """Ask a controller which of them leads, written down."""
    run.ask(place, Code.CONTROLLER_GET_METADATA_INFO, hidden=IDS)


def metadata(run: Run, place: str) -> dict[str, str]:
    return run.peer("silent", place).quietly(Code.CONTROLLER_GET_METADATA_INFO).fields


def leader_among(run: Run, *places: str) -> str:
    """Wait until one of these controllers leads and serves; return it."""

    def leaders() -> list[str]:
        group = {"brokerName": "s-nowhere"}
        return [
            place
            for place in places
            if metadata(run, place).get("isLeader") == "true"
            and run.peer("silent", place).quietly(Code.CONTROLLER_GET_REPLICA_INFO, group).code
            == 2008
        ]

    run.wait(lambda: bool(leaders()), ELECTED_MS, "a new leader")
    return leaders()[0]


def name_leader(run: Run, place: str) -> None:
    """Write down the leader's address as such from here on: which of two it is, is chance."""
    run.normaliser.names[run.addrs[place]] = "new leader"
    run.addrs["new leader"] = run.addrs[place]


@scenario("controllers: what followers answer", controllers=3)
def followers(run: Run) -> None:
    ask_followers(run)


@scenario("controllers: what followers of jRaft answer", controllers=3, config=JRAFT)
def jraft_followers(run: Run) -> None:
    ask_followers(run)


def ask_followers(run: Run) -> None:
    """Ask a follower what only the leader may answer, and the rest."""
    ask_metadata(run, LEADER)
    ask_metadata(run, FOLLOWER)
    group = ReplicaGroup(run, "s-followers")
    group.join(1, 2)
    group.lead(1, 2)
    run.note("only the leader decides")
    at = ReplicaGroup(run, group.name, FOLLOWER)
    at.next_id(3)
    at.apply(3)
    at.register(1)
    at.elect(2)
    at.elect_by_admin(2)
    at.alter(1, 1, [1], 2)
    at.clean()
    run.note("and it alone says what it has decided")
    at.info()
    at.sync_data()
    run.note("requests that the leader would refuse")
    run.ask(FOLLOWER, Code.CONTROLLER_GET_SYNC_STATE_DATA, None, [])
    run.ask(FOLLOWER, Code.CONTROLLER_GET_REPLICA_INFO, {})
    run.note("heartbeats and configs are each controller's own")
    at.beat(1)
    at.beat(1, brokerId=None)
    run.ask(FOLLOWER, Code.UPDATE_CONTROLLER_CONFIG, None, "electMasterMaxRetryCount=2")
    run.ask(FOLLOWER, Code.UPDATE_CONTROLLER_CONFIG, None, "rocketmqHome=/nowhere")
    for place in (LEADER, FOLLOWER):
        text = run.peer("silent", place).quietly(Code.GET_CONTROLLER_CONFIG).body.decode()
        run.note(next(one for one in text.splitlines() if one.startswith("electMaster")))


@scenario("controllers: the leader dies, and another one has all that it had", controllers=3)
def leader_dies(run: Run) -> None:
    lose_leader(run)


@scenario(
    "controllers: the leader of jRaft dies, and another is there", controllers=3, config=JRAFT
)
def jraft_leader_dies(run: Run) -> None:
    lose_leader(run)


def lose_leader(run: Run) -> None:
    """Kill the leader of three, and look at what its successor knows."""
    group = ReplicaGroup(run, "s-leader-dies")
    group.join(1, 2, 3)
    group.lead(1, 2)
    group.dies(3)
    group.silence(3)
    run.kill(LEADER)
    name_leader(run, leader_among(run, FOLLOWER, OTHER))
    ask_metadata(run, "new leader")
    group = ReplicaGroup(run, group.name, "new leader")
    run.note("no replica is alive until it beats")
    group.sync_data()
    group.info()
    group.next_id(4)
    group.register(2)
    group.beat(1)
    group.beat(2)
    group.sync_data()
    group.elect(2)
    run.note("the master dies")
    group.dies(1)
    group.until_epoch(2)
    group.info()


@scenario("controllers: the one that is dead comes back, and follows", controllers=3)
def leader_returns(run: Run) -> None:
    group = ReplicaGroup(run, "s-leader-returns")
    group.join(1, 2)
    run.kill(LEADER)
    name_leader(run, leader_among(run, FOLLOWER, OTHER))
    group = ReplicaGroup(run, group.name, "new leader")
    group.beat(1)
    group.elect(1)
    run.start(LEADER)
    ask_metadata(run, LEADER)
    ReplicaGroup(run, group.name).info()


@scenario("controllers: without a majority none decides", controllers=3)
def no_majority(run: Run) -> None:
    group = ReplicaGroup(run, "s-majority")
    group.join(1, 2)
    group.lead(1, 2)
    run.kill(FOLLOWER)
    run.note("two of three do")
    group.alter(1, 1, [1], 2)
    run.kill(OTHER)
    run.wait(
        lambda: metadata(run, LEADER).get("isLeader") == "false", ELECTED_MS, "the end of a leader"
    )
    run.wait(
        lambda: "controllerLeaderAddress" not in metadata(run, LEADER), ELECTED_MS, "no leader"
    )
    ask_metadata(run, LEADER)
    group.alter(1, 1, [1, 2], 3)
    group.info()
    group.beat(1)
    run.note("a second one is there again")
    run.start(OTHER)
    name_leader(run, leader_among(run, LEADER, OTHER))
    group = ReplicaGroup(run, group.name, "new leader")
    group.info()


@scenario("controllers: the only one is killed, and knows its groups again", controllers=1)
def controller_restarts(run: Run) -> None:
    group = ReplicaGroup(run, "s-restart")
    group.join(1, 2)
    group.lead(1, 2)
    group.clean("7")
    group.elect_by_admin(2)
    group.apply(3)
    run.kill(LEADER)
    run.start(LEADER)
    leader_among(run, LEADER)
    run.note("no replica is alive until it beats")
    group.sync_data()
    group.register(1)
    group.next_id(4)
    group.apply(3)
    run.note("a retry of a lost answer has its id still")
    group.apply(3, registerCheckCode="127.0.0.13:10911;7")
    group.beat(2)
    group.register(1)
    group.sync_data()


@scenario("controllers: the only one is killed, and then the master", controllers=1)
def controller_killed(run: Run) -> None:
    group = ReplicaGroup(run, "s-killed")
    group.join(1, 2)
    group.lead(1, 2)
    run.kill(LEADER)
    run.start(LEADER)
    leader_among(run, LEADER)
    run.note("a member beats, the master does not: the controller looks each five seconds")
    group.beat(2)
    group.until_epoch(2)
    group.info()


@scenario("controllers: with jRaft, what one says of itself", controllers=1, config=JRAFT)
def jraft_metadata(run: Run) -> None:
    run.note("its id is where the Raft of the leader is")
    run.ask(LEADER, Code.CONTROLLER_GET_METADATA_INFO, hidden=("controllerLeaderId",))


@scenario(
    "controllers: with jRaft, a group and its masters",
    controllers=1,
    config=JRAFT,
)
def jraft_group(run: Run) -> None:
    group = ReplicaGroup(run, "s-jraft")
    group.next_id(1)
    group.apply(1)
    group.register(1)
    group.beat(1)
    group.elect(1)
    group.join(2, 3)
    group.alter(1, 1, [1, 2], 1)
    group.alter(1, 1, [1, 2], 1)
    group.alter(1, 2, [1, 2, 3], 2)
    group.elect(2)
    group.elect_by_admin(3)
    group.beat(1, brokerId=None)
    group.clean("3")
    group.sync_data()
    group.elect_by_admin(2)
    run.note("refused, and unknown")
    ReplicaGroup(run, "s-jraft-none").info()
    ReplicaGroup(run, "s-jraft-none").elect(1)
    run.ask(LEADER, Code.CONTROLLER_GET_SYNC_STATE_DATA, None, [])
    run.note("the master dies")
    group.alter(2, 2, [1, 2], 3)
    group.dies(2)
    group.until_epoch(3)
    group.info()
