"""Lite topics by remoting: what is stored, subscriptions, what is popped, refused, cleaned."""

# Over 400 lines: a table of scenarios.

from __future__ import annotations

import json

from conformance.run import Run
from conformance.scenario import scenario
from conformance.targets.java_jars import NEWEST
from conformance.wire.lites import (
    LITE,
    ack_lite,
    client_of,
    hide_lite,
    lite_group,
    lite_handles,
    lite_send,
    lite_store,
    lite_topic,
    pop_lite,
    pop_lite_fields,
    queue_of,
    subscribe,
    subscription,
)
from conformance.wire.pops import batch_ack, pop_fields
from conformance.wire.requests import (
    PREPARED,
    batch,
    offset_fields,
    properties,
    queue_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

FIVE = (NEWEST,)


def committed(run: Run, topic: str, lite: str, group: str) -> None:
    fields = offset_fields(queue_of(topic, lite), group)
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, fields)


def limits(run: Run, topic: str, lite: str) -> None:
    for code in (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET):
        run.ask("broker-a", code, queue_fields(queue_of(topic, lite), 0))


@scenario("lite: sends, and the queues they are in", config=LITE, releases=FIVE)
def lite_sends(run: Run) -> None:
    topic, plain = lite_topic(run, "SLiteSends"), run.topic("SLitePlain")
    lite_send(run, topic, "a", "1")
    lite_send(run, topic, "b", "2", TAGS="t", KEYS="k")
    run.note("without a lite topic, with an empty one, a blank one, an odd one")
    lite_send(run, topic, None, "3")
    lite_send(run, topic, "", "4")
    lite_send(run, topic, " ", "5")  # one with a $ stops a real broker for ever: see docs/lite.md
    lite_send(run, topic, "a b", "6")
    run.note("one that names queues itself")
    lite_send(run, topic, "a", "7", INNER_MULTI_DISPATCH="%LMQ%SLiteOther")
    run.note("of a topic that is not for lite topics")
    lite_send(run, plain, "a", "8")
    run.note("with another type, too")
    lite_send(run, topic, "a", "9", __SHARDINGKEY="g")
    lite_send(run, topic, "a", "10", _SYS_MSG_PRIORITY_="1")
    run.note("in a batch")
    body = batch(b"one", b"two", text=properties(__LITE_TOPIC="a"))
    fields = send_v2_fields(topic, m=True, i=properties(__LITE_TOPIC="a"))
    run.ask("broker-a", RequestCode.SEND_BATCH_MESSAGE, fields, body, peer="producer")
    run.until_stored("broker-a", topic, 11)
    run.pull(topic)
    for lite in ("a", "b", "none", "a b"):
        limits(run, topic, lite)
    run.pull(queue_of(topic, "a"))
    run.pull(queue_of(topic, "b"))
    run.pull(queue_of(plain, "a"))


@scenario("lite: with a delay, and half a transaction", config=LITE, releases=FIVE, real_s=3)
def lite_sends_later(run: Run) -> None:
    topic = lite_topic(run, "SLiteLater")
    lite_send(run, topic, "a", "1", DELAY="1")
    fields = send_v2_fields(
        topic,
        i=properties(
            UNIQ_KEY="AC110001000018B4AAC27E5E1C2D0007",
            __LITE_TOPIC="a",
            TRAN_MSG="true",
            PGROUP="PScenario",
        ),
        f=PREPARED,
    )
    run.ask(
        "broker-a",
        RequestCode.SEND_MESSAGE_V2,
        fields,
        "2",
        peer="producer",
        hidden=("queueOffset",),
    )
    limits(run, topic, "a")
    run.pass_time(2_000)
    run.until_stored("broker-a", topic, 1)
    run.pull(topic)
    limits(run, topic, "a")


