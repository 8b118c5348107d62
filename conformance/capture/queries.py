"""What ``capture`` asks of everything that only looks: messages by key, statistics, consume queues.

It stores what it looks for by itself, in topics of its own, so that it can follow other requests.
"""

from __future__ import annotations

from conformance.capture.requests import (
    BORN_MS,
    CLIENT_ID,
    ONEWAY,
    UNIQ_KEY,
    Ask,
    compact,
    properties,
    pull_fields,
    send_fields,
    topic_fields,
)
from conformance.wire import requests

TOPIC = "GoldenQuery"
GROUP = "GGoldenQuery"
OTHER_GROUP = "GGoldenOther"
ALL_TIME = {"beginTimestamp": "0", "endTimestamp": "9223372036854775807"}


def query_fields(key: str, **more: str) -> dict[str, str]:
    return {"topic": TOPIC, "key": key, "maxNum": "32", **ALL_TIME, **more}


def cq_fields(queue: int, index: int, count: int, **more: str) -> dict[str, str]:
    return {
        "topic": TOPIC,
        "queueId": str(queue),
        "index": str(index),
        "count": str(count),
        **more,
    }


def heartbeat() -> bytes:
    """A consumer of the topic; the other group is known by its offsets only."""
    return compact(
        requests.heartbeat(
            CLIENT_ID,
            GROUP,
            TOPIC,
            sub_version=BORN_MS,
            consume_from="CONSUME_FROM_FIRST_OFFSET",
        )
    )


def sends() -> list[Ask]:
    texts = (
        properties(KEYS="k1 k2", UNIQ_KEY=UNIQ_KEY, TAGS="TagA"),
        properties(KEYS="k1", TAGS="TagB"),
        properties(KEYS=" k3  k1 "),
    )
    return [
        Ask(f"SEND_MESSAGE.{index}", 10, send_fields(text, topic=TOPIC), b"query %d" % index)
        for index, text in enumerate(texts)
    ]


def commit(group: str, offset: int) -> Ask:
    fields = {"consumerGroup": group, "topic": TOPIC, "queueId": "0", "commitOffset": str(offset)}
    return Ask("UPDATE_CONSUMER_OFFSET", 15, fields)


def query_requests() -> list[Ask]:
    """In order: what is asked later sees what was sent before."""
    topic = {"topic": TOPIC}
    return [
        Ask("UPDATE_AND_CREATE_TOPIC", 17, topic_fields(3) | topic),
        *sends(),
        Ask("QUERY_MESSAGE", 12, query_fields("k1")),
        Ask("QUERY_MESSAGE.one", 12, query_fields("k1", maxNum="1")),
        Ask(
            "QUERY_MESSAGE.unique",
            12,
            query_fields(UNIQ_KEY, maxNum="0", _UNIQUE_KEY_QUERY="true"),
        ),
        Ask("QUERY_MESSAGE.none", 12, query_fields("k9")),
        Ask("QUERY_MESSAGE.no_key", 12, {"topic": TOPIC, "maxNum": "32", **ALL_TIME}),
        Ask("QUERY_MESSAGE.another_time", 12, query_fields("k1", endTimestamp=str(BORN_MS))),
        Ask("QUERY_MESSAGE.negative", 12, query_fields("k1", maxNum="-1")),
        Ask("QUERY_MESSAGE.no_fields", 12),
        Ask("HEART_BEAT", 34, None, heartbeat()),
        commit(GROUP, 2),
        commit(OTHER_GROUP, 1),
        Ask("PULL_MESSAGE", 11, pull_fields(0) | topic | {"consumerGroup": GROUP}),
        *_statistics(),
        *_consume_queues(),
        *_corrections(),
        *_acl(),
        Ask("UNREGISTER_CLIENT", 35, {"clientID": CLIENT_ID, "consumerGroup": GROUP}, b"", ONEWAY),
    ]


