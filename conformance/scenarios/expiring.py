"""What falls silent, and what becomes of it: brokers, connections, groups, locks, pulls."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.membership import lock
from conformance.scenarios.registration import (
    LONG_AGO_MS,
    ask_route,
    brokers_of,
    register,
    topics,
    unregister,
)
from conformance.wire.peer import NO_CODE
from conformance.wire.requests import (
    HELD,
    heartbeat,
    offset_fields,
    producer_heartbeat,
    pull_fields,
)
from fakemq.protocol.codes import RequestCode

GRID_MS = 20_000
"""The interval at which live peers send a heartbeat."""
RETURN_MS = 45_000
"""By then a resumed broker has registered again: it does every 30 s."""


@scenario(
    "expiry: a broker falls silent, and 120 s later no client is sent there",
    real_s=145,
    family="expiry",
)
def broker_silent(run: Run) -> None:
    topic = run.topic("SBrokerSilent")
    run.pause("broker-b")
    run.pass_time(100_000)
    run.note("100 s later")
    ask_route(run, topic)
    run.pass_time(40_000)
    run.note("140 s later: after 120 s, looked at every 10 s")
    ask_route(run, topic)
    run.ask("namesrv", RequestCode.GET_BROKER_CLUSTER_INFO)
    run.resume("broker-b")
    run.wait(lambda: len(brokers_of(run, topic)) == 2, RETURN_MS, "the broker at the name server")
    ask_route(run, topic)


@scenario(
    "expiry: registrations not repeated, by a silent broker and by one that asks something else",
    real_s=145,
    family="expiry",
)
def registrations_expire(run: Run) -> None:
    names = ("silent", "forgetful", "asking", "alive")
    code = RequestCode.REGISTER_BROKER
    for number, name in enumerate(names):
        fields = register(name, f"10.0.0.{number}:10911")
        run.ask("namesrv", code, fields, topics("SRegistered", name), peer=name)
    ask_route(run, "SRegistered")
    run.close("client", "namesrv")
    run.note("the forgetful one asks for routes, the asking one whether its version is known")
    forgetful, asking, alive = (run.peer(name, "namesrv") for name in names[1:])
    version = {"counter": 1, "timestamp": LONG_AGO_MS}
    for number in range(7):
        run.pass_time(GRID_MS)
        if number < 5:
            forgetful.quietly(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SRegistered"})
        fields = unregister("asking", "10.0.0.2:10911")
        asking.quietly(RequestCode.QUERY_DATA_VERSION, _texts(fields), version)
        fields = register("alive", "10.0.0.3:10911")
        alive.quietly(code, _texts(fields), topics("SRegistered", "alive"))
    run.note("140 s later")
    ask_route(run, "SRegistered")
    for name in names:
        ask_route(run, name)
        run.note(f"{name} is closed: {run.peer(name, 'namesrv').is_closed()}")


def _texts(fields: dict[str, object]) -> dict[str, str]:
    return {key: str(value).lower() for key, value in fields.items()}


@scenario(
    "expiry: connections on which nothing is said are closed after 120 s",
    real_s=130,
    family="expiry",
)
def connections_expire(run: Run) -> None:
    peers = [
        run.peer(name, place)
        for place in ("namesrv", "broker-a", "broker-a vip")
        for name in ("silent", "alive")
    ]
    route = RequestCode.GET_ROUTEINFO_BY_TOPIC
    for peer in peers:
        peer.quietly(route, {"topic": "TBW102"})
    for after_s in (60, 115, 125):
        run.pass_time({60: 60_000, 115: 55_000, 125: 10_000}[after_s])
        for peer in peers:
            is_closed = peer.is_closed()
            run.note(f"{after_s} s: {peer.name} at {peer.place} is closed: {is_closed}")
            if peer.name == "alive":
                peer.quietly(route, {"topic": "TBW102"})


@scenario(
    "expiry: producers; one falls silent, one forgets its heartbeats, one continues",
    real_s=155,
    family="expiry",
)
def producers_expire(run: Run) -> None:
    group = "PExpire"
    names = ("silent", "forgetful", "alive")
    bodies = {name: producer_heartbeat(f"{name}@1", group) for name in names}
    for name in names:
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, bodies[name], peer=name)
    fields = {"producerGroup": group}
    run.ask("broker-a", RequestCode.GET_PRODUCER_CONNECTION_LIST, fields, peer="admin")
    alive, forgetful = run.peer("alive", "broker-a"), run.peer("forgetful", "broker-a")
    run.close("admin", "broker-a")
    for number in range(7):
        run.pass_time(GRID_MS - 2_000 * (number == 0))
        alive.quietly(RequestCode.HEART_BEAT, {}, bodies["alive"])
        if number == 0:
            forgetful.quietly(RequestCode.HEART_BEAT, {}, bodies["forgetful"])
        else:
            forgetful.quietly(NO_CODE)
    run.note("after 120 s without a byte, some 138 s later")
    run.ask("broker-a", RequestCode.GET_PRODUCER_CONNECTION_LIST, fields, peer="admin")
    run.pass_time(14_000)
    run.note("after 120 s without a heartbeat")
    for name in names:
        run.note(f"{name} is closed: {run.peer(name, 'broker-a').is_closed()}")
    run.ask("broker-a", RequestCode.GET_PRODUCER_CONNECTION_LIST, fields, peer="admin")


@scenario(
    "expiry: every member of a group falls silent, and another comes", real_s=140, family="expiry"
)
def group_expires(run: Run) -> None:
    topic, group = run.topic("SGroupExpires"), "GGroupExpires"
    run.store(topic, "a", "b")
    for name in ("one", "two"):
        body = heartbeat(f"{name}@1", group, topic)
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer=name)
    run.peer("one", "broker-a").take_requests()
    fields = offset_fields(topic, group, commitOffset=1)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="one")
    lock(run, RequestCode.LOCK_BATCH_MQ, "one", topic, group)
    run.pass_time(135_000)
    run.note("135 s later no client is left, but what they had done is")
    for code in (
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        RequestCode.GET_CONSUMER_CONNECTION_LIST,
    ):
        run.ask("broker-a", code, {"consumerGroup": group})
    body = heartbeat("three@1", group, topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="three")
    fields = offset_fields(topic, group)
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, fields, peer="three")
    lock(run, RequestCode.LOCK_BATCH_MQ, "three", topic, group)
    run.nothing_comes("three")


@scenario(
    "queue locks: a client that is gone holds them for 60 s, however often another asks",
    real_s=65,
    family="expiry",
)
def lock_left_behind(run: Run) -> None:
    topic, group = run.topic("SLeftBehind"), "GLeftBehind"
    for name in ("first", "second"):
        body = heartbeat(f"{name}@1", group, topic)
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer=name)
    run.peer("first", "broker-a").take_requests()
    lock(run, RequestCode.LOCK_BATCH_MQ, "first", topic, group)
    run.hang_up("first", "broker-a")
    run.peer("second", "broker-a").take_requests()
    for after_s in (20, 40, 58):
        run.pass_time(20_000 if after_s < 58 else 18_000)
        run.note(f"{after_s} s later")
        lock(run, RequestCode.LOCK_BATCH_MQ, "second", topic, group)
    run.pass_time(4_000)
    run.note("62 s later")
    lock(run, RequestCode.LOCK_BATCH_MQ, "second", topic, group)


@scenario(
    "expiry: pulls that wait in vain as long as clients let them, 15 s and 20 s",
    real_s=25,
    family="expiry",
)
def holds_expire(run: Run) -> None:
    topic = run.topic("SHoldsExpire")
    began_ms = run.now_ms()
    pendings = {
        wait_s: run.send(
            "broker-a",
            RequestCode.PULL_MESSAGE,
            pull_fields(topic, sysFlag=HELD, suspendTimeoutMillis=wait_s * 1000),
            peer=f"waiting {wait_s} s",
        )
        for wait_s in (15, 20)
    }
    for wait_s, pending in pendings.items():
        run.answer_within(pending, 21_000)
        run.note_late("answered", began_ms, wait_s, wait_s + 5.8)
