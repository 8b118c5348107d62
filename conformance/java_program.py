"""Runs our Java client program: scenarios that print observations, and drivers that tests steer.

``observe(namesrv_addr, "sync")`` returns what the client saw, in lines that are the same on every
correct cluster. ``JavaProducer`` and ``JavaConsumer`` are long-lived clients in their own JVM.
"""

from __future__ import annotations

import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from conformance.java_jars import REFERENCE, class_path

SCENARIOS = (
    "sync",
    "errors",
    "async",
    "oneway",
    "batch",
    "autotopic",
    "push",
    "orderly",
    "rebalance",
    "dying",
    "broadcast",
    "pull",
    "offsets",
    "block",
)
SCENARIO_TIMEOUT_S = 90.0
EVENT_TIMEOUT_S = 75.0
"""Over two heartbeats: a Java consumer whose new subscription no heartbeat has told yet is refused
(code 25) until the next one, 30 s later."""


class JavaProgramError(Exception):
    """The Java program failed or took too long; the message carries what it printed."""


class Ack(NamedTuple):
    """One acknowledged send of a JavaProducer."""

    id: str
    status: str
    broker: str
    queue_id: int
    queue_offset: int


class Received(NamedTuple):
    """One message given to a JavaConsumer's listener."""

    at_ms: int
    id: str
    broker: str
    queue_id: int
    queue_offset: int
    reconsume_times: int


def java_command(home: Path, version: str, *, binary: bool = False) -> list[str]:
    """The java command line up to the program's arguments; all it writes goes below ``home``."""
    logs = home / "logs"
    properties = {
        "user.home": home,
        "java.io.tmpdir": home,
        "rocketmq.client.localOffsetStoreDir": home / "offsets",
        # 4.9.7 reads the first pair, 5.5.0 the second.
        "rocketmq.client.logRoot": logs,
        "rocketmq.client.logLevel": "WARN",
        "rocketmq.log.root": logs,
        "rocketmq.log.level": "WARN",
    }
    if binary:
        properties["rocketmq.serialize.type"] = "ROCKETMQ"
    return [
        *("java", "-Xms32m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-XX:-UsePerfData", "--add-opens=java.base/java.nio=ALL-UNNAMED"),
        *(f"-D{key}={value}" for key, value in properties.items()),
    ]


def observe(
    namesrv_addr: str, scenario: str, version: str = REFERENCE, *, binary: bool = False
) -> list[str]:
    """Runs a scenario with fresh topic and group names; returns its observations in order.

    ``binary`` makes the client send RocketMQ's own header serialisation. Raises JavaProgramError
    with everything printed when the program fails or takes over 90 s.
    """
    with tempfile.TemporaryDirectory(prefix="java-program-") as home:
        command = [
            *java_command(Path(home), version, binary=binary),
            # One length always: the suffix is part of stored sizes.
            f"-Dconformance.suffix=_{secrets.token_hex(4)}",
            *("-cp", class_path(version), "conformance.Program", namesrv_addr, scenario),
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # its end halts the JVM when we die
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=home,
        )
        watchdog = threading.Timer(SCENARIO_TIMEOUT_S, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            with process.stdout as stdout:
                printed = stdout.read()
            status = process.wait()
        finally:
            watchdog.cancel()
            _reap(process)
        if status != 0:
            log = "\n".join(client_log(Path(home)))
            raise JavaProgramError(
                f"{scenario} with RocketMQ {version} ended with {status}\n{printed}\n{log}"
            )
    return [line[2:] for line in printed.splitlines() if line.startswith("= ")]


def client_log(home: Path) -> list[str]:
    """The WARN and ERROR entries of RocketMQ's client log below ``home``, with stack traces."""
    kept: list[str] = []
    bad = False
    for path in sorted((home / "logs").rglob("*.log")):
        for line in path.read_text(errors="replace").splitlines():
            if line[:4].isdigit():  # an entry; what follows without a date belongs to it
                bad = _is_bad(line)
            if bad:
                kept.append(line)
    return kept


def _is_bad(line: str) -> bool:
    # Both versions write "date time LEVEL ..." or "date time [thread] LEVEL ..." early in the line.
    return any(level in line[:80].split() for level in ("WARN", "ERROR"))


class JavaDriver:
    """A Java client in its own JVM that speaks in lines; a context manager that always reaps it."""

    def __init__(self, version: str, *arguments: str, binary: bool = False) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="java-driver-")
        self.home = Path(self._temporary.name)
        command = [
            *java_command(self.home, version, binary=binary),
            *("-cp", class_path(version), "conformance.Program", *arguments),
        ]
        self._changed = threading.Condition()
        self._printed: list[str] = []
        with open(self.home / "stderr.txt", "wb") as stderr:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                bufsize=1,
                cwd=self.home,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin: IO[str] = self.process.stdin
        self._stdout: IO[str] = self.process.stdout
        self._reader = threading.Thread(target=self._read, name="java-driver", daemon=True)
        self._reader.start()

    def __enter__(self) -> JavaDriver:
        try:
            self.wait_for(lambda: "ready" in self._printed, "ready")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Kills the JVM if it still runs and removes its directory."""
        _reap(self.process)
        self._reader.join()
        self._stdout.close()
        self._temporary.cleanup()

    def say(self, command: str) -> None:
        """Gives the driver one command line."""
        self._stdin.write(command + "\n")
        self._stdin.flush()

    def stop(self) -> None:
        """Shuts the client down cleanly and waits for the end of the JVM."""
        self.say("stop")
        self.wait_for(lambda: "stopped" in self._printed, "stopped")
        self.process.wait(EVENT_TIMEOUT_S)

    def kill(self) -> None:
        """SIGKILL: the client dies without a word."""
        self.process.kill()
        self.process.wait()

    def client_log(self) -> list[str]:
        """What the client has logged so far at WARN and above."""
        printed = [line for line in self._printed if _is_bad(line)]
        return printed + client_log(self.home)

    def wait_for(
        self, condition: Callable[[], bool], what: str = "", timeout_s: float = EVENT_TIMEOUT_S
    ) -> None:
        """Waits until an event of the driver makes ``condition`` true. Raises JavaProgramError."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not condition():
                rest = deadline - time.monotonic()
                if rest <= 0 or not self._changed.wait(min(rest, 1.0)):
                    if self.process.poll() is not None and not self._reader.is_alive():
                        raise JavaProgramError(f"ended while waiting for {what}\n{self._tail()}")
                    if rest <= 0:
                        raise JavaProgramError(f"{what} not in {timeout_s} s\n{self._tail()}")

    def _tail(self) -> str:
        stderr = (self.home / "stderr.txt").read_text(errors="replace")
        lines = [*self._printed[-20:], stderr[-4000:], *self.client_log()[-40:]]
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
        """Takes one event, on the reading thread."""


