"""Timers of 5.x: messages for a second of one's choice, and their recall."""

from __future__ import annotations

import base64

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.popping import FIVE, TIMER_TOPIC
from conformance.wire.peer import Answer
from conformance.wire.requests import (
    COMMIT,
    PREPARED,
    UNIQUE_ID,
    batch,
    place_of,
    properties,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from fakemq.protocol.v5.codes import RequestCode5

DAY_MS = 24 * 3_600_000
RECALLED = {"recallMessageEnable": "true"}


def send_timed(run: Run, topic: str, number: int, **timer: object) -> Answer:
    """Send a message with properties of a timer; its unique id ends with ``number``."""
    texts = {name: str(value) for name, value in timer.items()}
    text = properties(UNIQ_KEY=UNIQUE_ID.format(number), **texts)
    fields = send_v2_fields(topic, i=text)
    # Timers of all scenarios lie in one queue.
    return run.ask(
        "broker-a",
        RequestCode.SEND_MESSAGE_V2,
        fields,
        f"timed {number}",
        peer="producer",
        hidden=() if not timer else ("queueOffset",),
    )


def say_early_or_late(run: Run, topic: str, offset: int, since_ms: int, delay_ms: int) -> None:
    """Write down whether a message was stored in the second before or after its time."""
    late_ms = run.stored_at_ms("broker-a", topic, offset) - since_ms - delay_ms
    in_time = -1_000 <= late_ms < 2_000
    run.note(f"{topic} {offset} came {'in time' if in_time else f'{late_ms} ms late'}")


@scenario("timers: by seconds, by milliseconds, by a time", real_s=8, releases=FIVE)
def timer_kinds(run: Run) -> None:
    began_ms = run.now_ms()
    kinds = {
        "STimerSec": {"TIMER_DELAY_SEC": 3},
        "STimerMs": {"TIMER_DELAY_MS": 2_500},
        "STimerAt": {"TIMER_DELIVER_MS": began_ms + 4_000},
    }
    delays_ms = {"STimerSec": 3_000, "STimerMs": 2_500, "STimerAt": 4_000}
    for name in kinds:
        run.topic(name)
    began_ms = run.now_ms()
    kinds["STimerAt"] = {"TIMER_DELIVER_MS": began_ms + 4_000}
    for number, (name, timer) in enumerate(kinds.items()):
        send_timed(run, name, number, **timer)
    for name in kinds:
        run.wait_stored(name, 1, 10_000)
        run.pull(name)
        say_early_or_late(run, name, 0, began_ms, delays_ms[name])


@scenario("timers: set aside in a topic of the broker's own", releases=FIVE)
def timer_topic(run: Run) -> None:
    topic = run.topic("STimerAside", 2)
    run.shared(TIMER_TOPIC)
    send_timed(run, topic, 0, TIMER_DELAY_SEC=3_600)
    send_timed(run, topic, 1, TIMER_DELAY_MS=7_200_000)
    run.wait_stored(TIMER_TOPIC, 2, 3_000)
    run.pull(TIMER_TOPIC)
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": TIMER_TOPIC})
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0})


@scenario(
    "timers: a batch with a time of its own",
    config={"timerCongestNumEachSlot": "1000000"},  # a broker that ends with this: its timers stop
    releases=FIVE,
)
def timer_batch(run: Run) -> None:
    topic = run.topic("STimerBatch")
    run.shared(TIMER_TOPIC)

    def send(**timer: object) -> None:
        text = properties(**{name: str(value) for name, value in timer.items()})
        fields = send_v2_fields(topic, m=True, i=text)
        body = batch(b"one", b"two")
        run.ask("broker-a", RequestCode.SEND_BATCH_MESSAGE, fields, body, peer="producer")

    run.note("refused")
    send(TIMER_DELAY_SEC=3 * DAY_MS // 1_000 + 2)
    send(TIMER_DELAY_MS="soon")
    send(TIMER_DELAY_SEC=60, DELAY=1)
    run.note("now, and in the past: stored at once")
    send(TIMER_DELAY_SEC=0)
    send(TIMER_DELIVER_MS=1_100_000_000_000)
    run.until_stored("broker-a", topic, 4)
    run.note("later: in the timer topic, without a time")
    send(TIMER_DELAY_SEC=60)
    run.wait_stored(TIMER_TOPIC, 2, 3_000)
    run.pull(TIMER_TOPIC)
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0})


