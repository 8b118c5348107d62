"""POP: what is handed out, acknowledged, hidden for longer, and what comes again."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.consuming import send, set_permission
from conformance.targets.java_jars import REFERENCES
from conformance.wire.peer import Answer
from conformance.wire.pops import (
    MAX,
    Handle,
    batch_ack,
    bit_set,
    handles,
    pop_fields,
)
from conformance.wire.requests import GROUP, group_config, offset_fields, properties
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import MessageExt
from fakemq.protocol.topics import retry_topic
from fakemq.protocol.v5.codes import RequestCode5

FIVE = REFERENCES[1:]
AGAIN_S = 8
"""What is hidden for 2 s comes again within this time: 2 s, and what a broker's scans add."""
TIMER_TOPIC = "rmq_sys_wheel_timer"
"""Where all that has a timer waits: records of pops and acks, too."""
REVIVE_TOPIC = "rmq_sys_REVIVE_LOG_DefaultCluster"
WHERE_IT_WAITS = ("REAL_QID", "REAL_TOPIC", "TIMER_OUT_MS")
"""What the timer topic adds to a message."""


def pop_retry_topic(topic: str, group: str = GROUP) -> str:
    """Return the topic of messages that come again after a pop."""
    return f"{retry_topic(group)}_{topic}"


def pop(run: Run, topic: str, queue_id: int = -1, **more: object) -> Answer:
    fields = pop_fields(topic, queue_id, **more)
    return run.ask("broker-a", RequestCode5.POP_MESSAGE, fields, peer="consumer")


def popped(run: Run, topic: str, queue_id: int = -1, **more: object) -> list[Handle]:
    """Pop, and return the handles of what came."""
    answer = pop(run, topic, queue_id, **more)
    return handles(answer.fields, answer.body)


def ack(run: Run, topic: str, handle: Handle, **more: object) -> None:
    fields = handle.fields(topic, **more)
    run.ask("broker-a", RequestCode5.ACK_MESSAGE, fields, peer="consumer")


def hide(run: Run, topic: str, handle: Handle, invisible_ms: int, **more: object) -> Handle:
    """Change how long a message is hidden; return its new handle."""
    fields = handle.fields(topic, invisibleTime=invisible_ms, **more)
    code = RequestCode5.CHANGE_MESSAGE_INVISIBLETIME
    return handle.changed(run.ask("broker-a", code, fields, peer="consumer").fields)


def committed(run: Run, topic: str, group: str = GROUP, queue_id: int = 0) -> None:
    fields = offset_fields(topic, group, queueId=queue_id)
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, fields)


@scenario("pop: messages are handed out once, and acknowledged", releases=FIVE)
def pop_plain(run: Run) -> None:
    topic = run.topic("SPop")
    run.store(topic, "a", "b", "c")
    run.note("two at most; the third is left")
    first = popped(run, topic, 0, maxMsgNums=2)
    committed(run, topic)
    ack(run, topic, first[0])
    run.note("any queue")
    popped(run, topic)
    committed(run, topic)
    run.note("nothing is left")
    pop(run, topic)
    pop(run, topic, 0)
    run.note("acknowledged twice")
    ack(run, topic, first[0])
    run.note("another group has all of them")
    pop(run, topic, consumerGroup="GPopOther")


@scenario("pop: what is refused, in this order", releases=FIVE)
def pop_refused(run: Run) -> None:
    topic = run.topic("SPopRefused", 2)
    run.store(topic, "a")
    run.note("too late by the time that the client says")
    pop(run, topic, bornTime=run.now_ms() - 20_000, pollTime=1_000)
    run.note("more than 32")
    pop(run, topic, maxMsgNums=33)
    pop(run, "SNowhere", maxMsgNums=33)
    run.note("no such topic, no such queue, no such filter")
    pop(run, "SNowhere")
    pop(run, topic, 2)
    pop(run, topic, exp="a >", expType="SQL92")
    pop(run, topic, exp="a > 1", expType="NONE")
    run.note("a group that may not consume")
    group = run.group("GPopSuspended", consumeEnable=False)
    pop(run, topic, consumerGroup=group)
    run.note("a topic that may not be read")
    pop(run, run.topic("SPopUnread", perm=2))
    run.note("a broker that may not be read")
    set_permission(run, 2)
    pop(run, topic)
    set_permission(run, 6)
    run.note("numbers that make no sense")
    pop(run, topic, maxMsgNums=0)
    pop(run, topic, maxMsgNums=-1)
    pop(run, topic, invisibleTime=0)
    pop(run, topic, invisibleTime=-1)


@scenario(
    "pop: a group that is not there, where none is made",
    config={"autoCreateSubscriptionGroup": "false"},
    releases=FIVE,
)
def pop_unknown_group(run: Run) -> None:
    topic = run.topic("SPopStrict")
    run.store(topic, "a")
    pop(run, topic, consumerGroup="GPopStrict")
    body = group_config("GPopStrict")
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, body)
    pop(run, topic, consumerGroup="GPopStrict")


