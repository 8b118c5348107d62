"""One blocking client with a cluster in its own process: a first figure, not a load test."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Figure, Plan, best_ms
from fakemq import Cluster
from fakemq.client.blocking import Client
from fakemq.client.messages import Message

MESSAGES = 2_000
BODY = b"x" * 1024


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure sends, pulls of one message and pulls of 32, one after another."""
    runs = min(plan.runs, 5)
    with Cluster(topics={"orders": 1}) as mq, Client(mq.namesrv_addr) as client:
        queue = client.publish_queues("orders")[0]

        def send() -> None:
            for _ in range(MESSAGES):
                client.send(Message("orders", BODY), queue=queue)

        def pull(count: int) -> None:
            offset = 0
            while offset < MESSAGES:
                offset = client.pull(queue, offset, max_messages=count).next_begin_offset

        send_ms = best_ms(send, runs)
        one_ms = best_ms(lambda: pull(1), runs)
        many_ms = best_ms(lambda: pull(32), runs)
    note = "client and cluster in one interpreter"
    for name, ms in (
        ("sends, 1 KiB", send_ms),
        ("pulls of one message", one_ms),
        ("messages pulled, 32 at once", many_ms),
    ):
        yield Figure(group="speed", name=name, value=MESSAGES / ms * 1000, unit="/s", note=note)
