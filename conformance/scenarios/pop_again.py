"""POP: what is not acknowledged in time comes again."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.popping import (
    AGAIN_S,
    FIVE,
    ack,
    committed,
    hide,
    is_stored,
    pop_retry_topic,
    popped,
)
from conformance.wire.requests import GROUP
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import retry_topic
from fakemq.protocol.v5.codes import RequestCode5


@scenario("pop: what is not acknowledged comes again", real_s=15, releases=FIVE)
def pop_revive(run: Run) -> None:
    topic = run.topic("SPopAgain")
    again = pop_retry_topic(topic)
    run.store(topic, "a", "b", "c")
    began_ms = run.now_ms()
    first, *_ = popped(run, topic, invisibleTime=2_000)
    ack(run, topic, first)
    run.wait(lambda: is_stored(run, again, 2), 15_000, "two of three")
    run.note_late("two of three came", began_ms, 2, AGAIN_S)
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": again})
    run.pull(again)
    committed(run, topic)
    committed(run, again)
    run.note("they are popped with the topic")
    began_ms = run.now_ms()
    second, third = popped(run, topic, invisibleTime=2_000)
    committed(run, again)
    run.note("the handle names the retry topic; it is acknowledged there")
    ack(run, again, second)
    run.note("the other one comes for the third time")
    run.wait(lambda: is_stored(run, again, 3), 15_000, "the other one")
    run.note_late("it came", began_ms, 2, AGAIN_S)
    run.pull(again, 2)
    (last,) = popped(run, topic)
    ack(run, again, last)
    run.note("an ack after its time does nothing")
    ack(run, again, third)
    run.ask("broker-a", RequestCode.GET_CONSUME_STATS, {"consumerGroup": GROUP, "topic": topic})


@scenario("pop: hidden for longer, or for less", real_s=15, releases=FIVE)
def pop_change_invisible(run: Run) -> None:
    topic = run.topic("SPopHidden")
    again = pop_retry_topic(topic)
    run.store(topic, "a", "b", "c")
    began_ms = run.now_ms()
    first, second, third = popped(run, topic, invisibleTime=60_000)
    run.note("the first for less, the second for longer, the third not at all")
    hide(run, topic, first, 1_000)
    longer = hide(run, topic, second, 120_000)
    hide(run, topic, third, 0)
    run.wait(lambda: is_stored(run, again, 2), 15_000, "the first and the third")
    run.note_late("they came", began_ms, 0, AGAIN_S)
    run.note("a handle is replaced by its change; both are taken for an ack")
    ack(run, topic, second)
    ack(run, topic, longer)
    run.note("refused")
    code = RequestCode5.CHANGE_MESSAGE_INVISIBLETIME

    def try_hide(**more: object) -> None:
        fields = longer.fields(topic, invisibleTime=60_000) | more
        run.ask("broker-a", code, fields, peer="consumer")

    try_hide(topic="SNowhere")
    try_hide(queueId=1)
    try_hide(queueId=-1)
    try_hide(offset=-1)
    try_hide(offset=3)
    try_hide(extraInfo="nonsense")
    try_hide(invisibleTime=-1_000)


@scenario("pop: a change that suspends does not count as an attempt", real_s=12, releases=FIVE)
def pop_suspended(run: Run) -> None:
    topic = run.topic("SPopSuspend")
    again = pop_retry_topic(topic)
    run.store(topic, "a", "b")
    first, second = popped(run, topic)
    hide(run, topic, first, 1_000, suspend=True)
    run.wait(lambda: is_stored(run, again, 1), 15_000, "the first")
    hide(run, topic, second, 1_000, suspend=False)
    run.wait(lambda: is_stored(run, again, 2), 15_000, "the second")
    run.pull(again)


@scenario(
    "pop: retry topics of the second form, without those of the first",
    # With them, each pop reads those of one form by chance.
    config={"enableRetryTopicV2": "true", "retrieveMessageFromPopRetryTopicV1": "false"},
    real_s=12,
    releases=FIVE,
)
def pop_retry_topic_v2(run: Run) -> None:
    topic = run.topic("SPopSecond")
    again = f"{retry_topic(GROUP)}+{topic}"
    run.store(topic, "a")
    popped(run, topic, invisibleTime=1_000)
    run.wait(lambda: is_stored(run, again, 1), 15_000, "it")
    run.pull(again)
    run.wait(lambda: is_stored(run, again, 1), 1_000, "it")
    (handle,) = popped(run, topic)
    ack(run, again, handle)


@scenario("pop: a group or a topic that is gone when its time is over", real_s=12, releases=FIVE)
def pop_gone(run: Run) -> None:
    topic, other = run.topic("SPopGone"), run.topic("SPopStays")
    run.store(topic, "a")
    run.store(other, "a")
    popped(run, topic, invisibleTime=1_000)
    popped(run, other, invisibleTime=1_000, consumerGroup="GPopGone")
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    run.ask("broker-a", RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "GPopGone"})
    run.pass_time(6_000)
    for name, group in ((topic, GROUP), (other, "GPopGone")):
        again = pop_retry_topic(name, group)
        run.note(f"{again}: {'stored' if is_stored(run, again, 1) else 'nothing'}")