@scenario("lite: a subscription, pops and acknowledgements", config=LITE, releases=FIVE)
def lite_plain(run: Run) -> None:
    topic = lite_topic(run, "SLite")
    group = lite_group(run, "GLite", topic)
    lite_store(run, topic, "a", "1", "2", "3")
    lite_store(run, topic, "b", "4")
    run.note("without a subscription")
    pop_lite(run, topic, group)
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    run.note("a new group begins at the last message, if it is not the first of the log")
    popped = pop_lite(run, topic, group, maxMsgNum=2)
    committed(run, topic, "a", group)
    run.note("the rest waits for both")
    pop_lite(run, topic, group)
    ack_lite(run, topic, group, popped[1])
    committed(run, topic, "a", group)
    ack_lite(run, topic, group, popped[0])
    committed(run, topic, "a", group)
    popped = pop_lite(run, topic, group)
    ack_lite(run, topic, group, popped[0])
    pop_lite(run, topic, group)
    run.note("a second lite topic")
    subscribe(run, "PARTIAL_ADD", group, topic, ["b", "later"])
    popped = pop_lite(run, topic, group)
    ack_lite(run, topic, group, popped[0])
    run.note("messages come to both")
    lite_store(run, topic, "a", "5", stored=3)
    lite_store(run, topic, "later", "6")
    popped = pop_lite(run, topic, group, pollTime=3_000, maxMsgNum=1)
    ack_lite(run, topic, group, popped[0])
    popped = pop_lite(run, topic, group, pollTime=3_000)
    ack_lite(run, topic, group, popped[0])
    run.note("no longer")
    subscribe(run, "PARTIAL_REMOVE", group, topic, ["a"])
    lite_store(run, topic, "a", "7", stored=4)
    pop_lite(run, topic, group)
    run.note("again: it continues where it was")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    popped = pop_lite(run, topic, group)
    committed(run, topic, "a", group)


@scenario("lite: subscriptions that are refused", config=LITE, releases=FIVE)
def lite_subscribe_refused(run: Run) -> None:
    topic = lite_topic(run, "SLiteCtl")
    group = lite_group(run, "GLiteCtl", topic)
    code = RequestCode5.LITE_SUBSCRIPTION_CTL
    run.note("no body, no subscriptions, none that can be read")
    run.ask("broker-a", code, {}, peer="consumer")
    run.ask("broker-a", code, {}, "{}", peer="consumer")
    run.ask("broker-a", code, {}, '{"subscriptionSet":[]}', peer="consumer")
    run.ask("broker-a", code, {}, "{", peer="consumer")
    run.note("an entry without a client, a group, a topic, an action: passed over, but the last")
    for name in ("clientId", "group", "topic", "action"):
        entry = subscription("PARTIAL_ADD", group, topic, ["a"])
        del entry[name]
        body = json.dumps({"subscriptionSet": [entry]})
        run.ask("broker-a", code, {}, body, peer="consumer")
    run.note("an action that is none, and no lite topics")
    subscribe(run, "ADD", group, topic, ["a"])
    subscribe(run, "PARTIAL_ADD", group, topic)
    run.note("a group that may not consume, one that is not there, one that is not bound")
    lite_group(run, "GLiteCtlOff", topic, {"consumeEnable": False})
    subscribe(run, "PARTIAL_ADD", "GLiteCtlOff", topic, ["a"])
    subscribe(run, "COMPLETE_ADD", "GLiteCtlOff", topic, ["a"])
    subscribe(run, "PARTIAL_REMOVE", "GLiteCtlOff", topic, ["a"])
    run.group("GLiteCtlUsual")
    subscribe(run, "PARTIAL_ADD", "GLiteCtlUsual", topic, ["a"])
    run.note("a topic that is not there, one that is not for lite topics")
    subscribe(run, "PARTIAL_ADD", group, "SLiteNowhere", ["a"])
    subscribe(run, "PARTIAL_ADD", group, run.topic("SLiteUsual"), ["a"])
    run.note("an empty lite topic")
    subscribe(run, "PARTIAL_ADD", group, topic, [""])


