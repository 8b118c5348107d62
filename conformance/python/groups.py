"""Groups and topics that change, or are looked at, while consumers run."""

from __future__ import annotations

import time
from datetime import datetime
from itertools import filterfalse
from typing import Literal

from conformance.python.lab import Lab
from conformance.python.listening import Ear
from conformance.python.operating import summary
from conformance.python.reaching import refresh
from conformance.python.spelling import spelled
from conformance.python.steps import await_, message, place, places, queue_at, routed
from fakemq.client import Producer, SendResult

BROKERS = ("broker-a", "broker-b")
WHERE: dict[Literal["timestamp", "first", "last"], str] = {
    "timestamp": "CONSUME_FROM_TIMESTAMP",
    "first": "CONSUME_FROM_FIRST_OFFSET",
    "last": "CONSUME_FROM_LAST_OFFSET",
}


def timestamp(lab: Lab) -> None:
    topic = lab.create_topic("Timestamp", 1)
    producer = lab.producer("Timestamp")
    send_to_both(producer, topic, "before")
    # The client's timestamps are whole seconds; the broker finds the message nearest to a time.
    time.sleep(2.2)
    between = datetime.now().strftime("%Y%m%d%H%M%S")
    send_to_both(producer, topic, "after")
    lab.stored(topic, 4)
    # Groups that have committed nothing in a young topic begin at 0, wherever they want to. One
    # that keeps its offsets in a file asks.
    for model, ending in (("CLUSTERING", ""), ("BROADCASTING", "_BROADCASTING")):
        for where, name in WHERE.items():
            ear = lab.ear(
                name + ending,
                name + ending,
                topic,
                consume_from=where,
                consume_timestamp=between,
                message_model=model,
                consume_threads=1,  # so that a queue's last message comes last
            )
            ear.await_queues(topic, 2)
            send_to_both(producer, topic, name + ending)
            last = {f"{name}{ending}-{broker}" for broker in BROKERS}
            ear.await_all(last)
            early = set(filterfalse(is_late, ear.keys()))
            lab.say(name + ending, early)


def is_late(key: str) -> bool:
    """Return whether a message was sent while its consumer ran."""
    return key.startswith("CONSUME")


def send_to_both(producer: Producer, topic: str, name: str) -> None:
    for broker in BROKERS:
        producer.send(message(topic, "t", f"{name}-{broker}"), queue=queue_at(topic, broker))


def suspended(lab: Lab) -> None:
    topic = lab.create_topic("Suspended", 1)
    producer = lab.producer("Suspended")
    lab.create_group("Suspended", consume_enable=False)
    send_to_both(producer, topic, "early")
    ear = lab.ear("Suspended", "suspended", topic)
    ear.await_queues(topic, 2)
    time.sleep(1)
    lab.say("received while suspended", ear.keys())
    by_hand = lab.pull_consumer("Suspended")
    lab.say_failure(
        "pull while suspended", lambda: by_hand.pull(queue_at(topic, "broker-a"), 0).status
    )
    by_hand.close()
    lab.create_group("Suspended", consume_enable=True)
    ear.await_keys(2)  # the client tries again each 3 s
    lab.say("received after resumption", ear.summary())

    # The consumer can also stop by itself.
    ear.consumer.suspend()
    time.sleep(0.5)
    send_to_both(producer, topic, "late")
    time.sleep(0.5)
    received = len(ear.keys())
    ear.consumer.resume()
    ear.await_keys(4)
    lab.say("its own suspension", ear.keys() if received <= 4 else received)


def growing(lab: Lab) -> None:
    topic = lab.create_topic("Growing", 1)
    producer = lab.producer("Growing")
    ear = lab.ear("Growing", "growing", topic)
    ear.await_queues(topic, 2)
    send_to_each(producer, topic, "one", 1)
    ear.await_keys(2)
    lab.create_topic("Growing", 3)
    # Each client asks for routes every 30 s and shares out every 20; here at once.
    refresh(ear.consumer)
    ear.await_queues(topic, 6)
    lab.say("grown to", ear.share(topic))
    refresh(producer)
    lab.say("publish queues", places(producer.queues(topic)))
    send_to_each(producer, topic, "three", 3)
    ear.await_keys(8)
    lab.say("received", ear.summary())
    gone = queue_at(topic, "broker-a", 2)
    lab.create_topic("Growing", 2)
    refresh(ear.consumer)
    refresh(producer)
    ear.await_queues(topic, 4)
    lab.say("shrunk to", ear.share(topic))
    lab.say_failure(
        "send to a queue that is gone",
        lambda: producer.send(message(topic, "t", "k"), queue=gone).status,
    )
    lab.say_failure("pull from a queue that is gone", lambda: lab.puller.pull(gone, 0).status)
    lab.create_topic("Growing", 3)
    lab.say_failure("pull from it when it is back", lambda: len(lab.puller.pull(gone, 0).messages))


def send_to_each(producer: Producer, topic: str, name: str, queues: int) -> None:
    for queue_id in range(queues):
        for broker in BROKERS:
            one = message(topic, "t", f"{name}-{broker}-{queue_id}")
            producer.send(one, queue=queue_at(topic, broker, queue_id))


