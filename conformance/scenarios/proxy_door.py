"""The remoting port of a proxy of 5.5.0: what clients that know no gRPC are answered."""

# Over 400 lines: one family of scenarios, with the helpers that they share.

from __future__ import annotations

from typing import Any

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.hostility import ANSWER_TIMEOUT_S, Conversation, probe_of
from conformance.targets.java_jars import NEWEST
from conformance.wire.peer import Answer, Body
from conformance.wire.pops import handles, pop_fields
from conformance.wire.raw import frame
from conformance.wire.requests import (
    COMMIT,
    GROUP,
    HELD,
    PREPARED,
    ROLLBACK,
    UNIQUE_ID,
    batch,
    end_fields,
    heartbeat,
    message_queue,
    offset_fields,
    place_of,
    producer_heartbeat,
    properties,
    pull_fields,
    queue_fields,
    send_back_fields,
    send_fields,
    send_v2_fields,
)
from conformance.wire.rpcs import FRONT, typed_group, typed_topic
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.offset import QueryConsumerOffsetRequestHeader
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from fakemq.protocol.v5.codes import RequestCode5

DOOR = "proxy"
BROKER: dict[str, Any] = {"bname": "broker-a"}
"""The field by which clients of 5.x say to which broker a request goes."""
CHECKED = FRONT | {"transactionCheckInterval": "3000", "transactionTimeOut": "1000"}
CHECK_MS = 40_000
"""A broker asks within this time: it knows of producers behind a proxy after 20 s."""
SILENCE_MS = 1_500
"""What is not answered within this time is never answered."""
ONLY_5_5 = (NEWEST,)
UNKNOWN = 3


def send(run: Run, topic: str, body: str = "x", *, text: str = "", **more: object) -> Answer:
    """Send a message by the form that Java's client of 5.x uses."""
    fields = send_v2_fields(topic, i=text, n="broker-a") | more
    return run.ask(DOOR, RequestCode.SEND_MESSAGE_V2, fields, body)


def pull(run: Run, topic: str, offset: int = 0, **more: object) -> Answer:
    fields = pull_fields(topic, offset, **(BROKER | more))
    return run.ask(DOOR, RequestCode.PULL_MESSAGE, fields, peer="consumer")


def never(run: Run, code: int, fields: dict[str, object], body: Body = b"") -> None:
    """Send a request that is not answered, on a connection of its own.

    Java's proxy numbers a request anew before it passes it on, and restores the number if there is
    an answer. So the client of a request that fails gets an answer that fits none of its requests.
    """
    pending = run.send(DOOR, code, fields, body, peer="unanswered")
    run.pass_time(SILENCE_MS)
    assert not pending.has_come(), f"{code} is answered"
    run.note("no answer")
    run.close("unanswered", DOOR)


