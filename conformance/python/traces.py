"""What clients tell of themselves in the trace topic."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from conformance.python.lab import Lab
from conformance.python.steps import await_, message, routed
from fakemq.client import SendResult

SYSTEM_TOPIC = "RMQ_SYS_TRACE_TOPIC"
_FIELD, _RECORD = "\x01", "\x02"
EVENTS = 9
"""Of each of three messages: sent, about to be consumed, consumed."""


KINDS = ("Normal_Msg", "Trans_Msg_Half", "Trans_msg_Commit", "Delay_Msg")
"""Source: common/message/MessageType.java (4.9.7)"""


class Context(NamedTuple):
    """One event of a trace, as `TraceDataEncoder` reads it, in the Java program's words."""

    message_id: str
    text: str


def trace(lab: Lab) -> None:
    """With the broker's own topic for traces, and with one of ours."""
    trace_to(lab, "TraceSystem", SYSTEM_TOPIC)
    trace_to(lab, "TraceOwn", lab.create_topic("Traces", 2))


def trace_to(lab: Lab, name: str, store: str) -> None:
    topic = lab.create_topic(name, 1)
    producer = lab.producer(name, trace=True, trace_topic=store)
    sent = [producer.send(message(topic, f"t{i}", f"k{i}")) for i in range(3)]
    trace_on = str(sent[0].trace_on).lower()
    lab.say("traced sends", f"{sent[0].status.name} traceOn={trace_on}")
    ear = lab.ear(name, f"traced-{name}", topic, trace=True, trace_topic=store)
    ear.await_keys(3)
    found: list[Context] = []

    def is_whole() -> bool:
        found[:] = contexts(lab, store, sent)
        return len(found) >= EVENTS

    await_("all traces", lambda: routed(is_whole))
    for text in sorted({one.text for one in found}):
        lab.say("trace", text)


def contexts(lab: Lab, store: str, sent: Collection[SendResult]) -> list[Context]:
    """Return the events in a topic of traces that tell of these messages."""
    ids = {result.msg_id for result in sent}
    return [
        one
        for queue in lab.queues(store)
        for stored in lab.all(queue)
        for one in decoded(stored.body.decode())
        if one.message_id in ids
    ]


def decoded(text: str) -> Iterator[Context]:
    """Yield the events of a trace message's body.

    Source: client/trace/TraceDataEncoder.java#decoderFromTraceDataString (4.9.7)
    """
    for record in text.split(_RECORD):
        fields = record.split(_FIELD)
        if fields[0] == "Pub":
            region, group, topic, id, tags, keys, host, length = fields[2:10]
            line = f"Pub {keys} topic={topic} tags={tags} group={group} region={region}"
            kind, success = KINDS[int(fields[11])], fields[13]
            line += f" length={length} type={kind} success={success} code=0 retries=0"
            yield Context(id, f"{line} storeHost={host}")
        elif fields[0] == "SubBefore":
            region, group, _, id, retries, keys = fields[2:8]
            line = f"SubBefore {keys} topic= tags= group={group} region={region} length=0"
            yield Context(id, f"{line} type=null success=true code=0 retries={retries}")
        elif fields[0] == "SubAfter":
            id, _, success, keys, code = fields[2:7]
            line = f"SubAfter {keys} topic= tags= group={fields[8]} region= length=0"
            yield Context(id, f"{line} type=null success={success} code={code} retries=0")