@scenario("timers: limits, and texts that are no times", releases=FIVE)
def timer_limits(run: Run) -> None:
    topic = run.topic("STimerLimits")
    run.note("three days, and one second more")
    send_timed(run, topic, 0, TIMER_DELAY_SEC=3 * DAY_MS // 1_000)
    send_timed(run, topic, 1, TIMER_DELAY_SEC=3 * DAY_MS // 1_000 + 2)
    send_timed(run, topic, 2, TIMER_DELAY_MS=3 * DAY_MS + 2_000)
    fields = send_v2_fields(topic, i=properties(TIMER_DELIVER_MS=str(run.now_ms() + 4 * DAY_MS)))
    answer = run.peer("producer", "broker-a").quietly(
        RequestCode.SEND_MESSAGE_V2, {name: str(value) for name, value in fields.items()}, "x"
    )
    run.note(f"at a time in four days: {answer.code}")
    run.note("no numbers")
    send_timed(run, topic, 3, TIMER_DELAY_SEC="soon")
    send_timed(run, topic, 4, TIMER_DELAY_MS="")
    send_timed(run, topic, 5, TIMER_DELIVER_MS="1.5")
    run.note("now, and in the past: stored at once")
    send_timed(run, topic, 6, TIMER_DELAY_SEC=0)
    send_timed(run, topic, 7, TIMER_DELAY_MS=-5)
    send_timed(run, topic, 8, TIMER_DELIVER_MS=1_100_000_000_000)
    run.until_stored("broker-a", topic, 4)
    run.pull(topic)
    run.note("several at once: the first kind counts")
    send_timed(run, topic, 9, TIMER_DELAY_SEC=0, TIMER_DELAY_MS=60_000)
    run.note("with a level of delay: the timer is taken out")
    send_timed(run, topic, 10, DELAY=18, TIMER_DELAY_SEC=1)
    run.note("a time that the sender says it was due")
    send_timed(run, topic, 11, TIMER_OUT_MS=1_100_000_000_000, TIMER_DELAY_SEC=60)
    run.until_stored("broker-a", topic, 6)
    run.pull(topic, 4)


@scenario(
    "timers: a message that is rolled on its way",
    config={"timerRollWindowSlot": "4"},
    real_s=15,
    releases=FIVE,
)
def timer_rolls(run: Run) -> None:
    topic = run.topic("STimerRolls")
    run.shared(TIMER_TOPIC)
    began_ms = run.now_ms()
    send_timed(run, topic, 0, TIMER_DELAY_SEC=10)
    run.wait_stored(topic, 1, 20_000)
    run.pull(topic)
    say_early_or_late(run, topic, 0, began_ms, 10_000)
    rolls = run.max_offset("broker-a", TIMER_TOPIC) - run.offset(TIMER_TOPIC, 0)
    run.note(f"set aside {rolls} times")


@scenario("timers: a half message waits before it is one", real_s=8, releases=FIVE)
def timer_transaction(run: Run) -> None:
    topic = run.topic("STimerHalf")
    run.shared(TRANS_HALF_TOPIC)
    run.shared(TIMER_TOPIC)
    text = properties(
        TRAN_MSG="true", UNIQ_KEY=UNIQUE_ID.format(0), PGROUP="P", TIMER_DELAY_SEC="2"
    )
    fields = send_v2_fields(topic, a="P", i=text, f=PREPARED)
    offsets = {"queueOffset": TIMER_TOPIC}
    code = RequestCode.SEND_MESSAGE_V2
    half = run.ask("broker-a", code, fields, "half", peer="sending", offsets=offsets)
    run.wait_stored(TRANS_HALF_TOPIC, 1, 10_000)
    run.note("committed by the answer to the producer: the half message is not found by it")
    fields = {
        "producerGroup": "P",
        "tranStateTableOffset": half.fields["queueOffset"],
        "commitLogOffset": place_of(half.fields),
        "commitOrRollback": COMMIT,
        "fromTransactionCheck": False,
        "msgId": UNIQUE_ID.format(0),
        "transactionId": UNIQUE_ID.format(0),
    }
    code = RequestCode.END_TRANSACTION
    run.ask("broker-a", code, fields, peer="sending", hidden=("tranStateTableOffset",))
    run.pass_time(3_000)
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0})