@scenario("remoting at a proxy: routes name the proxy", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_routes(run: Run) -> None:
    topic = typed_topic(run, "DRoute", queues=2, brokers=("broker-a", "broker-b"))
    route = RequestCode.GET_ROUTEINFO_BY_TOPIC
    run.ask(DOOR, route, {"topic": topic})
    run.note("of a client before 4.9.4, which may ask for standard JSON")
    run.ask(DOOR, route, {"topic": topic}, version=399)
    run.ask(DOOR, route, {"topic": topic, "acceptStandardJsonOnly": True}, version=399)
    run.note("no such topic, no name, no fields; a broker is a topic, too")
    run.ask(DOOR, route, {"topic": "DNowhere"})
    run.ask(DOOR, route, {"topic": ""})
    run.ask(DOOR, route, {})
    run.ask(DOOR, route)
    run.ask(DOOR, route, {"topic": "broker-a"})
    run.note("a binary header")
    run.ask(DOOR, route, {"topic": topic}, binary=True)


@scenario("remoting at a proxy: sends", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_sends(run: Run) -> None:
    topic = typed_topic(run, "DSend", queues=2)
    long_form = send_fields(topic) | BROKER
    send(run, topic)
    run.ask(DOOR, RequestCode.SEND_MESSAGE, long_form, "x")
    fields = send_v2_fields(topic, n="broker-a", m=True)
    run.ask(DOOR, RequestCode.SEND_BATCH_MESSAGE, fields, batch(b"x", b"y"))
    run.note("a binary header")
    run.ask(DOOR, RequestCode.SEND_MESSAGE, long_form, "x", binary=True)
    run.note("no name of a broker, as from the client of Go")
    run.ask(DOOR, RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic), "x")
    run.ask(DOOR, RequestCode.SEND_MESSAGE, send_fields(topic), "x")
    run.ask(DOOR, RequestCode.SEND_BATCH_MESSAGE, send_v2_fields(topic, m=True), batch(b"x"))
    run.note("the name in the other form")
    run.ask(DOOR, RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic) | BROKER, "x")
    run.ask(DOOR, RequestCode.SEND_MESSAGE, send_fields(topic, n="broker-a"), "x")
    run.note("no such broker, an empty name, another broker than that of the topic")
    never(run, RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic, n="broker-z"), "x")
    never(run, RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic, n=""), "x")
    send(run, topic, n="broker-b")
    run.note("what the broker refuses")
    send(run, topic, e=9)
    send(run, "DNowhere")
    send(run, "D no name")
    run.note("one-way")
    one_way = send_v2_fields(topic, n="broker-a")
    run.send(DOOR, RequestCode.SEND_MESSAGE_V2, one_way, "x", peer="quick", oneway=True)
    nameless = send_v2_fields(topic)
    run.send(DOOR, RequestCode.SEND_MESSAGE_V2, nameless, "x", peer="quick", oneway=True)
    run.until_stored("broker-a", topic, 6)
    run.nothing_comes("quick", place=DOOR)
    pull(run, topic)
    run.note("no fields, and none that a send has")
    run.ask(DOOR, RequestCode.SEND_MESSAGE_V2)
    run.ask(DOOR, RequestCode.SEND_MESSAGE_V2, {"n": "broker-a"})
    run.ask(DOOR, RequestCode.SEND_MESSAGE, BROKER)


