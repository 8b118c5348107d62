"""gRPC: transactions, delivery times and recalls."""

from __future__ import annotations

from typing import Any

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.grpc_receiving import AGAIN_MS, consumer_of
from conformance.wire.rpc_peer import RpcPeer
from conformance.wire.rpcs import (
    FRONT,
    MESSAGE_ID,
    acknowledging,
    ending,
    handle_of,
    message,
    moment,
    named,
    producing,
    receive,
    receive_again,
    receiving,
    sending,
    typed_group,
    typed_topic,
)

CHECKED = FRONT | {
    "transactionCheckInterval": "3000",
    "transactionTimeOut": "1000",
}
CHECK_MS = 40_000
"""A broker asks within this time: it knows of producers behind a proxy after 20 s."""


def prepare(producer: RpcPeer, topic: str, number: int, **system: Any) -> str:
    """Send a half message; return its transaction id."""
    one = message(topic, number, message_type="TRANSACTION", **system)
    (answer,) = producer.ask("SendMessage", sending(one), hidden=("offset",))
    return str(answer.entries[0].transaction_id)


@scenario("gRPC: transactions that are committed and rolled back", config=FRONT, grpc=True)
def grpc_transaction(run: Run) -> None:
    topic = typed_topic(run, "GTransaction", "TRANSACTION")
    group = typed_group(run, "GTransaction", retryMaxTimes=2)
    producer = run.grpc("producer")
    producer.settings(**producing(topic))
    committed = prepare(producer, topic, 0)
    rolled_back = prepare(producer, topic, 1)
    producer.ask("EndTransaction", ending(topic, rolled_back, "ROLLBACK"))
    producer.ask("EndTransaction", ending(topic, committed, "COMMIT"))
    run.note("a second time")
    producer.ask("EndTransaction", ending(topic, committed, "COMMIT"))
    consumer = consumer_of(run, group, topic)
    (found,) = receive_again(run, consumer, receiving(group, topic), AGAIN_MS)
    consumer.ask("AckMessage", acknowledging(group, topic, handle_of(found)))


@scenario("gRPC: ends of transactions that are refused", config=FRONT, grpc=True)
def grpc_transaction_refused(run: Run) -> None:
    topic = typed_topic(run, "GTransactionRefused", "TRANSACTION")
    producer = run.grpc("producer")
    for transaction_id in ("", " ", "x", MESSAGE_ID.format(7)):
        producer.ask("EndTransaction", ending(topic, transaction_id, "COMMIT"))
    run.note("another topic, no topic, an odd one")
    known = prepare(producer, topic, 0)
    for name in ("GTransactionOther", "", "a b"):
        producer.ask("EndTransaction", ending(name, known, "COMMIT"))
    run.note("by another client")
    run.grpc("other").ask("EndTransaction", ending(topic, known, "COMMIT"))
    run.note("neither commit nor roll back")
    open_one = prepare(producer, topic, 1)
    producer.ask("EndTransaction", ending(topic, open_one, "TRANSACTION_RESOLUTION_UNSPECIFIED"))
    producer.ask("EndTransaction", ending(topic, open_one, "COMMIT"))
    run.note("no message id, another source")
    third = prepare(producer, topic, 2)
    fields = ending(topic, third, "COMMIT", message_id="", source="SOURCE_SERVER_CHECK")
    producer.ask("EndTransaction", fields)


@scenario("gRPC: a proxy knows a transaction for 30 s", config=FRONT, grpc=True, real_s=33)
def grpc_transaction_late(run: Run) -> None:
    topic = typed_topic(run, "GTransactionLate", "TRANSACTION")
    producer = run.grpc("producer")
    early, late = prepare(producer, topic, 0), prepare(producer, topic, 1)
    run.pass_time(27_000)
    producer.ask("EndTransaction", ending(topic, early, "ROLLBACK"))
    run.pass_time(6_000)
    producer.ask("EndTransaction", ending(topic, late, "ROLLBACK"))