@scenario("pop: requests that are not whole", releases=FIVE)
def pop_missing_fields(run: Run) -> None:
    topic = run.topic("SPopMissing")
    run.store(topic, "a")
    whole = pop_fields(topic)
    for name in whole:
        fields = {one: value for one, value in whole.items() if one != name}
        fields["consumerGroup"] = f"GPopMissing{name}"
        if name == "consumerGroup":
            del fields["consumerGroup"]
        run.ask("broker-a", RequestCode5.POP_MESSAGE, fields, peer="consumer")
    run.note("an ack, a longer time")
    (handle,) = popped(run, topic, consumerGroup="GPopMissingAck")
    for code in (RequestCode5.ACK_MESSAGE, RequestCode5.CHANGE_MESSAGE_INVISIBLETIME):
        whole = handle.fields(topic, consumerGroup="GPopMissingAck", invisibleTime=60_000)
        for name in whole:
            fields = {one: value for one, value in whole.items() if one != name}
            run.ask("broker-a", code, fields, peer="consumer")


@scenario("pop: where a group begins that has no offset", releases=FIVE)
def pop_begin(run: Run) -> None:
    topic = run.topic("SPopBegin")
    run.store(topic, "a", "b", "c")
    run.note("from the first")
    pop(run, topic, consumerGroup="GPopFirst", maxMsgNums=1)
    committed(run, topic, "GPopFirst")
    run.note("from the last: the queue is young, and all of it in memory")
    pop(run, topic, consumerGroup="GPopLast", maxMsgNums=1, initMode=MAX)
    committed(run, topic, "GPopLast")
    run.note("an offset that was committed by hand")
    fields = offset_fields(topic, "GPopCommitted", commitOffset=2)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields)
    pop(run, topic, consumerGroup="GPopCommitted")
    run.note("one beyond the end")
    fields = offset_fields(topic, "GPopBeyond", commitOffset=9)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields)
    pop(run, topic, consumerGroup="GPopBeyond")
    committed(run, topic, "GPopBeyond")
    run.note("an empty topic")
    empty = run.topic("SPopEmpty")
    pop(run, empty, consumerGroup="GPopEmpty")
    committed(run, empty, "GPopEmpty")


@scenario("pop: filters", config={"enablePropertyFilter": "true"}, releases=FIVE)
def pop_filters(run: Run) -> None:
    topic = run.topic("SPopFilters")
    for number, tag in enumerate(("red", "blue", "red", "green")):
        send(run, topic, f"{number}", i=properties(TAGS=tag, number=str(number)))
    run.until_stored("broker-a", topic, 4)
    run.note("by tags")
    popped(run, topic, exp="red", consumerGroup="GPopRed")
    committed(run, topic, "GPopRed")
    popped(run, topic, exp="red || green", consumerGroup="GPopTwo")
    pop(run, topic, exp="black", consumerGroup="GPopNone")
    committed(run, topic, "GPopNone")
    run.note("without an expression")
    fields = pop_fields(topic, consumerGroup="GPopAll", exp="")
    run.ask("broker-a", RequestCode5.POP_MESSAGE, fields, peer="consumer")
    run.note("by SQL; no heartbeat is needed")
    pop(run, topic, exp="number > 1", expType="SQL92", consumerGroup="GPopSql")
    committed(run, topic, "GPopSql")
    pop(run, topic, exp="number > 7", expType="SQL92", consumerGroup="GPopSqlNone")
    committed(run, topic, "GPopSqlNone")


@scenario("pop: what a broker knows of a group that only pops", releases=FIVE)
def pop_members(run: Run) -> None:
    topic = run.topic("SPopMembers")
    group = "GPopMembers"
    run.store(topic, "a", "b")
    popped(run, topic, consumerGroup=group, maxMsgNums=1)
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    run.ask("broker-a", RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
    run.ask("broker-a", RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic})
    run.ask("broker-a", RequestCode.GET_CONSUME_STATS, {"consumerGroup": group})
    run.ask("broker-a", RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic})
    fields: dict[str, object] = {"group": group}
    run.ask("broker-a", RequestCode5.QUERY_TOPICS_BY_CONSUMER, fields)
    run.ask("broker-a", RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER, fields | {"topic": topic})


