"""The requests that ``capture`` asks a real cluster, by hand: one or more for every code in use."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from conformance.wire import requests

ONEWAY = 2
TOPIC = "Golden"
GROUP = "GGolden"
CLIENT_ID = "127.0.0.1@golden"
BORN_MS = 1_700_000_000_000
UNIQ_KEY = "7F000001000018B4AAC27E5E1C2B0000"


class Ask(NamedTuple):
    """One request of a capture; ``name`` is the code's name, a dot, and what is particular."""

    name: str
    code: int
    fields: Mapping[str, str] | None = None
    body: bytes = b""
    flag: int = 0
    version: int = 407


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def properties(**pairs: str) -> str:
    """Properties as older clients write them: a separator stands after the last one, too."""
    return "".join(f"{key}\x01{value}\x02" for key, value in pairs.items())


def send_fields(text: str, queue: int = 0, sys_flag: int = 0, topic: str = TOPIC) -> dict[str, str]:
    """Return the long names, of code 10; ``text`` holds the properties."""
    return requests.texts(_send_fields(text, queue, sys_flag, topic))


def _send_fields(text: str, queue: int, sys_flag: int, topic: str) -> dict[str, object]:
    return requests.send_fields(
        topic,
        queue,
        producerGroup="GGoldenProducer",
        sysFlag=sys_flag,
        bornTimestamp=BORN_MS,
        flag=7,
        properties=text,
        maxReconsumeTimes=0,
    )


def send_v2_fields(
    text: str, queue: int = 0, sys_flag: int = 0, batch: bool = False
) -> dict[str, str]:
    """Return the short names, of codes 310 and 320."""
    fields = _send_fields(text, queue, sys_flag, TOPIC) | {"batch": batch}
    return requests.texts(requests.short_names(fields))


def pull_fields(
    offset: int, *, queue: int = 0, expression: str = "*", sys_flag: int = 4
) -> dict[str, str]:
    """A pull that never waits (no suspend bit)."""
    return requests.texts(
        requests.pull_fields(
            TOPIC,
            offset,
            consumerGroup=GROUP,
            queueId=queue,
            sysFlag=sys_flag,
            suspendTimeoutMillis=1000,
            subscription=expression,
            subVersion=BORN_MS,
        )
    )


def queue_fields(queue: int = 0, **more: str) -> dict[str, str]:
    return requests.texts(requests.queue_fields(TOPIC, queue, **more))


def topic_fields(queues: int) -> dict[str, str]:
    return {
        "topic": TOPIC,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }


HEARTBEAT = requests.heartbeat(
    CLIENT_ID,
    GROUP,
    TOPIC,
    sub_version=BORN_MS,
    consume_from="CONSUME_FROM_FIRST_OFFSET",
    producers=["GGoldenProducer"],
)
LOCK = {
    "clientId": CLIENT_ID,
    "consumerGroup": GROUP,
    "mqSet": [requests.message_queue(TOPIC, queue) for queue in (0, 1)],
}
SUBSCRIPTION_GROUP = requests.group_config("GCreated")
RICH = properties(
    KEYS="k1 k2", TAGS="TagA", UNIQ_KEY=UNIQ_KEY, WAIT="true", colour="red", größe="ü"
)
BATCH_BODY = b"".join(
    requests.batch_item(
        f"batch {index}".encode(), index, properties(TAGS="TagB", KEYS=f"b{index}", WAIT="true")
    )
    for index in range(3)
)
COMPRESSED = zlib.compress(b"compressed body " * 64)


