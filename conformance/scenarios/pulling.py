"""Pulling: how a pull ends, and pulls that wait."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.requests import (
    BORN_MS,
    COMMIT_FLAG,
    GROUP,
    HELD,
    SUBSCRIPTION_FLAG,
    SUSPEND_FLAG,
    heartbeat,
    offset_fields,
    pull_fields,
)
from fakemq.protocol.codes import RequestCode

HELD_AT_MOST_MS = 7_000
"""A hold of one second ends at the next check, every five seconds."""


@scenario("pull: found, and every way of finding nothing")
def pull_statuses(run: Run) -> None:
    topic = run.topic("SPulls", 2)
    run.store(topic, "a", "b", "a")

    def pull(offset: int, name: str = topic, **more: object) -> None:
        fields = pull_fields(name, offset, **more)
        run.ask("broker-a", RequestCode.PULL_MESSAGE, fields, peer="consumer")

    run.note("all of it, some of it, and by tag")
    pull(0)
    pull(1, maxMsgNums=1)
    pull(0, subscription="a")
    run.note("none has the tag: come again at once")
    pull(0, subscription="c || d")
    run.note("at the end, behind it, far behind it, before the beginning")
    pull(3)
    pull(4)
    pull(100)
    pull(-1)
    run.note("an empty queue, at its beginning and behind it")
    pull(0, queueId=1)
    pull(5, queueId=1)
    run.note("a queue and a topic that are not there, and one that may not be read")
    pull(0, queueId=2)
    pull(0, queueId=-1)
    pull(0, name="SNowhere")
    pull(0, name=run.topic("SUnreadable", 1, perm=2))
    run.note("a subscription that is none")
    pull(0, subscription="||")
    run.note("at the fast port pulls are refused")
    run.ask("broker-a vip", RequestCode.PULL_MESSAGE, pull_fields(topic))


@scenario("pull: without saying what, by what the heartbeat said")
def pull_by_heartbeat(run: Run) -> None:
    topic = run.topic("SBeats")
    run.store(topic, "a", "b")
    fields = pull_fields(topic, sysFlag=0, subVersion=2, consumerGroup="GBeats")
    run.note("no heartbeat has come")
    run.ask("broker-a", RequestCode.PULL_MESSAGE, fields, peer="consumer")
    beat = heartbeat("beats@1", "GBeats", topic, expression="b", sub_version=1)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, beat, peer="consumer")
    run.note("what was said is older than what the pull knows")
    run.ask("broker-a", RequestCode.PULL_MESSAGE, fields, peer="consumer")
    fields["subVersion"] = 1
    run.ask("broker-a", RequestCode.PULL_MESSAGE, fields, peer="consumer")
    run.note("another topic")
    run.ask(
        "broker-a",
        RequestCode.PULL_MESSAGE,
        fields | {"topic": run.topic("SBeatsOther")},
        peer="consumer",
    )


@scenario("pull: held until a message arrives", real_s=6)
def pull_held(run: Run) -> None:
    topic = run.topic("SHeld", 2)
    run.after_hold_check(topic)
    held = run.hold(pull_fields(topic, sysFlag=HELD))
    filtered = run.hold(pull_fields(topic, sysFlag=HELD, subscription="b"), peer="filtering")
    run.note("messages of another queue, and of another tag, wake no pull that they do not match")
    run.store(topic, "b", queue_id=1)
    run.peer("consumer", "broker-a").nothing_comes()
    run.store(topic, "a")
    held.answer()
    run.peer("filtering", "broker-a").nothing_comes()
    run.store(topic, "b", stored=1)
    filtered.answer()


@scenario("pull: held in vain, and what a hold commits")
def pull_held_in_vain(run: Run) -> None:
    topic = run.topic("SVain")
    run.store(topic, "a", "b")
    flags = SUBSCRIPTION_FLAG | SUSPEND_FLAG | COMMIT_FLAG
    held = run.send(
        "broker-a",
        RequestCode.PULL_MESSAGE,
        pull_fields(topic, 2, sysFlag=flags, commitOffset=1, suspendTimeoutMillis=1_000),
        peer="consumer",
    )
    run.peer("consumer", "broker-a").nothing_comes()
    run.note("the offset is committed while the pull waits")
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, offset_fields(topic))
    run.answer_within(held, HELD_AT_MOST_MS)
    run.note("a pull behind the end is not held")
    run.ask(
        "broker-a",
        RequestCode.PULL_MESSAGE,
        pull_fields(topic, 3, sysFlag=flags, commitOffset=2),
        peer="consumer",
    )
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, offset_fields(topic))


@scenario("offsets of a group: the rule of its first boot, forwards and back")
def consumer_offsets(run: Run) -> None:
    topic = run.topic("SOffsets", 2)

    def query(group: str = GROUP, **more: object) -> None:
        fields = offset_fields(topic, group, **more)
        run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, fields, peer="consumer")

    def update(offset: int) -> None:
        fields = offset_fields(topic, commitOffset=offset)
        run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="consumer")

    run.note("an unknown group begins at 0 while the queue's beginning is in memory")
    query()
    run.store(topic, "a", "b")
    query()
    query("GOther")
    run.note("forwards, back, beyond the end, below zero; confirmed")
    for offset in (2, 1, 100, -5):
        update(offset)
        query()
    run.note("one-way")
    fields = offset_fields(topic, commitOffset=1)
    code = RequestCode.UPDATE_CONSUMER_OFFSET
    run.send("broker-a", code, fields, peer="consumer", oneway=True)
    run.pass_time(100)
    query()
    run.note("another queue, a topic that is not there")
    query(queueId=1)
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, offset_fields("SNowhere"))


@scenario("offsets of a queue: first, last, by time, earliest")
def queue_offsets(run: Run) -> None:
    topic = run.topic("SQueueOffsets")
    queue = {"topic": topic, "queueId": 0}

    def look(where: dict[str, object]) -> None:
        for code in (
            RequestCode.GET_MIN_OFFSET,
            RequestCode.GET_MAX_OFFSET,
            RequestCode.GET_EARLIEST_MSG_STORETIME,
        ):
            run.ask("broker-a", code, where)

    def search(timestamp_ms: int, hidden: tuple[str, ...] = ()) -> None:
        run.ask(
            "broker-a",
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
            queue | {"timestamp": timestamp_ms},
            hidden=hidden,
        )

    look(queue)
    search(BORN_MS)
    times = []
    for index in range(3):
        run.store(topic, "x", stored=index)
        times.append(run.stored_at_ms("broker-a", topic, index))
        run.pass_time(30)
    look(queue)
    run.note("long ago; at the second's time, just before, just after; in the far future")
    search(BORN_MS)
    for shift_ms in (0, -1, 1):
        search(times[1] + shift_ms, hidden=("timestamp",))
    search(4_100_000_000_000)
    run.note("a queue and a topic that are not there")
    look(queue | {"queueId": 7})
    look(queue | {"topic": "SNowhere"})
