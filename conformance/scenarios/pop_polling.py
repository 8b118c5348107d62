"""POP requests that wait, and what others ask about them; shares of queues."""

from __future__ import annotations

import json

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.consuming import send
from conformance.scenarios.popping import (
    FIVE,
    is_stored,
    pop,
    pop_retry_topic,
    popped,
)
from conformance.wire.peer import Pending
from conformance.wire.pops import polling_fields, pop_fields
from conformance.wire.requests import GROUP, heartbeat, pull_fields
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

TAKEN_IN_MS = 300
"""How long a real broker may take from reading a pop to holding it."""


def held_pop(
    run: Run, topic: str, queue_id: int = -1, peer: str = "held", **more: object
) -> Pending:
    """Send a pop that has to wait, and return when it waits."""
    fields = pop_fields(topic, queue_id, pollTime=5_000) | more
    pending = run.send("broker-a", RequestCode5.POP_MESSAGE, fields, peer=peer)
    run.pass_time(TAKEN_IN_MS)
    return pending


def polling_info(run: Run, topic: str, queue_id: int = -1, **more: object) -> None:
    fields = {"consumerGroup": GROUP, "topic": topic, "queueId": queue_id} | more
    run.ask("broker-a", RequestCode5.POLLING_INFO, fields)


@scenario("pop: one that waits is answered by a message", real_s=3, releases=FIVE)
def pop_held(run: Run) -> None:
    topic = run.topic("SHeld", 2)
    any_queue = held_pop(run, topic)
    second_queue = held_pop(run, topic, 1, "second")
    polling_info(run, topic)
    polling_info(run, topic, 1)
    polling_info(run, topic, 0)
    run.note("a message in the first queue")
    send(run, topic, "first", e=0)
    any_queue.answer()
    run.nothing_comes("second")
    run.note("one in the second")
    send(run, topic, "second", e=1)
    second_queue.answer()
    polling_info(run, topic, 1)


@scenario("pop: one that waits in vain", real_s=6, releases=FIVE)
def pop_held_in_vain(run: Run) -> None:
    topic = run.topic("SHeldVain")
    began_ms = run.now_ms()
    held = held_pop(run, topic, pollTime=2_000)
    run.answer_within(held, 10_000)
    run.note_late("it was answered", began_ms, 1.9, 3.5)
    run.note("a tag that nothing has")
    held = held_pop(run, topic, pollTime=2_000, exp="red")
    send(run, topic, "blue", i="TAGS\x01blue\x02")
    run.pass_time(500)
    run.nothing_comes("held")
    run.answer_within(held, 10_000)


@scenario(
    "pop: more that wait than there may be", config={"popPollingSize": "2"}, real_s=3, releases=FIVE
)
def pop_polling_full(run: Run) -> None:
    topic = run.topic("SFull")
    held = [held_pop(run, topic, peer=f"held {number}", pollTime=2_500) for number in range(4)]
    run.note("the last")
    run.answer_within(held[3], 10_000)
    polling_info(run, topic)
    for number in (0, 1, 2):
        run.answer_within(held[number], 10_000)


@scenario("pop: a waiting group is woken by what comes again", real_s=10, releases=FIVE)
def pop_held_again(run: Run) -> None:
    topic = run.topic("SHeldAgain")
    run.store(topic, "a")
    popped(run, topic, invisibleTime=1_000)
    held = held_pop(run, topic, pollTime=15_000)
    run.wait(held.has_come, 20_000, "what comes again")
    held.answer()
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": pop_retry_topic(topic), "queueId": 0})


@scenario("notification: is there anything to pop?", real_s=5, releases=FIVE)
def notification(run: Run) -> None:
    topic = run.topic("SNotify", 2)
    code = RequestCode5.NOTIFICATION

    def notify(name: str, **more: object) -> None:
        run.ask("broker-a", code, polling_fields(name) | more, peer="consumer")

    notify(topic)
    fields = polling_fields(topic, pollTime=5_000)
    held = run.send("broker-a", code, fields, peer="held")
    run.pass_time(TAKEN_IN_MS)
    polling_info(run, topic)
    run.nothing_comes("held")
    send(run, topic, "x", i="TAGS\x01red\x02", e=1)
    held.answer()
    notify(topic)
    notify(topic, queueId=1)
    run.note("not in the other queue, not for the group that has popped it")
    notify(topic, queueId=0)
    pop(run, topic)
    notify(topic)
    run.note("by tag")
    notify(topic, consumerGroup="GNotifyRed", expType="TAG", exp="red")
    notify(topic, consumerGroup="GNotifyBlue", expType="TAG", exp="blue")
    run.note("in vain")
    began_ms = run.now_ms()
    held = run.send("broker-a", code, polling_fields(topic, pollTime=2_000), peer="held")
    run.answer_within(held, 10_000)
    run.note_late("it was answered", began_ms, 1.9, 3.5)
    run.note("refused")
    notify("SNowhere")
    notify(topic, queueId=2)
    notify(run.topic("SNotifyUnread", perm=2))
    group = run.group("GNotifySuspended", consumeEnable=False)
    notify(topic, consumerGroup=group)


@scenario("polling info: what is refused", releases=FIVE)
def polling_info_refused(run: Run) -> None:
    topic = run.topic("SInfo")
    polling_info(run, topic)
    polling_info(run, "SNowhere")
    polling_info(run, topic, 1)
    polling_info(run, run.topic("SInfoUnread", perm=2))
    group = run.group("GInfoSuspended", consumeEnable=False)
    polling_info(run, topic, consumerGroup=group)
    run.ask("broker-a", RequestCode5.POLLING_INFO, {})


