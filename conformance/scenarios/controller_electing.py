"""Which replica a controller makes master, what it says, and which replicas it notifies."""

from __future__ import annotations

from conformance.replica_group import ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from fakemq.protocol.v5.codes import RequestCode5 as Code

UNCLEAN = "enableElectUncleanMaster"


def set_key(run: Run, key: str, value: object) -> None:
    """Change a key of the controller's config, written down."""
    text = f"{key}={str(value).lower()}\n"
    run.ask("controller-0", Code.UPDATE_CONTROLLER_CONFIG, None, text, peer="admin")


@scenario("election: of groups and replicas that there are not", controllers=1)
def election_unknown(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-unknown")
    group.elect(1)
    group.elect_by_admin(1)
    group.elect(-1)
    run.note("only 1 has applied for an id; a replica that there is not asks")
    group.apply(1)
    group.elect(7)
    group.info()
    group.elect(1)


@scenario("election: requests with fields that are missing", controllers=1)
def election_fields(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-fields")
    group.join(1, 2)
    group.lead(1)
    run.note("nothing at all")
    group.ask(1, Code.CONTROLLER_ELECT_MASTER, {})
    group.ask(1, Code.CONTROLLER_ELECT_MASTER)
    run.note("no name")
    group.elect(1, brokerName=None)
    run.note("no cluster")
    group.elect(1, clusterName=None)
    run.note("another cluster")
    group.elect(1, clusterName="SOther")
    run.note("no id")
    group.elect(1, brokerId=None)
    run.note("without a word on whether it is designated")
    group.elect(1, designateElect=None)
    run.note("no number, no boolean")
    group.elect(1, brokerId="one")
    group.elect(1, designateElect="maybe")


@scenario("election: the first master is the replica that asks", controllers=1)
def election_first(run: Run) -> None:
    run.note("neither order nor heartbeats count")
    group = ReplicaGroup(run, "s-elect-first")
    group.apply(1)
    group.apply(2)
    group.elect(2)
    group.info()
    run.note("the other asks then")
    group.elect(1)
    group.info()


@scenario("election: the first master, if no replica in particular asks", controllers=1)
def election_first_of_any(run: Run) -> None:
    run.note("no replica beats")
    group = ReplicaGroup(run, "s-elect-any")
    group.apply(1)
    group.apply(2)
    group.elect(-1)
    group.info()
    run.note("two beat, one with more")
    group.beat(1, maxOffset=10)
    group.beat(2, maxOffset=20)
    group.elect(-1)
    group.info()


@scenario("election: the first master, chosen by an admin", controllers=1)
def election_first_by_admin(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-admin")
    group.join(1, 2)
    group.elect_by_admin(2)
    group.info()


@scenario("election: a master that is alive", controllers=1)
def election_not_needed(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-alive")
    group.join(1, 2)
    group.lead(1, 2)
    run.note("a replica asks, the master itself, and anyone")
    group.elect(2)
    group.elect(1)
    group.elect(-1)
    run.note("an admin wants the master that there is")
    group.elect_by_admin(1)
    group.info()


@scenario("election: an admin chooses among members and others", controllers=1)
def election_designated(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-designated")
    group.join(1, 2, 3)
    group.lead(1, 2)
    run.note("one that is alive, and not in the set")
    group.elect_by_admin(3)
    run.note("one that there is not")
    group.elect_by_admin(9)
    run.note("no replica")
    group.elect_by_admin(-1)
    group.info()
    run.note("a member")
    group.elect_by_admin(2)
    group.info()
    run.note("the one before is no member any more")
    group.elect_by_admin(1)
    group.sync_data()


@scenario("election: an admin chooses a member that is dead", controllers=1)
def election_designated_dead(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-dead")
    group.join(1, 2)
    group.lead(1, 2)
    group.dies(2)
    group.silence(2)
    group.elect_by_admin(2)
    group.info()


@scenario("election: the master dies, and a member is its successor", controllers=1)
def election_on_death(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-death")
    group.join(1, 2, 3)
    group.lead(1, 2)
    group.dies(1)
    group.until_epoch(2)
    group.sync_data()
    group.info()
    run.note("it comes back")
    group.register(1)
    group.beat(1)
    group.elect(1)
    group.sync_data()


@scenario("election: of two members the one with the higher epoch", controllers=1)
def election_by_epoch(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-epoch")
    group.join(1, 2, 3)
    group.lead(1, 2, 3)
    group.beat(2, epoch=1, maxOffset=9_000, confirmOffset=9_000, electionPriority=1)
    group.beat(3, epoch=2, maxOffset=10, confirmOffset=10)
    group.dies(1)
    group.until_epoch(2)
    group.info()


@scenario("election: of two members the one with the higher offset", controllers=1)
def election_by_offset(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-offset")
    group.join(1, 2, 3)
    group.lead(1, 2, 3)
    group.beat(2, epoch=1, maxOffset=10, confirmOffset=10, electionPriority=1)
    group.beat(3, epoch=1, maxOffset=11, confirmOffset=5)
    group.dies(1)
    group.until_epoch(2)
    group.info()


@scenario("election: of two members the one with the lower priority", controllers=1)
def election_by_priority(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-priority")
    group.join(1, 2, 3)
    group.lead(1, 2, 3)
    group.beat(2, epoch=1, maxOffset=10)
    group.beat(3, epoch=1, maxOffset=10, electionPriority=7)
    group.dies(1)
    group.until_epoch(2)
    group.info()


@scenario("election: of two members that are equal the first", controllers=1)
def election_of_equals(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-equals")
    group.join(1, 2, 3)
    group.lead(3, 1, 2)
    group.dies(3)
    group.until_epoch(2)
    group.info()


@scenario("election: offsets that are 3 GiB apart", controllers=1)
def election_of_far_offsets(run: Run) -> None:
    run.note("Java takes the difference for an int")
    group = ReplicaGroup(run, "s-elect-far")
    group.join(1, 2, 3)
    group.lead(1, 2, 3)
    group.beat(2, epoch=1, maxOffset=10)
    group.beat(3, epoch=1, maxOffset=10 + (3 << 30))
    group.dies(1)
    group.until_epoch(2)
    group.info()


@scenario("election: without members that are alive the master is forgotten", controllers=1)
def election_forgotten(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-forgotten")
    group.join(1, 2)
    group.lead(1)
    group.dies(1)
    run.note("three tries, and an epoch for each")
    group.until_epoch(4)
    group.info()
    group.sync_data()
    run.note("a replica that is no member asks")
    group.elect(2)
    group.elect_by_admin(2)
    group.register(2)
    run.note("no replica in particular asks: one more epoch each time")
    group.elect(-1)
    group.elect(-1)
    group.info()
    run.note("the member is back, and asks")
    group.register(1)
    group.beat(1)
    group.elect(1)
    group.sync_data()


@scenario("election: unclean, of replicas that are no members", controllers=1)
def election_unclean(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-unclean")
    group.join(1, 2, 3)
    group.lead(1)
    group.dies(1)
    group.until_epoch(4)
    group.elect(2)
    try:
        set_key(run, UNCLEAN, True)
        run.note("a designated one, of no member")
        group.elect_by_admin(3)
        group.info()
        run.note("a member is preferred")
        group.alter(3, 5, [2, 3], 2)
        group.beat(1, epoch=9, maxOffset=9_000)
        group.dies(3)
        group.until_epoch(6)
        group.info()
        group.dies(2)
        group.until_epoch(7)
        group.info()
    finally:
        set_key(run, UNCLEAN, False)


@scenario("election: which replicas the controller notifies", controllers=1)
def election_notified(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-notified")
    listeners = {one: run.listener(f"replica {one}", "controller-0") for one in (1, 2, 3)}
    group.addrs = {one: listener.addr for one, listener in listeners.items()}
    group.join(1, 2, 3)
    group.lead(1, 2)
    listeners[1].take_request()
    listeners[2].take_request()
    listeners[3].take_request()
    run.note("one is dead, and the master's rights go to another")
    group.dies(3)
    group.silence(3)
    group.elect_by_admin(2)
    listeners[1].take_request()
    listeners[2].take_request()
    listeners[3].nothing_comes()
    run.note("an election that changes nothing")
    group.elect(1)
    for listener in listeners.values():
        listener.nothing_comes()
    run.note("a new set, as its master says")
    group.alter(2, 2, [1, 2], 3)
    for listener in listeners.values():
        listener.nothing_comes()


@scenario("election: a controller that notifies no replica", controllers=1)
def election_not_notified(run: Run) -> None:
    group = ReplicaGroup(run, "s-elect-not-notified")
    listener = run.listener("replica 2", "controller-0")
    group.addrs = {2: listener.addr}
    group.join(1, 2)
    set_key(run, "notifyBrokerRoleChanged", False)
    try:
        group.elect(1)
        listener.nothing_comes()
    finally:
        set_key(run, "notifyBrokerRoleChanged", True)
