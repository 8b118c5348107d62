"""Slaves that act as masters while theirs are away: routes, requests, and what brokers exchange."""

from __future__ import annotations

import json

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.registration import CLUSTER as RAW_CLUSTER
from conformance.scenarios.registration import register, topics
from conformance.targets.java_jars import NEWEST
from conformance.wire.peer import Answer
from conformance.wire.requests import (
    message_queue,
    offset_fields,
    properties,
    pull_fields,
    queue_fields,
    send_back_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5 as Code

CLUSTER = "DefaultCluster"
MASTER, FIRST, SECOND = "broker-a", "broker-a-1", "broker-a-2"
ACTING = {"enableSlaveActingMaster": "true"}
MEMBER_TOPIC = "rmq_sys_SYNC_BROKER_MEMBER_broker-a"
WITHIN_MS = 40_000
EVERYWHERE, TOOLS = "BenchmarkTest", "TOOLS_CONSUMER"
"""A topic and a group that each broker has from its first start: slaves copy others each minute."""
COPIED_MS = 75_000
BEAT_MS = 3_000
"""After this each broker knows its group."""


def route(run: Run, topic: str) -> None:
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, peer="admin")


def members(run: Run) -> None:
    fields = {"clusterName": CLUSTER, "brokerName": "broker-a"}
    run.ask("namesrv", Code.GET_BROKER_MEMBER_GROUP, fields, peer="admin")


def send(run: Run, place: str, topic: str, body: str, **more: str) -> Answer:
    text = properties(UNIQ_KEY="AC110001000018B4AAC27E5E1C2D0001", **more)
    pending = run.send(
        place, RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic, i=text), body, peer="producer"
    )
    return run.answer_within(pending, 10_000)


def until_routed(run: Run, topic: str, place: str) -> None:
    """Wait until the route of a topic lists a broker as master."""
    peer = run.quiet_peer("namesrv")

    def is_there() -> bool:
        answer = peer.quietly(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        if answer.code:
            return False
        datas = json.loads(answer.body)["brokerDatas"]
        return any(one["brokerAddrs"].get("0") == run.addrs[place] for one in datas)

    run.wait(is_there, WITHIN_MS, f"{place} as master of {topic}")
    peer.close()
    run.note(f"the route lists {place} as master")


def until_stored(run: Run, topic: str, end: int, *places: str) -> None:
    """Wait until a queue ends there at each of these brokers."""

    def is_there(place: str) -> bool:
        peer = run.quiet_peer(place)
        fields = {name: str(value) for name, value in queue_fields(topic).items()}
        answer = peer.quietly(RequestCode.GET_MAX_OFFSET, fields)
        peer.close()
        return answer.fields.get("offset") == str(end)

    run.wait(lambda: all(map(is_there, places)), WITHIN_MS, f"{end} messages in {topic}")


def kill_master(run: Run, topic: str) -> None:
    run.kill(MASTER)
    until_routed(run, topic, FIRST)
    run.pass_time(BEAT_MS)


@scenario(
    "acting master: the route while the master is away, and what its slave answers",
    config={**ACTING, "totalReplicas": "3", "slaveReadEnable": "true"},
    slaves=2,
    real_s=60,
    releases=(NEWEST,),
)
def acting_master(run: Run) -> None:
    topic = EVERYWHERE
    for number in range(2):
        send(run, MASTER, topic, f"before {number}")
    until_stored(run, topic, 2, MASTER, FIRST, SECOND)
    route(run, topic)
    members(run)
    kill_master(run, topic)
    route(run, topic)
    run.note("what brokers ask for is not rewritten")
    route(run, MEMBER_TOPIC)
    members(run)
    run.note("sends are refused, and what would have to be stored")
    send(run, FIRST, topic, "to the acting master")
    send(run, SECOND, topic, "to another slave")
    back = send_back_fields(TOOLS, 0, 0)
    run.ask(FIRST, RequestCode.CONSUMER_SEND_MSG_BACK, back, peer="consumer")
    run.note("reads are served")
    run.ask(FIRST, RequestCode.PULL_MESSAGE, pull_fields(topic), peer="consumer")
    run.ask(FIRST, RequestCode.PULL_MESSAGE, pull_fields(topic, 2), peer="consumer")
    run.ask(SECOND, RequestCode.PULL_MESSAGE, pull_fields(topic, 1), peer="consumer")
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET):
        run.ask(FIRST, code, queue_fields(topic), peer="consumer")
    by_time = queue_fields(topic, timestamp=0)
    run.ask(FIRST, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, by_time, peer="consumer")
    run.note("so are offsets")
    commit = offset_fields(topic, TOOLS, commitOffset=1)
    run.ask(FIRST, RequestCode.UPDATE_CONSUMER_OFFSET, commit, peer="consumer")
    query = offset_fields(topic, TOOLS)
    run.ask(FIRST, RequestCode.QUERY_CONSUMER_OFFSET, query, peer="consumer")
    run.note("and locks")
    lock = {"consumerGroup": TOOLS, "clientId": "one", "mqSet": [message_queue(topic)]}
    run.ask(FIRST, RequestCode.LOCK_BATCH_MQ, {}, lock, peer="consumer")
    run.ask(FIRST, RequestCode.LOCK_BATCH_MQ, {}, {**lock, "clientId": "two"}, peer="consumer")
    run.ask(FIRST, RequestCode.UNLOCK_BATCH_MQ, {}, lock, peer="consumer")