@scenario(
    "gRPC: a producer is asked about transactions that it left open",
    config=CHECKED,
    grpc=True,
    real_s=40,
)
def grpc_transaction_checked(run: Run) -> None:
    # Brokers take a prepared message at the beginning of a log for one that is not prepared.
    filled = typed_topic(run, "GFilled")
    producer = run.grpc("producer")
    producer.ask("SendMessage", sending(message(filled)), silent=True)
    topic = typed_topic(run, "GTransactionChecked", "TRANSACTION")
    group = typed_group(run, "GTransactionChecked", retryMaxTimes=2)
    stream = producer.settings(**producing(topic))
    # One that is said to be born long ago would be put away at once.
    born = moment(run.now_ms())
    prepare(producer, topic, 0, tag="t", keys=["k"], trace_context="c", born_timestamp=born)
    run.wait(lambda: stream.has_come(0), CHECK_MS, "a command", 500)
    hidden = ("user_properties[TRANSACTION_CHECK_TIMES]", "queue_offset")
    command = stream.take(hidden=hidden).recover_orphaned_transaction_command
    fields = ending(topic, command.transaction_id, "COMMIT", source="SOURCE_SERVER_CHECK")
    producer.ask("EndTransaction", fields)
    consumer = consumer_of(run, group, topic)
    receive_again(run, consumer, receiving(group, topic), AGAIN_MS, hidden)


@scenario("gRPC: a message with a delivery time", config=FRONT, grpc=True, real_s=8)
def grpc_delay(run: Run) -> None:
    topic = typed_topic(run, "GDelay", "DELAY")
    group = typed_group(run, "GDelay", retryMaxTimes=2)
    producer = run.grpc("producer")
    due_ms = run.now_ms() + 3_000
    one = message(topic, 0, message_type="DELAY", delivery_timestamp=moment(due_ms))
    producer.ask("SendMessage", sending(one), hidden=("offset",))
    run.note("one whose time is over")
    past = moment(run.now_ms() - 60_000)
    one = message(topic, 1, message_type="DELAY", delivery_timestamp=past)
    producer.ask("SendMessage", sending(one), hidden=("offset",))
    consumer = consumer_of(run, group, topic)
    receive(run, consumer, receiving(group, topic))
    receive_again(run, consumer, receiving(group, topic), AGAIN_MS)
    run.note(f"early: {run.now_ms() < due_ms - 1_000}")


@scenario("gRPC: a message is recalled", config=FRONT, grpc=True, real_s=13)
def grpc_recall(run: Run) -> None:
    topic = typed_topic(run, "GRecall", "DELAY")
    normal = typed_topic(run, "GRecallNormal")
    group = typed_group(run, "GRecall", retryMaxTimes=2)
    producer = run.grpc("producer")
    due = moment(run.now_ms() + 4_000)
    handles = []
    for number in (0, 1):
        one = message(topic, number, message_type="DELAY", delivery_timestamp=due)
        (answer,) = producer.ask("SendMessage", sending(one), hidden=("offset",))
        handles.append(answer.entries[0].recall_handle)
    producer.ask("RecallMessage", {"topic": named(topic), "recall_handle": handles[0]})
    run.note("twice")
    producer.ask("RecallMessage", {"topic": named(topic), "recall_handle": handles[0]})
    run.note("handles that are none, other topics")
    for text in ("", "x", handles[0][:20]):
        producer.ask("RecallMessage", {"topic": named(topic), "recall_handle": text})
    for name in (normal, "GRecallNowhere", typed_topic(run, "GRecallOther", "DELAY")):
        producer.ask("RecallMessage", {"topic": named(name), "recall_handle": handles[1]})
    consumer = consumer_of(run, group, topic)
    receive_again(run, consumer, receiving(group, topic), AGAIN_MS)
    run.note("too late")
    producer.ask("RecallMessage", {"topic": named(topic), "recall_handle": handles[1]})


@scenario("gRPC: brokers that recall nothing", config={"recallMessageEnable": "false"}, grpc=True)
def grpc_recall_off(run: Run) -> None:
    topic = typed_topic(run, "GRecallOff", "DELAY")
    producer = run.grpc("producer")
    due = moment(run.now_ms() + 60_000)
    one = message(topic, 0, message_type="DELAY", delivery_timestamp=due)
    (answer,) = producer.ask("SendMessage", sending(one), hidden=("offset",))
    handle = answer.entries[0].recall_handle
    producer.ask("RecallMessage", {"topic": named(topic), "recall_handle": handle})
