"""The fields of common requests, as a 4.9.7 client fills them.

The functions return values as Python has them; ``**more`` replaces fields and adds others, under
the wire's names: ``send_fields("orders", sysFlag=4)``. `texts` makes strings of the values.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from fakemq.protocol.message import decode_records

BORN_MS = 1_100_000_000_000
"""Long ago: never taken for a time of the run."""

GROUP = "GScenario"
SUBSCRIPTION_FLAG, SUSPEND_FLAG, COMMIT_FLAG = 4, 2, 1
HELD = SUBSCRIPTION_FLAG | SUSPEND_FLAG
PREPARED, COMMIT, ROLLBACK = 4, 8, 12
QUICK_DELAYS = {"messageDelayLevel": "1s 2s 1s 2s 1s"}
"""A config whose levels do not take long: a retry begins at the third."""
REFUSING = {
    "autoCreateSubscriptionGroup": "false",
    "rejectTransactionMessage": "true",
    "storeReplyMessageEnable": "false",
}
"""A config of brokers that refuse what others do."""
UNIQUE_ID = "AC110001000018B4AAC27E5E1C2D{:04X}"
"""Of messages that are known by it."""


V2_NAMES = {
    "producerGroup": "a",
    "topic": "b",
    "defaultTopic": "c",
    "defaultTopicQueueNums": "d",
    "queueId": "e",
    "sysFlag": "f",
    "bornTimestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsumeTimes": "j",
    "unitMode": "k",
    "maxReconsumeTimes": "l",
    "batch": "m",
    "brokerName": "n",
}
"""The letters of SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE.

Source: org.apache.rocketmq.common.protocol.header.SendMessageRequestHeaderV2
"""


def texts(fields: Mapping[str, object]) -> dict[str, str]:
    """Fields with values as a Java client writes them: ``True`` is ``"true"``."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in fields.items()
    }


def properties(**pairs: str) -> str:
    return "\x02".join(f"{name}\x01{value}" for name, value in pairs.items())


def send_fields(topic: str, queue_id: int = 0, **more: object) -> dict[str, object]:
    """SEND_MESSAGE, by its long names."""
    return {
        "producerGroup": "PScenario",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": 4,
        "queueId": queue_id,
        "sysFlag": 0,
        "bornTimestamp": BORN_MS,
        "flag": 0,
        "properties": "",
        "reconsumeTimes": 0,
        "unitMode": False,
        "batch": False,
    } | more


def send_v2_fields(topic: str, queue_id: int = 0, **more: object) -> dict[str, object]:
    """SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE, by their one-letter names, ``more`` too."""
    return short_names(send_fields(topic, queue_id)) | more


