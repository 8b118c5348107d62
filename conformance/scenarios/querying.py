"""Queries and statistics: by key, by time, by group."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.popping import FIVE
from conformance.wire.requests import (
    BORN_MS,
    UNIQUE_ID,
    heartbeat,
    offset_fields,
    properties,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode

FAR_MS = 4_100_000_000_000


def query_fields(topic: str, key: str, **more: object) -> dict[str, object]:
    return {
        "topic": topic,
        "key": key,
        "maxNum": 32,
        "beginTimestamp": 0,
        "endTimestamp": FAR_MS,
    } | more


def query(run: Run, topic: str, key: str, *hidden: str, **more: object) -> None:
    fields = query_fields(topic, key, **more)
    run.ask("broker-a", RequestCode.QUERY_MESSAGE, fields, hidden=hidden)


def store_keys(run: Run, topic: str, *keys: str) -> None:
    for number, text in enumerate(keys):
        fields = send_v2_fields(
            topic, i=properties(KEYS=text, UNIQ_KEY=UNIQUE_ID.format(0x100 + number))
        )
        run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, str(number), peer="producer")
    run.until_stored("broker-a", topic, len(keys))
    run.pass_time(50)


@scenario("query: by key and by unique key")
def query_by_key(run: Run) -> None:
    topic = run.topic("SQuery")
    store_keys(run, topic, "k1 k2", "k2", "k3  k1", "Aa", "BB")
    query(run, topic, "k1")
    query(run, topic, "k2")
    run.note("as many as are wanted: the last ones")
    query(run, topic, "k2", maxNum=1)
    query(run, topic, "k2", maxNum=0)
    run.note("of Aa and BB the hash is the same: a pull of one gets both")
    query(run, topic, "Aa")
    run.note("by unique key, said to be one or not")
    query(run, topic, UNIQUE_ID.format(0x101))
    query(run, topic, UNIQUE_ID.format(0x101), _UNIQUE_KEY_QUERY="true", maxNum=0)
    run.note("none")
    query(run, topic, "k4")
    query(run, topic, "k1 k2")
    query(run, topic, "")
    query(run, "SQueryNowhere", "k1")


@scenario("query: by tags", releases=FIVE)
def query_by_tags(run: Run) -> None:
    topic = run.topic("SQueryTags")
    for number, pairs in enumerate(
        ({"TAGS": "red", "KEYS": "k1"}, {"TAGS": "blue"}, {"TAGS": "red"})
    ):
        text = properties(**pairs, UNIQ_KEY=UNIQUE_ID.format(0x200 + number))
        fields = send_v2_fields(topic, i=text)
        run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, str(number), peer="producer")
    run.until_stored("broker-a", topic, 3)
    run.pass_time(50)
    query(run, topic, "red", indexType="T")
    query(run, topic, "blue", indexType="T")
    query(run, topic, "red", indexType="T", maxNum=1)
    run.note("a key is none")
    query(run, topic, "k1", indexType="T")
    run.note("tags are no key, but a key can look like them")
    query(run, topic, "red", indexType="K")
    query(run, topic, "red")
    query(run, topic, "T#red")
    run.note("any other type finds keys and unique keys")
    for index_type in ("K", "U", "X", "t", ""):
        query(run, topic, "k1", indexType=index_type)
        query(run, topic, UNIQUE_ID.format(0x201), indexType=index_type)
    run.note("the flag of unique keys wins, however it is written")
    query(run, topic, UNIQUE_ID.format(0x201), indexType="T", _UNIQUE_KEY_QUERY="true")
    query(run, topic, UNIQUE_ID.format(0x201), indexType="T", _UNIQUE_KEY_QUERY="TRUE")


@scenario("query: by time")
def query_by_time(run: Run) -> None:
    topic = run.topic("SQueryTime")
    for number in range(2):
        fields = send_v2_fields(topic, i=properties(KEYS="k"))
        run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, str(number), peer="producer")
        run.until_stored("broker-a", topic, number + 1)
        run.pass_time(3_000 if number == 0 else 50)
    first_ms = run.stored_at_ms("broker-a", topic, 0)
    second_ms = run.stored_at_ms("broker-a", topic, 1)
    hidden = ("beginTimestamp", "endTimestamp")
    run.note("the first, the second, both, none before and none after")
    query(run, topic, "k", *hidden, beginTimestamp=first_ms - 10_000, endTimestamp=first_ms + 1_500)
    query(
        run, topic, "k", *hidden, beginTimestamp=second_ms - 1_500, endTimestamp=second_ms + 10_000
    )
    query(
        run, topic, "k", *hidden, beginTimestamp=first_ms - 10_000, endTimestamp=second_ms + 10_000
    )
    query(run, topic, "k", beginTimestamp=0, endTimestamp=BORN_MS)
    query(run, topic, "k", beginTimestamp=FAR_MS, endTimestamp=FAR_MS + 1)


@scenario("query: what is missing in it")
def query_refused(run: Run) -> None:
    topic = run.topic("SQueryRefused")
    run.ask("broker-a", RequestCode.QUERY_MESSAGE, {})
    run.ask("broker-a", RequestCode.QUERY_MESSAGE, {"topic": topic, "key": "k"})
    run.ask("broker-a", RequestCode.QUERY_MESSAGE, query_fields(topic, "k", maxNum="many"))


@scenario("statistics: what a topic holds, and how far its groups are")
def consume_stats(run: Run) -> None:
    topic = run.topic("SStats", 2)
    group = "GStats"
    stats = RequestCode.GET_CONSUME_STATS
    run.ask("broker-a", RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
    run.ask("broker-a", stats, {"consumerGroup": group, "topic": topic})
    run.store(topic, "a", "b")
    run.ask("broker-a", RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
    run.note("a group without offsets, then with one")
    run.ask("broker-a", stats, {"consumerGroup": group})
    fields = offset_fields(topic, group, commitOffset=1)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="consumer")
    run.ask("broker-a", stats, {"consumerGroup": group})
    run.note("online for another topic only")
    body = heartbeat("stats@1", group, run.topic("SStatsOther"))
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    run.ask("broker-a", stats, {"consumerGroup": group})
    run.ask("broker-a", stats, {"consumerGroup": group, "topic": topic})
    run.note("topics that are not there")
    run.ask("broker-a", RequestCode.GET_TOPIC_STATS_INFO, {"topic": "SNowhere"})
    run.ask("broker-a", RequestCode.GET_TOPIC_STATS_INFO, {})
    run.ask("broker-a", stats, {"consumerGroup": group, "topic": "SNowhere"})
    run.ask("broker-a", stats, {})


@scenario("statistics: which groups consume a topic")
def consumed_by_whom(run: Run) -> None:
    topic = run.topic("SWho")
    code = RequestCode.QUERY_TOPIC_CONSUME_BY_WHO
    run.ask("broker-a", code, {"topic": topic})
    run.note("one by its offsets, one by its heartbeat")
    fields = offset_fields(topic, "GWhoOffsets", commitOffset=0)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="consumer")
    body = heartbeat("online@1", "GWhoOnline", topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    run.ask("broker-a", code, {"topic": topic})
    run.ask("broker-a", code, {"topic": "SNowhere"})
    run.ask("broker-a", code, {})


@scenario("statistics: the time that a group spans")
def consume_time_span(run: Run) -> None:
    topic = run.topic("SSpan")
    span = RequestCode.QUERY_CONSUME_TIME_SPAN
    fields = {"topic": topic, "group": "GSpan"}
    run.ask("broker-a", span, fields)
    run.store(topic, "a", "b")
    run.ask("broker-a", span, fields)
    for offset in (1, 2):
        update = offset_fields(topic, "GSpan", commitOffset=offset)
        run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, update, peer="consumer")
        run.ask("broker-a", span, fields)
    run.ask("broker-a", span, {"topic": "SNowhere", "group": "GSpan"})
    run.ask("broker-a", span, {})


@scenario("statistics: of the broker, by name and key")
def broker_stats(run: Run) -> None:
    topic = run.topic("SBrokerStats")
    view = RequestCode.VIEW_BROKER_STATS_DATA
    run.note("nothing has been counted")
    run.ask("broker-a", view, {"statsName": "TOPIC_PUT_NUMS", "statsKey": topic})
    run.ask("broker-a", view, {"statsName": "NO_SUCH_STATS", "statsKey": topic})
    run.ask("broker-a", view, {})
    run.store(topic, "a")
    run.ask("broker-a", view, {"statsName": "TOPIC_PUT_NUMS", "statsKey": topic})


@scenario("statistics: of the broker, as they are counted", real_s=21)
def broker_stats_counted(run: Run) -> None:
    topic = run.topic("SBrokerCounted")
    run.note("counted every ten seconds, so that what is counted first is where counting begins")
    run.store(topic, "a")
    run.pass_time(10_500)
    run.store(topic, "b", "c", stored=1)
    run.pull(topic, consumerGroup="GBrokerCounted")
    run.pass_time(10_500)
    for name, key in (
        ("TOPIC_PUT_NUMS", topic),
        ("GROUP_GET_NUMS", f"{topic}@GBrokerCounted"),
    ):
        fields = {"statsName": name, "statsKey": key}
        run.ask("broker-a", RequestCode.VIEW_BROKER_STATS_DATA, fields)


@scenario("trace: the topic of message traces", config={"traceTopicEnable": "true"})
def trace_topic(run: Run) -> None:
    trace = "RMQ_SYS_TRACE_TOPIC"
    run.until(lambda: run.client.update_route(trace) is not None, "its route")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": trace})
    text = properties(KEYS=f"{UNIQUE_ID.format(1)} k1", TAGS="")
    fields = send_v2_fields(trace, a="_INNER_TRACE_PRODUCER", i=text)
    body = b"Pub\x011\x02\x02"
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")
    run.until_stored("broker-a", trace, 1)
    run.pass_time(50)
    query(run, trace, UNIQUE_ID.format(1))
    query(run, trace, "k1")
    run.pull(trace)


@scenario("trace: without it the topic is like any other")
def trace_topic_off(run: Run) -> None:
    trace = "RMQ_SYS_TRACE_TOPIC"
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": trace})
    fields = send_v2_fields(trace, c="SNoSuchDefault")
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "x", peer="producer")
    run.pull(trace)
