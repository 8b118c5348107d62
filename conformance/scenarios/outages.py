"""A master and its slave, one of which is gone for a while, or for good."""

from __future__ import annotations

from functools import partial

from conformance.run import STEP_MS, Run
from conformance.scenario import scenario
from conformance.scenarios.registration import ask_route, brokers_of
from conformance.scenarios.transactions import beat, send_half
from conformance.wire.peer import Answer
from conformance.wire.requests import (
    COMMIT,
    COMMIT_FLAG,
    HELD,
    SUBSCRIPTION_FLAG,
    end_fields,
    offset_fields,
    producer_heartbeat,
    properties,
    pull_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.topics import SCHEDULE_TOPIC, TRANS_HALF_TOPIC

SYNC = {"brokerRole": "SYNC_MASTER"}
"""A master that answers a send when its slave has the message."""
SLAVE = "broker-a-1"
ANSWERED_MS = 6_000
"""When a send is answered whose slave says nothing: 3 s, looked at each second."""
ATTACHED_MS = 60_000
"""When a slave is in step again that was away: it connects after 5 s and reports after 10."""
LEARNT_MS = 30_000
"""By then a slave knows its master that was away when it registered: it registers every 30 s."""
SYNC_MS = 14_000
"""When a slave has its master's tables: it asks for them every 10 s."""


def replicated(run: Run, name: str) -> str:
    """Create a topic with one queue, known to the slave; return its name."""
    run.topic(name)
    fields = {key: str(value) for key, value in pull_fields(name).items()}
    asking = run.quiet_peer(SLAVE)
    run.wait(
        lambda: (
            asking.quietly(RequestCode.PULL_MESSAGE, fields).code != ResponseCode.TOPIC_NOT_EXIST
        ),
        SYNC_MS,
        f"{name} at the slave",
    )
    asking.close()
    return name


def sent(run: Run, topic: str, body: str, **more: str) -> Answer:
    """Send to the master as clients do, and wait as long as it waits for its slave."""
    fields = send_v2_fields(topic, i=properties(WAIT="true", **more))
    code = RequestCode.SEND_MESSAGE_V2
    offsets = {"queueOffset": topic} if "DELAY" not in more else {}
    hidden = ("queueOffset",) if "DELAY" in more else ()
    pending = run.send(
        "broker-a", code, fields, body, peer="producer", offsets=offsets, hidden=hidden
    )
    return run.answer_within(pending, ANSWERED_MS)


def until_safe(run: Run) -> None:
    """Return when the slave receives again what is sent to its master."""
    run.client.create_topic("SAttached", 1)
    run.note("until the slave has what is sent")
    silent = run.quiet_peer("broker-a")
    fields = send_v2_fields("SAttached", i=properties(WAIT="true"))
    for _ in range(0, ATTACHED_MS, STEP_MS):
        pending = silent.send(RequestCode.SEND_MESSAGE_V2, fields, "x")
        run.wait(pending.has_come, ANSWERED_MS, "an answer to a send")
        if pending.answer().code == ResponseCode.SUCCESS:
            break
        run.pass_time(STEP_MS)
    else:
        raise TimeoutError(f"no slave has what is sent within {ATTACHED_MS} ms")
    silent.close()


def wait_at_slave(
    run: Run, topic: str, max_offset: int, within_ms: int = ATTACHED_MS, queue_id: int = 0
) -> None:
    """Let time pass until a queue of the slave ends there."""
    run.wait(
        lambda: run.max_offset(SLAVE, topic, queue_id) >= max_offset,
        within_ms,
        f"{max_offset} messages in {topic} at the slave",
        STEP_MS,
    )


def query_offset(run: Run, place: str, topic: str, group: str) -> None:
    fields = offset_fields(topic, group)
    run.ask(place, RequestCode.QUERY_CONSUMER_OFFSET, fields, peer="consumer")


def commit_offset(run: Run, place: str, topic: str, group: str, offset: int) -> None:
    fields = offset_fields(topic, group, commitOffset=offset)
    run.ask(place, RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="consumer")


def offset_is(run: Run, place: str, topic: str, group: str, offset: int) -> bool:
    """Return whether a group has got so far, by what a broker says."""
    fields = {key: str(value) for key, value in offset_fields(topic, group).items()}
    found = run.peer("consumer", place).quietly(RequestCode.QUERY_CONSUMER_OFFSET, fields)
    return found.fields.get("offset") == str(offset)


@scenario(
    "replication: the slave dies, and comes back to what it has missed",
    config=SYNC,
    real_s=80,
    slaves=1,
    family="replication",
)
def slave_dies(run: Run) -> None:
    topic = replicated(run, "SSlaveDies")
    sent(run, topic, "while it is there")
    run.kill(SLAVE)
    run.pass_time(1_000)
    run.note("it is in no route any more, and no send waits for it")
    ask_route(run, topic)
    for number in range(3):
        sent(run, topic, f"{number} while it is away")
        run.pass_time(20_000)
    run.start(SLAVE)
    wait_at_slave(run, topic, 4)
    until_safe(run)
    sent(run, topic, "when it is back")
    run.until(lambda: run.max_offset(SLAVE, topic) == 5, "all five at the slave")
    run.pull(topic, place=SLAVE)


@scenario(
    "replication: the slave is paused, is waited for, disconnected, and comes back",
    config=SYNC,
    real_s=40,
    slaves=1,
    family="replication",
)
def slave_paused(run: Run) -> None:
    topic = replicated(run, "SStandsStill")
    sent(run, topic, "while it goes")
    run.pause(SLAVE)
    began_ms = run.now_ms()
    sent(run, topic, "is it safe?")
    run.note_late("answered", began_ms, 2.5, 5)
    run.pass_time(24_000)
    run.note("after 20 s without a word its master hangs up")
    sent(run, topic, "is it now?")
    run.resume(SLAVE)
    wait_at_slave(run, topic, 3)
    until_safe(run)
    sent(run, topic, "in step again")
    run.until(lambda: run.max_offset(SLAVE, topic) == 4, "all four at the slave")
    run.pull(topic, place=SLAVE)


@scenario(
    "replication: the slave is paused until the name server forgets it",
    config=SYNC,
    real_s=150,
    slaves=1,
    family="replication",
)
def slave_forgotten(run: Run) -> None:
    topic = replicated(run, "SForgotten")
    run.pause(SLAVE)
    run.pass_time(80_000)
    ask_route(run, topic)
    sent(run, topic, "after 80 s: no send waits for it")
    run.close("client", "namesrv")
    run.pass_time(60_000)
    run.note("after 120 s, looked at every 10 s")
    ask_route(run, topic)
    run.resume(SLAVE)
    run.wait(lambda: len(brokers_of(run, topic)) == 2, 45_000, "the slave at the name server")
    run.note("it registers every 30 s")
    ask_route(run, topic)
    wait_at_slave(run, topic, 1)
    run.pull(topic, place=SLAVE)


@scenario(
    "replication: the master dies; its slave is read from, and takes no messages",
    config=SYNC,
    real_s=75,
    slaves=1,
    family="replication",
)
def master_dies(run: Run) -> None:
    topic = replicated(run, "SMasterDies")
    for number in range(2):
        sent(run, topic, f"safe {number}")
    run.until(lambda: run.max_offset(SLAVE, topic) == 2, "both at the slave")
    run.pull(topic, place=SLAVE)
    run.kill("broker-a")
    run.pass_time(500)
    ask_route(run, topic)
    run.pull(topic, place=SLAVE, peer="late")
    run.note("a minute later just the same")
    run.pass_time(60_000)
    run.pull(topic, 1, place=SLAVE, peer="late")
    run.note("no client sends to a slave")
    fields = send_v2_fields(topic)
    run.ask(SLAVE, RequestCode.SEND_MESSAGE_V2, fields, "refused", peer="producer")
    run.start("broker-a")
    until_safe(run)
    run.until(lambda: len(brokers_of(run, topic)) == 2, "both at the name server")
    ask_route(run, topic)
    sent(run, topic, "it is back")
    run.pull(topic, 2)
    run.until(lambda: run.max_offset(SLAVE, topic) == 3, "all three at the slave")
    run.pull(topic, 2, place=SLAVE)


@scenario(
    "replication: the slave asks for its master's tables every ten seconds",
    config=SYNC,
    real_s=65,
    slaves=1,
    family="replication",
)
def tables_follow(run: Run) -> None:
    topic, group = replicated(run, "SFollow"), "GFollow"
    for number in range(3):
        sent(run, topic, f"{number}")
    for offset in (1, 3, 2):
        commit_offset(run, "broker-a", topic, group, offset)
        began_ms = run.now_ms()
        run.wait(partial(offset_is, run, SLAVE, topic, group, offset), SYNC_MS, "the offset")
        run.note_late("the slave has it", began_ms, 0, 12)
    run.note("a group that may not consume may not at the slave, either")
    run.group(group, consumeEnable=False)
    run.pass_time(SYNC_MS)
    run.pull(topic, consumerGroup=group, place=SLAVE)
    run.note("what is deleted")
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}, peer="admin")
    run.pass_time(SYNC_MS)
    run.pull(topic, place=SLAVE)


