"""Messages that come back: send-back, retry levels, dead letters."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import ENDS_ON_FOUR, scenario
from conformance.wire.requests import (
    QUICK_DELAYS,
    UNIQUE_ID,
    heartbeat,
    place_of,
    places_of,
    properties,
    send_back_fields,
    send_v2_fields,
    topic_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import SCHEDULE_TOPIC, dlq_topic, retry_topic

OLD_VERSION = 120
"""The last that knows nothing of a maximum in the request."""
IN_TIME_MS = 3_000
"""When a message of the quick levels has come."""


def sent(run: Run, topic: str, number: int = 1, **more: object) -> int:
    """Store a message with a tag and a key; return its place in the log."""
    text = properties(KEYS="k", TAGS="t", UNIQ_KEY=UNIQUE_ID.format(number), own="x")
    fields = send_v2_fields(topic, i=text, h=3) | more
    answer = run.ask(
        "broker-a", RequestCode.SEND_MESSAGE_V2, fields, f"body {number}", peer="producer"
    )
    return place_of(answer.fields)


def send_back(
    run: Run, group: str, place: int, level: int = 0, *, version: int | None = None, **more: object
) -> None:
    run.ask(
        "broker-a",
        RequestCode.CONSUMER_SEND_MSG_BACK,
        send_back_fields(group, place, level, **more),
        peer="consumer",
        version=version,
    )


def say_how_late(run: Run, topic: str, offset: int, before: str, before_offset: int = 0) -> None:
    """How many whole seconds after another message one was stored."""
    late_ms = run.stored_at_ms("broker-a", topic, offset) - run.stored_at_ms(
        "broker-a", before, before_offset
    )
    run.note(f"{topic} {offset} was stored {late_ms // 1000} s after {before} {before_offset}")


@scenario(
    "send back: to the retry topic of the group, after a while", config=QUICK_DELAYS, real_s=2
)
def send_back_once(run: Run) -> None:
    topic = run.topic("SBack")
    run.shared(SCHEDULE_TOPIC, 2)
    beat = heartbeat("back@1", "GBack", topic, retry_topic("GBack"))
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, beat, peer="consumer")
    run.note("the heartbeat has made the retry topic")
    run.pull(retry_topic("GBack"), consumerGroup="GBack")
    place = sent(run, topic)
    run.until_stored("broker-a", topic, 1)
    send_back(run, "GBack", place, originMsgId=UNIQUE_ID.format(1), originTopic=topic)
    run.note("it waits")
    run.wait_stored(SCHEDULE_TOPIC, 1, IN_TIME_MS, queue_id=2)
    run.pull(SCHEDULE_TOPIC, queueId=2)
    run.note("and comes")
    run.wait_stored(retry_topic("GBack"), 1, IN_TIME_MS)
    run.pull(retry_topic("GBack"), consumerGroup="GBack")
    say_how_late(run, retry_topic("GBack"), 0, topic)


@scenario("send back again: what a message knows of its origin", config=QUICK_DELAYS, real_s=4)
def send_back_again(run: Run) -> None:
    topic = run.topic("SBackAgain")
    group = "GBackAgain"
    place = sent(run, topic)
    send_back(run, group, place)
    for time in range(2):
        run.wait_stored(retry_topic(group), time + 1, IN_TIME_MS)
        came = run.pull(retry_topic(group), time, consumerGroup=group)
        send_back(run, group, places_of(came.body)[0], 1)


@scenario(
    "send back: to a level that the consumer chooses",
    config=QUICK_DELAYS,
    real_s=4,
    releases=ENDS_ON_FOUR,
)
def send_back_levels(run: Run) -> None:
    topic = run.topic("SBackLevels")
    group = "GBackLevels"
    place = sent(run, topic)
    for number, level in enumerate((1, 2, 5, 99)):
        run.note(f"level {level}")
        send_back(run, group, place, level)
        run.wait_stored(retry_topic(group), number + 1, IN_TIME_MS)
    run.pull(retry_topic(group), consumerGroup=group)
    run.note("a level below zero: to the dead letters at once")
    send_back(run, group, place, -1)
    run.until_stored("broker-a", dlq_topic(group), 1)
    run.pull(dlq_topic(group), consumerGroup=group)


@scenario(
    "send back: dead letters by the maximum of the request, or of the group", releases=ENDS_ON_FOUR
)
def send_back_to_dlq(run: Run) -> None:
    topic = run.topic("SDead")
    run.note("by the request")
    send_back(run, "GDeadAsked", sent(run, topic, 1), maxReconsumeTimes=0)
    run.until_stored("broker-a", dlq_topic("GDeadAsked"), 1)
    run.pull(dlq_topic("GDeadAsked"), consumerGroup="GDeadAsked")
    run.note("by the group, whose clients are too old to ask")
    group = run.group("GDead", retryMaxTimes=0)
    send_back(run, group, sent(run, topic, 2), maxReconsumeTimes=16, version=OLD_VERSION)
    run.until_stored("broker-a", dlq_topic(group), 1)
    run.pull(dlq_topic(group), consumerGroup=group)
    run.note("the route of the dead letters")
    run.until(lambda: run.client.update_route(dlq_topic(group)) is not None, "its route")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": dlq_topic(group)})
    run.note("a dead letter dies again")
    came = run.pull(dlq_topic(group), consumerGroup=group)
    send_back(run, group, places_of(came.body)[0], maxReconsumeTimes=1)
    run.until_stored("broker-a", dlq_topic(group), 2)
    run.pull(dlq_topic(group), 1, consumerGroup=group)


@scenario("send back: what is refused, and what goes nowhere")
def send_back_refused(run: Run) -> None:
    topic = run.topic("SBackRefused")
    place = sent(run, topic)
    run.note("where no message is")
    send_back(run, "GBackRefused", 10**15)
    run.note("a group without retry queues has no retries, and gets no error")
    send_back(run, run.group("GNoRetry", retryQueueNums=0), place)
    run.note("a retry topic that may not be written")
    fields = topic_fields(retry_topic("GBackRefused"), perm=4, readQueueNums=1, writeQueueNums=1)
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
    send_back(run, "GBackRefused", place)
    run.note("nothing is said, or too little")
    run.ask("broker-a", RequestCode.CONSUMER_SEND_MSG_BACK, {}, peer="consumer")
    fields = {"group": "GBackRefused"}
    run.ask("broker-a", RequestCode.CONSUMER_SEND_MSG_BACK, fields, peer="consumer")
    fields = {"group": "GBackOther", "offset": place}
    run.ask("broker-a", RequestCode.CONSUMER_SEND_MSG_BACK, fields, peer="consumer")


@scenario(
    "send to a retry topic: the maximum holds there too",
    config=QUICK_DELAYS,
    real_s=3,
    releases=ENDS_ON_FOUR,
)
def send_to_retry_topic(run: Run) -> None:
    group = run.group("GRetrySend", retryMaxTimes=2)
    name = retry_topic(group)
    run.note("below the maximum of the group, and at it")
    sent(run, name, 1, j=1, e=0)
    sent(run, name, 2, j=2, e=0)
    run.note("at the maximum that the request names, and below")
    sent(run, name, 3, j=1, l=1, e=0)
    sent(run, name, 4, j=2, l=3, e=0)
    run.note("as a consumer does when sending back has failed: with a level of delay")
    text = properties(
        DELAY="3",
        RETRY_TOPIC="SSomewhere",
        RECONSUME_TIME="1",
        MAX_RECONSUME_TIMES="16",
        ORIGIN_MESSAGE_ID=UNIQUE_ID.format(5),
    )
    fields = send_v2_fields(name, i=text, j=1, l=16)
    code, hidden = RequestCode.SEND_MESSAGE_V2, ("queueOffset",)  # of a queue that all share
    run.ask("broker-a", code, fields, "body 5", peer="producer", hidden=hidden)
    run.note("an old client cannot name a maximum")
    fields = send_v2_fields(name, j=2, l=16)
    run.ask(
        "broker-a",
        RequestCode.SEND_MESSAGE_V2,
        fields,
        "body 6",
        peer="producer",
        version=OLD_VERSION,
    )
    run.wait_stored(name, 3, IN_TIME_MS)
    run.until_stored("broker-a", dlq_topic(group), 3)
    run.pull(name, consumerGroup=group)
    run.pull(dlq_topic(group), consumerGroup=group)


@scenario("retry: level by level, until it is a dead letter", config=QUICK_DELAYS, real_s=24)
def retries_to_the_end(run: Run) -> None:
    topic = run.topic("SRetries")
    group = "GRetries"
    retry, dead = retry_topic(group), dlq_topic(group)
    place = sent(run, topic)
    before, before_offset = topic, 0
    for time in range(16):
        send_back(run, group, place)
        run.wait_stored(retry, time + 1, IN_TIME_MS)
        say_how_late(run, retry, time, before, before_offset)
        before, before_offset = retry, time
        place = run.log_place("broker-a", retry, time)
    run.pull(retry, 15, consumerGroup=group)
    run.note("the seventeenth time")
    send_back(run, group, place)
    run.until_stored("broker-a", dead, 1)
    run.pull(dead, consumerGroup=group)


@scenario("retry: the first two levels as they are by default", real_s=41, family="retry")
def retries_by_default(run: Run) -> None:
    topic = run.topic("SRetriesDefault")
    group = "GRetriesDefault"
    retry = retry_topic(group)
    place = sent(run, topic)
    run.until_stored("broker-a", topic, 1)
    before = topic
    for time in range(2):
        send_back(run, group, place)
        run.wait_stored(retry, time + 1, 35_000)
        say_how_late(run, retry, time, before)
        before = retry
        place = run.log_place("broker-a", retry, time)
    run.pull(retry, consumerGroup=group)
