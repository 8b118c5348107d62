"""What SQL92 lets through, what it refuses, and subscriptions that change while consumers run."""

from __future__ import annotations

from collections.abc import Callable

from conformance.python.lab import Lab
from conformance.python.reaching import refresh
from conformance.python.steps import await_, message, queue_at, within
from fakemq.client import Producer, PullConsumer, Selector
from fakemq.client.consuming.received import Pulled
from fakemq.protocol.bodies.queue import MessageQueue

EXPRESSIONS = (
    *("a > 3", "a >= 3 AND a <= 5", "a BETWEEN 3 AND 5", "a NOT BETWEEN 3 AND 5"),
    *("a = 2 OR a = 8", "a <> 2", "a IS NULL", "a IS NOT NULL", "colour = 'red'"),
    *("colour IN ('red', 'blue')", "colour NOT IN ('red', 'blue')", "colour <> 'red'"),
    *("TAGS = 'odd'", "TAGS IS NOT NULL AND TAGS IN ('even')", "price > 2.4", "price = 2.5"),
    *("price BETWEEN 1 AND 2", "ready = TRUE", "ready = FALSE", "ready IS NULL", "NOT (a > 3)"),
    *("(a > 3) AND (colour = 'red' OR ready = TRUE)", "KEYS = 'm1'", "missing = 1"),
    *("missing <> 1", "a > 3 OR missing = 1", "1 < 2", "1 > 2", "a > '3'", "colour > 3"),
    *("a = 3.0", "price = 2", "colour = 'it''s'", "a > -1", "ready", "a CONTAINS '1'"),
)
BAD = (
    *("", "a", "a >", "a > > 3", "a = 'x", "a BETWEEN 5 AND 3", "a IN (1, 2)", "a == 3"),
    *("a > 3 AND", "colour LIKE 'r%'", "a + 1 > 3", "a > 99999999999999999999"),
    *("'x' = colour = 'y'", "a IN ()", "colour > 'a'", "colour BETWEEN 'a' AND 'b'"),
    "ready > TRUE",
)
COLOURS = ("red", "blue", "green", "it's", None)


def sql(lab: Lab) -> None:
    topic = lab.create_topic("Sql", 1)
    queue = queue_at(topic, "broker-a")
    send_round(lab.producer("Sql"), topic, queue)
    await_("10 messages", lambda: lab.client.max_offset(queue) == 10)
    consumer = lab.pull_consumer("Sql")
    for expression in EXPRESSIONS:
        lab.say_failure(expression, by_sql(consumer, queue, expression))
    for expression in BAD:
        lab.say_failure(f"bad {expression}", by_sql(consumer, queue, expression))
    lab.say_failure("by tag", lambda: summary(consumer.pull(queue, 0, Selector.by_tag("odd"))))
    lab.say_failure("three at most", by_sql(consumer, queue, "a > 3", 3))


def by_sql(
    consumer: PullConsumer, queue: MessageQueue, expression: str, at_most: int = 32
) -> Callable[[], str]:
    """Return an action that pulls by an expression and describes its result."""
    selector = Selector.by_sql(expression)
    return lambda: summary(consumer.pull(queue, 0, selector, max_messages=at_most))


def summary(result: Pulled) -> str:
    found = ", ".join(sorted(one.keys for one in result.messages))
    return f"{result.status.name} next={result.next_begin_offset} keys=[{found}]"


def send_round(producer: Producer, topic: str, queue: MessageQueue) -> None:
    for i in range(10):
        properties = {"price": f"{i / 2}0" if i == 4 else f"{i / 2}"}
        if i > 0:
            properties["a"] = "nine" if i == 9 else str(i)
        if (colour := COLOURS[i % 5]) is not None:
            properties["colour"] = colour
        if i % 3 != 0:
            properties["ready"] = "true" if i % 3 == 1 else "false"
        tag = "odd" if i % 2 else "even"
        producer.send(message(topic, tag, f"m{i}", **properties), queue=queue)