def deleted(lab: Lab) -> None:
    producer = lab.producer("Deleted")
    topic = lab.create_topic("Deleted", 1)
    queue = queue_at(topic, "broker-a")
    lab.say("sent", producer.send(message(topic, "t", "k"), queue=queue).status)
    await_("stored", lambda: lab.puller.max_offset(queue) == 1)
    lab.operator.delete_topic(topic)
    # The client creates a topic that it sends to; brokers allow that by default.
    lab.say_failure("pull after deletion", lambda: lab.puller.pull(queue, 0).status)
    lab.say_failure(
        "queues after deletion", lambda: lab.puller.fetch_subscribe_message_queues(topic)
    )
    lab.create_topic("Deleted", 1)
    lab.say_failure(
        "offsets of the new topic",
        lambda: f"{lab.client.min_offset(queue)} {lab.client.max_offset(queue)}",
    )
    again = producer.send(message(topic, "t", "k"), queue=queue)
    lab.say("sent again", again.queue_offset)

    made = lab.topic("Made")
    create = lab.client.create_topic
    lab.say_failure("create by the producer", lambda: create(made, 3), "created")
    await_("route", lambda: routed(lambda: len(lab.queues(made)) == 6))
    lab.say("queues of the one created", places(lab.queues(made)))
    lab.say_failure("create an illegal one", lambda: create("no/slash", 3), "created")


def reset(lab: Lab) -> None:
    # For a reset the client stops its queues, waits 10 s and begins anew: one broker is enough.
    topic = lab.create_topic("Reset", 2, brokers=["broker-a"])
    producer = lab.producer("Reset")
    ear = lab.ear("Reset", "reset", topic)
    ear.await_queues(topic, 2)
    begin_ms = time.time_ns() // 1_000_000 - 1000
    send_round(producer, topic, "a")
    # The broker finds the message nearest to a time: those of the second round.
    time.sleep(1)
    middle_ms = time.time_ns() // 1_000_000
    send_round(producer, topic, "b")

    group, broker = lab.group("Reset"), lab.masters["broker-a"]

    def resets(key: str, timestamp_ms: int, *, force: bool) -> None:
        lab.say_failure(
            key,
            lambda: {
                place(queue): offset
                for queue, offset in sorted(
                    lab.operator.reset_offsets(
                        broker, topic, group, timestamp_ms, force=force
                    ).items(),
                    key=lambda item: place(item[0]),
                )
            },
        )

    await_again(lab, ear, topic, 4)
    resets("to the middle", middle_ms, force=True)
    await_again(lab, ear, topic, 2)
    resets("back without force", begin_ms, force=False)
    await_again(lab, ear, topic, 4)
    ear.consumer.close()
    resets("offline", begin_ms, force=True)
    lab.operator.set_offsets(group, lab.queues(topic), begin_ms)
    again = lab.ear("Reset", "again", topic)
    again.await_keys(4)
    lab.say("after restart received", again.summary())


def send_round(producer: Producer, topic: str, name: str) -> None:
    for queue_id in range(2):
        one = message(topic, "t", f"{name}{queue_id}")
        producer.send(one, queue=queue_at(topic, "broker-a", queue_id))


def await_again(lab: Lab, ear: Ear, topic: str, count: int) -> None:
    """Wait until this number of messages have come and all are committed; tell and forget them."""

    def is_done() -> bool:
        time.sleep(0.5)
        refresh(ear.consumer)
        return len(ear.keys()) == count and lab.committed_in_all("Reset", topic) == 4

    await_(f"{count} messages", is_done)
    lab.say("received", ear.summary())
    ear.messages.clear()


def inspected(lab: Lab) -> None:
    topic = lab.create_topic("Inspected", 1)
    producer = lab.producer("Inspected")
    ear = lab.ear("Inspected", "inspected", topic, "TagA || TagB")
    ear.await_queues(topic, 2)
    queue = queue_at(topic, "broker-a")
    sent = producer.send(message(topic, "TagA", "k1"), queue=queue)
    ear.await_messages(1)
    client_id = ear.consumer.client_id
    operator, group = lab.operator, lab.group("Inspected")
    await_("heartbeat", lambda: "TagA" in operator.subscriptions(group))
    lab.say("subscriptions", operator.subscriptions(group))
    connection = operator.consumers(group)
    member = connection.connection_set[0]
    itself = spelled(member.client_id == client_id)
    lab.say(
        "connection",
        f"{connection.consume_type} {connection.message_model} {connection.consume_from_where}"
        f" clients={len(connection.connection_set)} language={member.language} itself={itself}",
    )
    await_("the producer's heartbeat", lambda: lab.producers("Inspected") == 1)
    lab.say("running", summary(operator.running_info(group, client_id, stack=True), topic))
    lab.say_failure("consumed directly", lambda: directly(lab, group, client_id, sent))
    ear.await_messages(2)
    lab.say("received", ear.summary())
    await_("commit", lambda: lab.committed_in_all("Inspected", topic) == 1)
    table = lab.client.consume_stats(group, topic).offset_table
    offsets = {
        place(one): f"{table[one].broker_offset} {table[one].consumer_offset}"
        for one in sorted(table, key=place)
    }
    lab.say("consume stats", f"no failure, {spelled(offsets)}")


def directly(lab: Lab, group: str, client_id: str, sent: SendResult) -> str:
    """Return how a consumer consumed a message that a broker gave it directly."""
    result = lab.operator.consume_directly(group, client_id, sent)
    order, commit = spelled(result.order), spelled(result.auto_commit)
    return f"{spelled(result.consume_result)} order={order} autoCommit={commit}"
