"""What brokers pass on to clients: resets, questions, replies."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import ENDS_ON_FOUR, scenario
from conformance.wire.peer import Pending
from conformance.wire.requests import (
    REFUSING,
    UNIQUE_ID,
    heartbeat,
    offset_fields,
    producer_heartbeat,
    properties,
    send_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode

NEWS_MS, SOON_MS = 4_000, 20
"""When a broker has asked, looked at so often."""
RELAY_MS = 12_000
"""When a broker has given a client up: 10 s."""
REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"


def online(run: Run, group: str, topic: str, *names: str) -> None:
    """Have these consumers, one after the other."""
    for number, name in enumerate(names):
        body = heartbeat(f"{name}@1", group, topic)
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer=name)
        for other in names[:number]:
            run.peer(other, "broker-a").take_requests()


def committed(run: Run, topic: str, group: str, *offsets: int) -> None:
    """Have these offsets of a group, queue by queue."""
    for queue_id, offset in enumerate(offsets):
        fields = offset_fields(topic, group, commitOffset=offset, queueId=queue_id)
        run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="admin")


def reset_fields(topic: str, group: str, timestamp_ms: int, is_force: bool) -> dict[str, object]:
    return {"topic": topic, "group": group, "timestamp": timestamp_ms, "isForce": is_force}


@scenario(
    "reset offsets: passed on to every consumer, in the language of the admin",
    releases=ENDS_ON_FOUR,
)
def reset_offset(run: Run) -> None:
    topic = run.topic("SReset", 2)
    group = "GReset"
    code = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
    for number in range(3):
        run.store(topic, "x", stored=number)
        run.pass_time(30)
    committed(run, topic, group, 1, 0)
    online(run, group, topic, "one", "two")
    second_ms = run.stored_at_ms("broker-a", topic, 2)
    for is_force in (False, True):
        run.note("to a time, forced" if is_force else "to a time: never forwards")
        fields = reset_fields(topic, group, second_ms, is_force)
        run.ask("broker-a", code, fields, peer="admin", hidden=("timestamp",))
        for name in ("one", "two"):
            run.take_request(name, "broker-a", NEWS_MS, SOON_MS)
    run.note("to the end, to the beginning, asked by a client of another language")
    for timestamp_ms, language in ((-1, "CPP"), (0, "CPP"), (0, "GO")):
        fields = reset_fields(topic, group, timestamp_ms, True)
        run.ask("broker-a", code, fields, peer="admin", language=language)
        for name in ("one", "two"):
            run.take_request(name, "broker-a", NEWS_MS, SOON_MS)
    run.note("what the broker has of them stays as it was")
    for queue_id in (0, 1):
        fields = offset_fields(topic, group, queueId=queue_id)
        run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, fields, peer="admin")


@scenario("reset offsets: refused")
def reset_offset_refused(run: Run) -> None:
    topic = run.topic("SResetRefused", 2)
    code = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET

    def reset(name: str, group: str) -> None:
        fields = reset_fields(name, group, 0, True)
        run.ask("broker-a", code, fields, peer="admin")

    run.note("no topic, no offset, an offset for one queue of two, no client online")
    reset("SNowhere", "GResetRefused")
    reset(topic, "GResetRefused")
    committed(run, topic, "GResetRefused", 1)
    reset(topic, "GResetRefused")
    committed(run, topic, "GResetRefused", 1, 1)
    reset(topic, "GResetRefused")
    run.note("a consumer too old")
    body = heartbeat("old@1", "GResetRefused", topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="old", version=10)
    reset(topic, "GResetRefused")
    run.note("nothing is said")
    run.ask("broker-a", code, {}, peer="admin")


@scenario("the state of consumers: asked of each")
def consumer_status(run: Run) -> None:
    topic = run.topic("SStatus")
    group = "GStatus"
    code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
    online(run, group, topic, "one")

    def ask(**more: object) -> Pending:
        fields = {"topic": topic, "group": group} | more
        return run.send("broker-a", code, fields, peer="admin")

    def table(offset: int) -> str:
        queue = f'{{"brokerName":"broker-a","queueId":0,"topic":"{topic}"}}'
        return f'{{"messageQueueTable":{{{queue}:{offset}}}}}'

    pending = ask()
    run.reply("one", "broker-a", run.take_request("one", "broker-a", NEWS_MS, SOON_MS), 0, table(7))
    pending.answer()
    run.note("one of two, by its client id")
    body = heartbeat("two@1", group, topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="two")
    run.peer("one", "broker-a").take_requests()
    pending = ask(clientAddr="two@1")
    run.reply("two", "broker-a", run.take_request("two", "broker-a", NEWS_MS, SOON_MS), 0, table(8))
    pending.answer()
    run.nothing_comes("one")
    run.note("no client of that name; one that fails")
    ask(clientAddr="three@1").answer()
    pending = ask(clientAddr="one@1")
    run.reply("one", "broker-a", run.take_request("one", "broker-a", NEWS_MS, SOON_MS), 1)
    pending.answer()
    run.note("a group that is not there")
    ask(group="GNowhere").answer()


@scenario("a consumer is asked how it runs")
def running_info(run: Run) -> None:
    topic = run.topic("SRunning")
    group = "GRunning"
    code = RequestCode.GET_CONSUMER_RUNNING_INFO
    online(run, group, topic, "one")
    fields = {"consumerGroup": group, "clientId": "one@1", "jstackEnable": True}
    for answer, said in ((0, '{"jstack":"here"}'), (1, b"")):
        pending = run.send("broker-a", code, fields | {"own": "x"}, peer="admin")
        asked = run.take_request("one", "broker-a", NEWS_MS, SOON_MS)
        run.reply("one", "broker-a", asked, answer, said)
        pending.answer()
    run.note("not there: another client, another group")
    run.ask("broker-a", code, fields | {"clientId": "two@1"}, peer="admin")
    run.ask("broker-a", code, fields | {"consumerGroup": "GNowhere"}, peer="admin")
    run.ask("broker-a", code, {"consumerGroup": group}, peer="admin")
    run.ask("broker-a", code, {}, peer="admin")
    run.note("too old to answer")
    body = heartbeat("old@1", group, topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="old", version=10)
    run.ask("broker-a", code, fields | {"clientId": "old@1"}, peer="admin")


@scenario("a consumer is asked, and says nothing", real_s=11)
def relay_in_vain(run: Run) -> None:
    topic = run.topic("SInVain")
    online(run, "GInVain", topic, "one")
    fields = {"consumerGroup": "GInVain", "clientId": "one@1"}
    code = RequestCode.GET_CONSUMER_RUNNING_INFO
    pending = run.send("broker-a", code, fields, peer="admin")
    asked = run.take_request("one", "broker-a", NEWS_MS, SOON_MS)
    run.answer_within(pending, RELAY_MS)
    run.note("its late answer belongs to no request")
    run.reply("one", "broker-a", asked, 0, "{}")
    run.peer("admin", "broker-a").nothing_comes()


@scenario("a consumer is given a message by hand")
def consume_directly(run: Run) -> None:
    topic = run.topic("SDirectly")
    group = "GDirectly"
    code = RequestCode.CONSUME_MESSAGE_DIRECTLY
    text = properties(TAGS="t", UNIQ_KEY=UNIQUE_ID.format(1))
    fields = send_v2_fields(topic, i=text)
    sent = run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "by hand", peer="producer")
    online(run, group, topic, "one")
    fields = {"consumerGroup": group, "clientId": "one@1", "msgId": sent.fields["msgId"]}
    pending = run.send("broker-a", code, fields, peer="admin")
    asked = run.take_request("one", "broker-a", NEWS_MS, SOON_MS)
    run.reply("one", "broker-a", asked, 0, '{"consumeResult":"CR_SUCCESS","order":false}')
    pending.answer()
    run.note("no client there; a message that is not; no id")
    run.ask("broker-a", code, fields | {"clientId": "two@1"}, peer="admin")
    away = sent.fields["msgId"][:16] + f"{10**15:016X}"
    run.ask("broker-a", code, fields | {"msgId": away}, peer="admin", hidden=("msgId",))
    del fields["msgId"]
    run.ask("broker-a", code, fields, peer="admin")


@scenario("offsets of a group are cloned")
def clone_offsets(run: Run) -> None:
    topic = run.topic("SClone", 2)
    other = run.topic("SCloneOther")
    committed(run, topic, "GCloneFrom", 3, 4)
    committed(run, other, "GCloneFrom", 5)

    def clone(destination: str, **more: object) -> None:
        fields = {"srcGroup": "GCloneFrom", "destGroup": destination, "offline": True} | more
        run.ask("broker-a", RequestCode.CLONE_GROUP_OFFSET, fields, peer="admin")
        for name, queue_id in ((topic, 0), (topic, 1), (other, 0)):
            fields = offset_fields(name, destination, queueId=queue_id)
            answer = run.peer("admin", "broker-a").quietly(
                RequestCode.QUERY_CONSUMER_OFFSET,
                {key: str(value) for key, value in fields.items()},
            )
            run.note(f"{name} {queue_id}: {answer.fields.get('offset')}")

    run.note("of one topic, of a topic that is not there, of every topic")
    clone("GCloneOne", topic=topic)
    clone("GCloneNone", topic="SNowhere")
    clone("GCloneAll", topic="")
    clone("GCloneEvery")
    run.note("while the group is online for another topic")
    online(run, "GCloneFrom", other, "one")
    clone("GCloneOnline", topic=topic, offline=False)
    clone("GCloneOffline", topic=topic, offline=True)
    run.note("nothing is said")
    run.ask("broker-a", RequestCode.CLONE_GROUP_OFFSET, {}, peer="admin")


@scenario("request and reply: passed on to the asking client")
def reply_message(run: Run) -> None:
    run.shared(REPLY_TOPIC)
    body = producer_heartbeat("asking@1", "PAsking")
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="asking")
    text = properties(
        CORRELATION_ID="c1", REPLY_TO_CLIENT="asking@1", TTL="3000", TAGS="t", MSG_TYPE="reply"
    )
    offsets = {"queueOffset": REPLY_TOPIC}
    for code, fields in (
        (RequestCode.SEND_REPLY_MESSAGE, send_fields(REPLY_TOPIC, properties=text, flag=7)),
        (RequestCode.SEND_REPLY_MESSAGE_V2, send_v2_fields(REPLY_TOPIC, i=text, j=2, f=1)),
    ):
        pending = run.send("broker-a", code, fields, "the reply", peer="answering", offsets=offsets)
        asked = run.take_request("asking", "broker-a", NEWS_MS, SOON_MS)
        run.reply("asking", "broker-a", asked)
        pending.answer()
    run.wait_stored(REPLY_TOPIC, 2, 2_000)
    run.note("stored as well")
    run.pull(REPLY_TOPIC)


@scenario("request and reply: what becomes of replies to an absent client")
def reply_to_absent_client(run: Run) -> None:
    run.shared(REPLY_TOPIC)
    body = producer_heartbeat("asking@1", "PAskingOnce")
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="asking")

    def reply(topic: str = REPLY_TOPIC, **pairs: str) -> Pending:
        fields = send_v2_fields(topic, i=properties(**pairs))
        offsets = {"queueOffset": REPLY_TOPIC}
        code = RequestCode.SEND_REPLY_MESSAGE_V2
        return run.send("broker-a", code, fields, "x", peer="answering", offsets=offsets)

    run.note("an unknown client, no client, one that does not want it")
    reply(REPLY_TO_CLIENT="stranger@1").answer()
    reply(CORRELATION_ID="c1").answer()
    pending = reply(REPLY_TO_CLIENT="asking@1")
    asked = run.take_request("asking", "broker-a", NEWS_MS, SOON_MS)
    run.reply("asking", "broker-a", asked, 1)
    pending.answer()
    run.note("topics that no client may send to, or that are not there")
    reply("SCHEDULE_TOPIC_XXXX", REPLY_TO_CLIENT="asking@1").answer()
    reply("no blanks", REPLY_TO_CLIENT="asking@1").answer()
    run.note("the asking client is gone")
    fields = {"clientID": "asking@1", "producerGroup": "PAskingOnce"}
    run.ask("broker-a", RequestCode.UNREGISTER_CLIENT, fields, peer="asking")
    reply(REPLY_TO_CLIENT="asking@1").answer()
    run.note("stored nevertheless")
    run.wait_stored(REPLY_TOPIC, 4, 2_000)
    run.pull(REPLY_TOPIC, 3)


@scenario("request and reply: the asking client is silent", real_s=11)
def reply_in_vain(run: Run) -> None:
    run.shared(REPLY_TOPIC)
    body = producer_heartbeat("asking@1", "PAskingInVain")
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="asking")
    fields = send_v2_fields(REPLY_TOPIC, i=properties(REPLY_TO_CLIENT="asking@1"))
    pending = run.send(
        "broker-a",
        RequestCode.SEND_REPLY_MESSAGE_V2,
        fields,
        "x",
        peer="answering",
        offsets={"queueOffset": REPLY_TOPIC},
    )
    run.take_request("asking", "broker-a", NEWS_MS, SOON_MS)
    run.answer_within(pending, RELAY_MS)


@scenario("request and reply: a broker that does not store them", config=REFUSING)
def reply_not_stored(run: Run) -> None:
    body = producer_heartbeat("asking@1", "PAskingOnly")
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="asking")
    fields = send_v2_fields(REPLY_TOPIC, i=properties(REPLY_TO_CLIENT="asking@1"))
    code = RequestCode.SEND_REPLY_MESSAGE_V2
    pending = run.send("broker-a", code, fields, "x", peer="answering")
    asked = run.take_request("asking", "broker-a", NEWS_MS, SOON_MS)
    run.reply("asking", "broker-a", asked)
    pending.answer()
    run.pass_time(200)
    run.pull(REPLY_TOPIC, consumerGroup="TOOLS_CONSUMER")