def sql_push(lab: Lab) -> None:
    topic = lab.create_topic("SqlPush", 1)
    queue = queue_at(topic, "broker-b")
    producer = lab.producer("SqlPush")
    wanted = Selector.by_sql("colour = 'red' OR a BETWEEN 3 AND 4")
    ear = lab.ear("SqlPush", "red", topic, wanted)
    send_round(producer, topic, queue)
    ear.await_keys(4)
    lab.say("by SQL", ear.summary())

    bad = Selector.by_sql("a > > 3")
    lab.say_failure(
        "start with a bad expression", lambda: lab.ear("SqlBad", "bad", topic, bad).summary()
    )

    # The broker learns another expression by the consumer's next heartbeat.
    ear.consumer.subscribe(topic, Selector.by_sql("price > 4.2"))

    def is_new() -> bool:
        ear.messages.clear()
        send_round(producer, topic, queue)
        # The last of the queue that the old expression wants, and that the new one wants.
        await_("the end of a round", lambda: not ear.keys().isdisjoint({"m5", "m9"}))
        return ear.keys() == {"m9"}

    await_("the new expression", is_new)
    lab.say("by another expression", ear.keys())


def resubscribe(lab: Lab) -> None:
    topic = lab.create_topic("Resubscribe", 1)
    other = lab.create_topic("ResubscribeOther", 1)
    producer = lab.producer("Resubscribe")
    ear = lab.ear("Resubscribe", "changing", topic, "TagA")
    consumer = ear.consumer
    ear.await_queues(topic, 2)
    send_tagged(producer, topic, other, "first")
    ear.await_messages(2)
    lab.say("TagA", ear.summary())

    consumer.subscribe(topic, "TagB")
    consumer.subscribe(other, "*")
    refresh(consumer)
    ear.await_queues(other, 2)
    lab.say("other's queues", ear.share(other))
    # What was sent before the other topic was subscribed is received too.
    ear.await_messages(6)
    lab.say("and the other", ear.keys())

    # Until a heartbeat has named it and held pulls have ended, the broker filters as before.
    def is_second() -> bool:
        ear.messages.clear()
        send_tagged(producer, topic, other, "second")
        # In between, while the broker filters by one tag and the consumer by the other, only four
        # come. Before and after it are six.
        is_whole = within(0.5, lambda: len(ear.keys()) >= 6)
        return is_whole and not any(key.startswith("second-TagA") for key in ear.keys())  # noqa: SIM118

    await_("second", is_second)
    lab.say("TagB and the other", ear.keys())

    consumer.unsubscribe(topic)
    refresh(consumer)
    await_("no queues of the first", lambda: not ear.assigned(topic))
    ear.messages.clear()
    send_tagged(producer, topic, other, "third")
    ear.await_messages(4)
    lab.say("the other only", ear.summary())
    group = lab.group("Resubscribe")
    await_("the next heartbeat", lambda: "TagB" not in lab.operator.subscriptions(group))
    lab.say("subscriptions at the broker", lab.operator.subscriptions(group))


def send_tagged(producer: Producer, topic: str, other: str, name: str) -> None:
    for to, which in ((topic, ""), (other, "other-")):
        for broker in ("broker-a", "broker-b"):
            for tag in ("TagA", "TagB"):
                one = message(to, tag, f"{name}-{which}{tag}-{broker}")
                producer.send(one, queue=queue_at(to, broker))


def no_sql(lab: Lab) -> None:
    topic = lab.create_topic("NoSql", 1)
    queue = queue_at(topic, "broker-a")
    lab.say_failure("pull", by_sql(lab.pull_consumer("NoSql"), queue, "a > 3"))
    selector = Selector.by_sql("a > 3")
    lab.say_failure("start", lambda: lab.ear("NoSqlPush", "push", topic, selector).summary())
