"""A real broker and the fake, each with a name server, that play the same sequences."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import fakemq
from conformance.differ.accepted import Accepted, fake_says
from conformance.differ.observing import SIZES, Store, Tables
from conformance.differ.playing import CONFIG, Block, Play
from conformance.differ.sequences import Sequence
from conformance.run import Run, Target
from conformance.targets.fake_or_java import FakeTarget, JavaTarget
from conformance.targets.java_cluster import JavaCluster

LOOKS = 3
"""How often two clusters play a sequence before it is a difference: real threads may be late."""
PLAYED_BY_ONE = 2_000
"""How many sequences one pair of clusters plays. A real broker keeps a little of every topic and
group that it has had; in 256 MB it has room for those of about 10,000 sequences."""


class Difference(NamedTuple):
    """Where the two clusters first differ in a sequence."""

    title: str
    code: int
    java: tuple[str, ...]
    fakemq: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((self.title, "  4.9.7:", *self.java, "  fakemq:", *self.fakemq))


class _Side:
    """One of the two clusters."""

    def __init__(self, target: Target, store: Store) -> None:
        self.target = target
        self.store = store
        with Run("before", target).running() as run:
            self.before = Tables.of(Play(run, ""))


class Pair:
    """Two clusters of one broker each that have played the same sequences; a context manager."""

    def __init__(self, accepted: list[Accepted]) -> None:
        self._accepted = accepted
        self._clusters = ExitStack()
        self._java: _Side
        self._fake: _Side
        self.played = 0
        self.late = 0
        """Sequences that differed at the first look only."""

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *exc: object) -> None:
        self._clusters.close()

    def difference(self, sequence: Sequence) -> Difference | None:
        """Play a sequence on both, again if they differ; return the difference of the last look."""
        for look in range(LOOKS):
            found = self._look(sequence)
            if found is None:
                self.late += look > 0
                return None
        return found

    def _look(self, sequence: Sequence) -> Difference | None:
        if self.played % PLAYED_BY_ONE == 0:
            self._start()
        self.played += 1
        tag = f"{self.played:08}"
        silent: set[int] = set()
        fake = _play(self._fake, sequence, tag, None, silent)
        java = _play(self._java, sequence, tag, silent.copy(), silent)
        for one, other in zip(java, fake, strict=True):
            wanted, ends = fake_says(one, other, self._accepted)
            if wanted != other.lines:
                return Difference(one.title, one.code, wanted, other.lines)
            if ends:
                return None
        return None

    def _start(self) -> None:
        """Replace both clusters by fresh ones, with stores in directories."""
        self._clusters.close()
        enter = self._clusters.enter_context
        root = Path(enter(tempfile.TemporaryDirectory(prefix="rocketmq-differ-")))
        ours = CONFIG | SIZES | {"storePathRootDir": str(root), "brokerName": "broker-a"}
        java = enter(JavaCluster(config=CONFIG | SIZES))
        fake = enter(fakemq.Cluster(config=ours, clock="frozen"))
        self._java = _Side(
            JavaTarget(java.namesrv_addr, CONFIG, java.broker),
            Store(java.broker("broker-a").store),
        )
        self._fake = _Side(FakeTarget(fake, CONFIG), Store(root))


def _play(
    side: _Side, sequence: Sequence, tag: str, expected: set[int] | None, silent: set[int]
) -> list[Block]:
    with Run(tag, side.target).running() as run:
        play = Play(run, tag, silent=expected)
        play.create_topic()
        blocks = [*play.steps(sequence)]
        tables = Tables.of(play, side.before)
        topics = tables.rows["topicConfigTable"]
        blocks += [*tables.blocks(play), *side.store.grown(play, topics)]
        tables.clean(play)
        silent |= play.silent
        return blocks