@scenario(
    "acting master: the master comes back, and knows what was committed meanwhile",
    config={**ACTING, "totalReplicas": "2"},
    slaves=1,
    real_s=150,
    releases=(NEWEST,),
)
def acting_master_ends(run: Run) -> None:
    topic = EVERYWHERE
    send(run, MASTER, topic, "before")
    until_stored(run, topic, 1, MASTER, FIRST)
    run.note("75 s later the master has written its tables, and the slave has copied them")
    run.pass_time(COPIED_MS)
    kill_master(run, topic)
    run.note("a slave that takes no pulls takes offsets nevertheless")
    run.ask(FIRST, RequestCode.PULL_MESSAGE, pull_fields(topic), peer="consumer")
    commit = offset_fields(topic, TOOLS, commitOffset=1)
    run.ask(FIRST, RequestCode.UPDATE_CONSUMER_OFFSET, commit, peer="consumer")
    run.start(MASTER)
    until_routed(run, topic, MASTER)
    route(run, topic)
    members(run)
    query = offset_fields(topic, TOOLS)
    run.ask(MASTER, RequestCode.QUERY_CONSUMER_OFFSET, query, peer="consumer")
    send(run, MASTER, topic, "after")
    until_stored(run, topic, 2, MASTER, FIRST)


@scenario(
    "acting master: what members of a group exchange",
    config={**ACTING, "totalReplicas": "2", "syncMasterFlushOffsetWhenStartup": "true"},
    slaves=1,
    real_s=40,
    releases=(NEWEST,),
)
def exchange_ha_info(run: Run) -> None:
    def exchange(place: str, **fields: object) -> None:
        run.ask(place, Code.EXCHANGE_BROKER_HA_INFO, fields, peer="member")

    run.note("without an address it is a question")
    exchange(MASTER)
    exchange(FIRST)
    exchange(MASTER, masterFlushOffset=17, masterAddress=run.addrs[MASTER])
    run.note("with one it says which the master is")
    said = {"masterHaAddress": run.addrs[f"{MASTER} ha"], "masterAddress": run.addrs[MASTER]}
    exchange(FIRST, **said, masterFlushOffset=17)
    exchange(FIRST, **said)
    exchange(MASTER, **said, masterFlushOffset=17)
    run.note("and what a slave knows of the master's log can be set")
    for place in (MASTER, FIRST):
        run.ask(place, Code.RESET_MASTER_FLUSH_OFFSET, {"masterFlushOffset": 23}, peer="member")
        run.ask(place, Code.RESET_MASTER_FLUSH_OFFSET, {}, peer="member")
        run.ask(place, Code.RESET_MASTER_FLUSH_OFFSET, {"masterFlushOffset": "x"}, peer="member")
    run.note("which broker is the lowest, any peer may say")
    for place in (MASTER, FIRST):
        run.ask(place, Code.NOTIFY_MIN_BROKER_ID_CHANGE, {}, peer="member")
        run.ask(place, Code.NOTIFY_MIN_BROKER_ID_CHANGE, {"minBrokerId": 0}, peer="member")
        run.ask(place, Code.NOTIFY_MIN_BROKER_ID_CHANGE, {"minBrokerId": "x"}, peer="member")


