"""Long-lived clients in processes of their own, steered in lines: Java, Go and Python ones alike.

``Driver`` runs any command that speaks them: commands to its stdin, events from its stdout.
``Producing`` and ``Consuming`` understand the events of the programs' ``produce`` and ``consume``,
``Observing`` those of their scenarios.
"""

from __future__ import annotations

import secrets
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Self

EVENT_TIMEOUT_S = 75.0
"""Over two heartbeats: a broker refuses a Java consumer whose new subscription it does not know
(code 25) until the next one, 30 s later."""


SCENARIO_TIMEOUT_S = 200.0


class DriverError(Exception):
    """A driver failed or took too long; the message carries what it printed."""


class Ack(NamedTuple):
    """One acknowledged send of a producer."""

    id: str
    status: str
    broker: str
    queue_id: int
    queue_offset: int


class Received(NamedTuple):
    """One message given to a consumer's listener."""

    at_ms: int
    id: str
    broker: str
    queue_id: int
    queue_offset: int
    reconsume_times: int
    damaged: bool = False
    """Whether its body is not that of its checksum."""


class Driver:
    """A client in its own process that speaks in lines; a context manager that always reaps it.

    ``home`` is a folder of its own, there before ``command`` is asked for the command line and
    gone after the end.
    """

    def __init__(
        self,
        command: Callable[[Path], Sequence[str]],
        environment: Callable[[Path], Mapping[str, str]] | None = None,
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="driver-")
        self.home = Path(self._temporary.name)
        self._changed = threading.Condition()
        self._printed: list[str] = []
        with open(self.home / "stderr.txt", "wb") as stderr:
            self.process = subprocess.Popen(
                command(self.home),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                bufsize=1,
                cwd=self.home,
                env=None if environment is None else environment(self.home),
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin: IO[str] = self.process.stdin
        self._stdout: IO[str] = self.process.stdout
        self._reader = threading.Thread(target=self._read, name="driver", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        try:
            self.wait_for(lambda: "ready" in self._printed, "ready")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process if it still runs and remove its directory."""
        reap(self.process)
        self._reader.join()
        self._stdout.close()
        self._temporary.cleanup()

    def say(self, command: str) -> None:
        """Send the driver one command line."""
        self._stdin.write(command + "\n")
        self._stdin.flush()

    def stop(self) -> None:
        """Shut the client down cleanly and wait for the end of its process."""
        self.say("stop")
        self.wait_for(lambda: "stopped" in self._printed, "stopped")
        self.process.wait(EVENT_TIMEOUT_S)

    def kill(self) -> None:
        """SIGKILL: the client dies without a word."""
        self.process.kill()
        self.process.wait()

    def client_log(self) -> list[str]:
        """Return what the client has logged so far at WARN and above."""
        return []

    def wait_for(
        self, condition: Callable[[], bool], what: str = "", timeout_s: float = EVENT_TIMEOUT_S
    ) -> None:
        """Wait until an event of the driver makes ``condition`` true. Raises DriverError."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not condition():
                rest = deadline - time.monotonic()
                if rest <= 0 or not self._changed.wait(min(rest, 1.0)):
                    if self.process.poll() is not None and not self._reader.is_alive():
                        raise DriverError(f"ended while waiting for {what}\n{self.tail()}")
                    if rest <= 0:
                        raise DriverError(f"{what} not in {timeout_s} s\n{self.tail()}")

    def complaints(self) -> str:
        """Return the end of what the program and those it started wrote to stderr."""
        return (self.home / "stderr.txt").read_text(errors="replace")[-4000:]

    def tail(self) -> str:
        """Return the last of what it has printed and logged."""
        lines = [*self._printed[-20:], self.complaints(), *self.client_log()[-40:]]
        return "\n".join(lines)

    def _read(self) -> None:
        for line in self._stdout:
            with self._changed:
                self._printed.append(line.rstrip("\n"))
                self.on_line(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def on_line(self, line: str) -> None:
        """Take one event, on the reading thread."""


class Producing(Driver):
    """Sends ``id-000000`` … at a bounded rate after ``go``.

    ``acks`` and ``failures`` grow as they come in; ``send`` sends one message and waits for it.
    """

    def __init__(
        self,
        command: Callable[[Path], Sequence[str]],
        environment: Callable[[Path], Mapping[str, str]] | None = None,
    ) -> None:
        self.acks: list[Ack] = []
        self.failures: list[str] = []
        self._found: list[tuple[str, int]] = []  # every answer so far
        super().__init__(command, environment)

    def go(self) -> None:
        """Begin or resume sending at the rate."""
        self.say("go")

    def pause(self) -> None:
        """Send nothing more until ``go``; one send may still be under way."""
        self.say("pause")

    def send(self, id: str) -> Ack:
        """Send one message with ``id`` as key and body. Raises DriverError if it fails."""
        self.begin(id)
        return self.ended(id)

    def begin(self, id: str, size_bytes: int = 0, timeout_ms: int | None = None) -> None:
        """Begin to send one message with ``id`` as key; `ended` has its end.

        Its body is the id, or ``size_bytes`` random bytes; both are for a Java producer only.
        """
        more = [] if timeout_ms is None and not size_bytes else [size_bytes, timeout_ms]
        self.say(" ".join(["send", id, *(str(one) for one in more if one is not None)]))

    def ended(self, id: str) -> Ack:
        """Wait for the end of a send. Raises DriverError if it fails."""

        def done() -> bool:
            return any(ack.id == id for ack in self.acks) or any(
                failure.startswith(f"{id} ") for failure in self.failures
            )

        self.wait_for(done, f"the end of send {id}")
        for ack in self.acks:
            if ack.id == id:
                return ack
        raise DriverError(f"send {id} failed\n{self.tail()}")

    def find(self, key: str) -> int:
        """Return how many messages its topic has by a key."""
        asked = len(self._found)
        self.say(f"find {key}")
        self.wait_for(lambda: len(self._found) > asked, f"find {key}")
        return self._found[-1][1]

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "ack":
            id, status, broker, queue_id, offset = rest.split(" ")
            self.acks.append(Ack(id, status, broker, int(queue_id), int(offset)))
        elif kind == "found":
            key, count = rest.split(" ")
            self._found.append((key, int(count)))
        elif kind == "fail":
            self.failures.append(rest)


class Consuming(Driver):
    """A push consumer from the first offset; ``received`` grows as messages come in."""

    def __init__(
        self,
        command: Callable[[Path], Sequence[str]],
        environment: Callable[[Path], Mapping[str, str]] | None = None,
    ) -> None:
        self.received: list[Received] = []
        self._assigned: list[list[str]] = []  # every answer so far
        super().__init__(command, environment)

    def assigned(self) -> list[str]:
        """Return the queues it holds now, as ``broker-a:0``."""
        asked = len(self._assigned)
        self.say("assigned")
        self.wait_for(lambda: len(self._assigned) > asked, "assigned")
        return self._assigned[-1]

    def wait_assigned(self, count: int, timeout_s: float = EVENT_TIMEOUT_S) -> list[str]:
        """Poll until it holds ``count`` queues; return them. Raises DriverError."""
        deadline = time.monotonic() + timeout_s
        while len(queues := self.assigned()) != count:
            if time.monotonic() > deadline:
                raise DriverError(f"holds {queues}, not {count} queues\n{self.tail()}")
            time.sleep(0.05)
        return queues

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "recv":
            at, id, broker, queue_id, offset, times, *damaged = rest.split(" ")
            numbers = (int(queue_id), int(offset), int(times))
            self.received.append(Received(int(at), id, broker, *numbers, bool(damaged)))
        elif kind == "assigned":
            self._assigned.append(rest.split())


class Observing(Driver):
    """A program that runs scenarios, some of those begun at a time."""

    def __init__(
        self,
        command: Callable[[Path], Sequence[str]],
        environment: Callable[[Path], Mapping[str, str]] | None = None,
    ) -> None:
        self.suffixes: dict[str, str] = {}
        """By scenario: what keeps the names of its topics and groups apart from other runs'."""
        self._ended: set[str] = set()
        self._observed: dict[str, list[str]] = defaultdict(list)
        self._failed: dict[str, list[str]] = defaultdict(list)
        super().__init__(command, environment)

    def begin(self, scenario: str) -> None:
        """Run a scenario with fresh topic and group names, as soon as its turn comes."""
        if scenario not in self.suffixes:
            # One length always: the suffix is part of stored sizes.
            suffix = self.suffixes[scenario] = f"_{secrets.token_hex(4)}"
            self.say(f"run {scenario} {suffix}")

    def observed(self, scenario: str) -> list[str]:
        """Return what the clients of a scenario have seen so far."""
        return list(self._observed[scenario])

    def observe(self, scenario: str) -> list[str]:
        """Return what the clients of a scenario saw, in order; begin it if it has not begun.

        Raises DriverError with all it knows when the scenario fails or takes over 200 s.
        """
        self.begin(scenario)
        self.wait_for(lambda: scenario in self._ended, scenario, SCENARIO_TIMEOUT_S)
        observed = self._observed[scenario]
        if scenario in self._failed:
            text = [*observed, *self._failed[scenario], self.complaints(), *self.client_log()[-40:]]
            raise DriverError("\n".join([f"{scenario} failed", *text]))
        return observed

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        scenario, _, text = rest.partition(" ")
        if kind == "observed":
            self._observed[scenario].append(text)
        elif kind == "failed":
            self._failed[scenario].append(text)
        elif kind == "ended":
            self._ended.add(scenario)


class Finished(NamedTuple):
    """A program's end: its status, what it printed, and what it wrote to stderr."""

    status: int
    printed: str
    complaints: str

    @property
    def observations(self) -> list[str]:
        """What a scenario saw, among the lines it printed."""
        return [line[2:] for line in self.printed.splitlines() if line.startswith("= ")]


def run_scenario(
    command: Sequence[str],
    home: Path,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run a program to its end, or kill it after ``timeout_s``.

    Its stdin is open until then and ends when this process dies.
    """
    errors = home / "stderr.txt"
    with open(errors, "wb") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=home,
            env=environment,
        )
    watchdog = threading.Timer(timeout_s, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        with process.stdout as stdout:
            printed = stdout.read()
        status = process.wait()
    finally:
        watchdog.cancel()
        reap(process)
    return Finished(status, printed, errors.read_text(errors="replace"))


def reap(process: subprocess.Popen[str]) -> None:
    """Kill a process, wait for it and close its stdin."""
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
