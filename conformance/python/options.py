"""Settings of clients that brokers notice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.python.lab import Lab
from conformance.python.seen import by_key, keys, pulled
from conformance.python.steps import await_, message, queue_at
from fakemq.client import PullResult
from fakemq.client.consuming.allocation import averagely_by_circle
from fakemq.errors import FakemqError

Options = Mapping[str, Any]


def through(lab: Lab, key: str, name: str, topic: str, sending: Options, hearing: Options) -> None:
    """Send and hear some messages with clients of these options."""
    producer = lab.producer(name, instance=key.replace(" ", "-"), **sending)
    for i in range(8):
        producer.send(message(topic, "t", f"m{i}"))
    ear = lab.ear(name, f"listens-{name}", topic, **hearing)
    ear.await_keys(8)
    lab.say(key, ear.summary())
    lab.say(f"{key} first", lab.describe(by_key(ear.messages)[0], "MAX_OFFSET"))


def options(lab: Lab) -> None:
    # A name space is part of stored names, and not of what its clients see.
    lab.create_topic("NS%Inside", 1)
    inside = {"namespace": "NS"}
    through(lab, "namespace", "Inside", lab.topic("Inside"), inside, inside)
    stored = lab.stored(lab.topic("NS%Inside"), 8)[0]
    consumers = lab.operator.groups_of(lab.topic("NS%Inside"))
    lab.say("stored names", f"{stored.stored.topic} [{', '.join(consumers)}]")

    unit = {"unit_mode": True, "vip_channel": True}
    through(lab, "unit mode", "Unit", lab.topic("Unit"), {"vip_channel": True}, unit)

    careful = {"send_latency_fault_enable": True, "retry_another_broker_when_not_store_ok": True}
    small = {
        "post_subscription_when_pull": True,
        "pull_batch_size": 1,
        "pull_threshold_for_queue": 1,
        "consume_threads": 1,
    }
    through(lab, "small steps", "Careful", lab.create_topic("Careful", 1), careful, small)

    circle = lab.create_topic("Circle", 3)
    ears = [lab.ear("Circle", f"circle-{i}", circle, allocate=averagely_by_circle) for i in (1, 2)]
    await_("halves", lambda: all(len(ear.assigned(circle)) == 3 for ear in ears))
    for ear in ears:
        lab.say("shared out in a circle", ear.share(circle))
    pull_in_parallel(lab)


def pull_in_parallel(lab: Lab) -> None:
    """Where Java pulls with a call-back, several pulls of a client run at once."""
    topic = lab.create_topic("AsyncPull", 1)
    queue = queue_at(topic, "broker-a")
    producer = lab.producer("AsyncPull")
    reader = lab.at_end.enter_context(lab.reader("AsyncPull"))
    lab.say("sent", producer.send(message(topic, "t", "k"), queue=queue).status)
    await_("a message", lambda: reader.max_offset(queue) == 1)

    def pulls(kind: str, offset: int, suspend_ms: int = 0) -> None:
        parallel = reader.parallel()
        outcomes: list[PullResult | FakemqError] = []
        where = queue_at(topic, "broker-a", 5) if kind == "refused" else queue
        pull = reader.consumer.pull(where, offset, suspend_ms=suspend_ms)
        parallel.start(pull, outcomes.append)
        if kind == "held":
            producer.send(message(topic, "t", "later"), queue=queue)

        def summary() -> str:
            while not outcomes:
                parallel.wait(20_000)
            result = outcomes[0]
            if isinstance(result, FakemqError):
                raise result
            found = ", ".join(sorted(keys(pulled(result))))
            return f"{result.status.name} [{found}]"

        lab.say_failure(f"asynchronous pull, {kind}", summary)

    pulls("found", 0)
    pulls("held", 1, 20_000)
    pulls("refused", 0)
