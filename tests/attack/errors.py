"""A disk whose system calls fail: EIO, EROFS, ENOSPC, EDQUOT, in a run and within a start.

Each step has a cluster in this process, of either release, on a frozen clock. While calls fail,
a producer sends: for its topic, with delays, with timers of 5.5.0. Then the disk heals, the
cluster is stopped or killed, and starts again, perhaps with failing calls at first. What was
acknowledged must be there once its time has come, once, and nothing that was never sent.
"""

from __future__ import annotations

import errno
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Literal

from fakemq import Cluster
from fakemq.client import Producer
from fakemq.client.messages import SendStatus
from fakemq.errors import FakemqError
from fakemq.events import HandlerFailed
from fakemq.protocol.properties import DELAY_TIME_LEVEL
from tests.attack.progress import with_progress
from tests.support.promises import Promises
from tests.support.system_calls import watched

Reference = Literal["4.9.7", "5.5.0"]
FlushDiskType = Literal["SYNC_FLUSH", "ASYNC_FLUSH"]
ERRORS = (errno.EIO, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
RATES = (0.05, 0.3, 1.0)
ROUNDS, SENDS = 4, 12
TOPIC = "orders"
BEGIN, LATER = "2030-01-01T00:00:00Z", "2030-01-01T03:00:00Z"
"""Starts of the first and the second cluster; all that waits is due between them."""


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    """Run ``count`` clusters, each on a disk of its own that fails at times."""
    acknowledged = failed = 0
    for number in with_progress(range(seed, seed + count), count, "failing disks"):
        step = Step(number, folder / f"{number}")
        yield from step.run()
        acknowledged += len(step.promises)
        failed += step.disk.failed
    print(f"  {acknowledged:,} messages were acknowledged, {failed:,} calls failed")


class FailingDisk:
    """Which system calls fail now, with which error."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._number = self._rate = 0.0
        self.failed = 0

    def fail(self) -> None:
        """Let some calls fail from now on, or all."""
        self._number, self._rate = self._random.choice(ERRORS), self._random.choice(RATES)

    def heal(self) -> None:
        """Let all calls succeed."""
        self._rate = 0.0

    def before(self, name: str, path: str) -> None:
        """Raise OSError if this call is to fail."""
        if self._random.random() < self._rate:
            self.failed += 1
            raise OSError(int(self._number), f"{name} fails", path)


class Step:
    """One cluster, its disk, and what its producer was promised."""

    def __init__(self, seed: int, store: Path) -> None:
        self._seed, self._store = seed, store
        self._random = Random(seed)
        self._reference: Reference = self._random.choice(("4.9.7", "5.5.0"))
        self._flush: FlushDiskType = self._random.choice(("SYNC_FLUSH", "ASYNC_FLUSH"))
        self._kills = self._random.random() < 0.5
        self._start_fails = self._random.random() < 0.5
        self.disk = FailingDisk(Random(seed + 1))
        self.promises = Promises[None]()

    def run(self) -> Iterator[str]:
        """Run it, and yield what was found."""
        with watched(str(self._store), self.disk.before):
            try:
                found = list(self._run())
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
        if not found:
            shutil.rmtree(self._store, ignore_errors=True)
        for line in found:
            yield f"seed {self._seed}, {self._reference}, {self._flush}: {line}"

    def _run(self) -> Iterator[str]:
        with self._cluster(BEGIN) as mq, Producer(mq.namesrv_addr, group="p") as producer:
            for _ in range(ROUNDS):
                self.disk.fail()
                self._send_some(mq, producer)
                self.disk.heal()
                mq.clock.advance("11s")
                self._send_some(mq, producer)
            yield from _bugs(mq)
            if self._kills:
                mq.broker("broker-a").kill(lose_unsynced=self._flush == "SYNC_FLUSH")
        if self._start_fails:
            self.disk.fail()
            with suppress(FakemqError), self._cluster(LATER):
                pass
            self.disk.heal()
        with self._cluster(LATER) as mq:
            mq.clock.advance("3m")
            yield from _bugs(mq)
            yield from self._compare(mq)

    def _cluster(self, start_at: str) -> Cluster:
        sizes = {
            "mappedFileSizeCommitLog": 65_536,
            "mappedFileSizeConsumeQueue": 6_000,
            "maxHashSlotNum": 100,
            "maxIndexNum": 400,
        }
        if self._reference == "5.5.0":
            sizes["mappedFileSizeTimerLog"] = 5_200
        return Cluster(
            reference=self._reference,
            topics={TOPIC: 2},
            clock="frozen",
            start_at=start_at,
            store=str(self._store),
            flush=self._flush,
            seed=self._seed,
            config=sizes,
        )

    def _send_some(self, mq: Cluster, producer: Producer) -> None:
        for _ in range(SENDS):
            body = b"%d." % len(self.promises.sent)
            self.promises.sent.add(body)
            with suppress(FakemqError):
                result = producer.send(
                    TOPIC,
                    body + bytes(self._random.randrange(3_000)),
                    keys="k",
                    properties=self._properties(),
                )
                if result.status is SendStatus.SEND_OK:
                    self.promises.later.add(body)
            if self._random.random() < 0.2:
                mq.clock.advance(self._random.choice(("1s", "6s", "30s")))

    def _properties(self) -> dict[str, str]:
        drawn = self._random.random()
        if drawn < 0.2:
            return {DELAY_TIME_LEVEL: "3"}
        if drawn < 0.5 and self._reference == "5.5.0":
            return {"TIMER_DELAY_SEC": str(self._random.randrange(1, 100))}
        return {}

    def _compare(self, mq: Cluster) -> Iterator[str]:
        found = Counter(message.body.partition(b"\0")[0] for message in mq.messages(TOPIC))
        yield from self.promises.missing(found)
        yield from self.promises.invented(found)
        # What was delivered since the last flush is delivered again after a kill, as by Java.
        interrupted = self._kills or self._start_fails
        if not interrupted and (twice := [body for body, times in found.items() if times > 1]):
            yield f"{len(twice)} messages are there twice: {min(twice)!r}"


def _bugs(mq: Cluster) -> Iterator[str]:
    for entry in mq.journal.find(HandlerFailed):
        yield entry.traceback
