"""The Java clients of a soak: all kinds of producers in one JVM, of consumers in another."""

from __future__ import annotations

from collections import defaultdict

from conformance.drivers.drivers import Driver
from conformance.drivers.java_program import JavaDriver

TOPIC, ORDERED = "Soak", "SoakOrdered"
CONCURRENT, ORDERLY = "GSoakConcurrent", "GSoakOrderly"


class SoakSender(JavaDriver):
    """Sends in turn with every kind of producer, ``rate`` messages a second.

    ``acked`` holds the ids that must be received, ``rolled`` those that must not, since the last
    `forget`; ``failures`` counts.
    """

    def __init__(self, namesrv_addr: str, name: str, version: str, pace: int, rate: int) -> None:
        self.name = name
        self.acked: set[str] = set()
        self.rolled: set[str] = set()
        self.failures = 0
        self._pauses = 0
        super().__init__(version, namesrv_addr, "soaksend", name, str(pace), str(rate))

    def go(self) -> None:
        """Start or resume sending."""
        self.say("go")

    def pause(self) -> None:
        """Send nothing until ``go``; on return no send is open."""
        pauses = self._pauses
        self.say("pause")
        self.wait_for(lambda: self._pauses > pauses, "paused")

    def forget(self) -> None:
        """Clear the counters."""
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
    """Listens with every kind of consumer: concurrent, orderly, broadcasting and pulling.

    ``received`` maps each group to the ids that it received since the last `forget`; ``retries``
    counts.
    """

    def __init__(self, namesrv_addr: str, name: str, version: str, pace: int) -> None:
        self.name = name
        self.received: dict[str, set[str]] = defaultdict(set)
        self.retries = 0
        self._moves: list[str] = []
        super().__init__(version, namesrv_addr, "soakhear", name, str(pace))

    def leave(self) -> None:
        """Stop all listeners; consumers that pull continue."""
        self._move("leave", "left")

    def join(self) -> None:
        """Start listening again, from the first offset in groups without offsets."""
        self._move("join", "joined")

    def _move(self, command: str, answer: str) -> None:
        moves = len(self._moves)
        self.say(command)
        self.wait_for(lambda: self._moves[moves:] == [answer], answer)

    @property
    def own_groups(self) -> tuple[str, str]:
        """The groups that receive every message in this JVM alone."""
        return f"GSoakBroadcast-{self.name}", f"GSoakPull-{self.name}"

    def forget(self) -> None:
        """Clear the counters."""
        self.received, self.retries = defaultdict(set), 0

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "recv":
            group, _, id = rest.partition(" ")
            self.received[group].add(id)
        elif kind == "again":
            self.retries += 1
        elif kind in ("left", "joined"):
            self._moves.append(kind)
        shorten(self)


def shorten(driver: Driver) -> None:
    """Keep only as many lines of a driver's output as a failure would show."""
    if len(driver._printed) > 1000:
        del driver._printed[:-100]