@scenario("lite: pops that are refused, in this order", config=LITE, releases=FIVE)
def lite_pop_refused(run: Run) -> None:
    topic = lite_topic(run, "SLitePop")
    group = lite_group(run, "GLitePop", topic)
    run.note("too late by the time that the client says; more than 32")
    pop_lite(run, topic, group, bornTime=run.now_ms() - 20_000, pollTime=1_000)
    pop_lite(run, "SNowhere", group, maxMsgNum=33)
    run.note("a topic that is not there, that is not for lite topics")
    pop_lite(run, "SNowhere", group)
    pop_lite(run, run.topic("SLitePopUsual"), group)
    run.note("a group that is bound to another, to none, that may not consume")
    other = lite_topic(run, "SLitePopOther")
    pop_lite(run, other, group)
    pop_lite(run, topic, run.group("GLitePopUsual"))
    pop_lite(run, topic, lite_group(run, "GLitePopOff", topic, {"consumeEnable": False}))
    run.note("a group that is made by asking for it")
    pop_lite(run, topic, "GLitePopNew")
    run.note("numbers that make no sense")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    lite_store(run, topic, "a", "1")
    pop_lite(run, topic, group, maxMsgNum=0)
    pop_lite(run, topic, group, maxMsgNum=-1)
    run.note("fields that are missing")
    for name in pop_lite_fields(topic, group):
        fields = pop_lite_fields(topic, group)
        del fields[name]
        run.ask("broker-a", RequestCode5.POP_LITE_MESSAGE, fields, peer="consumer")
    run.note("a usual pop of the parent, and of the light queue")
    run.ask("broker-a", RequestCode5.POP_MESSAGE, pop_fields(topic, consumerGroup=group))
    fields = pop_fields(queue_of(topic, "a"), 0, consumerGroup=group)
    run.ask("broker-a", RequestCode5.POP_MESSAGE, fields)


@scenario("lite: acknowledgements that are refused", config=LITE, releases=FIVE)
def lite_ack_refused(run: Run) -> None:
    topic = lite_topic(run, "SLiteAck")
    group = lite_group(run, "GLiteAck", topic)
    lite_store(run, topic, "a", "1", "2")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    first, second = pop_lite(run, topic, group)
    lite, handle = first
    run.note("another group, another lite topic, an offset beyond, another queue, another pop")
    ack_lite(run, topic, "GLiteAckOther", first)
    ack_lite(run, topic, group, first, liteTopic="b")
    ack_lite(run, topic, group, (lite, handle._replace(offset=9)))
    ack_lite(run, topic, group, (lite, handle._replace(offset=2)))
    ack_lite(run, topic, group, (lite, handle._replace(queue_id=1)))
    ack_lite(run, topic, group, (lite, handle._replace(revive_queue=1)))
    ack_lite(run, topic, group, (lite, handle._replace(pop_time_ms=1_100_000_000_000)))
    run.note("without a lite topic")
    ack_lite(run, topic, group, first, liteTopic=" ")
    committed(run, topic, "a", group)
    run.note("as a batch")
    code = RequestCode5.BATCH_ACK_MESSAGE
    run.ask("broker-a", code, {}, batch_ack(topic, [handle], group), peer="consumer")
    committed(run, topic, "a", group)
    run.note("twice")
    ack_lite(run, topic, group, first)
    ack_lite(run, topic, group, first)
    committed(run, topic, "a", group)
    ack_lite(run, topic, group, second)
    ack_lite(run, topic, group, second)
    committed(run, topic, "a", group)


@scenario("lite: hidden for longer, and what comes again", config=LITE, releases=FIVE, real_s=9)
def lite_hidden(run: Run) -> None:
    topic = lite_topic(run, "SLiteHide")
    group = lite_group(run, "GLiteHide", topic)
    lite_store(run, topic, "a", "1", "2")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    run.note("the same attempt gets the same messages")
    pop_lite(run, topic, group, attemptId="one", invisibleTime=1_500)
    subscribe(run, "PARTIAL_REMOVE", group, topic, ["a"])
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    first, second = pop_lite(run, topic, group, attemptId="one", invisibleTime=1_500)
    run.note("after its time it comes again, counted")
    run.pass_time(1_900)
    first, second = pop_lite(run, topic, group, pollTime=1_000, invisibleTime=20_000)
    run.note("the second acknowledged, the first hidden for less")
    ack_lite(run, topic, group, second)
    first = hide_lite(run, topic, group, first, 1_000)
    pop_lite(run, topic, group)
    run.pass_time(1_400)
    again = pop_lite(run, topic, group, pollTime=1_000, invisibleTime=20_000)
    run.note("put off, which does not count")
    hide_lite(run, topic, group, again[0], 1_000, suspend=True)
    run.pass_time(1_400)
    again = pop_lite(run, topic, group, pollTime=1_000, invisibleTime=20_000)
    run.note("of a lite topic that is not there; of an offset beyond; of one acknowledged")
    lite, handle = again[0]
    hide_lite(run, topic, group, (lite, handle._replace(offset=9)), 1_000)
    for one in again:
        ack_lite(run, topic, group, one)
    committed(run, topic, "a", group)
    hide_lite(run, topic, group, again[0], 1_000)


