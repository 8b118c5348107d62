"""`count_job` put to the test: killed at three moments, a broker away for a while, counts exact."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import fakemq
from conformance.spark.orders import Orders, arrived, counted, deduplicated, received, wrong_totals
from conformance.spark.running_job import (
    END_TIMEOUT_S,
    STEP_TIMEOUT_S,
    Checkpoint,
    JobError,
    RunningJob,
)
from conformance.targets.java_cluster import JavaCluster
from fakemq.client.blocking import Client
from fakemq.protocol.message import MessageExt
from fakemq.spark.writing.options import ROW_ID_PROPERTY

PROGRAM = Path(__file__).with_name("count_job.py")
SOURCE, TARGET = "Orders", "Counts"
QUEUES = 4
"""Of each topic at each master."""
MASTERS = 2
AWAY_S = 3.0
"""How long a broker is away at least; it takes a JVM as long to start."""
SHOWN = 5
"""Of what is wrong."""
RESTARTS_MAX = 5
"""Of a job that ended by itself: with an error, or with a broker's orders left."""


class Target(NamedTuple):
    """A cluster of two masters with both topics, one of whose masters can leave and come back."""

    name: str
    namesrv_addr: str
    leave: Callable[[], object]
    come: Callable[[], object]


@contextmanager
def fake_target() -> Iterator[Target]:
    """The fake, with its default of everything but room for a million messages."""
    topics = {SOURCE: QUEUES, TARGET: QUEUES}
    with fakemq.Cluster(masters=MASTERS, topics=topics, memory_limit="4GiB") as cluster:
        broker = cluster.broker("broker-b")
        yield Target("fake", cluster.namesrv_addr, broker.kill, broker.restart)


@contextmanager
def java_target() -> Iterator[Target]:
    """RocketMQ 4.9.7."""
    topics = {SOURCE: QUEUES, TARGET: QUEUES}
    with JavaCluster(masters=MASTERS, topics=topics) as cluster:
        broker = cluster.broker("broker-b")
        yield Target("Java", cluster.namesrv_addr, broker.kill, broker.start)


class Kill(NamedTuple):
    """SIGKILL in the first micro-batch from ``batch`` on with ``totals`` totals arrived."""

    batch: int
    totals: int


class Outage(NamedTuple):
    """A broker killed in the first micro-batch from ``batch`` on, and started again."""

    batch: int


class Outcome(NamedTuple):
    """What a trial came to."""

    seconds: float
    """From the first start of the job to its last end."""
    micro_batches: int
    kills: int
    """That fell into a micro-batch, which was done again."""
    late_kills: int
    """That came when the micro-batch was just done."""
    away_s: float
    """How long a broker was gone."""
    restarts: int
    """After ends of its own: with an error, or with orders left that a broker had with it."""
    totals: int
    """That arrived, duplicates among them."""
    duplicates: int


class Trial:
    """One run of the job on a target, from its first start until it has counted all orders."""

    def __init__(self, target: Target, orders: Orders, at_once: int, folder: Path) -> None:
        self._target = target
        self._orders = orders
        self._folder = folder
        self._checkpoint = Checkpoint(folder / "checkpoint")
        self._arguments = [
            *("--name-server", target.namesrv_addr, "--checkpoint", str(folder / "checkpoint")),
            *("--from", SOURCE, "--to", TARGET, "--at-once", str(at_once)),
        ]
        self._client = Client(target.namesrv_addr)
        self._kills = self._late_kills = self._restarts = 0
        self._away_s = 0.0
        self._job = RunningJob(PROGRAM, self._arguments, folder)

    def run(self, events: Sequence[Kill | Outage]) -> Outcome:
        """Let the events happen in their order, and the job come to its end.

        JobError if it does not; AssertionError unless each total is exact.
        """
        began = time.monotonic()
        try:
            for event in events:
                if isinstance(event, Kill):
                    self._kill(event)
                else:
                    self._be_away(event)
            totals = self._counted()
        finally:
            self._job.kill()
            self._client.close()
        seconds = time.monotonic() - began
        distinct = deduplicated(totals, ROW_ID_PROPERTY)
        wrong = wrong_totals(distinct, self._orders, self._checkpoint.committed)
        assert not wrong, "\n".join([f"{len(wrong)} wrong:", *wrong[:SHOWN]])
        return Outcome(
            seconds=seconds,
            micro_batches=self._checkpoint.committed,
            kills=self._kills,
            late_kills=self._late_kills,
            away_s=self._away_s,
            restarts=self._restarts,
            totals=len(totals),
            duplicates=len(totals) - len(distinct),
        )

    def _kill(self, event: Kill) -> None:
        first = event.batch
        while not self._killed_in_time(batch := self._micro_batch(first), event.totals):
            self._late_kills += 1
            first = batch + 1
        self._kills += 1

    def _killed_in_time(self, batch: int, totals: int) -> bool:
        """Return whether the micro-batch was under way still when the job was dead."""
        checkpoint, enough = self._checkpoint, self._arrived() + totals
        self._wait_for(
            lambda: self._arrived() >= enough or not checkpoint.is_under_way(batch),
            f"{totals} totals of micro-batch {batch}",
        )
        self._job.kill()
        in_time = checkpoint.is_under_way(batch)
        self._start()
        return in_time

    def _be_away(self, event: Outage) -> None:
        self._micro_batch(event.batch)
        gone = time.monotonic()
        self._target.leave()
        # The job may well end with an error; it is started again once the broker is back.
        self._job.wait_for(
            lambda: time.monotonic() > gone + AWAY_S, "end of the outage", 2 * AWAY_S
        )
        self._target.come()
        self._away_s += time.monotonic() - gone

    def _micro_batch(self, first: int) -> int:
        """Wait until one is under way, from ``first`` on, and return its number."""
        checkpoint = self._checkpoint
        while not checkpoint.is_under_way(batch := checkpoint.planned - 1) or batch < first:
            self._wait_for_step()
        return batch

    def _wait_for_step(self) -> None:
        seen = self._checkpoint.steps
        self._wait_for(
            lambda: self._checkpoint.steps != seen, f"step after {seen} plans and commits"
        )

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        while not self._job.wait_for(condition, what, STEP_TIMEOUT_S):
            if self._job.exit_code == 0:
                raise JobError(f"the job has ended before a {what}\n{self._job.output()}")
            self._restart()

    def _counted(self) -> list[MessageExt]:
        """Return what has arrived once the job has no orders left."""
        while True:
            self._job.wait_for(lambda: self._job.exit_code is not None, "end", END_TIMEOUT_S)
            if self._job.exit_code == 0:
                totals = received(self._target.namesrv_addr, TARGET)
                if counted(totals) == self._orders.count:
                    return totals
            self._restart()

    def _arrived(self) -> int:
        return arrived(self._client, TARGET)

    def _restart(self) -> None:
        if self._restarts == RESTARTS_MAX:
            raise JobError(
                f"the job has ended {RESTARTS_MAX + 1} times by itself, at last with exit code"
                f" {self._job.exit_code}\n{self._job.output()}"
            )
        self._restarts += 1
        self._job.kill()
        self._start()

    def _start(self) -> None:
        self._job = RunningJob(PROGRAM, self._arguments, self._folder)
