"""Java and the fake in turns: one works, the other is paused or does not exist.

The Java cluster lives through all rounds. It is warmed up before the first round, and stopped
(SIGSTOP) during the fake's turns. The fake is a new process in each turn, because it has no JIT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Self

from bench.benchmark import run
from bench.measure import Round
from bench.process import served
from conformance.targets.java_cluster import JavaBroker, JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST, REFERENCE
from conformance.targets.processes import routed
from conformance.wire.raw import create_topic
from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus

QUEUES = 8
ROUTE_TIMEOUT_S = 30.0
IN_STEP_TIMEOUT_S = 60.0
SEND_TIMEOUT_MS = 10_000
"""A master waits 3 s for its slave."""
JAVA_CONFIG = {
    # 4.9.7's defaults, which JavaCluster makes small for tests.
    "mappedFileSizeCommitLog": str(1 << 30),
    "mappedFileSizeConsumeQueue": str(300_000 * 20),
    "maxHashSlotNum": "5000000",
    "maxIndexNum": "20000000",
}
JAVA_CONFIG_5_5_0 = {"mappedFileSizeTimerLog": str(100 << 20), "timerFlushIntervalMs": "1000"}
"""5.5.0's defaults of what JavaCluster changes for tests: records of POP are timer messages."""
MEMORY_LIMIT = ("--memory-limit", "4GiB")
"""A fast client may send more than the default in half a minute."""


class Side(NamedTuple):
    """A cluster in its turn, with an unused topic of eight queues."""

    name: str
    namesrv_addr: str
    broker_addr: str
    topic: str


Measure = Callable[[Side], Mapping[str, float]]
"""Named values of one side, none of them 0."""


class Rivals:
    """Both clusters; a context manager that leaves no process running.

    ``config`` are properties of Java's master, beside its defaults; ``slaves`` is the number of its
    slaves. With slaves, a turn begins when a send is answered SEND_OK. ``version`` is that of
    Java's nodes, and the reference of the fake's.
    """

    def __init__(self, *, version: str = REFERENCE, slaves: int = 0, **config: str) -> None:
        defaults = JAVA_CONFIG | (JAVA_CONFIG_5_5_0 if version == NEWEST else {})
        # The JVMs' own defaults, like the clients: a quarter of the memory, without our warning.
        self._java = JavaCluster(masters=1, jvm=(), config=defaults | config, version=version)
        self._reference = ("--reference", version)
        self._slaves = slaves
        self._turns = 0

    def __enter__(self) -> Self:
        self._java.__enter__()
        try:
            for number in range(1, 1 + self._slaves):
                java_slave(self._java, number)
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
        """Yield Java's side. Its JVMs are paused from the end of the turn until the next one."""
        nodes = (self._java.namesrv, *self._java.brokers)
        for node in nodes:
            node.resume()
        yield self._side("Java", self._java.namesrv_addr, self._java.brokers[0].addr)
        for node in nodes:
            node.pause()

    @contextmanager
    def fake(self, *arguments: str) -> Iterator[Side]:
        """Yield the fake's side."""
        with served(*MEMORY_LIMIT, *self._reference, *arguments) as fake:
            yield self._side("fake", fake.namesrv_addr, fake.broker_addr)

    def once(self, measure: Measure, *arguments: str) -> dict[str, Round]:
        """Return the values of one round by name; ``arguments`` are the fake's."""
        with self.java() as side:
            java = measure(side)
        with self.fake(*arguments) as side:
            fake = measure(side)
        return {name: Round(java=value, fake=fake[name]) for name, value in java.items()}

    def _side(self, name: str, namesrv_addr: str, broker_addr: str) -> Side:
        self._turns += 1
        topic = f"Bench{self._turns}"
        create_topic(broker_addr, topic, QUEUES)
        wait_until(lambda: bool(routed(namesrv_addr, topic)), ROUTE_TIMEOUT_S)
        if self._slaves:
            wait_until(lambda: in_step(namesrv_addr, topic), IN_STEP_TIMEOUT_S)
        return Side(name, namesrv_addr, broker_addr, topic)


def java_slave(cluster: JavaCluster, number: int) -> JavaBroker:
    """Return a new slave of the first master, with that id; it ends with the cluster."""
    master = cluster.brokers[0]
    home = master.home.parent / f"slave-{number}"
    slave = JavaBroker(master.name, home, cluster.namesrv, ())
    slave.config |= JAVA_CONFIG | {"brokerRole": "SLAVE", "brokerId": str(number)}
    cluster.brokers.append(slave)
    slave.start()
    return slave


def in_step(namesrv_addr: str, topic: str) -> bool:
    """Return True if a send is answered SEND_OK, which a SYNC_MASTER does once a slave has it."""
    with Client(namesrv_addr, send_timeout_ms=SEND_TIMEOUT_MS) as client:
        return client.send(Message(topic, b"in step")).status is SendStatus.SEND_OK


def require_in_step(namesrv_addr: str, topic: str) -> None:
    """Raise RuntimeError unless a send is answered SEND_OK."""
    if not in_step(namesrv_addr, topic):
        raise RuntimeError("the slave was lost during the measurement")