@scenario("lite: a pop that waits", config=LITE, releases=FIVE, real_s=6)
def lite_held(run: Run) -> None:
    topic = lite_topic(run, "SLiteHeld")
    group = lite_group(run, "GLiteHeld", topic)
    subscribe(run, "PARTIAL_ADD", group, topic, ["a", "b"])
    fields = pop_lite_fields(topic, group, pollTime=5_000)
    held = run.send("broker-a", RequestCode5.POP_LITE_MESSAGE, fields, peer="consumer")
    run.nothing_comes("consumer")
    run.note("another client's waits for its own")
    other = pop_lite_fields(topic, group, pollTime=5_000, clientId=client_of(group, "other"))
    waits = run.send("broker-a", RequestCode5.POP_LITE_MESSAGE, other, peer="other")
    lite_send(run, topic, "b", "1")
    popped = lite_handles(held.answer())
    run.nothing_comes("other")
    run.note("woken by the acknowledgement, and by a subscription")
    lite_store(run, topic, "b", "2", stored=1)
    held = run.send("broker-a", RequestCode5.POP_LITE_MESSAGE, fields, peer="consumer")
    run.nothing_comes("consumer")
    ack_lite(run, topic, group, popped[0])
    held.answer()
    lite_store(run, topic, "c", "3")
    held = run.send("broker-a", RequestCode5.POP_LITE_MESSAGE, fields, peer="consumer")
    subscribe(run, "PARTIAL_ADD", group, topic, ["c"], peer="third")
    held.answer()
    run.note("in vain")
    run.answer_within(waits, 5_000)


@scenario("lite: exclusive, so the last client has a lite topic", config=LITE, releases=FIVE)
def lite_exclusive(run: Run) -> None:
    topic = lite_topic(run, "SLiteExclusive")
    group = lite_group(run, "GLiteExclusive", topic, model="Exclusive")
    lite_store(run, topic, "a", "1")
    lite_store(run, topic, "b", "2")
    subscribe(
        run,
        "PARTIAL_ADD",
        group,
        topic,
        ["a", "b"],
        peer="first",
        clientId=client_of(group, "first"),
    )
    pop_lite(run, topic, group, peer="first", clientId=client_of(group, "first"), maxMsgNum=1)
    run.note("another client")
    subscribe(
        run, "PARTIAL_ADD", group, topic, ["a"], peer="second", clientId=client_of(group, "second")
    )
    run.take_request("first", "broker-a", 2_000)
    lite_store(run, topic, "a", "3", stored=1)
    pop_lite(run, topic, group, peer="second", clientId=client_of(group, "second"))
    run.note("the same client again, which is notified, too; and with all that it has")
    subscribe(
        run, "PARTIAL_ADD", group, topic, ["a"], peer="second", clientId=client_of(group, "second")
    )
    subscribe(
        run, "COMPLETE_ADD", group, topic, ["a"], peer="first", clientId=client_of(group, "first")
    )
    run.nothing_comes("second")
    info = {"parentTopic": topic, "liteTopic": "a"}
    run.ask("broker-a", RequestCode5.GET_LITE_TOPIC_INFO, info)


