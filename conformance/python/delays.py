"""Messages that come later: by 2 s on the clusters' second level, by 1 s on each of the others."""

from __future__ import annotations

from conformance.python.lab import Lab
from conformance.python.seen import by_key
from conformance.python.steps import message, queue_at

LEVELS = (99, 2, 1, 0, 1, -1, 18)
SECONDS = (1, 2, 1, 0, 1, 0, 1)
SYSTEM_TOPIC = "SCHEDULE_TOPIC_XXXX"


def delay(lab: Lab) -> None:
    topic = lab.create_topic("Delay", 1)
    queue = queue_at(topic, "broker-a")
    producer = lab.producer("Delay")
    ear = lab.ear("Delay", "late", topic)
    for i, level in enumerate(LEVELS):
        late = message(topic, "t", f"{i}-by-level-{level}", DELAY=str(level), number=str(i))
        result = producer.send(late, queue=queue)
        where = f"{result.broker_name}:{result.queue_id}"
        lab.say(f"sent with level {level}", f"{result.status.name} {where}")
    # What 5.x brokers would wait for, or refuse where their timer is off.
    timer = message(topic, "t", "timer", TIMER_DELAY_MS="2000")
    key = "sent with a timer of 5.x"
    is_sent = lab.say_failure(key, lambda: producer.send(timer, queue=queue).status)
    ear.await_messages(len(LEVELS) + is_sent)
    in_order = sorted(ear.messages, key=lambda one: one.offset)
    for level in (1, 2, 18):
        of_level = [one.keys for one in in_order if one.keys.endswith(f"-{level}")]
        lab.say(f"order of level {level}", of_level)
    for one in by_key(ear.messages):
        number = one.properties.get("number")
        due_ms = 0 if number is None else SECONDS[int(number)] * 1000
        lab.say("received", lab.describe(one, "MAX_OFFSET"))
        waited_ms = one.stored.store_timestamp_ms - one.stored.born_timestamp_ms
        # A busy machine may be late, a clock may not be early.
        lab.say("waited for its time", due_ms <= waited_ms < due_ms + 5000)
    for level in (1, 2, 18):
        for one in lab.all(queue_at(SYSTEM_TOPIC, "broker-a", level - 1)):
            if one.properties.get("REAL_TOPIC") == topic:
                # Others use this queue too.
                where = f"set aside on queue {one.stored.queue_id}"
                lab.say(where, lab.describe(one, "MAX_OFFSET"))
