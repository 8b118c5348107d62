"""Requests that wait for a reply."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Unpack

from conformance.python.lab import Lab
from conformance.python.reaching import assigned
from conformance.python.seen import Seen, by_key, received, shared
from conformance.python.spelling import spelled
from conformance.python.steps import await_, message, queue_at
from fakemq.client import Message, ReceivedMessage, create_reply_message
from fakemq.client.faces.messages import Where

PATIENT_MS = 20_000
SHORT_MS = 600


def request(lab: Lab) -> None:
    topic = lab.create_topic("Request", 1)
    requester = lab.producer("Requester")
    replier = lab.producer("Replier")
    requests: list[ReceivedMessage] = []
    replies: list[str] = []

    def answer(one: ReceivedMessage) -> None:
        requests.append(one)
        if one.tags == "late":
            time.sleep(2)
        if one.tags == "mute":
            return
        text = one.body if len(one.body) > 100 else f"reply to {one.keys}".encode()
        reply = create_reply_message(one, text)
        reply.properties |= {"TAGS": "reply", "size": str(len(one.body))}
        try:
            result = replier.send(reply, timeout_ms=PATIENT_MS)
            replies.append(f"{one.keys} {result.status.name} {result.queue.topic}")
        except Exception as error:
            replies.append(f"{one.keys} {error!r}")

    consumer = lab.push_consumer("Replier", "replier", {topic: "*"}, answer)
    await_("queues", lambda: len(assigned(consumer, topic)) == 2)

    def ask(key: str, tags: str = "t", **how: Unpack[Where]) -> Seen:
        where: Where = {"timeout_ms": PATIENT_MS, **how}
        return received(requester.request(message(topic, tags, key), **where))

    say_reply(lab, "sync", ask("sync"))
    say_reply(lab, "to a queue", ask("directed", queue=queue_at(topic, "broker-b")))
    say_reply(lab, "by selector", ask("selected", selector=lambda queues, _: queues[0]))
    large = Message(topic, bytes(10_000), tags="large", keys="large")
    echo = requester.request(large, timeout_ms=PATIENT_MS)
    lab.say("large reply", f"{len(echo.body)} bytes")
    say_reply(lab, "async", in_thread(lambda: ask("async")))

    lab.say_failure("no reply", lambda: ask("mute", "mute", timeout_ms=SHORT_MS))
    lab.say_failure("a reply that comes late", lambda: ask("late", "late", timeout_ms=SHORT_MS))
    # 4.9.7 calls back when the request is sent, without a reply, and again if one comes.
    lab.say_failure(
        "the first call without a reply", lambda: ask("async-mute", "mute", timeout_ms=SHORT_MS)
    )
    deserted = message(lab.create_topic("Deserted", 1), "t", "deserted")
    lab.say_failure("no group consumes", lambda: requester.request(deserted, timeout_ms=SHORT_MS))

    lab.say_failure(
        "reply to no request", lambda: create_reply_message(message(topic, "t", "k"), b"1")
    )

    await_("8 replies or none", lambda: len(requests) >= 8 and len(replies) >= 6)
    for one in by_key(map(received, requests)):
        lab.say("requested", lab.describe(one, "MAX_OFFSET"))
    for text in sorted(replies):
        lab.say("replied", text)

    for key, name, value in (
        ("reply to a client that is not there", "REPLY_TO_CLIENT", "127.0.0.1@absent"),
        ("reply to a request that is not there", "CORRELATION_ID", "unknown"),
    ):
        stray = create_reply_message(requests[0], key.encode())
        stray.properties[name] = value
        lab.say_failure(key, lab.sending(replier, stray, timeout_ms=PATIENT_MS))


def in_thread(action: Callable[[], Seen]) -> Seen:
    """Return the result of an action that another thread does."""
    found: list[Seen] = []
    thread = threading.Thread(target=lambda: found.append(action()))
    thread.start()
    thread.join()
    return found[0]


def say_reply(lab: Lab, key: str, reply: Seen) -> None:
    text = f"topic={reply.stored.topic} body={reply.body.decode()} flag={reply.stored.flag}"
    lab.say(key, f"MessageExt {text} properties={spelled(shared(reply.properties))}")
