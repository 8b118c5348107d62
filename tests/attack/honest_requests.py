"""Where hostile requests begin: what honest clients and administrators send, for each code.

That is what Java clients sent (the golden frames of tests/protocol), and for each code the fields
of the table with likely values.
"""

from __future__ import annotations

import json
from typing import Any

from conformance.wire import requests
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5 import table as v5_table
from fakemq.protocol.v5.codes import RequestCode5
from tests.fuzz import corpus, golden

BROKER = "broker-a"
CLUSTER = "DefaultCluster"

TOPIC_FIELDS = frozenset({"topic", "defaultTopic", "originTopic", "topicName"})
GROUP_FIELDS = frozenset({"consumerGroup", "group", "producerGroup", "groupName", "srcGroup", "a"})
PLACE_FIELDS = frozenset({"offset", "commitLogOffset", "tranStateTableOffset"})
_LIKELY = {
    "brokerName": BROKER,
    "bname": BROKER,
    "clusterName": CLUSTER,
    "clientId": "192.0.2.1@77",
    "clientID": "192.0.2.1@77",
    "clientHost": "192.0.2.1@77",
    "subscription": "*",
    "expressionType": "TAG",
    "brokerAddr": "192.0.2.1:10911",
    "haServerAddr": "192.0.2.1:10912",
    "namespace": "N",
    "isForce": "true",
    "timestamp": "1700000000000",
    "key": "k",
    "value": "v",
    "statsName": "TOPIC_PUT_NUMS",
    "statsKey": "Hostile1",
}
"""What fields say whose kind says too little."""


def _likely_fields(row: table.Row[Any, Any]) -> dict[str, str]:
    fields = {}
    for wire, _, convert in row.request_header.field_specs():
        number = "false" if convert.__name__ == "parse_bool" else "0"
        fields[wire] = _LIKELY.get(wire, "Hostile2" if convert is str else number)
    return fields


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _with_bodies(code: int) -> list[bytes]:
    """Return bodies for the codes that have one and of which no golden frame is left."""
    queue = requests.message_queue("Hostile1")
    beat = requests.heartbeat("192.0.2.1@77", "Hostile3", "Hostile1", producers=["Hostile4"])
    known = {
        RequestCode.UPDATE_BROKER_CONFIG: [b"waitTimeMillsInSendQueue=100\nflushInterval=1"],
        RequestCode.UPDATE_NAMESRV_CONFIG: [b"clusterTest=true"],
        RequestCode.HEART_BEAT: [_json(beat)],
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET: [_json({"offsetTable": {}})],
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: [b"reply"],
        RequestCode.UNLOCK_BATCH_MQ: [
            _json({"consumerGroup": "Hostile3", "clientId": "c", "mqSet": [queue]})
        ],
    }
    return known.get(RequestCode(code), [b"", b"body"])


Templates = dict[int, list[tuple[dict[str, Any], bytes]]]
"""The fields and bodies of honest requests, by code."""


def _templates() -> Templates:
    found: Templates = {
        row.code: [(_likely_fields(row), body) for body in _with_bodies(row.code)]
        for row in table.rows()
    }
    for _, way, command in golden.commands():
        if way == ">" and not command.is_response and command.code in found:
            found[command.code].append((dict(command.ext_fields), command.body))
    pull = requests.texts(requests.pull_fields("Hostile1"))
    held = requests.texts(
        requests.pull_fields("Hostile1", 10**6, sysFlag=requests.HELD, suspendTimeoutMillis=900)
    )
    sql = requests.texts(
        requests.pull_fields("Hostile1", expressionType="SQL92", subscription="a > 1 AND b IS NULL")
    )
    found[RequestCode.PULL_MESSAGE] += [(pull, b""), (held, b""), (sql, b"")]
    sent = requests.texts(requests.send_v2_fields("Hostile1"))
    found[RequestCode.SEND_MESSAGE_V2] += [(sent, b"body"), (sent, bytes(3000))]
    batch = requests.batch(b"one", b"two", text=requests.properties(KEYS="k"))
    found[RequestCode.SEND_BATCH_MESSAGE].append((sent | {"m": "true"}, batch))
    return found


def _templates_5_5_0() -> Templates:
    """Return what clients of 5.5.0 send beside the requests of 4.9.7, and with more fields."""
    found = {code: list(forms) for code, forms in TEMPLATES.items()}
    for row in v5_table.rows():
        found.setdefault(row.code, []).append((_likely_fields(row), b""))
    popped = {"maxMsgNums": "8", "invisibleTime": "2000", "pollTime": "0", "queueId": "-1"}
    for code in (RequestCode5.POP_MESSAGE, RequestCode5.PEEK_MESSAGE):
        fields = found[code][0][0] | popped
        found[code] += [(fields, b""), (fields | {"order": "true", "attemptId": "a"}, b"")]
        found[code].append((fields | {"pollTime": "900", "bornTime": "1700000000000"}, b""))
    for code in (RequestCode5.ACK_MESSAGE, RequestCode5.CHANGE_MESSAGE_INVISIBLETIME):
        handle = found[code][0][0] | {"extraInfo": "0 1700000000000 60000 0 0 broker-a 0 0"}
        found[code] += [(handle, b""), (handle | {"invisibleTime": "1000"}, b"")]
    acks = {"c": "Hostile3", "t": "Hostile1", "r": "0", "q": 0, "so": 0, "it": 60_000,
            "pt": 1_700_000_000_000, "rq": 0, "b": "AQ=="}  # fmt: skip
    batch = _json({"brokerName": BROKER, "acks": [acks]})
    found[RequestCode5.BATCH_ACK_MESSAGE].append(({}, batch))
    asked = {"topic": "Hostile1", "consumerGroup": "Hostile3", "clientId": "c",
             "strategyName": "AVG", "messageModel": "CLUSTERING"}  # fmt: skip
    found[RequestCode5.QUERY_ASSIGNMENT].append(({}, _json(asked)))
    timed = dict(found[RequestCode.SEND_MESSAGE_V2][-1][0])
    timed["i"] = requests.properties(TIMER_DELAY_MS="900", KEYS="k")
    found[RequestCode.SEND_MESSAGE_V2].append((timed, b"body"))
    return found


def _found_bodies() -> list[bytes]:
    """Return bodies of all kinds, right and wrong: of the parsers' corpus, and golden ones."""
    parsers = ("body", "body_twice", "batch", "record", "compressed", "register_body", "fastjson",
               "config_update", "subscription", "properties", "sql")  # fmt: skip
    return [
        *(data for name in parsers for data in corpus.load(name) if len(data) < 20_000),
        *golden.bodies(),
    ]


TEMPLATES = _templates()
TEMPLATES_5_5_0 = _templates_5_5_0()
BODIES = tuple(_found_bodies())
ODD_BODIES = (
    *(b"", b"{}", b"[]", b"null", b"7", b'"text"', b'{"a":', b"[" * 5000, b"\xef\xbb\xbf{}"),
    *(b"\xff\xfe nonsense", bytes(64), bytes(4096), b'{"a":' * 200 + b"1" + b"}" * 200),
    *(b"{1:2,{}:3}", b'{"\\ud800":"\\udfff"}', b"[" + b"1," * 2000 + b"1]", b"1e400", b"-" * 50),
)
