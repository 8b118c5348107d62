"""Real milliseconds that hours of virtual time take."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.measure import Figure, Plan, best_ms
from fakemq import Cluster
from fakemq.client.blocking import Client
from fakemq.client.messages import Message

DELAYED = 1_000


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure expiry, delayed delivery, and an idle day."""
    with Cluster(topics={"orders": 8}, clock="frozen") as mq, Client(mq.namesrv_addr) as client:
        silent = _best_ms(mq, plan.runs, lambda: mq.faults.silence("broker-a"), "131s")

        def send_delayed() -> None:
            batch = [Message("orders", b"body", properties={"DELAY": "18"}) for _ in range(DELAYED)]
            for message in batch:
                client.send(message)

        delayed = _best_ms(mq, min(plan.runs, 5), send_delayed, "2h")
        day = _best_ms(mq, min(plan.runs, 5), lambda: None, "24h")
    for name, value, at_most in (
        ("a silent broker's route expires, 131 s", silent, 5),
        (f"{DELAYED:,} messages of delay level 18 come due, 2 h", delayed, None),
        ("a cluster idles, 24 h", day, None),
    ):
        yield Figure(group="clock", name=name, value=value, unit="ms", at_most=at_most)


def _best_ms(mq: Cluster, runs: int, prepare: Callable[[], object], duration: str) -> float:
    """Return the shortest time of an advance by ``duration``, after a reset and ``prepare``."""

    def once() -> float:
        mq.reset()
        prepare()
        return best_ms(lambda: mq.clock.advance(duration), 1)

    return min(once() for _ in range(runs))