@scenario("lite: exclusive, and another client begins anew", config=LITE, releases=FIVE)
def lite_exclusive_reset(run: Run) -> None:
    topic = lite_topic(run, "SLiteAnew")
    group = lite_group(run, "GLiteAnew", topic, model="Exclusive", reset_offset_exclusive="true")
    lite_store(run, topic, "a", "1", "2")
    subscribe(
        run, "PARTIAL_ADD", group, topic, ["a"], peer="first", clientId=client_of(group, "first")
    )
    for popped in pop_lite(run, topic, group, peer="first", clientId=client_of(group, "first")):
        ack_lite(run, topic, group, popped)
    committed(run, topic, "a", group)
    subscribe(
        run, "PARTIAL_ADD", group, topic, ["a"], peer="second", clientId=client_of(group, "second")
    )
    run.take_request("first", "broker-a", 2_000)
    committed(run, topic, "a", group)
    pop_lite(run, topic, group, peer="second", clientId=client_of(group, "second"))


@scenario("lite: where a subscription begins", config=LITE, releases=FIVE)
def lite_offsets(run: Run) -> None:
    topic = lite_topic(run, "SLiteOffsets")
    group = lite_group(run, "GLiteOffsets", topic)
    options: dict[str, dict[str, object]] = {
        "last": {"type": "POLICY", "value": 0},
        "min": {"type": "POLICY", "value": 1},
        "max": {"type": "POLICY", "value": 2},
        "offset": {"type": "OFFSET", "value": 1},
        "far": {"type": "OFFSET", "value": 9},
        "below": {"type": "OFFSET", "value": -1},
        "tail": {"type": "TAIL_N", "value": 2},
        "time": {"type": "TIMESTAMP", "value": 0},
    }
    for lite, option in options.items():
        lite_store(run, topic, lite, "1", "2", "3")
        subscribe(run, "PARTIAL_ADD", group, topic, [lite], offsetOption=option)
        committed(run, topic, lite, group)
        pop_lite(run, topic, group)
        committed(run, topic, lite, group)
    run.note("a group that has consumed: two before its offset")
    subscribe(run, "PARTIAL_REMOVE", group, topic, ["min"])
    fields = offset_fields(queue_of(topic, "min"), group, commitOffset=3)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields)
    subscribe(run, "PARTIAL_ADD", group, topic, ["min"], offsetOption=options["tail"])
    committed(run, topic, "min", group)
    pop_lite(run, topic, group)


@scenario("lite: all subscriptions of a client at once", config=LITE, releases=FIVE)
def lite_complete(run: Run) -> None:
    topic = lite_topic(run, "SLiteAll")
    group = lite_group(run, "GLiteAll", topic)
    client = {"parentTopic": topic, "group": group, "clientId": client_of(group)}
    info = RequestCode5.GET_LITE_CLIENT_INFO
    lite_store(run, topic, "a", "1")
    subscribe(run, "COMPLETE_ADD", group, topic, ["a", "b"])
    run.ask("broker-a", info, client)
    pop_lite(run, topic, group)
    subscribe(run, "COMPLETE_ADD", group, topic, ["b", "c"])
    run.ask("broker-a", info, client)
    lite_store(run, topic, "a", "2", stored=1)
    pop_lite(run, topic, group)
    subscribe(run, "COMPLETE_ADD", group, topic)
    run.ask("broker-a", info, client)
    subscribe(run, "COMPLETE_ADD", group, topic, ["d"])
    subscribe(run, "COMPLETE_REMOVE", group, topic)
    run.ask("broker-a", info, client)
    run.note("removed twice, and a part of nothing")
    subscribe(run, "COMPLETE_REMOVE", group, topic)
    subscribe(run, "PARTIAL_REMOVE", group, topic, ["d"])
    run.ask("broker-a", info, client)


@scenario("lite: begins anew after an unsubscription", config=LITE, releases=FIVE)
def lite_unsubscribe_reset(run: Run) -> None:
    topic = lite_topic(run, "SLiteUnsub")
    group = lite_group(run, "GLiteUnsub", topic, reset_offset_unsubscribe="true")
    lite_store(run, topic, "a", "1", "2")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    for popped in pop_lite(run, topic, group):
        ack_lite(run, topic, group, popped)
    committed(run, topic, "a", group)
    subscribe(run, "PARTIAL_REMOVE", group, topic, ["a"])
    committed(run, topic, "a", group)
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    pop_lite(run, topic, group)


