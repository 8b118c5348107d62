"""Resident memory of ``python -m fakemq`` per stored message and per idle client.

There are no such figures for Java: it stores messages in mapped files, and a JVM keeps more heap
than it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from bench.family import resident_bytes
from bench.fill import fill_one_by_one, fill_with_batches
from bench.measure import Figure, Plan
from bench.process import Running, served
from bench.requests import HEARTBEAT
from conformance.wire.raw import RawConnection, frame
from fakemq.client.blocking import Client
from fakemq.protocol.codes import RequestCode

TOPIC, QUEUES = "Bench", 8
FIRST, MORE = 120_000, 60_000
"""Messages before the first measurement, which fill the journal, and those that are measured."""
CLIENTS = 500
BESIDES_RECORD = 100

Fill = Callable[[str, str, int, int], None]


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield bytes per message beside its record, by kind of send; and KiB per idle client."""
    fills: dict[str, Fill] = {"one by one": fill_one_by_one, "in batches": fill_with_batches}
    for how, fill in fills.items():
        name = f"a message besides its record, sent {how}"
        if plan.wants(name):
            with served("--topic", f"{TOPIC}:{QUEUES}") as fake:
                each, record = _of_a_message(fake, fill)
            yield Figure(
                group="memory", name=name, value=each - record, unit="B", at_most=BESIDES_RECORD,
                note=f"records of {record} bytes; Java keeps them in files",
            )  # fmt: skip
    name = "an idle client"
    if plan.wants(name):
        with served("--topic", f"{TOPIC}:{QUEUES}") as fake:
            value = _of_a_client(fake)
        note = f"a consumer of one topic, of {CLIENTS}"
        yield Figure(group="memory", name=name, value=value / 1024, unit="KiB", note=note)


def _of_a_message(fake: Running, fill: Fill) -> tuple[float, int]:
    """Return resident bytes per message once there are many, and the bytes of a record."""
    fill_with_batches(fake.broker_addr, TOPIC, QUEUES, FIRST)
    before = resident_bytes(fake.process.pid)
    fill(fake.broker_addr, TOPIC, QUEUES, MORE)
    each = (resident_bytes(fake.process.pid) - before) / MORE
    with Client(fake.namesrv_addr) as client:
        queue = client.publish_queues(TOPIC)[0]
        last = client.max_offset(queue) - 1
        record = client.pull(queue, last, max_messages=1).messages[0].store_size_bytes
    return each, record


def _of_a_client(fake: Running) -> float:
    with ExitStack() as stack:

        def come(numbers: range) -> None:
            for number in numbers:
                connection = RawConnection(fake.broker_addr)
                stack.callback(connection.close)
                own = HEARTBEAT.replace(b"192.0.2.2@1", b"192.0.2.2@%d" % number)
                connection.call(frame(RequestCode.HEART_BEAT, {}, own))

        come(range(CLIENTS))
        before = resident_bytes(fake.process.pid)
        come(range(CLIENTS, 2 * CLIENTS))
        return (resident_bytes(fake.process.pid) - before) / CLIENTS