@scenario(
    "timers: refused where their wheel is off", config={"timerWheelEnable": "false"}, releases=FIVE
)
def timer_off(run: Run) -> None:
    topic = run.topic("STimerOff")
    send_timed(run, topic, 0, TIMER_DELAY_SEC=60)
    send_timed(run, topic, 1, TIMER_DELAY_SEC=0)
    send_timed(run, topic, 2, DELAY=18, TIMER_DELAY_SEC=60)
    fields = {"consumerGroup": "G", "topic": topic, "queueId": 0, "maxMsgNums": 1}
    more = {"invisibleTime": 60_000, "pollTime": 0, "bornTime": 0, "initMode": 0}
    run.ask("broker-a", RequestCode5.POP_MESSAGE, fields | more)
    run.ask("broker-a", RequestCode5.GET_TIMER_CHECK_POINT, {})
    run.ask("broker-a", RequestCode5.GET_TIMER_METRICS, {})


@scenario("recall: forbidden by default", releases=FIVE)
def recall_off(run: Run) -> None:
    topic = run.topic("SRecallOff")
    answer = send_timed(run, topic, 0, TIMER_DELAY_SEC=60)
    recall(run, topic, answer.fields.get("recallHandle", ""))


def recall(run: Run, topic: str, handle: str) -> None:
    fields = {"producerGroup": "PRecall", "topic": topic, "recallHandle": handle}
    run.ask("broker-a", RequestCode5.RECALL_MESSAGE, fields, peer="producer")


def other_handle(handle: str, **words: str) -> str:
    """Return a handle with some of its words replaced, by their names."""
    names = ("version", "topic", "broker", "time", "id")
    said = dict(zip(names, base64.urlsafe_b64decode(handle).decode().split(), strict=True))
    return base64.urlsafe_b64encode(" ".join((said | words).values()).encode()).decode()


@scenario(
    "recall: a message with a timer that never comes", config=RECALLED, real_s=8, releases=FIVE
)
def recall_timer(run: Run) -> None:
    topic = run.topic("SRecall")
    run.shared(TIMER_TOPIC)
    first = send_timed(run, topic, 0, TIMER_DELAY_SEC=4).fields["recallHandle"]
    send_timed(run, topic, 1, TIMER_DELAY_SEC=4)
    recall(run, topic, first)
    run.note("twice")
    recall(run, topic, first)
    run.wait_stored(TIMER_TOPIC, 4, 3_000)
    run.pull(TIMER_TOPIC, 2)
    run.wait_stored(topic, 1, 10_000)
    run.pass_time(1_500)
    run.note("only the other one comes")
    run.pull(topic)
    run.note("too late")
    recall(run, topic, first)


@scenario("recall: handles that are refused", config=RECALLED, releases=FIVE)
def recall_refused(run: Run) -> None:
    topic = run.topic("SRecallOdd")
    handle = send_timed(run, topic, 0, TIMER_DELAY_SEC=3_600).fields["recallHandle"]
    recall(run, "SNowhere", handle)
    recall(run, run.topic("SRecallOther"), handle)
    recall(run, topic, "")
    recall(run, topic, "nonsense")
    recall(run, topic, base64.urlsafe_b64encode(b"v1 too short").decode())
    recall(run, topic, other_handle(handle, version="v2"))
    recall(run, topic, other_handle(handle, broker="broker-b"))
    recall(run, topic, other_handle(handle, time="1100000000000"))
    recall(run, topic, other_handle(handle, time="soon"))
    run.note("an id that no message has")
    recall(run, topic, other_handle(handle, id="none"))
    run.note("messages without a timer have no handle")
    send_timed(run, topic, 1)
    send_timed(run, topic, 2, DELAY=1)
    send_timed(run, topic, 3, TIMER_DELAY_SEC=0)
    run.note("not whole")
    run.ask("broker-a", RequestCode5.RECALL_MESSAGE, {"topic": topic, "recallHandle": handle})
    run.ask("broker-a", RequestCode5.RECALL_MESSAGE, {"producerGroup": "P", "topic": topic})
