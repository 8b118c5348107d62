"""Messages that wait for minutes and hours: levels of delay, and retries, to the last one."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.delaying import send_late
from conformance.scenarios.retrying import send_back, sent
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import dlq_topic, retry_topic

DEFAULT_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
QUICK_LEVELS = {"messageDelayLevel": " ".join(["1s", "2s"] * 9)}
"""As many levels as there are, none of which takes long."""
UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000}
LATE_MS = 1_500
"""Before its time no message comes; and so long after it every one has."""
FIRST_RETRY_LEVEL = 3


def level_ms(run: Run, level: int) -> int:
    """Return how long a level takes on this cluster."""
    text = run.config.get("messageDelayLevel", DEFAULT_LEVELS).split()[level - 1]
    return int(text[:-1]) * UNITS_MS[text[-1]]


def wait_its_time(run: Run, topic: str, max_offset: int, since_ms: int, wait_ms: int) -> None:
    """Let a message's time pass; write down that it comes then, and not before."""
    run.pass_time(max(0, since_ms + wait_ms - run.now_ms()))
    run.wait_stored(topic, max_offset, 2 * LATE_MS)
    late_ms = run.stored_at_ms("broker-a", topic, max_offset - 1) - since_ms - wait_ms
    in_time = 0 <= late_ms < LATE_MS
    run.note(f"{topic} {max_offset - 1} came {'in time' if in_time else f'{late_ms} ms late'}")


def say_retries(run: Run, group: str, topic: str, retries: int) -> None:
    """Send a message back until it is a dead letter; each retry comes when its level says."""
    retry, dead = retry_topic(group), dlq_topic(group)
    place = sent(run, topic)
    for time in range(retries):
        began_ms = run.now_ms()
        send_back(run, group, place)
        run.close("consumer", "broker-a")
        wait_its_time(run, retry, time + 1, began_ms, level_ms(run, FIRST_RETRY_LEVEL + time))
        place = run.log_place("broker-a", retry, time)
    run.pull(retry, retries - 1, consumerGroup=group)
    run.note("once more")
    send_back(run, group, place)
    run.until_stored("broker-a", dead, 1)
    run.pull(dead, consumerGroup=group)


@scenario("delay: levels of minutes, 1 to 4", real_s=245, family="retry")
def delay_minutes(run: Run) -> None:
    levels = range(5, 9)
    topics = {level: run.topic(f"SMinutes{level}") for level in levels}
    began_ms = run.now_ms()
    for level, topic in topics.items():
        send_late(run, topic, level, f"level {level}")
    for level, topic in topics.items():
        wait_its_time(run, topic, 1, began_ms, level_ms(run, level))
        run.pull(topic, peer=f"level {level}")


@scenario("delay: every level, to 2 h", quick=QUICK_LEVELS, real_s=7_200, family="retry")
def delay_hours(run: Run) -> None:
    topics = {level: run.topic(f"SHours{level}") for level in range(1, 19)}
    began_ms = run.now_ms()
    for level, topic in topics.items():
        send_late(run, topic, level, f"level {level}")
    for level, topic in topics.items():
        wait_its_time(run, topic, 1, began_ms, level_ms(run, level))
    run.pull(topics[18], peer="consumer")


@scenario(
    "retry: sixteen times in 4 h 46 min, then a dead letter",
    quick=QUICK_LEVELS,
    real_s=17_140,
    family="retry",
)
def retries_for_hours(run: Run) -> None:
    say_retries(run, "GRetriesHours", run.topic("SRetriesHours"), 16)


@scenario("retry: a group that wants three, which take 100 s", real_s=105, family="retry")
def retries_of_a_group(run: Run) -> None:
    topic = run.topic("SRetriesThree")
    say_retries(run, run.group("GRetriesThree", retryMaxTimes=3), topic, 3)


@scenario("send back: to levels of minutes that the consumer chooses", real_s=125, family="retry")
def send_back_minutes(run: Run) -> None:
    topic, group = run.topic("SBackMinutes"), "GBackMinutes"
    place = sent(run, topic)
    began_ms = run.now_ms()
    for level in (6, 5):
        send_back(run, group, place, level)
    run.close("consumer", "broker-a")
    for number, level in enumerate((5, 6)):
        wait_its_time(run, retry_topic(group), number + 1, began_ms, level_ms(run, level))
    run.pull(retry_topic(group), consumerGroup=group)


@scenario("retry: while its group may not consume, a message waits", real_s=105, family="retry")
def retry_of_a_suspended_group(run: Run) -> None:
    topic, group = run.topic("SRetrySuspended"), "GRetrySuspended"
    retry = retry_topic(group)
    place = sent(run, topic)
    began_ms = run.now_ms()
    send_back(run, group, place)
    run.group(group, consumeEnable=False)
    wait_its_time(run, retry, 1, began_ms, level_ms(run, FIRST_RETRY_LEVEL))
    for _ in range(3):
        run.pull(retry, consumerGroup=group)
        run.pass_time(20_000)
    run.note("a minute later it may, and sends it back for the second time")
    run.group(group, consumeEnable=True)
    came = run.pull(retry, consumerGroup=group)
    assert came.code == 0
    began_ms = run.now_ms()
    send_back(run, group, run.log_place("broker-a", retry, 0))
    wait_its_time(run, retry, 2, began_ms, level_ms(run, FIRST_RETRY_LEVEL + 1))


@scenario("delay: a broker is stopped meanwhile", real_s=65, family="retry")
def delay_over_stop(run: Run) -> None:
    short, long = run.topic("SStopShort"), run.topic("SStopLong")
    began_ms = run.now_ms()
    send_late(run, short, 4, "30 s")
    send_late(run, long, 5, "1 m")
    run.stop("broker-a")
    run.pass_time(35_000)
    run.start("broker-a")
    run.wait_stored(short, 1, 2 * LATE_MS)
    run.note("what is due comes at once, what is not in its time")
    wait_its_time(run, long, 1, began_ms, level_ms(run, 5))
    run.pull(short)
    run.pull(long)


@scenario("retry: a broker is killed meanwhile", real_s=65, family="retry")
def retry_over_kill(run: Run) -> None:
    topic, group = run.topic("SRetryKill"), "GRetryKill"
    place = sent(run, topic)
    began_ms = run.now_ms()
    send_back(run, group, place, 5)
    run.pass_time(2_000)
    run.kill("broker-a")
    run.pass_time(35_000)
    run.start("broker-a")
    run.note("its group's topics are there")
    for name in (retry_topic(group), dlq_topic(group)):
        run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": name, "queueId": 0})
    wait_its_time(run, retry_topic(group), 1, began_ms, level_ms(run, 5))
    run.pull(retry_topic(group), consumerGroup=group)
    run.note("once")
    run.pass_time(3_000)
    run.pull(retry_topic(group), 1, consumerGroup=group)
