"""Sending: every code, what is refused, and topics made on the way."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.requests import (
    batch,
    properties,
    pull_fields,
    send_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode

UNIQUE_ID = "AC110001000018B4AAC27E5E1C2B{:04X}"


@scenario("send: by every code, and what is stored then")
def send_codes(run: Run) -> None:
    topic = run.topic("SSendCodes")
    text = properties(KEYS="k1 k2", WAIT="true", TAGS="t", UNIQ_KEY=UNIQUE_ID.format(1))
    run.ask(
        "broker-a",
        RequestCode.SEND_MESSAGE,
        send_fields(topic, properties=text, flag=7),
        "by code 10",
        peer="producer",
    )
    text = properties(own="x", WAIT="true", UNIQ_KEY=UNIQUE_ID.format(2))
    run.ask(
        "broker-a",
        RequestCode.SEND_MESSAGE_V2,
        send_v2_fields(topic, i=text),
        "by code 310",
        peer="producer",
    )
    run.note("three messages in one batch")
    text = properties(WAIT="true", UNIQ_KEY=UNIQUE_ID.format(3))
    run.ask(
        "broker-a",
        RequestCode.SEND_BATCH_MESSAGE,
        send_v2_fields(topic, m=True, i=properties(WAIT="true")),
        batch(b"one", b"two", b"three", text=text),
        peer="producer",
    )
    run.note("one-way: stored without an answer; at the fast port")
    run.send(
        "broker-a vip",
        RequestCode.SEND_MESSAGE_V2,
        send_v2_fields(topic, i=properties(UNIQ_KEY=UNIQUE_ID.format(6))),
        "one-way",
        peer="producer",
        oneway=True,
    )
    run.until_stored("broker-a", topic, 6)
    run.ask("broker-a", RequestCode.PULL_MESSAGE, pull_fields(topic), peer="consumer")


@scenario("send: what is refused, and how")
def send_refused(run: Run) -> None:
    topic = run.topic("SRefused", 2)

    def send(name: str, body: str | bytes = "x", **more: object) -> None:
        fields = send_v2_fields(name) | more
        run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")

    run.note("names that no topic can have")
    send("")
    send("no blanks")
    send("S" * 128)
    run.note("topics that no client may send to")
    send("SCHEDULE_TOPIC_XXXX")
    send("RMQ_SYS_TRANS_HALF_TOPIC")
    run.note("a queue that is not there")
    send(topic, e=2)
    run.note("a topic that is not there, made after one that is not there either")
    send("SUnknown", c="SNoSuchDefault")
    run.note("after a topic that new topics may not be made after")
    send("SUnknown", c=topic)
    run.note("a body of 4 MiB and more, properties of 32 KiB, no body at all")
    send(topic, b"x" * (4 * 1024 * 1024 + 1))
    send(topic, i=properties(long="y" * 32_768))
    send(topic, b"")
    run.note("a retry topic is made on the way, a dead letter queue is not")
    send("%RETRY%SNobody", e=0)
    send("%DLQ%SNobody", c="SNoSuchDefault", e=0)


@scenario("send: topics made on the way, after TBW102")
def send_creates_topic(run: Run) -> None:
    fields = send_v2_fields("SCreated", d=3)
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "x", peer="producer")
    run.until(lambda: run.client.update_route("SCreated") is not None, "its route")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SCreated"})
    run.note("more queues are wanted than TBW102 has")
    fields = send_v2_fields("SCreatedWide", d=100)
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "x", peer="producer")
    run.until(lambda: run.client.update_route("SCreatedWide") is not None, "its route")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SCreatedWide"})


@scenario("view a message by its place in the log")
def view_message(run: Run) -> None:
    topic = run.topic("SView")
    sent = run.ask(
        "broker-a",
        RequestCode.SEND_MESSAGE_V2,
        send_v2_fields(topic, i=properties(TAGS="t", UNIQ_KEY=UNIQUE_ID.format(7))),
        "look at me",
        peer="producer",
    )
    run.until_stored("broker-a", topic, 1)
    place = int(sent.fields["msgId"][16:], 16)
    run.ask("broker-a", RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place}, hidden=("offset",))
    run.note("where no message is")
    run.ask("broker-a", RequestCode.VIEW_MESSAGE_BY_ID, {"offset": 10**15})
