"""Java 4.9.7 and the fake, taking turns: one works, the other stands still or is not there.

The Java cluster lives through all rounds, warmed up before the first, and is stopped (SIGSTOP)
while it is the fake's turn. The fake is a new process at each turn; it compiles nothing as it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Self

from bench.benchmark import run
from bench.measure import Round
from bench.process import served
from conformance.java_cluster import JavaCluster, wait_until
from conformance.live import routed
from conformance.raw import create_topic

QUEUES = 8
ROUTE_TIMEOUT_S = 30.0
JAVA_CONFIG = {
    # 4.9.7's defaults, which JavaCluster makes small for tests.
    "mappedFileSizeCommitLog": str(1 << 30),
    "mappedFileSizeConsumeQueue": str(300_000 * 20),
    "maxHashSlotNum": "5000000",
    "maxIndexNum": "20000000",
}
MEMORY_LIMIT = ("--memory-limit", "4GiB")
"""What a fast client sends in half a minute may be more than the default."""


class Side(NamedTuple):
    """A cluster whose turn it is, with a topic of eight queues that nobody has used."""

    name: str
    namesrv_addr: str
    broker_addr: str
    topic: str


Measure = Callable[[Side], Mapping[str, float]]
"""Named values of one side, none of them 0."""


class Rivals:
    """Both clusters; a context manager that leaves nothing running.

    ``config`` are properties of Java's broker, beside its defaults.
    """

    def __init__(self, **config: str) -> None:
        # Its JVMs' defaults, as the clients have: a quarter of the memory, no warning of ours.
        self._java = JavaCluster(masters=1, jvm=(), config=JAVA_CONFIG | config)
        self._turns = 0

    def __enter__(self) -> Self:
        self._java.__enter__()
        try:
            with self.java() as side:
                run("Producer", side.namesrv_addr, side.topic, "-w", "64")
        except BaseException:
            self._java.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._java.__exit__()

    @contextmanager
    def java(self) -> Iterator[Side]:
        """Java's turn. Its JVMs stand still from its end until the next."""
        nodes = (self._java.namesrv, *self._java.brokers)
        for node in nodes:
            node.resume()
        yield self._side("Java", self._java.namesrv_addr, self._java.brokers[0].addr)
        for node in nodes:
            node.pause()

    @contextmanager
    def fake(self, *arguments: str) -> Iterator[Side]:
        """The fake's turn."""
        with served(*MEMORY_LIMIT, *arguments) as fake:
            yield self._side("fake", fake.namesrv_addr, fake.broker_addr)

    def alternate(self, rounds: int, measure: Measure) -> dict[str, list[Round]]:
        """What each round measured, by the names of the values."""
        found: dict[str, list[Round]] = {}
        for _ in range(rounds):
            with self.java() as side:
                java = measure(side)
            with self.fake() as side:
                fake = measure(side)
            for name, value in java.items():
                found.setdefault(name, []).append(Round(java=value, fake=fake[name]))
        return found

    def _side(self, name: str, namesrv_addr: str, broker_addr: str) -> Side:
        self._turns += 1
        topic = f"Bench{self._turns}"
        create_topic(broker_addr, topic, QUEUES)
        wait_until(lambda: bool(routed(namesrv_addr, topic)), ROUTE_TIMEOUT_S)
        return Side(name, namesrv_addr, broker_addr, topic)
