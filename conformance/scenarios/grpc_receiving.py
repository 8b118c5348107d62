"""gRPC: receives, acknowledgements, longer and shorter invisible times, dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.rpc_peer import RpcPeer
from conformance.wire.rpcs import (
    FRONT,
    acknowledging,
    burying,
    changing,
    consuming,
    handle_of,
    message,
    receive,
    receive_again,
    receiving,
    seconds,
    sending,
    typed_group,
    typed_topic,
)

AGAIN_MS = 15_000
"""What is hidden for a second comes again within this time."""


def send(run: Run, topic: str, *numbers: int, **system: Any) -> None:
    """Send messages, which are not written down; wait until they are in their queue."""
    run.note(f"sent to {topic}: {', '.join(map(str, numbers))}")
    for number in numbers:
        one = message(topic, number, **system)
        run.grpc("producer").ask("SendMessage", sending(one), silent=True)


def consumer_of(run: Run, group: str, topic: str, client_type: str = "SIMPLE_CONSUMER") -> RpcPeer:
    """Return a consumer that has sent its settings, which are not written down."""
    consumer = run.grpc("consumer")
    lines = len(run.lines)
    consumer.settings(**consuming(group, {topic: "*"}, client_type))
    del run.lines[lines:]
    return consumer


def handles(found: Sequence[object]) -> list[str]:
    """Return the receipt handles of messages."""
    return [handle_of(one) for one in found]


@scenario("gRPC: messages are received once, and acknowledged", config=FRONT, grpc=True, real_s=7)
def grpc_receive(run: Run) -> None:
    topic = typed_topic(run, "GReceive")
    group = typed_group(run, "GReceive", retryMaxTimes=2)
    send(run, topic, 0, 1, 2)
    consumer = consumer_of(run, group, topic)
    run.note("two at most")
    found = receive(run, consumer, receiving(group, topic, batch_size=2))
    run.note("the rest")
    found += receive(run, consumer, receiving(group, topic))
    consumer.ask("AckMessage", acknowledging(group, topic, *handles(found)))
    run.note("twice")
    consumer.ask("AckMessage", acknowledging(group, topic, *handles(found[:1])))
    run.note("nothing is left")
    receive(run, consumer, receiving(group, topic))


@scenario("gRPC: a message that comes while a consumer waits", config=FRONT, grpc=True)
def grpc_receive_held(run: Run) -> None:
    topic = typed_topic(run, "GHeld")
    group = typed_group(run, "GHeld", retryMaxTimes=2)
    send(run, topic, 0)
    consumer = consumer_of(run, group, topic)
    receive(run, consumer, receiving(group, topic))
    held = consumer.begin("ReceiveMessage", receiving(group, topic))
    run.pass_time(500)
    send(run, topic, 1)
    held.answer()


@scenario("gRPC: a receive that is given up loses no message", config=FRONT, grpc=True)
def grpc_receive_cancelled(run: Run) -> None:
    topic = typed_topic(run, "GCancelled")
    group = typed_group(run, "GCancelled", retryMaxTimes=2)
    send(run, topic, 0)
    consumer = consumer_of(run, group, topic)
    receive(run, consumer, receiving(group, topic))
    held = consumer.begin("ReceiveMessage", receiving(group, topic))
    run.pass_time(500)
    held.cancel()
    run.pass_time(500)
    send(run, topic, 1)
    found = receive_again(run, consumer, receiving(group, topic), AGAIN_MS)
    consumer.ask("AckMessage", acknowledging(group, topic, *handles(found)))


@scenario("gRPC: a receive before its client has sent its settings", config=FRONT, grpc=True)
def grpc_receive_early(run: Run) -> None:
    topic = typed_topic(run, "GEarly")
    group = typed_group(run, "GEarly", retryMaxTimes=2)
    run.grpc("consumer").ask("ReceiveMessage", receiving(group, topic))
    run.note("a producer receives")
    producer = run.grpc("producer")
    producer.settings(client_type="PRODUCER", publishing={})
    receive(run, producer, receiving(group, topic))
    run.note("settings of another group")
    consumer = consumer_of(run, "GEarlyOther", topic)
    send(run, topic, 0)
    receive(run, consumer, receiving(group, topic))


@scenario("gRPC: receives that are refused", config=FRONT, grpc=True)
def grpc_receive_refused(run: Run) -> None:
    topic = typed_topic(run, "GReceiveRefused")
    group = typed_group(run, "GReceiveRefused", retryMaxTimes=2)
    consumer = consumer_of(run, group, topic)
    run.note("invisible times")
    for value in (0, 9.999, 43_200.001):
        fields = receiving(group, topic, invisible_duration=seconds(value))
        consumer.ask("ReceiveMessage", fields)
    fields = receiving(group, topic)
    del fields["invisible_duration"]
    consumer.ask("ReceiveMessage", fields)
    run.note("deadlines")
    consumer.ask("ReceiveMessage", receiving(group, topic), deadline_s=None)
    consumer.ask("ReceiveMessage", receiving(group, topic), deadline_s=3)
    old = {"x-mq-client-version": "5.0.2"}
    consumer.ask("ReceiveMessage", receiving(group, topic), deadline_s=3, metadata=old)
    none = dict.fromkeys(old)
    consumer.ask("ReceiveMessage", receiving(group, topic), deadline_s=3, metadata=none)
    run.note("filters")
    for kind, expression in (("SQL", "a >"), ("SQL", ""), ("TAG", "||")):
        filter_expression = {"type": kind, "expression": expression}
        fields = receiving(group, topic, filter_expression=filter_expression)
        consumer.ask("ReceiveMessage", fields)
    run.note("topics and groups")
    consumer.ask("ReceiveMessage", receiving(group, "GReceiveNowhere"))
    consumer.ask("ReceiveMessage", receiving(group, "TBW102"))
    consumer.ask("ReceiveMessage", receiving(group, typed_topic(run, "GReceiveUnread", perm=2)))
    run.note("numbers of messages")
    send(run, topic, 0)
    for size in (-1, 0, 33):
        run.rpc_within(consumer.begin("ReceiveMessage", receiving(group, topic, batch_size=size)))
    run.note("a broker and a queue that are none")
    run.rpc_within(consumer.begin("ReceiveMessage", receiving(group, topic, broker="broker-x")))


@scenario("gRPC: the invisible time of a message is changed", config=FRONT, grpc=True, real_s=10)
def grpc_change(run: Run) -> None:
    topic = typed_topic(run, "GChange")
    group = typed_group(run, "GChange", retryMaxTimes=3)
    send(run, topic, 0)
    consumer = consumer_of(run, group, topic)
    (found,) = receive(run, consumer, receiving(group, topic))
    first = handle_of(found)
    run.note("longer, then shorter")
    fields = changing(group, topic, first, 60)
    (answer,) = consumer.ask("ChangeInvisibleDuration", fields)
    fields = changing(group, topic, answer.receipt_handle, 1)
    (answer,) = consumer.ask("ChangeInvisibleDuration", fields)
    run.note("the first handle again")
    consumer.ask("AckMessage", acknowledging(group, topic, first))
    run.note("it comes again")
    (found,) = receive_again(run, consumer, receiving(group, topic), AGAIN_MS)
    run.note("the handle is too old by now")
    old = answer.receipt_handle
    consumer.ask("AckMessage", acknowledging(group, topic, old))
    consumer.ask("ChangeInvisibleDuration", changing(group, topic, old, 10))
    consumer.ask("ForwardMessageToDeadLetterQueue", burying(group, topic, old))
    run.note("the new one is not")
    consumer.ask("AckMessage", acknowledging(group, topic, handle_of(found)))


@scenario("gRPC: changes of the invisible time that are refused or odd", config=FRONT, grpc=True)
def grpc_change_refused(run: Run) -> None:
    topic = typed_topic(run, "GChangeRefused")
    group = typed_group(run, "GChangeRefused", retryMaxTimes=3)
    send(run, topic, 0)
    consumer = consumer_of(run, group, topic)
    (found,) = receive(run, consumer, receiving(group, topic))
    handle = handle_of(found)
    for value in (43_200.001, 43_200):
        consumer.ask("ChangeInvisibleDuration", changing(group, topic, handle, value))
    fields = changing(group, topic, handle, 20)
    for name in ("message_id", "invisible_duration"):
        part = {key: value for key, value in fields.items() if key != name}
        consumer.ask("ChangeInvisibleDuration", part)
    run.note("handles that are none")
    for text in ("", "x", "0 1 2", " ".join(["1"] * 8), f"{handle} more"):
        consumer.ask("ChangeInvisibleDuration", changing(group, topic, text, 20))
    run.note("another topic, another group, no such topic")
    consumer.ask("ChangeInvisibleDuration", changing("GChangeOther", topic, handle, 20))
    consumer.ask("ChangeInvisibleDuration", changing(group, "GChangeNowhere", handle, 20))


@scenario(
    "gRPC: acknowledgements that are refused, and several in one request", config=FRONT, grpc=True
)
def grpc_ack_refused(run: Run) -> None:
    topic = typed_topic(run, "GAck")
    group = typed_group(run, "GAck", retryMaxTimes=3)
    send(run, topic, 0, 1, 2)
    consumer = consumer_of(run, group, topic)
    found = handles(receive(run, consumer, receiving(group, topic)))
    run.note("handles that are none")
    for text in ("", "x", "0 1 2", " ".join(["1"] * 8)):
        consumer.ask("AckMessage", acknowledging(group, topic, text))
    (answer,) = consumer.ask("ChangeInvisibleDuration", changing(group, topic, found[2], 0.5))
    run.pass_time(600)
    run.note("a good one, one that is none, one that is too old")
    consumer.ask("AckMessage", acknowledging(group, topic, found[0], "x", answer.receipt_handle))
    run.note("only bad ones, of two kinds")
    consumer.ask("AckMessage", acknowledging(group, topic, "x", answer.receipt_handle))
    run.note("only bad ones, of one kind")
    consumer.ask("AckMessage", acknowledging(group, topic, "x", "y"))
    run.note("no entry")
    consumer.ask("AckMessage", acknowledging(group, topic))
    run.note("another group, no such topic, another broker")
    consumer.ask("AckMessage", acknowledging("GAckOther", topic, found[1]))
    consumer.ask("AckMessage", acknowledging(group, "GAckNowhere", found[1]))
    other = found[1].replace("broker-a", "broker-x")
    consumer.ask("AckMessage", acknowledging(group, topic, other))


@scenario("gRPC: a message is moved to the dead letters", config=FRONT, grpc=True)
def grpc_forward(run: Run) -> None:
    topic = typed_topic(run, "GForward")
    group = typed_group(run, "GForward", retryMaxTimes=3)
    send(run, topic, 0, tag="t", keys=["k"])
    consumer = consumer_of(run, group, topic)
    (found,) = receive(run, consumer, receiving(group, topic))
    run.note("handles that are none")
    for text in ("", "x", " ".join(handle_of(found).split(" ")[:8])):
        consumer.ask("ForwardMessageToDeadLetterQueue", burying(group, topic, text))
    consumer.ask("ForwardMessageToDeadLetterQueue", burying(group, topic, handle_of(found)))
    run.note("again")
    consumer.ask("ForwardMessageToDeadLetterQueue", burying(group, topic, handle_of(found)))
    run.note("its dead letters, at the broker and by a receive")
    dead = f"%DLQ%{group}"
    run.until(lambda: run.client.update_route(dead) is not None, "a route of the dead letters")
    run.until(lambda: run.max_offset("broker-a", dead) > 0, "dead letters")
    run.pull(dead)
    receive(run, consumer, receiving(group, dead))


@scenario(
    "gRPC: a message that was received too often is buried", config=FRONT, grpc=True, real_s=14
)
def grpc_attempts(run: Run) -> None:
    topic = typed_topic(run, "GAttempts")
    group = typed_group(run, "GAttempts", retryMaxTimes=1)
    send(run, topic, 0)
    consumer = consumer_of(run, group, topic)
    for _ in range(2):
        (found,) = receive_again(run, consumer, receiving(group, topic), AGAIN_MS)
        consumer.ask("ChangeInvisibleDuration", changing(group, topic, handle_of(found), 1))
    dead = f"%DLQ%{group}"

    def is_buried() -> bool:
        lines = len(run.lines)
        assert receive(run, consumer, receiving(group, topic)) == []
        del run.lines[lines:]
        return run.client.update_route(dead) is not None

    run.wait(is_buried, AGAIN_MS, "dead letters")
    run.pull(dead)


@scenario("gRPC: messages of a group in order", config=FRONT, grpc=True, real_s=12)
def grpc_fifo(run: Run) -> None:
    topic = typed_topic(run, "GFifo", "FIFO")
    group = typed_group(run, "GFifo", consumeMessageOrderly=True, retryMaxTimes=3)
    send(run, topic, 0, 1, 2, message_group="g", message_type="FIFO")
    consumer = consumer_of(run, group, topic)
    fields = receiving(group, topic, queue_id=0, batch_size=2, attempt_id="first")
    old = receive(run, consumer, fields)
    run.pass_time(10)
    run.note("the same attempt again has the same messages; the handles before it change nothing")
    found = receive(run, consumer, fields)
    consumer.ask("AckMessage", acknowledging(group, topic, handle_of(old[0])))
    run.note("another attempt waits until they are acknowledged")
    receive(run, consumer, fields | {"attempt_id": "second"})
    run.note("the second of them alone: the queue stays as it is")
    consumer.ask("AckMessage", acknowledging(group, topic, handle_of(found[1])))
    run.note("the first comes again after a second")
    fields_of_change = changing(group, topic, handle_of(found[0]), 1)
    consumer.ask("ChangeInvisibleDuration", fields_of_change)
    (again, *_) = receive_again(run, consumer, fields | {"attempt_id": "third"}, AGAIN_MS)
    consumer.ask("AckMessage", acknowledging(group, topic, handle_of(again)))
    run.note("the rest")
    receive(run, consumer, fields | {"attempt_id": "fourth"})


@scenario("gRPC: what filters let through", config=FRONT, grpc=True, real_s=13)
def grpc_filters(run: Run) -> None:
    topic = typed_topic(run, "GFilters")
    producer = run.grpc("producer")
    for number, tag in enumerate("abcab"):
        one = message(topic, number, user={"number": str(number)}, tag=tag)
        producer.ask("SendMessage", sending(one), silent=True)
    run.note("sent: 0 to 4, with tags a, b, c, a, b")
    filters = (
        *(("TAG", "a"), ("TAG", "a || c"), ("TAG", ""), ("FILTER_TYPE_UNSPECIFIED", "b")),
        *(("SQL", "number > 2"), ("SQL", "TAGS = 'a' AND number < 2")),
    )
    consumer = consumer_of(run, "GFilters", topic)
    for number, (kind, expression) in enumerate(filters):
        group = f"GFilters{number}"
        fields = receiving(group, topic, filter_expression={"type": kind, "expression": expression})
        found = run.rpc_within(consumer.begin("ReceiveMessage", fields), quiet=True)
        run.note(f"{[one.message.body.decode() for one in found if one.HasField('message')]}")
    run.note("nothing matches")
    fields = receiving("GFiltersNone", topic, filter_expression={"type": "TAG", "expression": "x"})
    run.rpc_within(consumer.begin("ReceiveMessage", fields))


@scenario("gRPC: a push consumer's messages are renewed", config=FRONT, grpc=True)
def grpc_renewed(run: Run) -> None:
    topic = typed_topic(run, "GRenewed")
    group = typed_group(run, "GRenewed", retryMaxTimes=3)
    send(run, topic, 0)
    consumer = consumer_of(run, group, topic, "PUSH_CONSUMER")
    fields = receiving(group, topic, auto_renew=True)
    del fields["invisible_duration"]
    (found,) = receive(run, consumer, fields)
    consumer.ask("AckMessage", acknowledging(group, topic, handle_of(found)))


@scenario(
    "gRPC: a message stays hidden while its push consumer works", config=FRONT, grpc=True, real_s=75
)
def grpc_renewed_for_long(run: Run) -> None:
    topic = typed_topic(run, "GRenewedLong")
    group = typed_group(run, "GRenewedLong", retryMaxTimes=3)
    send(run, topic, 0)
    consumer = consumer_of(run, group, topic, "PUSH_CONSUMER")
    fields = receiving(group, topic, auto_renew=True)
    (found,) = receive(run, consumer, fields)
    run.note("longer than its invisible time of 60 s; with a heartbeat, as clients send it")
    for _ in range(7):
        run.pass_time(10_000)
        heartbeat = {"group": {"name": group}, "client_type": "PUSH_CONSUMER"}
        consumer.ask("Heartbeat", heartbeat, silent=True)
    receive(run, consumer, fields)
    run.note("its first handle serves still")
    consumer.ask("AckMessage", acknowledging(group, topic, handle_of(found)))
