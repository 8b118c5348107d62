"""Heartbeats of replicas: what a controller answers, and when it takes a replica for dead."""

from __future__ import annotations

from conformance.replica_group import ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from fakemq.protocol.v5.codes import RequestCode5 as Code

SHORT_MS = 1_000


@scenario("heartbeats: of replicas that are known, and of others", controllers=1)
def heartbeats(run: Run) -> None:
    group = ReplicaGroup(run, "s-beats")
    run.note("no replica has applied for an id")
    group.beat(1)
    group.info()
    group.apply(1)
    group.sync_data()
    run.note("as real brokers do")
    run.send(
        "controller-0", Code.BROKER_HEARTBEAT, group.beat_fields(1), peer="replica 1", oneway=True
    )
    group.beat(1)


@scenario("heartbeats: fields that are missing", controllers=1)
def heartbeat_fields(run: Run) -> None:
    group = ReplicaGroup(run, "s-beat-fields")
    group.apply(1)
    group.elect(1)
    for name in ("brokerId", "clusterName", "brokerName", "brokerAddr"):
        run.note(f"no {name}")
        group.beat(1, **{name: None})
    group.ask(1, Code.BROKER_HEARTBEAT, {})
    group.ask(1, Code.BROKER_HEARTBEAT)
    run.note("no number")
    group.beat(1, brokerId="one")
    group.beat(1, heartbeatTimeoutMills="soon")
    group.sync_data()
    run.note("only what has to be")
    group.beat(1, epoch=None, maxOffset=None, confirmOffset=None, heartbeatTimeoutMills=None)
    group.sync_data()


@scenario("heartbeats: a replica is silent, and dead when the controller looks", controllers=1)
def heartbeat_silence(run: Run) -> None:
    group = ReplicaGroup(run, "s-silence")
    group.join(1, 2)
    group.lead(1, 2)
    group.beat(1, heartbeatTimeoutMills=SHORT_MS)
    group.until_epoch(2)
    group.sync_data()
    run.note("its connection is closed")
    closed = run.peer("replica 1", "controller-0")
    run.wait(closed.is_closed, 5_000, "the end of a connection")
    closed.say("closed")


@scenario("heartbeats: ten seconds if they say nothing", controllers=1, real_s=15)
def heartbeat_timeout(run: Run) -> None:
    group = ReplicaGroup(run, "s-timeout")
    group.join(1, 2)
    group.lead(1, 2)
    group.beat(1, heartbeatTimeoutMills=None)
    since_ms = run.now_ms()
    group.until_epoch(2)
    run.note_late("dead", since_ms, 9.5, 15.8)
    group.sync_data()


@scenario("heartbeats: the last of them says for how long it counts", controllers=1)
def heartbeat_shorter(run: Run) -> None:
    group = ReplicaGroup(run, "s-shorter")
    group.join(1, 2)
    group.lead(1, 2)
    group.beat(2, heartbeatTimeoutMills=SHORT_MS)
    group.beat(2)
    run.note("7 s later: the controller has looked")
    run.pass_time(7_000)
    group.sync_data()
    run.note("a time that is over already")
    group.beat(2, heartbeatTimeoutMills=-1)
    group.silence(2)
    group.sync_data()
    run.note("it beats again, on a connection of its own")
    run.close("replica 2", "controller-0")
    group.beat(2)
    group.sync_data()


@scenario("heartbeats: on a second connection, and the first is closed late", controllers=1)
def heartbeat_second_connection(run: Run) -> None:
    group = ReplicaGroup(run, "s-second")
    group.join(1, 2)
    group.lead(1, 2)
    run.ask("controller-0", Code.BROKER_HEARTBEAT, group.beat_fields(1), peer="replica 1 again")
    run.note("the second is closed")
    run.hang_up("replica 1 again", "controller-0")
    run.pass_time(500)
    group.sync_data()
    run.ask("controller-0", Code.BROKER_HEARTBEAT, group.beat_fields(1), peer="replica 1 again")
    run.note("the first is closed")
    group.dies(1)
    group.until_epoch(2)
    group.sync_data()
    run.note("the next heartbeat on the other")
    run.ask("controller-0", Code.BROKER_HEARTBEAT, group.beat_fields(1), peer="replica 1 again")
    group.sync_data()