def broker_requests() -> list[Ask]:
    """In order: what is asked later sees what was sent before."""
    committed = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "0"}
    return [
        Ask("UPDATE_AND_CREATE_TOPIC", 17, topic_fields(2)),
        Ask("UPDATE_AND_CREATE_TOPIC.system", 17, topic_fields(2) | {"topic": "TBW102"}),
        Ask("UPDATE_AND_CREATE_SUBSCRIPTIONGROUP", 200, None, compact(SUBSCRIPTION_GROUP)),
        Ask("HEART_BEAT", 34, None, compact(HEARTBEAT)),
        Ask("SEND_MESSAGE.rich", 10, send_fields(RICH), "größe".encode()),
        Ask("SEND_MESSAGE_V2.no_properties", 310, send_v2_fields(""), b"plain"),
        Ask(
            "SEND_MESSAGE_V2.compressed", 310, send_v2_fields("TAGS\x01TagC\x02", 0, 1), COMPRESSED
        ),
        Ask("SEND_MESSAGE_V2.any_queue", 310, send_v2_fields("", 1), b"\x00\xff" * 8),
        Ask("SEND_MESSAGE_V2.oneway", 310, send_v2_fields("KEYS\x01one\x02", 1), b"1way", ONEWAY),
        Ask("SEND_BATCH_MESSAGE", 320, send_v2_fields("", 1, batch=True), BATCH_BODY),
        Ask("SEND_MESSAGE.encoded_batch_by_code_10", 10, send_fields("", 1), BATCH_BODY),
        Ask("SEND_MESSAGE.illegal_queue", 10, send_fields("", 99), b"x"),
        Ask("SEND_MESSAGE.auto_topic", 10, send_fields("", topic="GoldenAuto"), b"x"),
        Ask("SEND_MESSAGE.no_fields", 10, {}, b"x"),
        Ask("PULL_MESSAGE.all", 11, pull_fields(0)),
        Ask("PULL_MESSAGE.batch_queue", 11, pull_fields(0, queue=1)),
        Ask("PULL_MESSAGE.tag", 11, pull_fields(0, expression="TagC")),
        Ask("PULL_MESSAGE.no_match", 11, pull_fields(0, expression="TagZ")),
        Ask("PULL_MESSAGE.end", 11, pull_fields(3)),
        Ask("PULL_MESSAGE.beyond", 11, pull_fields(9)),
        Ask("PULL_MESSAGE.no_topic", 11, pull_fields(0) | {"topic": "Nowhere"}),
        Ask("PULL_MESSAGE.no_fields", 11),
        Ask(
            "CHECK_CLIENT_CONFIG",
            46,
            None,
            compact(
                {
                    "clientId": CLIENT_ID,
                    "group": GROUP,
                    "subscriptionData": {
                        "expressionType": "SQL92",
                        "subString": "a > 1",
                        "topic": TOPIC,
                    },
                }
            ),
        ),
        Ask("GET_CONSUMER_LIST_BY_GROUP", 38, {"consumerGroup": GROUP}),
        Ask("GET_CONSUMER_LIST_BY_GROUP.none", 38, {"consumerGroup": "GNobody"}),
        Ask("QUERY_CONSUMER_OFFSET.first_boot", 14, committed),
        Ask("UPDATE_CONSUMER_OFFSET", 15, committed | {"commitOffset": "2"}),
        Ask("UPDATE_CONSUMER_OFFSET.oneway", 15, committed | {"commitOffset": "3"}, b"", ONEWAY),
        Ask("QUERY_CONSUMER_OFFSET", 14, committed),
        Ask("LOCK_BATCH_MQ", 41, None, compact(LOCK)),
        Ask("UNLOCK_BATCH_MQ", 42, None, compact(LOCK)),
        Ask("SEARCH_OFFSET_BY_TIMESTAMP", 29, queue_fields(timestamp="0")),
        Ask("GET_MAX_OFFSET", 30, queue_fields()),
        Ask("GET_MIN_OFFSET", 31, queue_fields()),
        Ask("GET_EARLIEST_MSG_STORETIME", 32, queue_fields()),
        Ask("GET_EARLIEST_MSG_STORETIME.none", 32, queue_fields(7)),
        Ask("VIEW_MESSAGE_BY_ID", 33, {"offset": "0"}),
        Ask("VIEW_MESSAGE_BY_ID.none", 33, {"offset": "3"}),
        Ask("GET_ALL_TOPIC_CONFIG", 21),
        Ask("GET_BROKER_CONFIG", 26),
        Ask("GET_ALL_CONSUMER_OFFSET", 43),
        Ask("GET_ALL_SUBSCRIPTIONGROUP_CONFIG", 201),
        Ask("GET_CONSUMER_CONNECTION_LIST", 203, {"consumerGroup": GROUP}),
        Ask("GET_CONSUMER_CONNECTION_LIST.none", 203, {"consumerGroup": "GNobody"}),
        Ask("GET_PRODUCER_CONNECTION_LIST", 204, {"producerGroup": "GGoldenProducer"}),
        Ask("GET_ALL_PRODUCER_INFO", 328),
        Ask("UNREGISTER_CLIENT", 35, {"clientID": CLIENT_ID, "consumerGroup": GROUP}),
        Ask("unknown_code", 999, {}),
    ]