@scenario("lite: a group of all lite topics", config=LITE, releases=FIVE, real_s=2)
def lite_wildcard(run: Run) -> None:
    topic = lite_topic(run, "SLiteWild")
    group = lite_group(run, "GLiteWild", topic, wildcard="true")
    run.note("parts are refused")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    subscribe(run, "COMPLETE_ADD", group, topic)
    client = {"parentTopic": topic, "group": group, "clientId": client_of(group)}
    run.ask("broker-a", RequestCode5.GET_LITE_CLIENT_INFO, client)
    fields = pop_lite_fields(topic, group, pollTime=5_000)
    held = run.send("broker-a", RequestCode5.POP_LITE_MESSAGE, fields, peer="consumer")
    lite_send(run, topic, "a", "1")
    popped = lite_handles(held.answer())
    ack_lite(run, topic, group, popped[0])
    held = run.send("broker-a", RequestCode5.POP_LITE_MESSAGE, fields, peer="consumer")
    lite_send(run, topic, "b", "2")
    held.answer()
    run.ask("broker-a", RequestCode5.GET_LITE_TOPIC_INFO, {"parentTopic": topic, "liteTopic": "a"})


@scenario(
    "lite: what tools ask, and what they are refused",
    config={**LITE, "liteLagLatencyCollectEnable": "true"},
    releases=FIVE,
)
def lite_admin(run: Run) -> None:
    topic = lite_topic(run, "SLiteAdmin", lite_topic_expiration="30")
    group = lite_group(run, "GLiteAdmin", topic)
    usual, usual_group = run.topic("SLiteAdminUsual"), run.group("GLiteAdminUsual")
    lite_store(run, topic, "a", "1", "2", "3")
    lite_store(run, topic, "b", "4")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a", "b", "c"])
    popped = pop_lite(run, topic, group, maxMsgNum=1)
    ack_lite(run, topic, group, popped[0])
    parent, lite = RequestCode5.GET_PARENT_TOPIC_INFO, RequestCode5.GET_LITE_TOPIC_INFO
    run.ask("broker-a", parent, {"topic": "SNowhere"})
    run.ask("broker-a", parent, {"topic": usual})
    run.ask("broker-a", parent, {"topic": topic})
    for name in ("a", "none", ""):
        run.ask("broker-a", lite, {"parentTopic": topic, "liteTopic": name})
    run.ask("broker-a", lite, {"parentTopic": "SNowhere", "liteTopic": "a"})
    run.ask("broker-a", lite, {"parentTopic": usual, "liteTopic": "a"})
    run.ask("broker-a", lite, {})
    client = RequestCode5.GET_LITE_CLIENT_INFO
    whole = {"parentTopic": topic, "group": group, "clientId": client_of(group), "maxCount": 1000}
    run.ask("broker-a", client, whole)
    for changes in (
        {"clientId": "stranger"},
        {"group": "GNowhere"},
        {"group": usual_group},
        {"parentTopic": usual},
        {"parentTopic": "SNowhere"},
        {"maxCount": 0},
    ):
        run.ask("broker-a", client, whole | changes)
    of_group = RequestCode5.GET_LITE_GROUP_INFO
    for fields in (
        {"group": group, "topK": 10},
        {"group": group, "liteTopic": "a", "topK": 10},
        {"group": group, "liteTopic": "c", "topK": 10},
        {"group": "GNowhere", "topK": 10},
        {"group": usual_group, "topK": 10},
        {"group": group},
        {},
    ):
        run.ask("broker-a", of_group, fields)
    run.ask("broker-a", RequestCode5.GET_BROKER_LITE_INFO)
    trigger = RequestCode5.TRIGGER_LITE_DISPATCH
    run.ask("broker-a", trigger, {"group": group, "clientId": client_of(group)})
    run.ask("broker-a", trigger, {"group": group})
    run.ask("broker-a", trigger, {"group": group, "clientId": "stranger"})
    run.ask("broker-a", trigger, {"group": "GNowhere"})
    run.ask("broker-a", trigger, {"group": usual_group})