@scenario("peek: messages that stay where they are", releases=FIVE)
def pop_peek(run: Run) -> None:
    topic = run.topic("SPeek")
    run.store(topic, "a", "b", "c")

    def peek(name: str, **more: object) -> None:
        fields = {"consumerGroup": GROUP, "topic": name, "queueId": 0, "maxMsgNums": 2} | more
        run.ask("broker-a", RequestCode5.PEEK_MESSAGE, fields, peer="consumer")

    peek(topic)
    peek(topic, queueId=-1)
    popped(run, topic, maxMsgNums=2)
    peek(topic)
    run.note("refused")
    peek("SNowhere")
    peek(topic, queueId=1)
    peek(topic, maxMsgNums=33)
    popped(run, topic)
    peek(topic)


@scenario("lite pull: the code of a 5.x client that assigns queues itself", releases=FIVE)
def lite_pull(run: Run) -> None:
    topic = run.topic("SLite")
    run.store(topic, "a", "b")
    code = RequestCode.LITE_PULL_MESSAGE
    run.ask("broker-a", code, pull_fields(topic), peer="consumer")
    run.ask("broker-a", code, pull_fields(topic, 2), peer="consumer")
    run.ask("broker-a", code, pull_fields(topic, 9), peer="consumer")
    run.ask("broker-a", code, pull_fields("SNowhere"), peer="consumer")
    fields = pull_fields(topic, 2, sysFlag=6, suspendTimeoutMillis=15_000)
    held = run.send("broker-a", code, fields, peer="held")
    run.pass_time(TAKEN_IN_MS)
    send(run, topic)
    held.answer()


@scenario("request modes: pull or pop, by topic and group", releases=FIVE)
def request_mode(run: Run) -> None:
    topic = run.topic("SMode")
    code = RequestCode5.SET_MESSAGE_REQUEST_MODE

    def set_mode(name: str, group: str, **more: object) -> None:
        body = {"topic": name, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0} | more
        run.ask("broker-a", code, {}, body)

    set_mode(topic, "GMode")
    set_mode(topic, "GModeShared", popShareQueueNum=2)
    set_mode(topic, "GModePull", mode="PULL")
    run.note("refused")
    set_mode("%RETRY%GMode", "GMode")
    set_mode("SNowhere", "GMode")
    run.ask("broker-a", code, {}, b"nonsense")
    run.note("what the broker has of this topic")
    answer = run.peer("client", "broker-a").quietly(RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE)
    kept = json.loads(answer.body)["messageRequestModeMap"][topic]
    for group, mode in sorted(kept.items()):
        run.note(f"{group}: {sorted(mode.items())}")


@scenario(
    "request modes: none may be made for a group that is not there",
    config={"autoCreateSubscriptionGroup": "false"},
    releases=FIVE,
)
def request_mode_strict(run: Run) -> None:
    topic = run.topic("SModeStrict")
    body = {"topic": topic, "consumerGroup": "GModeStrict", "mode": "POP", "popShareQueueNum": 0}
    run.ask("broker-a", RequestCode5.SET_MESSAGE_REQUEST_MODE, {}, body)
    run.ask("broker-a", RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE, {})


@scenario("query assignment: shares of queues, by a broker", releases=FIVE)
def query_assignment(run: Run) -> None:
    topic = run.topic("SAssign", 2)
    group = "GAssign"

    def assigned(client_id: str, name: str = topic, **more: object) -> None:
        body = {
            "topic": name,
            "consumerGroup": group,
            "clientId": client_id,
            "strategyName": "AVG",
            "messageModel": "CLUSTERING",
        } | more
        run.ask("broker-a", RequestCode5.QUERY_ASSIGNMENT, {}, body)

    run.note("no member, no topic")
    assigned("one")
    assigned("one", "SNowhere")
    for client in ("one", "two", "three"):
        body = heartbeat(client, group, topic)
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer=client)
    run.note("by pull")
    for client in ("one", "two", "three", "stranger"):
        assigned(client)
    assigned("one", strategyName="AVG_BY_CIRCLE")
    assigned("one", strategyName="CONSISTENT_HASH")
    assigned("one", messageModel="BROADCASTING")
    assigned("one", "%RETRY%GAssign")
    for share in (0, 1, 2, -1):
        run.note(f"by pop, {share} shared")
        mode = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": share}
        run.ask("broker-a", RequestCode5.SET_MESSAGE_REQUEST_MODE, {}, mode)
        assigned("one")
        assigned("three")
    run.note("one has left")
    fields = {"clientID": "two", "consumerGroup": group}
    run.ask("broker-a", RequestCode.UNREGISTER_CLIENT, fields, peer="two")
    assigned("one")
    run.note("not whole")
    run.ask("broker-a", RequestCode5.QUERY_ASSIGNMENT, {}, {"topic": topic})
    run.ask("broker-a", RequestCode5.QUERY_ASSIGNMENT, {})


@scenario("pop: what comes again counts as what is left", real_s=10, releases=FIVE)
def pop_rest(run: Run) -> None:
    topic, group = run.topic("SRest"), "GPopRest"
    run.store(topic, "a", "b", "c", "d")
    popped(run, topic, consumerGroup=group, invisibleTime=1_000, maxMsgNums=3)
    run.wait(lambda: is_stored(run, pop_retry_topic(topic, group), 3), 15_000, "three again")
    run.ask("broker-a", RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic})
    run.ask("broker-a", RequestCode.GET_CONSUME_STATS, {"consumerGroup": group})