def namesrv_requests() -> list[Ask]:
    """In order; the last one gets no answer at all from a 4.9.7 name server."""
    broker = {
        "brokerName": "broker-g",
        "brokerAddr": "127.0.0.1:10911",
        "clusterName": "GoldenCluster",
        "brokerId": "0",
    }
    table = {
        "dataVersion": {"counter": 1, "timestamp": BORN_MS},
        "topicConfigTable": {
            "GoldenUnit": {
                "order": False,
                "perm": 6,
                "readQueueNums": 2,
                "topicFilterType": "SINGLE_TAG",
                "topicName": "GoldenUnit",
                "topicSysFlag": 3,
                "writeQueueNums": 2,
            }
        },
    }
    registration = compact({"filterServerList": [], "topicConfigSerializeWrapper": table})
    crc = str(zlib.crc32(registration) & 0x7FFFFFFF)
    register = broker | {"haServerAddr": "127.0.0.1:10912", "compressed": "false", "bodyCrc32": crc}
    route = {"topic": "GoldenUnit"}
    changed = compact({"counter": 2, "timestamp": BORN_MS})
    return [
        Ask("REGISTER_BROKER", 103, register, registration),
        Ask("REGISTER_BROKER.wrong_crc", 103, register | {"bodyCrc32": "1"}, registration),
        Ask(
            "REGISTER_BROKER.slave",
            103,
            register
            | {
                "brokerId": "1",
                "brokerAddr": "127.0.0.1:10921",
                "haServerAddr": "127.0.0.1:10922",
            },
            registration,
        ),
        Ask("QUERY_DATA_VERSION.same", 322, broker, compact(table["dataVersion"])),
        Ask("QUERY_DATA_VERSION.changed", 322, broker, changed),
        Ask("GET_ROUTEINFO_BY_TOPIC", 105, route),
        Ask(
            "GET_ROUTEINFO_BY_TOPIC.standard_json", 105, route | {"acceptStandardJsonOnly": "true"}
        ),
        Ask("GET_ROUTEINFO_BY_TOPIC.version_5", 105, route, version=513),
        Ask("GET_ROUTEINFO_BY_TOPIC.none", 105, {"topic": "Nowhere"}),
        Ask("GET_BROKER_CLUSTER_INFO", 106),
        Ask("GET_ALL_TOPIC_LIST_FROM_NAMESERVER", 206),
        Ask("GET_TOPICS_BY_CLUSTER", 224, {"cluster": "GoldenCluster"}),
        Ask("GET_TOPICS_BY_CLUSTER.none", 224, {"cluster": "Nowhere"}),
        Ask("GET_SYSTEM_TOPIC_LIST_FROM_NS", 304),
        Ask("GET_UNIT_TOPIC_LIST", 311),
        Ask("GET_HAS_UNIT_SUB_TOPIC_LIST", 312),
        Ask("GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST", 313),
        Ask("WIPE_WRITE_PERM_OF_BROKER", 205, {"brokerName": "broker-g"}),
        Ask("ADD_WRITE_PERM_OF_BROKER", 327, {"brokerName": "broker-g"}),
        Ask("DELETE_TOPIC_IN_NAMESRV", 216, route),
        *_namesrv_config_requests(),
        Ask("UNREGISTER_BROKER", 104, broker),
        Ask("unknown_code", 999, {}),
    ]


def _namesrv_config_requests() -> list[Ask]:
    config = {"namespace": "golden", "key": "k"}
    return [
        Ask("PUT_KV_CONFIG", 100, config | {"value": "v"}),
        Ask("PUT_KV_CONFIG.no_fields", 100, {}),
        Ask("GET_KV_CONFIG", 101, config),
        Ask("GET_KVLIST_BY_NAMESPACE", 219, {"namespace": "golden"}),
        Ask("DELETE_KV_CONFIG", 102, config),
        Ask("GET_KV_CONFIG.none", 101, config),
        Ask("GET_KVLIST_BY_NAMESPACE.none", 219, {"namespace": "nowhere"}),
        Ask("UPDATE_NAMESRV_CONFIG", 318, None, b"orderMessageEnable=true\n"),
        Ask("UPDATE_NAMESRV_CONFIG.forbidden", 318, None, b"kvConfigPath=/x\n"),
        Ask("GET_NAMESRV_CONFIG", 319),
    ]