@scenario("lite: offsets by time, and a parent that is deleted", config=LITE, releases=FIVE)
def lite_deleted(run: Run) -> None:
    topic = lite_topic(run, "SLiteGone")
    group = lite_group(run, "GLiteGone", topic)
    lite_store(run, topic, "a", "1", "2")
    code = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
    for fields in ({"liteTopic": "a"}, {"liteTopic": "none"}, {"liteTopic": "a", "queueId": 1}, {}):
        run.ask("broker-a", code, {"topic": topic, "queueId": 0, "timestamp": 1} | fields)
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    for popped in pop_lite(run, topic, group):
        ack_lite(run, topic, group, popped)
    committed(run, topic, "a", group)
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    limits(run, topic, "a")
    committed(run, topic, "a", group)
    client = {"parentTopic": topic, "group": group, "clientId": client_of(group)}
    run.ask("broker-a", RequestCode5.GET_LITE_CLIENT_INFO, client)
    run.note("made again")
    lite_topic(run, "SLiteGone")
    run.ask("broker-a", RequestCode5.GET_LITE_CLIENT_INFO, client)
    lite_store(run, topic, "a", "3")
    limits(run, topic, "a")
    pop_lite(run, topic, group)
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    pop_lite(run, topic, group)


@scenario("lite: with brokers that have no light queues", releases=FIVE)
def lite_without_queues(run: Run) -> None:
    topic = lite_topic(run, "SLiteOff")
    group = lite_group(run, "GLiteOff", topic)
    lite_send(run, topic, "a", "1")
    run.until_stored("broker-a", topic, 1)
    run.pull(topic)
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    pop_lite(run, topic, group)
    limits(run, topic, "a")
    run.ask("broker-a", RequestCode5.GET_LITE_TOPIC_INFO, {"parentTopic": topic, "liteTopic": "a"})


@scenario(
    "lite: more than the broker allows",
    config={**LITE, "maxLmqConsumeQueueNum": "2", "maxLiteSubscriptionCount": "3"},
    releases=FIVE,
)
def lite_too_many(run: Run) -> None:
    topic = lite_topic(run, "SLiteMany")
    group = lite_group(run, "GLiteMany", topic)
    for number, lite in enumerate(("a", "b", "c", "d")):
        lite_send(run, topic, lite, str(number), number)
        if number < 2:
            run.until_stored("broker-a", queue_of(topic, lite), 1)
    run.until_stored("broker-a", topic, 4)
    subscribe(run, "PARTIAL_ADD", group, topic, ["a", "b"])
    subscribe(run, "PARTIAL_ADD", group, topic, ["c", "d"])
    run.note("at the limit")
    subscribe(run, "PARTIAL_ADD", group, topic, ["e"])
    subscribe(run, "COMPLETE_ADD", group, topic, ["a", "b", "c", "d", "e"])
    subscribe(run, "PARTIAL_REMOVE", group, topic, ["a", "b", "c"])
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    pop_lite(run, topic, group)


@scenario(
    "lite: a lite topic without new messages expires",
    config={**LITE, "minLiteTTl": "1000", "liteTtlCheckInterval": "2000"},
    releases=FIVE,
    real_s=70,
)
def lite_expires(run: Run) -> None:
    topic = lite_topic(run, "SLiteExpires", lite_topic_expiration="1")
    kept = lite_topic(run, "SLiteStays")
    group = lite_group(run, "GLiteExpires", topic)
    lite_store(run, topic, "a", "1", "2")
    lite_store(run, kept, "a", "3")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    popped = pop_lite(run, topic, group, maxMsgNum=1)
    ack_lite(run, topic, group, popped[0])
    committed(run, topic, "a", group)
    run.pass_time(30_000)
    limits(run, topic, "a")
    run.wait(lambda: run.max_offset("broker-a", queue_of(topic, "a")) == 0, 20 * 60_000, "its end")
    limits(run, topic, "a")
    limits(run, kept, "a")
    committed(run, topic, "a", group)
    client = {"parentTopic": topic, "group": group, "clientId": client_of(group)}
    run.ask("broker-a", RequestCode5.GET_LITE_CLIENT_INFO, client)
    run.note("it begins again")
    lite_store(run, topic, "a", "4")
    subscribe(run, "PARTIAL_ADD", group, topic, ["a"])
    pop_lite(run, topic, group)
    run.pull(topic)