def _statistics() -> list[Ask]:
    topic, nowhere = {"topic": TOPIC}, {"topic": "Nowhere"}
    span = {"group": GROUP}
    return [
        Ask("GET_CONSUME_STATS", 208, {"consumerGroup": GROUP}),
        Ask("GET_CONSUME_STATS.topic", 208, {"consumerGroup": OTHER_GROUP} | topic),
        Ask("GET_CONSUME_STATS.not_subscribed", 208, {"consumerGroup": GROUP, "topic": "TBW102"}),
        Ask("GET_CONSUME_STATS.none", 208, {"consumerGroup": "GNobody"}),
        Ask("GET_TOPIC_STATS_INFO", 202, topic),
        Ask("GET_TOPIC_STATS_INFO.none", 202, nowhere),
        Ask("QUERY_CONSUME_TIME_SPAN", 303, topic | span),
        Ask("QUERY_CONSUME_TIME_SPAN.none", 303, nowhere | span),
        Ask("QUERY_TOPIC_CONSUME_BY_WHO", 300, topic),
        Ask("QUERY_TOPIC_CONSUME_BY_WHO.none", 300, nowhere),
        Ask("GET_SYSTEM_TOPIC_LIST_FROM_BROKER", 305),
        Ask("GET_BROKER_CONSUME_STATS", 317, {"isOrder": "false"}),
        Ask("GET_BROKER_CONSUME_STATS.order", 317, {"isOrder": "true"}),
        Ask("GET_BROKER_RUNTIME_INFO", 28),
        Ask("VIEW_BROKER_STATS_DATA", 315, {"statsName": "TOPIC_PUT_SIZE", "statsKey": TOPIC}),
        Ask("VIEW_BROKER_STATS_DATA.none", 315, {"statsName": "TOPIC_PUT_SIZE", "statsKey": "x"}),
        Ask("VIEW_BROKER_STATS_DATA.no_fields", 315, {}),
    ]


def _consume_queues() -> list[Ask]:
    return [
        Ask("QUERY_CONSUME_QUEUE", 321, cq_fields(0, 0, 2)),
        Ask("QUERY_CONSUME_QUEUE.group", 321, cq_fields(0, 1, 9, consumerGroup=GROUP)),
        Ask("QUERY_CONSUME_QUEUE.offline", 321, cq_fields(0, 2, 9, consumerGroup=OTHER_GROUP)),
        Ask("QUERY_CONSUME_QUEUE.end", 321, cq_fields(0, 3, 9)),
        Ask("QUERY_CONSUME_QUEUE.nothing", 321, cq_fields(0, 0, 0)),
        Ask("QUERY_CONSUME_QUEUE.none", 321, cq_fields(9, 0, 2)),
        Ask("CLEAN_EXPIRED_CONSUMEQUEUE", 306),
        Ask("DELETE_EXPIRED_COMMITLOG", 329),
    ]


def _corrections() -> list[Ask]:
    fields = {"topic": TOPIC, "compareGroup": GROUP}
    return [
        Ask("QUERY_CORRECTION_OFFSET", 308, fields),
        Ask("QUERY_CORRECTION_OFFSET.filtered", 308, fields | {"filterGroups": OTHER_GROUP}),
        Ask("GET_ALL_CONSUMER_OFFSET.after_filtering", 43),
    ]


def _acl() -> list[Ask]:
    return [
        Ask("UPDATE_AND_CREATE_ACL_CONFIG", 50, {"accessKey": "golden", "admin": "false"}),
        Ask("DELETE_ACL_CONFIG", 51, {"accessKey": "golden"}),
        Ask("UPDATE_GLOBAL_WHITE_ADDRS_CONFIG", 53, {"globalWhiteAddrs": "127.0.0.1"}),
        Ask("GET_BROKER_CLUSTER_ACL_INFO", 52),
        Ask("GET_BROKER_CLUSTER_ACL_CONFIG", 54),
    ]
