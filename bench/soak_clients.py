"""The Java clients of a soak: all kinds of producers in one JVM, of consumers in another."""

from __future__ import annotations

from collections import defaultdict

from conformance.drivers.drivers import Driver
from conformance.drivers.java_program import JavaDriver

TOPIC, ORDERED = "Soak", "SoakOrdered"
CONCURRENT, ORDERLY = "GSoakConcurrent", "GSoakOrderly"


class SoakSender(JavaDriver):
    """Sends in turn with every kind of producer, so many a second.

    ``acked`` holds the ids of what must be heard, ``rolled`` of what must not, since they were
    cleared; ``failures`` counts.
    """

    def __init__(self, namesrv_addr: str, name: str, version: str, pace: int, rate: int) -> None:
        self.name = name
        self.acked: set[str] = set()
        self.rolled: set[str] = set()
        self.failures = 0
        self._pauses = 0
        super().__init__(version, namesrv_addr, "soaksend", name, str(pace), str(rate))

    def go(self) -> None:
        """Begins, or goes on, sending."""
        self.say("go")

    def pause(self) -> None:
        """Sends nothing more until ``go``; on return nothing is under way."""
        pauses = self._pauses
        self.say("pause")
        self.wait_for(lambda: self._pauses > pauses, "paused")

    def forget(self) -> None:
        """Clears what was counted."""
        self.acked, self.rolled, self.failures = set(), set(), 0

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "ack":
            self.acked.add(rest.rstrip())
        elif kind == "rolled":
            self.rolled.add(rest.rstrip())
        elif kind == "fail":
            self.failures += 1
        elif kind == "paused":
            self._pauses += 1
        shorten(self)


class SoakHearer(JavaDriver):
    """Listens with every kind of consumer: concurrent and orderly, by broadcast and by pulling.

    ``heard`` maps each group to the ids it was given, since it was cleared; ``retries`` counts.
    """

    def __init__(self, namesrv_addr: str, name: str, version: str, pace: int) -> None:
        self.name = name
        self.heard: dict[str, set[str]] = defaultdict(set)
        self.retries = 0
        self._moves: list[str] = []
        super().__init__(version, namesrv_addr, "soakhear", name, str(pace))

    def leave(self) -> None:
        """Shuts down all that listens; what pulls by itself goes on."""
        self._move("leave", "left")

    def join(self) -> None:
        """Listens again, from the first offset where its groups have none."""
        self._move("join", "joined")

    def _move(self, command: str, answer: str) -> None:
        moves = len(self._moves)
        self.say(command)
        self.wait_for(lambda: self._moves[moves:] == [answer], answer)

    @property
    def own_groups(self) -> tuple[str, str]:
        """The groups that hear everything in this JVM alone."""
        return f"GSoakBroadcast-{self.name}", f"GSoakPull-{self.name}"

    def forget(self) -> None:
        """Clears what was counted."""
        self.heard, self.retries = defaultdict(set), 0

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "recv":
            group, _, id = rest.partition(" ")
            self.heard[group].add(id)
        elif kind == "again":
            self.retries += 1
        elif kind in ("left", "joined"):
            self._moves.append(kind)
        shorten(self)


def shorten(driver: Driver) -> None:
    """Keeps no more of what a driver printed than a failure would show."""
    if len(driver._printed) > 1000:
        del driver._printed[:-100]
