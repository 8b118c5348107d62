"""Members of groups come and leave, and the locks that they leave behind."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.requests import heartbeat, message_queue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import retry_topic

GRID_MS = 20_000
"""The interval at which live peers send a heartbeat."""


def lock(run: Run, code: int, name: str, topic: str, group: str = "GLease") -> None:
    body = {
        "clientId": f"{name}@1",
        "consumerGroup": group,
        "mqSet": [message_queue(topic)],
    }
    run.ask("broker-a", code, {}, body, peer=name)


@scenario("members of a group: notified of topics that come and go, of nothing else")
def members_change(run: Run) -> None:
    first, second = run.topic("SChangeFirst"), run.topic("SChangeSecond")
    group = "GChange"

    def beat(name: str, *topics: str, **more: object) -> None:
        body = heartbeat(f"{name}@1", group, *topics)
        for one in body["consumerDataSet"]:  # type: ignore[attr-defined]  # a list
            one |= more
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer=name)

    beat("one", first)
    beat("two", first)
    run.peer("one", "broker-a").take_requests()
    run.note("one more topic, and the same again")
    beat("two", first, second)
    run.peer("one", "broker-a").take_requests()
    beat("two", first, second)
    run.note("another expression, in a newer version: no member is notified")
    body = heartbeat("two@1", group, first, second, expression="t", sub_version=2)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="two")
    run.note("another way to consume, another place to begin")
    beat("two", first, second, consumeFromWhere="CONSUME_FROM_FIRST_OFFSET")
    run.nothing_comes("one")
    run.ask("broker-a", RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
    run.note("one topic less: by a client that knows one only")
    beat("one", first)
    run.peer("two", "broker-a").take_requests()
    run.note("the retry topic")
    beat("one", first, retry_topic(group))
    run.peer("two", "broker-a").take_requests()
    run.note("the second hangs up")
    run.hang_up("two", "broker-a")
    run.peer("one", "broker-a").take_requests()
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})


@scenario("members of a group that wants no news")
def members_untold(run: Run) -> None:
    topic = run.topic("SUntold")
    group = run.group("GUntold", notifyConsumerIdsChangedEnable=False)
    for name in ("one", "two"):
        body = heartbeat(f"{name}@1", group, topic)
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer=name)
    run.nothing_comes("one", "two")
    fields = {"clientID": "two@1", "consumerGroup": group}
    run.ask("broker-a", RequestCode.UNREGISTER_CLIENT, fields, peer="two")
    run.nothing_comes("one")


@scenario(
    "members of a group: one falls silent, one forgets its heartbeats", real_s=160, family="expiry"
)
def members_expire(run: Run) -> None:
    topic = run.topic("SExpire")
    group = "GExpire"
    names = ("silent", "forgetful", "alive")
    bodies = {name: heartbeat(f"{name}@1", group, topic) for name in names}
    for number, name in enumerate(names):
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, bodies[name], peer=name)
        for other in names[:number]:
            run.peer(other, "broker-a").take_requests()
    alive, forgetful = run.peer("alive", "broker-a"), run.peer("forgetful", "broker-a")
    run.note("all but the silent one continue: the forgetful one with one more heartbeat only")
    for number in range(7):
        run.pass_time(GRID_MS - 2_000 * (number == 0))
        alive.quietly(RequestCode.HEART_BEAT, {}, bodies["alive"])
        if number == 0:
            forgetful.quietly(RequestCode.HEART_BEAT, {}, bodies["forgetful"])
        else:
            forgetful.quietly(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": "0"})
    run.note("after 120 s without a byte the connection is closed; the other members are notified")
    run.note(f"the silent one is closed: {run.peer('silent', 'broker-a').is_closed()}")
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    run.pass_time(14_000)
    run.note("after 120 s without a heartbeat too; but no member is notified of that")
    run.note(f"the forgetful one is closed: {forgetful.is_closed()}")
    alive.quietly(RequestCode.HEART_BEAT, {}, bodies["alive"])
    run.nothing_comes("alive")
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})


@scenario("queue locks: a client that disconnects keeps them")
def lock_hang_up(run: Run) -> None:
    topic = run.topic("SLockHangUp")
    group = "GLockHangUp"
    body = heartbeat("first@1", group, topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="first")
    lock(run, RequestCode.LOCK_BATCH_MQ, "first", topic, group)
    run.hang_up("first", "broker-a")
    run.until(lambda: not run.is_member("broker-a", group), "the end of the group")
    lock(run, RequestCode.LOCK_BATCH_MQ, "second", topic, group)
    run.note("back, it has it still, and unlocks it")
    lock(run, RequestCode.LOCK_BATCH_MQ, "first", topic, group)
    lock(run, RequestCode.UNLOCK_BATCH_MQ, "first", topic, group)
    lock(run, RequestCode.LOCK_BATCH_MQ, "second", topic, group)


@scenario("queue locks: a lease of 60 s", real_s=115, family="expiry")
def lock_lease(run: Run) -> None:
    topic = run.topic("SLease")
    lock(run, RequestCode.LOCK_BATCH_MQ, "first", topic)
    lock(run, RequestCode.LOCK_BATCH_MQ, "second", topic)
    run.pass_time(50_000)
    run.note("50 s later: taken still, and made to last")
    lock(run, RequestCode.LOCK_BATCH_MQ, "second", topic)
    lock(run, RequestCode.LOCK_BATCH_MQ, "first", topic)
    run.pass_time(20_000)
    run.note("20 s after that: 60 s count from the last time")
    lock(run, RequestCode.LOCK_BATCH_MQ, "second", topic)
    run.pass_time(42_000)
    run.note("62 s after it: free, for the second")
    lock(run, RequestCode.LOCK_BATCH_MQ, "second", topic)
    lock(run, RequestCode.LOCK_BATCH_MQ, "first", topic)