@scenario(
    "acting master: locks that most brokers of the group must grant",
    config={**ACTING, "totalReplicas": "3", "lockInStrictMode": "true"},
    slaves=2,
    real_s=60,
    releases=(NEWEST,),
)
def strict_locks(run: Run) -> None:
    topic = EVERYWHERE
    run.pass_time(BEAT_MS)
    lock = {"consumerGroup": "GStrict", "clientId": "one", "mqSet": [message_queue(topic)]}

    def ask(place: str, code: int = RequestCode.LOCK_BATCH_MQ, **more: object) -> None:
        run.ask(place, code, {}, {**lock, **more}, peer="consumer")

    ask(MASTER)
    run.note("the slaves know it")
    ask(FIRST, clientId="two", onlyThisBroker=True)
    ask(SECOND, clientId="two")
    run.note("it is free everywhere")
    ask(MASTER, RequestCode.UNLOCK_BATCH_MQ)
    run.pass_time(1_000)
    ask(SECOND, clientId="two", onlyThisBroker=True)
    run.note("two of three grant it")
    ask(MASTER)
    run.kill(SECOND)
    run.note("one of the two that are left: it does not ask the dead one for long")
    run.pass_time(BEAT_MS)
    ask(FIRST, clientId="three")
    ask(MASTER)


def send_beside_a_slave_that_dies(run: Run) -> None:
    run.pass_time(BEAT_MS)
    send(run, MASTER, EVERYWHERE, "both are there", WAIT="true")
    run.kill(FIRST)
    run.pass_time(BEAT_MS)
    send(run, MASTER, EVERYWHERE, "one is dead", WAIT="true")


BOTH_IN_SYNC = {
    **ACTING,
    "totalReplicas": "2",
    "brokerRole": "SYNC_MASTER",
    "inSyncReplicas": "2",
    "slaveTimeout": "1000",
}


@scenario(
    "acting master: a send needs replicas that live",
    config=BOTH_IN_SYNC,
    slaves=1,
    real_s=50,
    releases=(NEWEST,),
)
def acting_in_sync(run: Run) -> None:
    send_beside_a_slave_that_dies(run)
    send(run, MASTER, EVERYWHERE, "it waits for no slave", WAIT="false")


@scenario(
    "acting master: a send needs fewer replicas if fewer live",
    config={**BOTH_IN_SYNC, "enableAutoInSyncReplicas": "true"},
    slaves=1,
    real_s=50,
    releases=(NEWEST,),
)
def acting_auto_in_sync(run: Run) -> None:
    send_beside_a_slave_that_dies(run)


@scenario(
    "acting master: what a name server sends to a group",
    config={**ACTING, "totalReplicas": "2"},
    slaves=1,
    real_s=40,
    releases=(NEWEST,),
)
def lowest_is_notified(run: Run) -> None:
    name = "s-lowest"
    listeners = {one: run.listener(f"member {one}", "namesrv") for one in (0, 1, 2)}

    def enter(one: int, acting: str = "true", **more: object) -> None:
        fields = register(name, listeners[one].addr, one)
        fields |= {"enableActingMaster": acting, "heartbeatTimeoutMillis": 60_000, **more}
        body = topics("SLowest", "SLowest2")
        run.ask("namesrv", RequestCode.REGISTER_BROKER, fields, body, peer=f"broker {one}")

    def group() -> None:
        fields = {"clusterName": RAW_CLUSTER, "brokerName": name}
        run.ask("namesrv", Code.GET_BROKER_MEMBER_GROUP, fields, peer="admin")
        route(run, "SLowest")

    enter(2)
    run.note("the first slave says which topics there are, and these lose their write bit")
    group()
    enter(1)
    run.note("a lower id comes")
    listeners[2].take_request()
    group()
    enter(0)
    run.note("a master comes")
    for one in (1, 2):
        listeners[one].take_request()
    group()
    run.hang_up("broker 0", "namesrv")
    run.note("it leaves")
    for one in (1, 2):
        listeners[one].take_request()
    group()
    run.note("it is there again")
    enter(0)
    for one in (1, 2):
        listeners[one].take_request()
    group()
    run.note("one that is not the lowest leaves")
    run.hang_up("broker 2", "namesrv")
    listeners[1].nothing_comes()
    group()
    run.note("a group whose slaves act as no masters")
    enter(1, "false")
    run.hang_up("broker 0", "namesrv")
    listeners[1].nothing_comes()
    group()