@scenario("heartbeats: two replicas on one connection", controllers=1)
def heartbeat_shared_connection(run: Run) -> None:
    group = ReplicaGroup(run, "s-shared")
    group.join(1)
    group.lead(1)
    group.apply(2)
    group.apply(3)
    run.ask("controller-0", Code.BROKER_HEARTBEAT, group.beat_fields(2), peer="both")
    run.ask("controller-0", Code.BROKER_HEARTBEAT, group.beat_fields(3), peer="both")
    group.sync_data()
    run.hang_up("both", "controller-0")
    group.silence(2)
    run.pass_time(500)
    group.sync_data()


@scenario("heartbeats: offsets and epochs that go back are not believed", controllers=1)
def heartbeat_goes_back(run: Run) -> None:
    group = ReplicaGroup(run, "s-back")
    group.join(1, 2, 3)
    group.lead(1, 2, 3)
    group.beat(3, epoch=1, maxOffset=500)
    group.beat(2, epoch=1, maxOffset=400)
    run.note("the first falls back; the second moves on, to less than it had")
    group.beat(3, epoch=1, maxOffset=100)
    group.beat(2, epoch=1, maxOffset=450)
    group.dies(1)
    group.until_epoch(2)
    group.info()


@scenario("heartbeats: an offset of a later epoch may be lower", controllers=1)
def heartbeat_later_epoch(run: Run) -> None:
    group = ReplicaGroup(run, "s-later")
    group.join(1, 2, 3)
    group.lead(1, 2, 3)
    group.beat(2, epoch=2, maxOffset=500)
    group.beat(3, epoch=1, maxOffset=900)
    group.beat(3, epoch=2, maxOffset=100)
    group.dies(1)
    group.until_epoch(2)
    group.info()


@scenario("heartbeats: a priority, and one that is left out then", controllers=1)
def heartbeat_priority(run: Run) -> None:
    group = ReplicaGroup(run, "s-priority")
    group.join(1, 2, 3)
    group.lead(1, 2, 3)
    group.beat(3, electionPriority=1)
    group.beat(3)
    group.beat(2, electionPriority=5)
    group.dies(1)
    group.until_epoch(2)
    group.info()


@scenario("heartbeats: from another address than that of the registration", controllers=1)
def heartbeat_address(run: Run) -> None:
    group = ReplicaGroup(run, "s-beat-address")
    group.join(1, 2)
    group.lead(1, 2)
    group.beat(2, brokerAddr="127.0.0.99:10911", clusterName="SOther")
    group.sync_data()
    run.note("the replica of that name and cluster is another")
    group.beat(2, brokerAddr="127.0.0.99:10911")
    group.sync_data()


@scenario("heartbeats: the master beats again, too late", controllers=1, real_s=12)
def heartbeat_too_late(run: Run) -> None:
    run.note("the only member of its set: the group loses its master, after three tries")
    group = ReplicaGroup(run, "s-too-late")
    group.join(1, 2)
    group.lead(1)
    group.beat(1, heartbeatTimeoutMills=SHORT_MS)
    group.until_epoch(4)
    run.close("replica 1", "controller-0")
    group.beat(1)
    run.note("6 s later: no replica has asked")
    run.pass_time(6_000)
    group.info()
    group.elect(1)


@scenario("heartbeats: a time that is over, before the controller looks", controllers=1)
def heartbeat_over(run: Run) -> None:
    group = ReplicaGroup(run, "s-over")
    group.join(1, 2)
    group.lead(1, 2)
    group.beat(1, heartbeatTimeoutMills=-1)
    group.sync_data()
    group.register(2)
    group.alter(1, 1, [1], 2)
    group.elect(2)
