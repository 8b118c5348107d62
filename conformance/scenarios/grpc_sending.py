"""gRPC: sends of every type, what is refused, and in which order it is looked at."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

from conformance.run import Run
from conformance.scenario import scenario
from conformance.targets.java_jars import NEWEST
from conformance.wire.rpcs import (
    FRONT,
    MASTERS,
    consuming,
    message,
    moment,
    producing,
    receive,
    receiving,
    seconds,
    sending,
    typed_group,
    typed_topic,
)
from fakemq.protocol.bodies.queue import MessageQueue

HOUR_MS = 3_600_000
RESERVED = (
    *("KEYS", "TAGS", "WAIT", "DELAY", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID", "TRAN_MSG"),
    *("PGROUP", "MIN_OFFSET", "UNIQ_KEY", "POP_CK", "TIMER_DELAY_SEC", "TIMER_DELIVER_MS"),
    *("__SHARDINGKEY", "TRACE_CONTEXT", "__transactionId__", "CHECK_IMMUNITY_TIME_IN_SECONDS"),
    *(
        "INNER_NUM",
        "__BORNHOST",
        "BORN_TIMESTAMP",
        "DLQ_ORIGIN_TOPIC",
        "__CRC32#",
        "_SYS_MSG_PRIORITY_",
    ),
    *("__LITE_TOPIC", "MSG_REGION", "TRACE_ON", "CLUSTER", "ORIGIN_GROUP", "1ST_POP_TIME"),
)


@scenario(
    "gRPC: a message of each type in a topic of each type",
    config=FRONT,
    grpc=True,
    releases=(NEWEST,),
)
def grpc_send_types(run: Run) -> None:
    client = run.grpc("producer")
    due = {"delivery_timestamp": moment(run.now_ms() + HOUR_MS)}
    ways: Mapping[str, Mapping[str, Any]] = {
        "NORMAL": {},
        "FIFO": {"message_group": "g"},
        "DELAY": due,
        "PRIORITY": {"priority": 1},
    }
    for kind in ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "PRIORITY"):
        topic = typed_topic(run, f"GSend{kind}", kind)
        for way, system in ways.items():
            one = message(topic, message_type=way, **system)
            hidden = ("offset",) if way == kind == "DELAY" else ()  # of a topic that all share
            client.ask("SendMessage", sending(one), hidden=hidden)
        if kind != "TRANSACTION":
            one = message(topic, message_type="TRANSACTION")
            client.ask("SendMessage", sending(one), hidden=("offset",))
    run.note("a type that says something else than the message is")
    for one in (
        message("GSendNORMAL", message_type="FIFO"),
        message("GSendFIFO", message_type="NORMAL", message_group="g"),
        message("GSendNORMAL", message_type="MESSAGE_TYPE_UNSPECIFIED"),
        message("GSendNORMAL", message_type="LITE", lite_topic="l"),
    ):
        client.ask("SendMessage", sending(one))
    run.note("a topic without a type")
    topic = typed_topic(run, "GSendNone", "")
    for way, system in ways.items():
        client.ask("SendMessage", sending(message(topic, message_type=way, **system)))
    run.note("no such topic")
    client.ask("SendMessage", sending(message("GSendNowhere")))


@scenario("gRPC: sends that are refused", config=FRONT, grpc=True)
def grpc_send_refused(run: Run) -> None:
    topic = typed_topic(run, "GSendRefused")
    odd: Mapping[str, Mapping[str, Any]] = {
        "an empty body": {"body": b""},
        "a body of 4 MiB": {"body": b"b" * 4_194_304},
        "a byte more": {"body": b"b" * 4_194_305},
        "128 properties": {"user": {f"k{number}": "v" for number in range(128)}},
        "129 properties": {"user": {f"k{number}": "v" for number in range(129)}},
        "a key with a control character": {"user": {"a\x01": "v"}},
        "a value with a control character": {"user": {"a": "v\x02"}},
        "an empty key": {"user": {"": "v"}},
        "an empty value": {"user": {"a": ""}},
        "16,384 bytes of properties": {"user": {"k": "v" * 16_383}},
        "16,385 bytes of properties": {"user": {"k": "v" * 16_384}},
        "16,385 bytes with tag and key": {"user": {"k": "v" * 16_381}, "tag": "t", "keys": ["kk"]},
        "a blank tag": {"tag": " "},
        "an empty tag": {"tag": ""},
        "a tag with a bar": {"tag": "a|b"},
        "a tag with a control character": {"tag": "a\x01"},
        "a long tag": {"tag": "t" * 300},
        "a blank key": {"keys": ["a", " "]},
        "a key with a control character among the keys": {"keys": ["a\x01"]},
        "no message id": {"message_id": ""},
        "a message id that is none": {"message_id": "zz"},
        "a wrong digest": {"body_digest": {"type": "CRC32", "checksum": "00000000"}},
        "a blank message group": {"message_group": " "},
        "an empty message group": {"message_group": ""},
        "a message group of 64 bytes": {"message_group": "g" * 64},
        "a message group with a control character": {"message_group": "g\x01"},
        "recovery after an hour and a second": {
            "orphaned_transaction_recovery_duration": seconds(3601)
        },
        "a born time of 1970": {"born_timestamp": moment(0)},
        "a trace context": {"trace_context": "00-0-0-00"},
        "a queue id": {"queue_id": 7},
        "a priority below zero": {"priority": -1},
        "an encoding that is none": {"body_encoding": "ENCODING_UNSPECIFIED"},
    }
    client = run.grpc("producer")
    for what, fields in odd.items():
        run.note(what)
        user = fields.get("user")
        system = {key: value for key, value in fields.items() if key not in ("user", "body")}
        one = message(topic, body=fields.get("body"), user=user, **system)
        client.ask("SendMessage", sending(one))
    run.note("more than a day ahead, by what is less than a minute")
    late = moment(run.now_ms() + 24 * HOUR_MS + 55_000)
    client.ask("SendMessage", sending(message(topic, delivery_timestamp=late)))
    run.note("several faults: the first counts")
    one = message(topic, body=b"", user={"KEYS": "v"}, tag="|", message_id="")
    client.ask("SendMessage", sending(one))
    one = message(topic, user={"KEYS": "v"}, tag="|", message_id="")
    client.ask("SendMessage", sending(one))
    one = message(topic, tag="|", keys=[" "], message_id="")
    client.ask("SendMessage", sending(one))
    run.note("no message, no system properties")
    client.ask("SendMessage", {})
    client.ask("SendMessage", {"messages": [{"topic": {"name": topic}, "body": b"b"}]})


@scenario("gRPC: properties that belong to the system", config=FRONT, grpc=True)
def grpc_send_reserved(run: Run) -> None:
    topic = typed_topic(run, "GSendReserved")
    client = run.grpc("producer")
    for name in RESERVED:
        client.ask("SendMessage", sending(message(topic, user={name: "1"})))


@scenario("gRPC: several messages in one request", config=FRONT, grpc=True)
def grpc_send_batch(run: Run) -> None:
    topic = typed_topic(run, "GSendBatch")
    other = typed_topic(run, "GSendBatchOther")
    ordered = typed_topic(run, "GSendBatchFifo", "FIFO")
    client = run.grpc("producer")
    client.ask("SendMessage", sending(*(message(topic, number) for number in range(3))))
    run.note("of two topics")
    client.ask("SendMessage", sending(message(topic, 4), message(other, 5)))
    run.note("one of them empty")
    client.ask("SendMessage", sending(message(topic, 6), message(topic, 7, b"")))
    run.note("two groups of messages")
    two = (message(ordered, number, message_group=f"g{number}") for number in range(2))
    client.ask("SendMessage", sending(*two))
    run.note("with delivery times")
    delayed = typed_topic(run, "GSendBatchDelay", "DELAY")
    due = moment(run.now_ms() + HOUR_MS)
    two = (message(delayed, number, delivery_timestamp=due) for number in range(2))
    client.ask("SendMessage", sending(*two), hidden=("offset",))
    group = typed_group(run, "GSendBatch", retryMaxTimes=2)
    consumer = run.grpc("consumer")
    consumer.settings(**consuming(group, {topic: "*"}))
    receive(run, consumer, receiving(group, topic))


@scenario("gRPC: what a consumer sees of a message", config=FRONT, grpc=True)
def grpc_send_seen(run: Run) -> None:
    topic = typed_topic(run, "GSendSeen")
    ordered = typed_topic(run, "GSendSeenFifo", "FIFO")
    client = run.grpc("producer")
    client.settings(**producing(topic))
    packed = gzip.compress(b"packed body", mtime=0)
    system: dict[str, Any] = {"tag": "t", "keys": ["k1", "k2"], "trace_context": "c"}
    for one in (
        message(topic, 0),
        message(topic, 1, user={"b": "2", "a": "1"}, **system),
        message(topic, 2, packed, body_encoding="GZIP"),
        message(topic, 3, user={"TRACE_CONTEXT": "x", "__SHARDINGKEY": "y"}),
        message(ordered, 9, message_type="FIFO", message_group="g"),
    ):
        client.ask("SendMessage", sending(one))
    group = typed_group(run, "GSendSeen", retryMaxTimes=2)
    consumer = run.grpc("consumer")
    consumer.settings(**consuming(group, {topic: "*"}))
    receive(run, consumer, receiving(group, topic))
    receive(run, consumer, receiving(group, ordered))
    run.note("as brokers see them")
    run.pull(topic)
    run.pull(ordered)


@scenario("gRPC: the queue of a message group", config=FRONT, grpc=True)
def grpc_send_queues(run: Run) -> None:
    client = run.grpc("producer")
    topic = typed_topic(run, "GSendQueues", "FIFO", 4, MASTERS)
    for number in range(12):
        one = message(topic, number, message_type="FIFO", message_group=f"group {number}")
        client.ask("SendMessage", sending(one))
    for broker in MASTERS:
        for queue_id in range(4):
            queue = MessageQueue(topic=topic, broker_name=broker, queue_id=queue_id)
            found = [one.body.decode() for one in run.client.pull(queue, 0).messages]
            run.note(f"in queue {queue_id} of {broker}: {', '.join(found) or 'nothing'}")
