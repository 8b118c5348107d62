"""The header fields of the usual requests, as the Java client writes them."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode

SEND = {
    "a": "producers",
    "b": "orders",
    "c": "TBW102",
    "d": "4",
    "e": "3",
    "f": "0",
    "g": "1795274194097",
    "h": "-1",
    "i": "UNIQ_KEY\x01AC11\x02WAIT\x01true\x02TAGS\x01paid\x02",
    "j": "0",
    "k": "false",
    "m": "false",
    "n": "broker-a",
}
PULL = {
    "consumerGroup": "billing",
    "topic": "orders",
    "queueId": "0",
    "queueOffset": "17",
    "maxMsgNums": "32",
    "sysFlag": "6",
    "commitOffset": "0",
    "suspendTimeoutMillis": "15000",
    "subscription": "*",
    "subVersion": "0",
    "expressionType": "TAG",
}
REQUESTS: dict[int, dict[str, str]] = {
    RequestCode.SEND_MESSAGE_V2: SEND,
    RequestCode.SEND_BATCH_MESSAGE: SEND | {"m": "true"},
    RequestCode.PULL_MESSAGE: PULL,
}