class JavaProducer(JavaDriver):
    """A DefaultMQProducer sending ``id-000000`` … at a bounded rate after ``go``.

    ``acks`` and ``failures`` grow as they come in; ``send`` sends one message and waits for it.
    """

    def __init__(
        self,
        namesrv_addr: str,
        topic: str,
        group: str = "GProducer",
        per_second: int = 200,
        version: str = REFERENCE,
        *,
        binary: bool = False,
    ) -> None:
        self.acks: list[Ack] = []
        self.failures: list[str] = []
        super().__init__(
            version, namesrv_addr, "produce", topic, group, str(per_second), binary=binary
        )

    def __enter__(self) -> JavaProducer:
        super().__enter__()
        return self

    def go(self) -> None:
        """Begins, or goes on, sending at the rate."""
        self.say("go")

    def pause(self) -> None:
        """Sends nothing more until ``go``; one send may still be under way."""
        self.say("pause")

    def send(self, id: str) -> Ack:
        """Sends one message with ``id`` as key and body. Raises JavaProgramError if it fails."""
        self.say(f"send {id}")

        def done() -> bool:
            return any(ack.id == id for ack in self.acks) or any(
                failure.startswith(f"{id} ") for failure in self.failures
            )

        self.wait_for(done, f"the end of send {id}")
        for ack in self.acks:
            if ack.id == id:
                return ack
        raise JavaProgramError(f"send {id} failed\n{self._tail()}")

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "ack":
            id, status, broker, queue_id, offset = rest.split(" ")
            self.acks.append(Ack(id, status, broker, int(queue_id), int(offset)))
        elif kind == "fail":
            self.failures.append(rest)


class JavaConsumer(JavaDriver):
    """A DefaultMQPushConsumer from the first offset; ``received`` grows as messages come in."""

    def __init__(
        self,
        namesrv_addr: str,
        topic: str,
        group: str = "GConsumer",
        expression: str = "*",
        instance: str = "c1",
        version: str = REFERENCE,
        *,
        orderly: bool = False,
        binary: bool = False,
    ) -> None:
        self.received: list[Received] = []
        self._assigned: list[list[str]] = []  # every answer so far
        super().__init__(
            version,
            *(namesrv_addr, "consume", topic, group, expression, instance),
            *(["orderly"] if orderly else []),
            binary=binary,
        )

    def __enter__(self) -> JavaConsumer:
        super().__enter__()
        return self

    def assigned(self) -> list[str]:
        """The queues it holds now, as ``broker-a:0``."""
        asked = len(self._assigned)
        self.say("assigned")
        self.wait_for(lambda: len(self._assigned) > asked, "assigned")
        return self._assigned[-1]

    def wait_assigned(self, count: int, timeout_s: float = EVENT_TIMEOUT_S) -> list[str]:
        """Polls until it holds ``count`` queues; returns them. Raises JavaProgramError."""
        deadline = time.monotonic() + timeout_s
        while len(queues := self.assigned()) != count:
            if time.monotonic() > deadline:
                raise JavaProgramError(f"holds {queues}, not {count} queues\n{self._tail()}")
            time.sleep(0.05)
        return queues

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "recv":
            at, id, broker, queue_id, offset, times = rest.split(" ")
            self.received.append(
                Received(int(at), id, broker, int(queue_id), int(offset), int(times))
            )
        elif kind == "assigned":
            self._assigned.append(rest.split())


def _reap(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
