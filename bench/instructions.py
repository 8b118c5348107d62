"""Instructions of a request without sockets, counted by valgrind: equal whatever else runs beside.

A program of its own feeds frames to a broker's session. What a request takes is the difference
between twice as many requests and as many, so that the start of the program does not count.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import time
from typing import NamedTuple

from bench.measure import ENVIRONMENT, Figure, Plan
from bench.pop import ALL_QUEUES
from bench.process import ROOT, TREE
from bench.requests import BODY, GROUP, QUEUES, Lab, frames, pull_fields, send_fields
from conformance.targets.java_jars import NEWEST
from conformance.wire import pops, requests
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.connection import Connection
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference import V4_9_7

REQUESTS = 400
"""In the shorter of the two programs that are compared."""
PULLED = 32
BATCHED = 16
INVISIBLE_MS, POLL_MS = 300_000, 600_000
"""Of pops: nothing comes again, and no pop comes too late, however long valgrind takes."""
JSON, ROCKETMQ = SerializeType.JSON, SerializeType.ROCKETMQ

_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_COUNTED = re.compile(r"I +refs: +([\d,]+)")

Feed = Callable[[Lab, int], list[bytes]]
"""Prepares a broker for this many requests, and returns their bytes."""


def sends(kind: SerializeType, at_once: int, lab: Lab, count: int) -> list[bytes]:
    """Return sends of messages of 128 bytes, ``at_once`` of them in one piece."""
    fields = [send_fields(number) for number in range(count)]
    return frames(RequestCode.SEND_MESSAGE_V2, fields, kind, BODY, at_once)


def batches(kind: SerializeType, lab: Lab, count: int) -> list[bytes]:
    """Return sends of `BATCHED` messages of 128 bytes each."""
    properties = "UNIQ_KEY\x01FD0000000000000000000000000000023%016X\x02WAIT\x01true\x02"
    fields = [
        send_fields(number) | {"m": "true", "i": "WAIT\x01true\x02"} for number in range(count)
    ]
    body = b"".join(
        requests.batch_item(BODY, text=properties % number) for number in range(BATCHED)
    )
    return frames(RequestCode.SEND_BATCH_MESSAGE, fields, kind, body)


def pulls(kind: SerializeType, lab: Lab, count: int) -> list[bytes]:
    """Return pulls of `PULLED` messages, each of which commits an offset."""
    lab.receive(sends(kind, 1, lab, QUEUES * (QUEUES + PULLED)))
    fields = [pull_fields(number % QUEUES, PULLED) for number in range(count)]
    return frames(RequestCode.PULL_MESSAGE, fields, kind)


def pops_of_one(queue_id: int, lab: Lab, count: int) -> list[bytes]:
    """Return pops of one message, of a queue or of all, as a client that waits sends them."""
    lab.receive(batches(JSON, lab, QUEUES * count // BATCHED + QUEUES))
    fields = pops.pop_fields(
        *("Bench", queue_id),
        consumerGroup=GROUP,
        maxMsgNums=1,
        invisibleTime=INVISIBLE_MS,
        pollTime=POLL_MS,
        bornTime=int(time() * 1000),
    )
    return frames(RequestCode5.POP_MESSAGE, [requests.texts(fields)] * count, JSON)


def acks(lab: Lab, count: int) -> list[bytes]:
    """Pop messages one by one, and return the acknowledgement of each."""
    fields = []
    for pop in pops_of_one(0, lab, count):
        lab.receive([pop])
        (answer,) = Connection().receive_data(lab.link.written)
        (handle,) = pops.handles(answer.ext_fields, bytes(answer.body))
        fields.append(requests.texts(handle.fields("Bench", consumerGroup=GROUP)))
    return frames(RequestCode5.ACK_MESSAGE, fields, JSON)


class Counted(NamedTuple):
    """Requests that are counted: what makes their bytes, and the most that each may take."""

    make: Feed
    at_most: int | None = None
    reference: str = V4_9_7.name


REQUESTED: dict[str, Counted] = {
    "send, JSON": Counted(partial(sends, JSON, 1), 130_000),
    "send, ROCKETMQ": Counted(partial(sends, ROCKETMQ, 1), 130_000),
    f"send, JSON, {BATCHED} at once": Counted(partial(sends, JSON, BATCHED)),
    f"send, {NEWEST}, JSON": Counted(partial(sends, JSON, 1), reference=NEWEST),
    f"send, {NEWEST}, ROCKETMQ": Counted(partial(sends, ROCKETMQ, 1), reference=NEWEST),
    f"batch of {BATCHED}, JSON": Counted(partial(batches, JSON)),
    f"batch of {BATCHED}, ROCKETMQ": Counted(partial(batches, ROCKETMQ)),
    f"pull of {PULLED}, JSON": Counted(partial(pulls, JSON)),
    "pop": Counted(partial(pops_of_one, 0), 150_000, NEWEST),
    f"pop of {QUEUES} queues": Counted(partial(pops_of_one, ALL_QUEUES), reference=NEWEST),
    "ack": Counted(acks, 110_000, NEWEST),
}
"""What is counted; pops, and their acknowledgements, are of single messages, in JSON."""


def feed(name: str, count: int, most: int) -> Lab:
    """Feed ``count`` requests to a new broker, and return it.

    The bytes of ``most`` requests are made, so that this takes the same for each ``count``. What
    exists is frozen and stays so: a process of tests has frozen a million objects before.
    """
    requested = REQUESTED[name]
    lab = Lab(requested.reference)
    made = requested.make(lab, most)
    gc.collect()
    gc.freeze()  # as the server does when it is ready
    lab.receive(made[: len(made) * count // most])
    return lab


def instructions(name: str, run: Callable[[str, int, int], int]) -> float:
    """Return how many instructions one of these requests takes; ``run`` counts those of a feed."""
    return (run(name, 2 * REQUESTS, 2 * REQUESTS) - run(name, REQUESTS, 2 * REQUESTS)) / REQUESTS


def counted(name: str, count: int, most: int) -> int:
    """Return the instructions of a whole program that feeds these requests."""
    return read_count(_run(_VALGRIND, name, count, most))


def _run(under: Sequence[str], name: str, count: int, most: int) -> str:
    """Run such a program, and return its standard error."""
    module = (sys.executable, "-P", "-m", "bench.instructions")
    program = [*under, *module, name, str(count), str(most)]
    environment = ENVIRONMENT | {
        "PYTHONPATH": f"{TREE}{os.pathsep}{ROOT}",
        "PYTHONHASHSEED": "0",  # another order of hashes would take other instructions
    }
    return subprocess.run(
        program, env=environment, check=True, capture_output=True, text=True
    ).stderr


def read_count(text: str) -> int:
    """Return the number of instructions in what valgrind prints; ValueError if there is none."""
    found = _COUNTED.search(text)
    if found is None:
        raise ValueError(f"valgrind printed no count:\n{text[-2000:]}")
    return int(found[1].replace(",", ""))


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield the instructions of each request; nothing where there is no valgrind."""
    if shutil.which(_VALGRIND[0]) is None:
        print("no valgrind: instructions are not counted")
        return
    for name, requested in REQUESTED.items():
        if plan.wants(name):
            _run((), name, 1, 1)  # writes what is missing of the cached bytecode
            value = instructions(name, counted)
            most = requested.at_most
            yield Figure(group="instructions", name=name, value=value, unit="Ir", at_most=most)


if __name__ == "__main__":
    feed(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)  # what a program does at its end depends on how much it stored
