"""Light queues: one message in many queues, and queues without a topic."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.requests import (
    HELD,
    UNIQUE_ID,
    batch,
    group_config,
    offset_fields,
    properties,
    pull_fields,
    queue_fields,
    send_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode

LMQ = {"enableLmq": "true", "enableMultiDispatch": "true"}
NAMED = "INNER_MULTI_DISPATCH"


def send(run: Run, topic: str, named: str | None, body: str = "x", **more: str) -> None:
    own = {} if named is None else {NAMED: named}
    fields = send_v2_fields(topic, i=properties(**own, **more))
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")


def limits(run: Run, topic: str, queue_id: int = 0) -> None:
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET):
        run.ask("broker-a", code, queue_fields(topic, queue_id))


@scenario("light queues: a message that names some", config=LMQ)
def light_queues(run: Run) -> None:
    topic = run.topic("SLight", 2)
    send(run, topic, "%LMQ%SLa,%LMQ%SLb", "1", KEYS="k", WAIT="true")
    send(run, topic, None, "2")
    send(run, topic, "%LMQ%SLb", "3", TAGS="t")
    send(run, topic, "%LMQ%SLa,,%LMQ%SLa,,", "4")
    send(run, topic, " ", "5")
    send(run, topic, ",", "6")
    run.until_stored("broker-a", topic, 6)
    run.pull(topic)
    for name in ("%LMQ%SLa", "%LMQ%SLb", "%LMQ%SLnone"):
        limits(run, name)
        run.pull(name)
    run.note("by a tag, and by a group that is light, too")
    run.pull("%LMQ%SLb", subscription="t", consumerGroup="%LMQ%GLight")
    run.note("another queue than the first")
    run.ask("broker-a", RequestCode.PULL_MESSAGE, pull_fields("%LMQ%SLa", queueId=1))
    run.note("what the name server knows")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "%LMQ%SLa"})


@scenario("light queues: sent to, and named, which count apart", config=LMQ)
def light_queue_sent_to(run: Run) -> None:
    topic = run.topic("SLightSent")
    light = "%LMQ%SLsent"
    for body in ("1", "2"):
        fields = send_fields(light, properties=properties(UNIQ_KEY=UNIQUE_ID.format(1)))
        run.ask("broker-a", RequestCode.SEND_MESSAGE, fields, body, peer="producer")
    run.ask("broker-a", RequestCode.SEND_MESSAGE, send_fields(light, 1), "1", peer="producer")
    run.until_stored("broker-a", light, 2)
    for body in ("3", "4", "5"):
        send(run, topic, light, body)
    run.until_stored("broker-a", topic, 3)
    limits(run, light)
    run.pull(light)


@scenario("light queues: usual topics that a message names", config=LMQ)
def named_usual_topics(run: Run) -> None:
    topic, other = run.topic("SNaming"), run.topic("SNamed")
    send(run, topic, f"{other},{topic}", "1")
    send(run, other, None, "2")
    send(run, topic, other, "3")
    run.until_stored("broker-a", other, 3)
    run.pull(topic)
    run.pull(other)


@scenario("light queues: a batch, a delay, half a transaction", config=LMQ)
def light_queues_of_others(run: Run) -> None:
    topic = run.topic("SLightOthers")
    run.note("members of a batch get no offsets")
    body = batch(b"one", b"two", text=properties(**{NAMED: "%LMQ%SLbatch"}))
    fields = send_v2_fields(topic, m=True)
    run.ask("broker-a", RequestCode.SEND_BATCH_MESSAGE, fields, body, peer="producer")
    run.note("offsets that the producer chose are replaced")
    send(run, topic, "%LMQ%SLown", "1", INNER_MULTI_QUEUE_OFFSET="7")
    run.until_stored("broker-a", topic, 3)
    run.pull(topic)
    limits(run, "%LMQ%SLbatch")
    limits(run, "%LMQ%SLown")


@scenario("light queues: pulls that wait", config=LMQ)
def light_pull_waits(run: Run) -> None:
    topic = run.topic("SLightWait")
    fields = pull_fields("%LMQ%SLwait", sysFlag=HELD)
    held = run.send("broker-a", RequestCode.PULL_MESSAGE, fields, peer="consumer")
    run.nothing_comes("consumer")
    send(run, topic, "%LMQ%SLwait", "1")
    held.answer()


@scenario("light queues: topics and groups that need no config, and offsets", config=LMQ)
def light_tables(run: Run) -> None:
    topic = run.topic("SLightTables")
    light, group = "%LMQ%SLtables", "%LMQ%GLtables"
    send(run, topic, light, "1")
    run.until_stored("broker-a", topic, 1)
    run.note("a light group has one offset in a topic, whatever the queue")
    query = RequestCode.QUERY_CONSUMER_OFFSET
    run.ask("broker-a", query, offset_fields(light, group))
    for queue_id in (0, 3):
        commit = offset_fields(light, group, queueId=queue_id, commitOffset=queue_id + 1)
        run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, commit)
        run.ask("broker-a", query, offset_fields(light, group))
    run.ask("broker-a", query, offset_fields(light, group, queueId=9))
    usual = offset_fields(light, "GLusual", queueId=0, commitOffset=5)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, usual)
    run.ask("broker-a", query, offset_fields(light, "GLusual"))
    run.note("a group's config, and a topic's: taken, not kept")
    body = group_config(group, consumeEnable=False)
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)
    run.pull(light, consumerGroup=group)
    create = {
        "topic": light,
        "defaultTopic": "TBW102",
        "readQueueNums": 3,
        "writeQueueNums": 3,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": False,
    }
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, create)
    run.ask("broker-a", RequestCode.PULL_MESSAGE, pull_fields(light, queueId=1))
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": light})
    run.note("deleted: it begins again")
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": light})
    limits(run, light)
    send(run, topic, light, "2")
    run.until_stored("broker-a", light, 1)
    run.pull(light)


@scenario(
    "light queues: more than the broker allows",
    config={**LMQ, "maxLmqConsumeQueueNum": "2"},
)
def too_many_light_queues(run: Run) -> None:
    topic = run.topic("SLightMany")
    send(run, topic, "%LMQ%SL1,%LMQ%SL2", "1")
    run.until_stored("broker-a", topic, 1)
    run.pull("%LMQ%SL1")
    run.note("a third one: messages go in, pulls of light queues are refused")
    send(run, topic, "%LMQ%SL3", "2")
    run.until_stored("broker-a", topic, 2)
    run.pull("%LMQ%SL1")
    run.pull("%LMQ%SL3")
    limits(run, "%LMQ%SL3")
    run.pull(topic)
    run.note("one is deleted")
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "%LMQ%SL3"})
    run.pull("%LMQ%SL1")
    run.note("a pull makes one, too")
    run.pull("%LMQ%SL4")
    run.pull("%LMQ%SL5")
    run.pull("%LMQ%SL1")


@scenario(
    "light queues: with enableMultiDispatch alone",
    config={"enableMultiDispatch": "true"},
)
def multi_dispatch_alone(run: Run) -> None:
    topic = run.topic("SDispatched", 2)
    other = run.topic("SDispatchedTo", 2)
    fields = send_v2_fields(topic, 1, i=properties(**{NAMED: f"{other},%LMQ%SLalone"}))
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "1", peer="producer")
    run.until_stored("broker-a", topic, 1, 1)
    for name in (other, "%LMQ%SLalone"):
        limits(run, name, 0)
        limits(run, name, 1)
    run.ask("broker-a", RequestCode.PULL_MESSAGE, pull_fields(other, queueId=1))
    run.pull("%LMQ%SLalone")
