"""The clusters on which the tests of a project run, each as its users would start it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self
from urllib.request import Request, urlopen

from bench.process import served
from conformance.targets.java_cluster import JavaCluster
from fakemq import Cluster

NO_DELAYS = {"messageDelayLevel": "0s 0s 0s 0s"}
"""What a project sets for a real cluster, where its tests would wait 10 s for the first retry.

On the fake they move the clock.
"""
AT_MOST = "1m"
"""How far, at most, a test moves the clock for a retry."""
FIXTURE, PROCESS, SHARED, FRESH = "fixture", "process", "shared", "fresh"
KINDS = (FIXTURE, PROCESS, SHARED, FRESH)
TESTS_OF_A_CLASS = 10
TIMEOUT_S = 30.0


class Place(NamedTuple):
    """A running cluster; ``control_url`` is that of its control port, empty for a real one."""

    namesrv_addr: str
    control_url: str = ""

    def reset(self) -> None:
        """Empty the cluster; a real one keeps what it has."""
        self._post("reset")

    def skip_delay(self, topic: str) -> None:
        """Move the clock until a message is in the topic; a real cluster has no delays."""
        self._post("run-until", messages={"topic": topic}, at_most=AT_MOST)

    def _post(self, what: str, **body: object) -> None:
        if self.control_url:
            data = json.dumps(body).encode() if body else None
            request = Request(
                f"{self.control_url}/v1/{what}",
                data,
                {"Content-Type": "application/json"},
                method="POST",
            )
            with urlopen(request, timeout=TIMEOUT_S) as answer:
                answer.read()


class Fixture:
    """The cluster of pytest's fixture, with the same methods."""

    def __init__(self, mq: Cluster) -> None:
        self._mq = mq
        self.namesrv_addr = mq.namesrv_addr

    def skip_delay(self, topic: str) -> None:
        self._mq.run_until(lambda: self._mq.messages(topic), at_most=AT_MOST)


@contextmanager
def process() -> Iterator[Place]:
    """Run ``python -m fakemq`` with a control port."""
    with TemporaryDirectory(prefix="fakemq-bench-") as folder:
        ready = Path(folder, "ready.json")
        with served("--control-port", "0", "--ready-file", str(ready)):
            found = json.loads(ready.read_bytes())
            yield Place(found["namesrv"], found["control"])


@contextmanager
def java() -> Iterator[Place]:
    """Start a name server and a master of 4.9.7, as small and as quick to start as we know."""
    with JavaCluster(config=NO_DELAYS) as cluster:
        yield Place(cluster.namesrv_addr)


STARTED: dict[str, Callable[[], AbstractContextManager[Place]]] = {
    PROCESS: process,
    SHARED: java,
    FRESH: java,
}
"""What the tests themselves start; pytest's fixture starts the other kind."""


class Clusters:
    """What the classes of a project run on, one class after another; a context manager."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._started = ExitStack()
        self._class: int | None = None
        self._place = Place("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._started.close()

    def of_class(self, number: int) -> Place:
        """Return the cluster of a class of tests; a fresh one replaces that of the class before."""
        if self._class is None or (self._kind == FRESH and number != self._class):
            self._started.close()
            self._place = self._started.enter_context(STARTED[self._kind]())
        self._class = number
        return self._place


def classes(tests: int) -> list[range]:
    """Return the numbers of the tests of each class."""
    return [
        range(first, min(first + TESTS_OF_A_CLASS, tests))
        for first in range(0, tests, TESTS_OF_A_CLASS)
    ]