@scenario("pop: an ack that is refused, or is none", releases=FIVE)
def pop_ack_refused(run: Run) -> None:
    topic = run.topic("SPopAck")
    run.store(topic, "a", "b")
    first, second = popped(run, topic)
    code = RequestCode5.ACK_MESSAGE

    def try_ack(**more: object) -> None:
        run.ask("broker-a", code, first.fields(topic) | more, peer="consumer")

    try_ack(topic="SNowhere")
    try_ack(queueId=1)
    try_ack(queueId=-1)
    run.note("offsets: before the first, at the end, behind it")
    try_ack(offset=-1)
    try_ack(offset=2)
    try_ack(offset=3)
    run.note("handles that are none")
    try_ack(extraInfo="")
    try_ack(extraInfo="nonsense")
    try_ack(extraInfo="0 1 2")
    try_ack(extraInfo=" ".join(first.text.split()[:6]))
    try_ack(extraInfo=first._replace(revive_queue=8).text)
    run.note("a group that has popped nothing, a pop that never was")
    try_ack(consumerGroup="GPopStranger")
    try_ack(extraInfo=first._replace(pop_time_ms=1_100_000_000_000).text)
    run.note("as it should be")
    ack(run, topic, first)
    ack(run, topic, second)


@scenario("pop: several acks in one request", real_s=12, releases=FIVE)
def pop_batch_ack(run: Run) -> None:
    topic = run.topic("SPopBatch")
    run.store(topic, "a", "b", "c", "d")
    code = RequestCode5.BATCH_ACK_MESSAGE
    run.note("refused, or without effect")
    nothing: dict[str, object] = {"brokerName": "broker-a", "acks": []}
    for refused in (b"", b"{}", nothing, b"nonsense"):
        run.ask("broker-a", code, {}, refused, peer="consumer")
    began_ms = run.now_ms()
    all_four = popped(run, topic, invisibleTime=2_000)
    body = batch_ack("SNowhere", all_four[:1])
    run.ask("broker-a", code, {}, body, peer="consumer")
    run.note("the first, the second, and the fourth; and one beyond the end")
    body = batch_ack(topic, [*all_four[:2], all_four[3]])
    acks = body["acks"]
    assert isinstance(acks, list)
    acks.append(acks[0] | {"b": bit_set(1 << 9)})
    run.ask("broker-a", code, {}, body, peer="consumer")
    run.note("the third comes again")
    again = pop_retry_topic(topic)
    run.wait(lambda: is_stored(run, again, 1), 15_000, "the third")
    run.note_late("the third came", began_ms, 2, AGAIN_S)
    pop(run, topic)
    run.pass_time(3_000)
    run.note("and no other")
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": again, "queueId": 0})


def is_stored(run: Run, topic: str, max_offset: int) -> bool:
    """Return whether a queue at broker-a, which need not exist, has that number of messages."""
    fields = {"topic": topic, "queueId": "0"}
    peer = run.peer("consumer", "broker-a")
    answer = peer.quietly(RequestCode.GET_MAX_OFFSET, fields)
    return int(answer.fields.get("offset", "0")) >= max_offset


@scenario("pop: what a broker keeps of pops, acks and changes", releases=FIVE)
def pop_records(run: Run) -> None:
    topic = run.topic("SRecords")
    run.store(topic, "a", "b", "c", "d")
    places = [(TIMER_TOPIC, 0), *((REVIVE_TOPIC, queue_id) for queue_id in range(8))]
    read = {place: run.max_offset("broker-a", *place) for place in places}

    def new_records() -> list[MessageExt]:
        """Return the records of this topic's pops that were not read yet, and read them."""
        found = []
        for (name, queue_id), offset in read.items():
            if run.max_offset("broker-a", name, queue_id) > offset:
                queue = MessageQueue(topic=name, broker_name="broker-a", queue_id=queue_id)
                messages = run.client.pull(queue, offset, max_messages=32).messages
                read[name, queue_id] += len(messages)
                found += [one for one in messages if f'"{topic}"'.encode() in one.body]
        return found

    def say_records(count: int) -> None:
        found: list[MessageExt] = []

        def have_come() -> bool:
            found.extend(new_records())
            return len(found) >= count

        run.wait(have_come, 5_000, f"{count} records")
        for message in found:
            run.note(run.normaliser.text(f"{message.tags}: {message.body.decode()}"))
            if message.topic not in said:
                said.add(message.topic)
                run.note(f"  records are in {message.topic}")
            for name, value in sorted(message.properties.items()):
                if name not in WHERE_IT_WAITS:
                    run.note(run.normaliser.text(f"  {name}: {value}"))

    said: set[str] = set()
    run.note("a pop of four")
    first, second, third, fourth = popped(run, topic)
    say_records(1)
    run.note("an ack")
    ack(run, topic, first)
    say_records(1)
    run.note("several acks")
    code, body = RequestCode5.BATCH_ACK_MESSAGE, batch_ack(topic, [second, third])
    run.ask("broker-a", code, {}, body, peer="consumer")
    say_records(1)
    run.note("a change")
    hide(run, topic, fourth, 120_000)
    say_records(2)
