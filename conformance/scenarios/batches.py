"""Batches: by every code, and those that are none."""

from __future__ import annotations

import struct

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.requests import (
    PREPARED,
    UNIQUE_ID,
    batch,
    properties,
    send_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode


def send_batch(run: Run, topic: str, body: bytes, code: int = 320, **more: object) -> None:
    fields = send_v2_fields(topic, m=True) | more
    run.ask("broker-a", code, fields, body, peer="producer")


@scenario("batch: by every code; without the flag it is one message")
def batch_codes(run: Run) -> None:
    topic = run.topic("SBatches")
    text = properties(TAGS="t", UNIQ_KEY=UNIQUE_ID.format(1))
    body = batch(b"one", b"two", text=text)
    run.note("code 10, with the flag and without")
    for flag in (True, False):
        fields = send_fields(topic, batch=flag)
        run.ask("broker-a", RequestCode.SEND_MESSAGE, fields, body, peer="producer")
    run.note("code 310, with the flag and without")
    send_batch(run, topic, body, 310)
    send_batch(run, topic, body, 310, m=False)
    run.note("code 320, without the flag")
    send_batch(run, topic, body, m=False)
    run.note("properties of the whole: added to those of each")
    send_batch(run, topic, body, i=properties(own="x", TAGS="u"), h=3, f=1)
    run.until_stored("broker-a", topic, 9)
    run.pull(topic)


@scenario("batch: what its members may be")
def batch_members(run: Run) -> None:
    topic = run.topic("SMembersOfBatch")
    run.note("one, with nothing in it; without properties; with a flag of its own")
    send_batch(run, topic, batch(b""))
    body = struct.pack(">iiiii", 23, 0, 0, 5, 1) + b"x" + struct.pack(">h", 0)
    send_batch(run, topic, body)
    run.note("properties with a separator at the end")
    send_batch(run, topic, batch(b"x", text="a\x01b\x02"))
    run.note("a checksum and a magic of its own")
    body = struct.pack(">iiiii", 23, 7, 77, 0, 1) + b"x" + struct.pack(">h", 0)
    send_batch(run, topic, body)
    run.note("to any queue, sent for the third time")
    send_batch(run, topic, batch(b"x", b"y"), e=-1, j=3)
    run.until_stored("broker-a", topic, 6)
    run.pull(topic)


@scenario("batch: what is refused")
def batch_refused(run: Run) -> None:
    topic = run.topic("SBatchRefused")
    body = batch(b"one", b"two")
    run.note("with a level of delay, half a transaction")
    send_batch(run, topic, body, i=properties(DELAY="1"))
    send_batch(run, topic, body, i=properties(DELAY="0"))
    send_batch(run, topic, body, f=PREPARED)
    send_batch(run, topic, body, f=8)
    run.note("to a retry topic: taken as it is")
    send_batch(run, "%RETRY%GBatch", body, e=0, j=99)
    run.note("too long, a queue that is not there, a topic that is not there")
    send_batch(run, topic, batch(b"x" * (4 * 1024 * 1024)))
    send_batch(run, topic, body, e=9)
    send_batch(run, "SBatchNowhere", body, c="SNoSuchDefault")
    send_batch(run, "SCHEDULE_TOPIC_XXXX", body)
    run.note("nothing in it")
    send_batch(run, topic, b"")
    run.note("a member of half the log's limit too much")
    send_batch(run, topic, batch(b"a" * 3_000_000, b"b" * 1_000_000))
    run.until_stored("broker-a", topic, 4)
    answer = run.pull(topic, maxMsgNums=2)
    run.note(f"there are {answer.fields['maxOffset']}")
