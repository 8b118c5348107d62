"""The scenarios of RocketMQ 5's Python client, most of them those of java/…/GrpcClients.java."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rocketmq import FilterExpression, TransactionResolution
from rocketmq.grpc_protocol import FilterType

from conformance.grpc_python.lab import (
    ATTEMPTS,
    AWAIT_S,
    INVISIBLE_S,
    PATIENCE_S,
    GrpcLab,
    key_of,
    message,
    receive_all,
    receive_one,
    receive_some,
    seconds_since,
    shown,
)
from conformance.python.spelling import spelled
from conformance.python.steps import await_


def plain(lab: GrpcLab) -> None:
    """Blocking and asynchronous sends, receives and acknowledgements."""
    topic = lab.typed_topic("PyPlain", "NORMAL")
    group = lab.retrying_group("PyPlain")
    producer = lab.sender(topic)
    for number in range(4):
        receipt = producer.send(message(topic, f"m{number}", number=str(number)))
        lab.say("sent", len(receipt.message_id))
    for number in range(4, 8):
        receipt = producer.send_async(message(topic, f"m{number}", number=str(number))).result()
        lab.say("sent", len(receipt.message_id))
    consumer = lab.simple(group, topic)
    for one in sorted(receive_all(consumer, 8), key=key_of):
        lab.say("received", shown(one))
    lab.say("left", receive_some(consumer))
    producer.send(message(topic, "later"))
    later: list[Any] = []

    def receive() -> bool:
        later.extend(consumer.receive_async(16, INVISIBLE_S).result())
        return bool(later)

    await_("a message", receive, PATIENCE_S)
    lab.say("later", shown(later[0]))
    consumer.ack(later[0])  # ack_async of this version works in threads with a loop only
    ordered = message(topic, "ordered")
    ordered.message_group = "g"
    lab.say_failure("of another type", lambda: producer.send(ordered))
    lab.say("committed", lab.committed_in_all("PyPlain", topic))


def change(lab: GrpcLab) -> None:
    """A message comes again as soon as its new invisible duration is over."""
    topic = lab.typed_topic("PyChange", "NORMAL")
    consumer = lab.simple(lab.retrying_group("PyChange"), topic)
    lab.sender(topic).send(message(topic, "sooner"))
    first = receive_one(consumer)
    begin = time.monotonic()
    consumer.change_invisible_duration(first, 2)
    again = receive_one(consumer)
    lab.say("it came again", f"{shown(again)} early={spelled(seconds_since(begin) < 1.9)}")
    consumer.ack(again)


def unacknowledged(lab: GrpcLab) -> None:
    """A message that is not acknowledged comes again, one that is does not."""
    topic = lab.typed_topic("PyUnacknowledged", "NORMAL")
    consumer = lab.simple(lab.retrying_group("PyUnacknowledged"), topic)
    producer = lab.sender(topic)
    producer.send(message(topic, "acknowledged"))
    consumer.ack(receive_one(consumer))
    producer.send(message(topic, "forgotten"))
    receive_one(consumer)
    begin = time.monotonic()
    again = receive_one(consumer)
    early = seconds_since(begin) < INVISIBLE_S - 1
    lab.say("it came again", f"{shown(again)} early={spelled(early)}")
    consumer.ack(again)
    lab.say("left", receive_some(consumer))


def dead(lab: GrpcLab) -> None:
    """The proxy buries what a simple consumer has received too often."""
    topic = lab.typed_topic("PyDead", "NORMAL")
    group = lab.retrying_group("PyDead")
    consumer = lab.simple(group, topic)
    lab.sender(topic).send(message(topic, "bad"))
    for _ in range(ATTEMPTS):
        one = receive_one(consumer)
        lab.say("received", shown(one))
        consumer.change_invisible_duration(one, 1)
    more: list[Any] = []

    def receive() -> bool:
        more.extend(receive_some(consumer))
        return lab.has_buried(group)

    await_("a dead letter", receive, PATIENCE_S)
    lab.say("received afterwards", [shown(one) for one in more])
    lab.say("buried", lab.buried(group))


def retry(lab: GrpcLab) -> None:
    """A push consumer gets again what it failed at, until that is a dead letter."""
    topic = lab.typed_topic("PyRetry", "NORMAL")
    group = lab.retrying_group("PyRetry")
    received: list[str] = []

    def listen(one: Any) -> bool:
        key = key_of(one)
        received.append(f"{key} {one.delivery_attempt}")
        return key == "good" or (key == "once" and one.delivery_attempt > 1)

    lab.push(group, topic, listen)
    producer = lab.sender(topic)
    for key in ("good", "once", "bad"):
        producer.send(message(topic, key))
    await_("six deliveries", lambda: len(received) >= 6, PATIENCE_S)
    await_("a dead letter", lambda: lab.has_buried(group), PATIENCE_S)
    lab.say("received", sorted(received))
    lab.say("buried", lab.buried(group))


def fifo(lab: GrpcLab) -> None:
    """A simple consumer gets the messages of a group in order."""
    topic = lab.typed_topic("PyFifo", "FIFO")
    consumer = lab.simple(lab.retrying_group("PyFifo", orderly=True), topic)
    _send_in_order(lab, topic)
    lab.say("in order", [key_of(one) for one in receive_all(consumer, 6, at_once=2)])


def fifo_push(lab: GrpcLab) -> None:
    """A push consumer repeats a message in its place, buries it, and continues behind it."""
    topic = lab.typed_topic("PyFifoPush", "FIFO")
    group = lab.retrying_group("PyFifoPush", orderly=True)
    received: list[str] = []

    def listen(one: Any) -> bool:
        received.append(key_of(one))
        return key_of(one) != "m2"

    lab.push(group, topic, listen)
    _send_in_order(lab, topic)
    await_("the last message", lambda: "m5" in received, PATIENCE_S)
    await_("a dead letter", lambda: lab.has_buried(group), PATIENCE_S)
    lab.say("in order", received)
    lab.say("buried", lab.buried(group))


def _send_in_order(lab: GrpcLab, topic: str) -> None:
    producer = lab.sender(topic)
    for number in range(6):
        one = message(topic, f"m{number}")
        one.message_group = "one group"
        producer.send(one)


def delay(lab: GrpcLab) -> None:
    """Of two messages with a delivery time one is recalled before it."""
    topic = lab.typed_topic("PyDelay", "DELAY")
    consumer = lab.simple(lab.retrying_group("PyDelay"), topic)
    producer = lab.sender(topic)
    at_s = int(time.time()) + 7  # the client takes seconds
    receipts = {}
    for key in ("gone", "stays"):
        one = message(topic, key)
        one.delivery_timestamp = at_s
        receipts[key] = producer.send(one)
    gone = receipts["gone"]
    recalled = producer.recall_message(topic, gone.recall_handle)
    lab.say("recalled", recalled == gone.message_id)
    lab.say_failure("no handle", lambda: producer.recall_message(topic, "nonsense"))
    lab.say("received", shown(receive_all(consumer, 1)[0]))
    lab.say("not early", time.time() >= at_s - 1)


def transaction(lab: GrpcLab) -> None:
    """One is committed, one rolled back, and brokers ask about two others."""
    lab.fill("PyFilled")
    topic = lab.typed_topic("PyTransaction", "TRANSACTION")
    consumer = lab.simple(lab.retrying_group("PyTransaction"), topic)
    checker = _Checker()
    producer = lab.sender(topic, checker)
    for key in ("committed", "rolled-back", "left", "unwanted"):
        begun = producer.begin_transaction()
        producer.send(message(topic, key), begun)
        if key == "committed":
            begun.commit()
        elif key == "rolled-back":
            begun.rollback()
    for one in sorted(receive_all(consumer, 2), key=key_of):
        lab.say("received", shown(one))
    await_("both checks", lambda: len(checker.checked) == 2, PATIENCE_S)
    lab.say("checked", sorted(checker.checked))


class _Checker:
    """Answers brokers about what was left to them, and keeps its keys.

    On a busy machine they may ask about the two others, too, before the producer ends these.
    """

    ANSWERS: Mapping[str, Any] = {
        "left": TransactionResolution.COMMIT,
        "unwanted": TransactionResolution.ROLLBACK,
    }

    def __init__(self) -> None:
        self.checked: set[str] = set()

    def check(self, found: Any) -> Any:
        """Called on a thread of the client."""
        key = key_of(found)
        if key not in self.ANSWERS:
            return TransactionResolution.UNKNOWN
        self.checked.add(key)
        return self.ANSWERS[key]


def filters(lab: GrpcLab) -> None:
    """Consumers get what their expressions match."""
    topic = lab.typed_topic("PyFilters", "NORMAL")
    expressions = {
        "Tag": FilterExpression("ta"),
        "Tags": FilterExpression("ta || tc"),
        "Sql": FilterExpression("number > 3 AND TAGS = 'ta'", FilterType.SQL),
        "None": FilterExpression("other"),
    }
    consumers = {
        name: lab.simple(lab.retrying_group(f"Py{name}"), topic, expression)
        for name, expression in expressions.items()
    }
    producer = lab.sender(topic)
    for number in range(6):
        producer.send(message(topic, f"m{number}", "t" + "abc"[number % 3], number=str(number)))
    for name, count in (("Tag", 2), ("Tags", 4)):
        lab.say(name, sorted(map(key_of, receive_all(consumers[name], count))))
    lab.say("None", receive_some(consumers["None"]))
    producer.send(message(topic, "m6", "ta", number="6"))
    lab.say("Sql", [key_of(one) for one in receive_all(consumers["Sql"], 1)])


def fail_over(lab: GrpcLab) -> None:
    """Send and receive side by side, while somebody else ends the master.

    It takes ``CONFORMANCE_SECONDS``, and then until what was acknowledged has come and nothing more
    comes, or its time is over: its lines say what is missing.
    """
    topic = lab.typed_topic("PyFailOver", "NORMAL")
    consumer = lab.simple(lab.retrying_group("PyFailOver"), topic)
    end_s = time.monotonic() + float(os.environ["CONFORMANCE_SECONDS"])
    sent: set[str] = set()
    received: set[str] = set()
    last_s = time.monotonic()

    def send() -> None:
        producer = lab.sender(topic)  # of this thread, as its event loop is
        for number in itertools.count():
            if time.monotonic() > end_s:
                return
            with suppress(Exception):  # no master
                producer.send(message(topic, f"m{number}"))
                sent.add(f"m{number}")
                lab.say("sent", f"m{number}")
            time.sleep(0.1)

    def hear() -> None:
        nonlocal last_s
        with suppress(Exception):  # no master
            for one in receive_some(consumer):
                last_s = time.monotonic()
                received.add(key_of(one))
                lab.say("received", key_of(one))
                consumer.ack(one)

    def all_came() -> bool:
        hear()
        return sent <= received and seconds_since(last_s) > INVISIBLE_S + AWAIT_S

    sending = threading.Thread(target=send)
    sending.start()
    while sending.is_alive():
        hear()
    deadline_s = time.monotonic() + 3 * (INVISIBLE_S + AWAIT_S)
    while time.monotonic() < deadline_s and not all_came():
        pass


SCENARIOS: Mapping[str, Callable[[GrpcLab], None]] = {
    # Those that wait longest come first.
    "pydead": dead,
    "pytransaction": transaction,
    "pyretry": retry,
    "pyunacknowledged": unacknowledged,
    "pyfifopush": fifo_push,
    "pydelay": delay,
    "pychange": change,
    "pyfilters": filters,
    "pyfifo": fifo,
    "pyplain": plain,
    "pyfailover": fail_over,
}