@scenario(
    "replication: offsets committed to a slave last until it knows its master",
    config=SYNC,
    real_s=65,
    slaves=1,
    family="replication",
)
def offsets_at_slave(run: Run) -> None:
    topic, group = replicated(run, "SSlaveOffsets"), "GSlaveOffsets"
    for number in range(3):
        sent(run, topic, f"{number}")
    commit_offset(run, "broker-a", topic, group, 1)
    run.wait(partial(offset_is, run, SLAVE, topic, group, 1), SYNC_MS, "the offset")
    run.note("time for its master to write it down")
    run.pass_time(6_000)
    run.kill("broker-a")
    query_offset(run, SLAVE, topic, group)
    run.note("by a pull: not; by itself: yes")
    flags = SUBSCRIPTION_FLAG | COMMIT_FLAG
    run.pull(topic, 2, place=SLAVE, consumerGroup=group, sysFlag=flags, commitOffset=2)
    query_offset(run, SLAVE, topic, group)
    commit_offset(run, SLAVE, topic, group, 3)
    run.note("half a minute later")
    run.pass_time(30_000)
    query_offset(run, SLAVE, topic, group)
    run.start("broker-a")
    began_ms = run.now_ms()
    back = partial(offset_is, run, SLAVE, topic, group, 1)
    run.wait(back, LEARNT_MS + SYNC_MS, "the offset of its master")
    run.note_late("it has its master's again", began_ms, 0, 44)
    query_offset(run, "broker-a", topic, group)


