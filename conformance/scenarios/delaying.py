"""Messages that wait: levels of delay."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.retrying import IN_TIME_MS, say_how_late
from conformance.wire.requests import (
    QUICK_DELAYS,
    batch,
    properties,
    send_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import SCHEDULE_TOPIC


def send_late(run: Run, topic: str, level: object, body: str, **more: object) -> None:
    text = properties(TAGS="t", DELAY=str(level))
    fields = send_v2_fields(topic, i=text) | more
    code, hidden = RequestCode.SEND_MESSAGE_V2, ("queueOffset",)  # of a queue that all share
    run.ask("broker-a", code, fields, body, peer="producer", hidden=hidden)


@scenario("delay: the first four levels as they are by default", real_s=31, family="retry")
def delay_levels(run: Run) -> None:
    topics = [run.topic(f"SDelay{level}") for level in range(5)]
    for level, topic in enumerate(topics):
        send_late(run, topic, level, f"level {level}")
    for topic in topics:
        run.wait_stored(topic, 1, 35_000)
        run.pull(topic)
    for topic in topics[1:]:
        say_how_late(run, topic, 0, topics[0])


@scenario("delay: in order within a level, levels by themselves", config=QUICK_DELAYS, real_s=3)
def delay_order(run: Run) -> None:
    topic = run.topic("SDelayOrder", 2)
    for number, level in enumerate((2, 1, 2, 1)):
        send_late(run, topic, level, f"{number}: level {level}")
    run.note("not sent to a queue by number, but to any")
    send_late(run, topic, 1, "any queue", e=1)
    run.wait_stored(topic, 2, IN_TIME_MS)
    run.wait_stored(topic, 1, IN_TIME_MS, queue_id=1)
    run.pull(topic)
    run.wait_stored(topic, 4, IN_TIME_MS)
    run.pull(topic, 2)
    run.pull(topic, queueId=1)


@scenario("delay: levels that are none", config=QUICK_DELAYS, real_s=3)
def delay_odd_levels(run: Run) -> None:
    topic = run.topic("SDelayOdd")
    run.shared(SCHEDULE_TOPIC, 4)
    run.note("above the last: the last")
    send_late(run, topic, 99, "level 99")
    run.wait_stored(SCHEDULE_TOPIC, 1, IN_TIME_MS, queue_id=4)
    run.pull(SCHEDULE_TOPIC, queueId=4)
    run.wait_stored(topic, 1, IN_TIME_MS)
    run.note("zero and below: at once")
    send_late(run, topic, 0, "level 0")
    send_late(run, topic, -1, "level -1")
    run.until_stored("broker-a", topic, 3)
    run.pull(topic)
    run.note("no number")
    send_late(run, topic, "soon", "level soon")
    send_late(run, topic, 2**31, "level 2147483648")
    send_late(run, topic, "", "level nothing")
    run.note("by code 10, one-way, at the fast port")
    run.send(
        "broker-a vip",
        RequestCode.SEND_MESSAGE,
        send_fields(topic, properties=properties(DELAY="1")),
        "code 10",
        peer="producer",
        oneway=True,
    )
    run.wait_stored(topic, 5, IN_TIME_MS)
    run.pull(topic, 3)


@scenario("delay: a batch cannot wait")
def delay_batch(run: Run) -> None:
    topic = run.topic("SDelayBatch")
    text = properties(DELAY="1")
    fields = send_v2_fields(topic, m=True, i=text)
    body = batch(b"one", b"two")
    run.ask("broker-a", RequestCode.SEND_BATCH_MESSAGE, fields, body, peer="producer")
    run.note("its members may say what they like")
    fields = send_v2_fields(topic, m=True)
    body = batch(b"one", b"two", text=text)
    run.ask("broker-a", RequestCode.SEND_BATCH_MESSAGE, fields, body, peer="producer")
    run.until_stored("broker-a", topic, 2)
    run.pull(topic)


@scenario("delay: how far each level is", config={"messageDelayLevel": "1s 2s 1m"}, real_s=3)
def delay_offsets(run: Run) -> None:
    topic = run.topic("SDelayOffsets")
    run.note("nothing has waited yet")
    run.ask("broker-a", RequestCode.GET_ALL_DELAY_OFFSET)
    for level in (1, 1, 2, 3):
        send_late(run, topic, level, f"level {level}")
    run.wait_stored(topic, 3, IN_TIME_MS)
    run.pass_time(200)
    run.ask("broker-a", RequestCode.GET_ALL_DELAY_OFFSET)


@scenario("delay: to a topic that is gone by then", config=QUICK_DELAYS, real_s=2)
def delay_to_deleted_topic(run: Run) -> None:
    topic = run.topic("SDelayGone")
    send_late(run, topic, 1, "late")
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    run.pass_time(1_500)
    run.pull(topic)
    run.note("made again, it has the message")
    run.topic(topic)
    run.pull(topic)