@scenario("remoting at a proxy: types of topics", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_types(run: Run) -> None:
    texts = {
        "NORMAL": "",
        "FIFO": properties(__SHARDINGKEY="k"),
        "DELAY": properties(DELAY="1"),
        "TRANSACTION": properties(TRAN_MSG="true", PGROUP="PDoor", UNIQ_KEY=UNIQUE_ID.format(0)),
    }
    for message_type in texts:
        topic = typed_topic(run, f"DType{message_type}", message_type)
        for sent, text in texts.items():
            run.note(f"{sent} to {message_type}")
            flag = PREPARED if sent == "TRANSACTION" else 0
            run.ask(
                *(DOOR, RequestCode.SEND_MESSAGE_V2),
                send_v2_fields(topic, i=text, n="broker-a", f=flag),
                "x",
                hidden=("queueOffset",),
            )
    run.note("from another cluster, to a retry topic, to a dead letter topic")
    send(run, "DTypeFIFO", text=properties(TRANSFER_FLAG="true"))
    send(run, "%RETRY%GDoor", text=properties(DELAY="1"))
    send(run, "%DLQ%GDoor", text=properties(DELAY="1"))


@scenario("remoting at a proxy: pulls", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_pulls(run: Run) -> None:
    topic = typed_topic(run, "DPull")
    run.store(topic, "a", "b")
    pull(run, topic)
    pull(run, topic, 2)
    pull(run, topic, 9)
    run.note("a filter; one that is none")
    pull(run, topic, subscription="b")
    pull(run, topic, subscription="a >", expressionType="SQL92")
    run.note("without a subscription, before a heartbeat")
    pull(run, topic, sysFlag=0, subscription="", expressionType="")
    run.note("after it, of what it names and of another topic")
    run.ask(DOOR, RequestCode.HEART_BEAT, {}, heartbeat("c@1", GROUP, topic, expression="b"))
    pull(run, topic, sysFlag=0, subscription="", expressionType="")
    pull(run, "DPullOther", sysFlag=0, subscription="", expressionType="")
    run.note("as LITE_PULL_MESSAGE")
    fields = pull_fields(topic, **BROKER)
    run.ask(DOOR, RequestCode.LITE_PULL_MESSAGE, fields, peer="consumer")
    run.note("no such topic, no such broker, no name of one")
    pull(run, "DNowhere")
    never(run, RequestCode.PULL_MESSAGE, pull_fields(topic, bname="broker-z"))
    run.ask(DOOR, RequestCode.PULL_MESSAGE, pull_fields(topic), peer="consumer")
    run.note("no fields that a pull has")
    run.ask(DOOR, RequestCode.PULL_MESSAGE, BROKER, peer="consumer")
    run.ask(DOOR, RequestCode.PULL_MESSAGE, peer="consumer")
    run.note("held, until a message comes")
    held = pull_fields(topic, 2, sysFlag=HELD, **BROKER)
    pending = run.send(DOOR, RequestCode.PULL_MESSAGE, held, peer="consumer")
    run.pass_time(500)
    run.store(topic, "c", stored=2)
    run.answer_within(pending, 5_000)


@scenario(
    "remoting at a proxy: a pull that is held in vain",
    config=FRONT,
    grpc=True,
    real_s=6,
    releases=ONLY_5_5,
)
def door_held_in_vain(run: Run) -> None:
    topic = typed_topic(run, "DHeld")
    held = pull_fields(topic, sysFlag=HELD, suspendTimeoutMillis=1, **BROKER)
    pending = run.send(DOOR, RequestCode.PULL_MESSAGE, held, peer="consumer")
    run.answer_within(pending, 8_000)


@scenario("remoting at a proxy: pops are not answered", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_pops(run: Run) -> None:
    topic = typed_topic(run, "DPop")
    run.store(topic, "a", "b")
    run.note("Java takes a pop for a pull")
    run.ask(DOOR, RequestCode5.POP_MESSAGE, pop_fields(topic, 0, **BROKER), peer="consumer")
    run.ask(DOOR, RequestCode5.POP_MESSAGE, pop_fields(topic, 0), peer="consumer")
    run.note("with the fields of a pull besides")
    both = pull_fields(topic) | pop_fields(topic, 0, **BROKER)
    answer = run.ask(DOOR, RequestCode5.POP_MESSAGE, both, peer="consumer")
    for handle in handles(answer.fields, answer.body)[:1]:
        fields = handle.fields(topic) | BROKER
        never(run, RequestCode5.ACK_MESSAGE, fields)
        fields = handle.fields(topic, invisibleTime=30_000) | BROKER
        never(run, RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, fields)
    never(run, RequestCode5.ACK_MESSAGE, {})


@scenario("remoting at a proxy: members of groups", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_members(run: Run) -> None:
    topic = typed_topic(run, "DMembers")
    group = {"consumerGroup": "GDoor"}

    def beat(name: str) -> None:
        body = heartbeat(f"{name}@1", "GDoor", topic, producers=("PDoor",))
        run.ask(DOOR, RequestCode.HEART_BEAT, {}, body, peer=name)

    def known() -> None:
        run.ask(DOOR, RequestCode.GET_CONSUMER_LIST_BY_GROUP, group)
        run.ask(DOOR, RequestCode.GET_CONSUMER_CONNECTION_LIST, group)

    run.note("no member is there; no group is named")
    known()
    run.ask(DOOR, RequestCode.GET_CONSUMER_LIST_BY_GROUP, {})
    run.ask(DOOR, RequestCode.GET_CONSUMER_CONNECTION_LIST, {})
    run.note("the first member, twice, and the second: no news for the first")
    beat("first")
    beat("first")
    beat("second")
    run.nothing_comes("first", place=DOOR)
    known()
    run.note("brokers know none of them")
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, group)
    run.note("by another member's connection, by its own, as a producer, of no group")
    leaving = {"clientID": "first@1", **group}
    run.ask(DOOR, RequestCode.UNREGISTER_CLIENT, leaving, peer="stranger")
    known()
    run.ask(DOOR, RequestCode.UNREGISTER_CLIENT, leaving, peer="first")
    run.ask(DOOR, RequestCode.UNREGISTER_CLIENT, leaving, peer="first")
    of_producer = {"clientID": "first@1", "producerGroup": "PDoor"}
    run.ask(DOOR, RequestCode.UNREGISTER_CLIENT, of_producer, peer="first")
    run.ask(DOOR, RequestCode.UNREGISTER_CLIENT, {"clientID": "first@1"}, peer="first")
    run.ask(DOOR, RequestCode.UNREGISTER_CLIENT, {}, peer="first")
    run.nothing_comes("second", place=DOOR)
    known()
    run.note("the second's connection ends")
    run.hang_up("second", DOOR)

    def is_over() -> bool:
        with Conversation(run.addrs[DOOR]) as conversation:
            conversation.send(frame(RequestCode.GET_CONSUMER_CONNECTION_LIST, group))
            conversation.receive(1, ANSWER_TIMEOUT_S)
            return conversation.came[0].code != 0

    run.until(is_over, "the end of the group")
    known()


@scenario("remoting at a proxy: odd heartbeats", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_heartbeats(run: Run) -> None:
    topic = typed_topic(run, "DBeats")
    check = RequestCode.HEART_BEAT
    run.note("no body, one that is none, one without groups, without an id")
    run.ask(DOOR, check, {})
    run.ask(DOOR, check, {}, "x")
    run.ask(DOOR, check, {}, {"clientID": "c@1", "consumerDataSet": [], "producerDataSet": []})
    run.ask(DOOR, check, {}, {"consumerDataSet": [], "producerDataSet": []})
    run.ask(DOOR, check, {}, {"clientID": "c@1"})
    run.note("a group without a name; a producer without one")
    nameless = heartbeat("c@1", "", topic)
    run.ask(DOOR, check, {}, nameless)
    run.ask(DOOR, check, {}, producer_heartbeat("c@1", ""))
    run.note("with a fingerprint, as clients of 5.x may send it")
    body = heartbeat("c@1", "GBeats", topic) | {"heartbeatFingerprint": 7, "isWithoutSub": True}
    run.ask(DOOR, check, {}, body)
    run.note("the check of a client's config: nothing is checked")
    run.ask(DOOR, RequestCode.CHECK_CLIENT_CONFIG, {}, "x")
    run.ask(DOOR, RequestCode.CHECK_CLIENT_CONFIG)


@scenario("remoting at a proxy: offsets", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_offsets(run: Run) -> None:
    topic = typed_topic(run, "DOffsets")
    run.store(topic, "a", "b", "c")
    queue = queue_fields(topic) | BROKER
    run.note("a group that no broker knows has no offset")
    unknown = offset_fields(topic, "GOffsetsOther") | BROKER
    run.ask(DOOR, RequestCode.UPDATE_CONSUMER_OFFSET, unknown | {"commitOffset": 2})
    typed_group(run, GROUP, retryMaxTimes=2)
    of_group = offset_fields(topic) | BROKER
    run.ask(DOOR, RequestCode.GET_MAX_OFFSET, queue)
    run.ask(DOOR, RequestCode.GET_MIN_OFFSET, queue)
    run.ask(DOOR, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, queue | {"timestamp": 0})
    run.note("not for proxies")
    run.ask(DOOR, RequestCode.GET_EARLIEST_MSG_STORETIME, queue)
    run.note("of a group: none, one, a new one")
    run.ask(DOOR, RequestCode.QUERY_CONSUMER_OFFSET, of_group)
    run.ask(DOOR, RequestCode.UPDATE_CONSUMER_OFFSET, of_group | {"commitOffset": 2})
    run.ask(DOOR, RequestCode.QUERY_CONSUMER_OFFSET, of_group)
    run.note("one-way, as clients commit")
    late = of_group | {"commitOffset": 3}
    run.send(DOOR, RequestCode.UPDATE_CONSUMER_OFFSET, late, oneway=True)

    def offset() -> str:
        header = QueryConsumerOffsetRequestHeader(consumer_group=GROUP, topic=topic, queue_id=0)
        command = run.client.instance.command(RequestCode.QUERY_CONSUMER_OFFSET, header)
        return run.client.invoke(run.addrs["broker-a"], command).ext_fields["offset"]

    run.until(lambda: offset() == "3", "the offset 3")
    run.ask(DOOR, RequestCode.QUERY_CONSUMER_OFFSET, of_group)
    run.note("no name of a broker, no such broker, no such queue, no fields")
    run.ask(DOOR, RequestCode.GET_MAX_OFFSET, queue_fields(topic))
    run.ask(DOOR, RequestCode.QUERY_CONSUMER_OFFSET, offset_fields(topic))
    run.ask(DOOR, RequestCode.UPDATE_CONSUMER_OFFSET, offset_fields(topic) | {"commitOffset": 1})
    never(run, RequestCode.GET_MAX_OFFSET, queue_fields(topic, bname="broker-z"))
    run.ask(DOOR, RequestCode.GET_MAX_OFFSET, queue_fields(topic, 7, **BROKER))
    run.ask(DOOR, RequestCode.GET_MAX_OFFSET)
    run.ask(DOOR, RequestCode.GET_MAX_OFFSET, BROKER)


@scenario("remoting at a proxy: locks of queues", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_locks(run: Run) -> None:
    topic = typed_topic(run, "DLocks", queues=2, brokers=("broker-a", "broker-b"))

    def body(*queues: dict[str, object]) -> dict[str, object]:
        return {"clientId": "c@1", "consumerGroup": "GLocks", "mqSet": list(queues)}

    lock, unlock = RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ
    first, second = message_queue(topic, 0), message_queue(topic, 1)
    run.ask(DOOR, lock, {}, body(first))
    run.ask(DOOR, lock, {}, body(first, second) | {"clientId": "other@1"})
    run.ask(DOOR, unlock, {}, body(first, second))
    run.ask(DOOR, lock, {}, body(first) | {"clientId": "other@1"})
    run.note("no queue, a broker that is not there, a queue without one, no body")
    for code in (lock, unlock):
        run.ask(DOOR, code, {}, body())
        never(run, code, {}, body(message_queue(topic, 0, "broker-z")))
        never(run, code, {}, body({"topic": topic, "queueId": 0}))
        run.ask(DOOR, code, {})
        run.ask(DOOR, code, {}, "x")


@scenario(
    "remoting at a proxy: messages that are sent back", config=FRONT, grpc=True, releases=ONLY_5_5
)
def door_send_back(run: Run) -> None:
    topic = typed_topic(run, "DBack")
    place = place_of(send(run, topic).fields)
    back = RequestCode.CONSUMER_SEND_MSG_BACK
    fields = send_back_fields("GBack", place, 1, originTopic=topic, originMsgId="", **BROKER)
    run.ask(DOOR, back, fields, hidden=("offset",))
    del fields["bname"]
    run.ask(DOOR, back, fields, hidden=("offset",))
    never(run, back, fields | {"bname": "broker-z", "offset": 0})
    run.ask(DOOR, back, BROKER)


@scenario("remoting at a proxy: recalls", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_recalls(run: Run) -> None:
    delayed = typed_topic(run, "DRecall", "DELAY")
    normal = typed_topic(run, "DRecallNormal")
    due_ms = run.now_ms() + 60_000
    text = properties(TIMER_DELIVER_MS=str(due_ms), UNIQ_KEY=UNIQUE_ID.format(1))
    fields = send_v2_fields(delayed, i=text, n="broker-a")
    sent = run.ask(DOOR, RequestCode.SEND_MESSAGE_V2, fields, "x", hidden=("queueOffset", "i"))
    handle = sent.fields.get("recallHandle", "")
    recall = {"producerGroup": "PDoor", "topic": delayed, "recallHandle": handle}
    code = RequestCode5.RECALL_MESSAGE
    run.ask(DOOR, code, recall)
    run.ask(DOOR, code, recall | BROKER)
    run.note("another topic, an odd handle, no fields")
    run.ask(DOOR, code, recall | BROKER | {"topic": normal})
    run.ask(DOOR, code, recall | BROKER | {"recallHandle": "x"})
    run.ask(DOOR, code, BROKER)


@scenario(
    "remoting at a proxy: a transaction ends only after a check",
    config=CHECKED,
    grpc=True,
    real_s=60,
    releases=ONLY_5_5,
)
def door_transactions(run: Run) -> None:
    # Brokers take a prepared message at the beginning of a log for one that is not prepared.
    send(run, typed_topic(run, "DFilled"))
    topic = typed_topic(run, "DTransaction", "TRANSACTION")
    group = "PDoorTransactions"
    beat = producer_heartbeat("producer@1", group)
    run.ask(DOOR, RequestCode.HEART_BEAT, {}, beat, peer="producer")

    def prepare(number: int) -> Answer:
        key = UNIQUE_ID.format(number)
        text = properties(UNIQ_KEY=key, TRAN_MSG="true", PGROUP=group, TAGS="t")
        fields = send_v2_fields(topic, a=group, i=text, f=PREPARED, g=run.now_ms(), n="broker-a")
        return run.ask(
            DOOR,
            RequestCode.SEND_MESSAGE_V2,
            fields,
            f"half {number}",
            peer="producer",
            offsets={"queueOffset": TRANS_HALF_TOPIC},
        )

    run.shared(TRANS_HALF_TOPIC)
    half = prepare(1)
    run.note("at once, as clients do, and with an answer: it has no effect")
    fields = end_fields(group, half.fields, 1, COMMIT, topic=topic, **BROKER)
    hidden = ("commitLogOffset",)
    run.send(DOOR, RequestCode.END_TRANSACTION, fields, peer="producer", oneway=True, hidden=hidden)
    run.ask(DOOR, RequestCode.END_TRANSACTION, fields, peer="producer", hidden=hidden)
    run.ask(DOOR, RequestCode.END_TRANSACTION, {}, peer="producer")
    run.ask(DOOR, RequestCode.END_TRANSACTION, peer="producer")
    run.note("the producer is asked, and then it has")
    check = run.take_request("producer", DOOR, CHECK_MS)
    asked = check.fields or {}
    said = {
        "producerGroup": group,
        "topic": topic,
        "tranStateTableOffset": asked["tranStateTableOffset"],
        "commitLogOffset": asked["commitLogOffset"],
        "commitOrRollback": COMMIT,
        "fromTransactionCheck": True,
        "msgId": asked.get("msgId", ""),
        "transactionId": asked.get("transactionId", ""),
        **BROKER,
    }
    run.ask(DOOR, RequestCode.END_TRANSACTION, said, peer="producer")
    run.until_stored("broker-a", topic, 1)
    run.note("a second time")
    run.ask(DOOR, RequestCode.END_TRANSACTION, said | {"commitOrRollback": ROLLBACK})
    pull(run, topic)


@scenario(
    "remoting at a proxy: a broker that is down",
    config=FRONT,
    grpc=True,
    real_s=12,
    releases=ONLY_5_5,
    stops=True,
)
def door_broker_down(run: Run) -> None:
    topic = typed_topic(run, "DDown", brokers=("broker-a", "broker-b"))
    place: dict[str, Any] = {"bname": "broker-b"}
    run.ask(DOOR, RequestCode.GET_MAX_OFFSET, queue_fields(topic, **place))
    run.kill("broker-b")
    never(run, RequestCode.GET_MAX_OFFSET, queue_fields(topic, **place))
    never(run, RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic, n="broker-b"), "x")
    run.note("its topic is routed still; another broker serves")
    run.ask(DOOR, RequestCode.GET_MAX_OFFSET, queue_fields(topic, **BROKER))
    run.start("broker-b")


@scenario("remoting at a proxy: which codes it knows", config=FRONT, grpc=True, releases=ONLY_5_5)
def door_codes(run: Run) -> None:
    named = {int(code): code.name for code in (*RequestCode, *RequestCode5)}
    known = []
    for code, name in sorted(named.items()):
        with Conversation(run.addrs[DOOR]) as conversation:
            conversation.send(frame(code, {}, opaque=code))
            conversation.probe(probe_of(DOOR))
            if len(conversation.came) == 1:
                conversation.receive(1, 0.3)
            answers = [one.code for one in conversation.came if one.opaque == code]
        if answers != [UNKNOWN]:
            known.append(name)
            said = ", ".join(map(str, answers)) or "no answer"
            run.lines.append(f"{DOOR}  {name} ({code}): {said}")
    run.note(f"{len(named) - len(known)} more are not supported")
    run.ask(DOOR, 4_000)