@scenario(
    "replication: a pull that waits at a slave is looked at every five seconds",
    config=SYNC,
    real_s=30,
    slaves=1,
    family="replication",
)
def hold_at_slave(run: Run) -> None:
    topic = replicated(run, "SSlaveHold")
    code = RequestCode.PULL_MESSAGE
    fields = pull_fields(topic, sysFlag=HELD)
    began_ms = run.now_ms()
    pending = run.send(SLAVE, code, fields, peer="in vain")
    run.answer_within(pending, 21_000)
    run.note_late("answered", began_ms, 15, 20.8)
    looked_ms = run.now_ms()
    run.note("just looked at: a message comes, and is found at the next look")
    pending = run.send(SLAVE, code, fields, peer="in time")
    run.pass_time(500)
    sent(run, topic, "found")
    run.until(lambda: run.max_offset(SLAVE, topic) == 1, "one at the slave")
    began_ms = run.now_ms()
    run.nothing_comes("in time", place=SLAVE)
    run.answer_within(pending, 6_000)
    run.note_late("answered", began_ms, 2.5, 5.8, waits_since_ms=looked_ms)


@scenario(
    "replication: the master is dead when a delay ends; the slave delivers nothing",
    config=SYNC,
    real_s=80,
    slaves=1,
    family="replication",
)
def delay_without_master(run: Run) -> None:
    topic = replicated(run, "SDeadDelay")
    sent(run, topic, "1 m", DELAY="5")
    wait_at_slave(run, SCHEDULE_TOPIC, 1, queue_id=4)
    run.kill("broker-a")
    run.pass_time(65_000)
    run.pull(topic, place=SLAVE)
    run.start("broker-a")
    run.wait_stored(topic, 1, 10_000)
    run.note("late by as long as it was away; and by way of its master the slave has it")
    run.pull(topic)
    wait_at_slave(run, topic, 1)
    run.pull(topic, place=SLAVE)


@scenario(
    "replication: the master is dead with a half message; the slave asks no producer",
    config=SYNC,
    real_s=135,
    slaves=1,
    family="replication",
)
def transaction_without_master(run: Run) -> None:
    topic = replicated(run, "SDeadHalf")
    group = "PDeadHalf"
    half = send_half(run, topic, 1, group=group)
    run.until(lambda: run.max_offset(SLAVE, TRANS_HALF_TOPIC) == 1, "the half at the slave")
    run.kill("broker-a")
    run.ask(
        SLAVE, RequestCode.HEART_BEAT, {}, producer_heartbeat("producer@1", group), peer="producer"
    )
    fields = end_fields(group, half.fields, 1, COMMIT)
    hidden = ("commitLogOffset",)  # its log is another's
    run.ask(SLAVE, RequestCode.END_TRANSACTION, fields, peer="producer", hidden=hidden)
    run.pass_time(70_000)
    run.nothing_comes("producer", place=SLAVE)
    run.start("broker-a")
    beat(run, "producer", group)
    began_ms = run.now_ms()
    run.take_request("producer", "broker-a", 70_000, 2_000)
    run.note_late("its master asks", began_ms, 50, 66)
    run.note("it may be ended as if nothing had been")
    fields = end_fields(group, half.fields, 1, COMMIT)
    run.ask("broker-a", RequestCode.END_TRANSACTION, fields, peer="producer")
    wait_at_slave(run, topic, 1)
    run.pull(topic, place=SLAVE)


@scenario(
    "replication: the slave becomes the master, and delivers what was to come",
    config=SYNC,
    real_s=65,
    slaves=1,
    family="replication",
)
def slave_promoted(run: Run) -> None:
    topic = replicated(run, "SPromoted")
    sent(run, topic, "safe")
    sent(run, topic, "1 m", DELAY="5")
    wait_at_slave(run, SCHEDULE_TOPIC, 1, queue_id=4)
    run.note("time for the tables")
    run.pass_time(SYNC_MS)
    run.kill("broker-a")
    run.stop(SLAVE)
    run.note("no broker is left")
    ask_route(run, topic)
    run.start(SLAVE, brokerRole="ASYNC_MASTER", brokerId="0")
    run.until(lambda: 0 in brokers_of(run, topic), "the new master at the name server")
    ask_route(run, topic)
    fields = send_v2_fields(topic)
    run.ask(SLAVE, RequestCode.SEND_MESSAGE_V2, fields, "to the new one", peer="producer")
    began_ms = run.now_ms()
    wait_at_slave(run, topic, 3)
    run.note_late("delivered", began_ms, 25, 50)
    run.pull(topic, place=SLAVE)
