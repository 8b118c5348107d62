"""Full collections of a process that is a cluster: short, and complete when no peer waits."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator

import pytest

import fakemq
from fakemq.serving.garbage import AFTER_COLLECTIONS, ShortCollections

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python collects in parts")


class Process:
    def __init__(self) -> None:
        self.has_peers = True
        self.soon: list[Callable[[], None]] = []
        self.looked_at: list[int] = []
        """How many objects each full collection looked at."""
        self.collections = ShortCollections(self.soon.append, lambda: self.has_peers)

    def take_turn(self) -> None:
        while self.soon:
            self.looked_at.append(len(gc.get_objects()))
            self.soon.pop()()


@pytest.fixture
def process() -> Iterator[Process]:
    before, enabled = gc.get_threshold(), gc.isenabled()
    one = Process()
    one.collections.begin()
    yield one
    one.collections.end()
    assert gc.get_threshold() == before
    gc.freeze()  # as before: see conftest.py
    if not enabled:
        gc.disable()


def gather(process: Process, number: int) -> list[list[int]]:
    """Make objects that a collector looks at, with turns of the loop in between."""
    kept = []
    for one in range(number):
        kept.append([one])
        if not one % 1_000:
            process.take_turn()
    return kept


def test_full_collection_looks_only_at_what_came_since_the_last_one(process: Process) -> None:
    threshold = gc.get_threshold()
    kept = gather(process, 500_000)
    assert len(process.looked_at) > 5
    most = (AFTER_COLLECTIONS + 1) * threshold[0] * (threshold[1] + 1) + 2_000
    assert max(process.looked_at) < most
    assert len(kept) == 500_000


def test_cycles_that_die_young_are_freed_beside_peers(process: Process) -> None:
    class Node:
        alive = 0

        def __init__(self) -> None:
            self.me = self
            Node.alive += 1

        def __del__(self) -> None:
            Node.alive -= 1

    for number in range(300_000):
        Node()
        if not number % 1_000:
            process.take_turn()
    assert Node.alive < 100_000


def test_everything_is_freed_when_no_peer_is_connected(process: Process) -> None:
    class Node:
        freed = False

        def __del__(self) -> None:
            Node.freed = True

    node: Node | None = Node()
    node.me = node  # type: ignore[union-attr]
    process.collections.collect()
    node = None
    process.collections.collect()
    assert not Node.freed, "it was there at the last collection"
    process.has_peers = False
    process.collections.collect()
    assert Node.freed


def test_automatic_full_collections_stay_away(process: Process) -> None:
    done = gc.get_stats()[2]["collections"]
    kept = [[one] for one in range(500_000)]
    assert gc.get_stats()[2]["collections"] == done
    assert len(process.soon) == 1, "it is asked for once, until it is done"
    assert kept


def test_cluster_of_a_test_leaves_the_collector_alone() -> None:
    def settings() -> object:
        return gc.get_threshold(), gc.isenabled(), list(gc.callbacks)

    before = settings()
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        mq.seed("orders", ["x"] * 100)
        assert settings() == before
    assert settings() == before