def short_names(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a send by their one-letter names, in the order of the alphabet."""
    return dict(sorted((V2_NAMES[name], value) for name, value in fields.items()))


def batch_item(body: bytes, flag: int = 0, text: str = "") -> bytes:
    """One message in the body of a SEND_BATCH_MESSAGE; ``text`` holds its properties."""
    tail = text.encode()
    return (
        struct.pack(">iiiii", 22 + len(body) + len(tail), 0, 0, flag, len(body))
        + body
        + struct.pack(">h", len(tail))
        + tail
    )


def batch(*bodies: bytes, text: str = "") -> bytes:
    """Return the body of a SEND_BATCH_MESSAGE whose messages have the same properties."""
    return b"".join(batch_item(body, text=text) for body in bodies)


def pull_fields(topic: str, offset: int = 0, **more: object) -> dict[str, object]:
    """PULL_MESSAGE of everything, not ready to wait."""
    return {
        "consumerGroup": GROUP,
        "topic": topic,
        "queueId": 0,
        "queueOffset": offset,
        "maxMsgNums": 32,
        "sysFlag": SUBSCRIPTION_FLAG,
        "commitOffset": 0,
        "suspendTimeoutMillis": 15_000,
        "subscription": "*",
        "subVersion": 0,
        "expressionType": "TAG",
    } | more


def queue_fields(topic: str, queue_id: int = 0, **more: object) -> dict[str, object]:
    return {"topic": topic, "queueId": queue_id} | more


def offset_fields(topic: str, group: str = GROUP, **more: object) -> dict[str, object]:
    return {"consumerGroup": group, "topic": topic, "queueId": 0} | more


def message_queue(topic: str, queue_id: int = 0, broker: str = "broker-a") -> dict[str, object]:
    return {"brokerName": broker, "queueId": queue_id, "topic": topic}


def heartbeat(
    client_id: str,
    group: str,
    *topics: str,
    expression: str = "*",
    expression_type: str = "TAG",
    sub_version: int = 1,
    model: str = "CLUSTERING",
    consume_from: str = "CONSUME_FROM_LAST_OFFSET",
    producers: Sequence[str] = (),
) -> dict[str, object]:
    """A heartbeat of one push consumer, and of producer groups of the same client."""
    is_tags = expression_type == "TAG" and expression != "*"
    tags = expression.split("||") if is_tags else []
    return {
        "clientID": client_id,
        "consumerDataSet": [
            {
                "consumeFromWhere": consume_from,
                "consumeType": "CONSUME_PASSIVELY",
                "groupName": group,
                "messageModel": model,
                "subscriptionDataSet": [
                    {
                        "classFilterMode": False,
                        "codeSet": [java_hash(tag) for tag in tags],
                        "expressionType": expression_type,
                        "subString": expression,
                        "subVersion": sub_version,
                        "tagsSet": tags,
                        "topic": topic,
                    }
                    for topic in topics
                ],
                "unitMode": False,
            }
        ],
        "producerDataSet": [{"groupName": producer} for producer in producers],
    }


def producer_heartbeat(client_id: str, *groups: str) -> dict[str, object]:
    """A heartbeat of producers."""
    return {
        "clientID": client_id,
        "consumerDataSet": [],
        "producerDataSet": [{"groupName": group} for group in groups],
    }


def send_back_fields(group: str, place: int, level: int = 0, **more: object) -> dict[str, object]:
    """CONSUMER_SEND_MSG_BACK of the message at a place of the log."""
    return {"offset": place, "group": group, "delayLevel": level, "unitMode": False} | more


def topic_fields(topic: str, **more: object) -> dict[str, object]:
    """Return the fields of UPDATE_AND_CREATE_TOPIC."""
    return {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": 4,
        "writeQueueNums": 2,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": True,
    } | more


def group_config(group: str, **more: object) -> dict[str, object]:
    """Return the body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP."""
    return {
        "brokerId": 0,
        "consumeBroadcastEnable": True,
        "consumeEnable": True,
        "consumeFromMinEnable": True,
        "groupName": group,
        "notifyConsumerIdsChangedEnable": True,
        "retryMaxTimes": 16,
        "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1,
    } | more


def place_of(fields: Mapping[str, str]) -> int:
    """Return where in the log a message was stored, by the answer to its sending."""
    return int(fields["msgId"][16:], 16)


def end_fields(
    producer_group: str, half: Mapping[str, str], number: int, how: int, **more: object
) -> dict[str, object]:
    """END_TRANSACTION of a half message; ``half`` are the fields of the answer to its sending."""
    return {
        "producerGroup": producer_group,
        "tranStateTableOffset": half["queueOffset"],
        "commitLogOffset": place_of(half),
        "commitOrRollback": how,
        "fromTransactionCheck": False,
        "msgId": UNIQUE_ID.format(number),
        "transactionId": UNIQUE_ID.format(number),
    } | more


END_OF_NO_HALF: dict[str, object] = {
    "producerGroup": "P",
    "tranStateTableOffset": 0,
    "commitLogOffset": 999_999_999,
    "commitOrRollback": 8,
    "fromTransactionCheck": False,
    "msgId": "1",
    "transactionId": "1",
}
"""END_TRANSACTION of a half message that does not exist."""


def places_of(records: bytes) -> list[int]:
    """Return where in the log the messages lie that were pulled."""
    return [message.commit_log_offset for message in decode_records(records)]


def java_hash(text: str) -> int:
    """String.hashCode."""
    value = 0
    for char in text:
        value = (31 * value + ord(char)) % 2**32
    return value - 2**32 if value >= 2**31 else value
