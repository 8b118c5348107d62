"""A cluster in a process of its own that watches itself while it is attacked.

``python -m tests.attack.watched STORE OPTIONS`` runs a `Cluster` until a line arrives on stdin, and
stops it cleanly. Its stdout has JSON lines: `Ports`, then any number of `Finding`, then `Ended`.
It reports what an attack must not cause:

1. a handler that fails (`HandlerFailed`), with the request;
2. a callback of the loop of over `STALL_MS`, or a turn of over `TURN_MS`, with its slowest
   request; measured in processor time of the thread, so other processes do not count;
3. a path outside of the store (`sandbox.watch_paths`);
4. after a clean stop, a store that was repaired.

`WatchedServer` is the other end of it.
"""

from __future__ import annotations

import asyncio
import asyncio.base_events
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from fakemq import Cluster
from fakemq.events.core import HandlerFailed, StoreRepaired
from fakemq.journal.entries import Entry
from fakemq.net.session import Session
from fakemq.protocol.bodies.body import prepared
from fakemq.protocol.codes import code_name
from fakemq.protocol.command import RemotingCommand
from tests.attack.ports import Ports
from tests.attack.sandbox import watch_paths
from tests.support.imports import ROOT

STALL_MS = 100
"""The longest callback: what one connection can make all others wait."""
TURN_MS = 200
"""The longest turn, in which each of several attackers has a callback."""
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60


class Finding(msgspec.Struct, tag=True):
    """Something that an attack must not cause; of one ``kind`` the first is shown."""

    kind: str
    text: str


class Ended(msgspec.Struct, tag=True):
    """The cluster has stopped; what the attack cost it."""

    requests: int
    slowest_ms: float
    """Of all callbacks of the loop, in ms of the processor."""
    slowest: str
    slowest_turn_ms: float
    dearest: list[tuple[str, int, float]]
    """The codes that took most time: name, number of requests, seconds of the processor."""
    processor_s: float
    anonymous_mib: float
    """The memory of the process that is no mapped file."""


Said = Ports | Finding | Ended


# -- in the process of the cluster ----------------------------------------------------------------


def described(command: RemotingCommand) -> str:
    """Return a request as text that is enough to send it again; long ones are cut."""
    fields = {name: text[:300] for name, text in command.ext_fields.items()}
    return (
        f"{code_name(command.code)} {command.serialize_type.name} flag={command.flag}"
        f" extFields={json.dumps(fields)[:2500]}"
        f" body={len(command.body)} bytes {command.body[:1500]!r}"
    )


class Watch:
    """Measures the callbacks of the loop, and knows which request is handled."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self.requests = 0
        self.over = False
        """Whether the attack is over, so that nothing is measured any more."""
        self.slowest_ns = self.slowest_turn_ns = 0
        self.slowest = ""
        self._worst: tuple[int, RemotingCommand | None] = (0, None)
        """The slowest request of the callback that runs now."""
        self.current: RemotingCommand | None = None
        self._collecting_since_ns = self._collected_ns = 0
        """The garbage collector's time within the callback that runs now."""
        # The longest callback of the turn: what it was, the code of its slowest request, its time.
        self._of_turn, self._code_of_turn, self._of_turn_ns = "", "no request", 0
        self._of_code: dict[int, list[int]] = {}
        """Number of requests and nanoseconds, by code."""

    def dearest(self) -> list[tuple[str, int, float]]:
        """Return the codes that took most time."""
        by_time = sorted(self._of_code.items(), key=lambda item: -item[1][1])
        return [(code_name(code), number, ns / 1e9) for code, (number, ns) in by_time[:8]]

    def install(self) -> None:
        """Measure every callback and every request of this process from now on."""
        run_handle: Callable[[asyncio.Handle], None] = asyncio.Handle._run
        loops: Any = asyncio.base_events.BaseEventLoop
        run_once = loops._run_once
        receive = Session._receive
        cpu_ns = time.thread_time_ns

        def measured_handle(handle: asyncio.Handle) -> None:
            self._worst, self._collected_ns = (0, None), 0
            began_ns = cpu_ns()
            run_handle(handle)
            self._callback(cpu_ns() - began_ns, handle)

        def measured_turn(loop: Any) -> None:
            self._of_turn_ns = 0
            began_ns = cpu_ns()
            run_once(loop)
            self._turn(cpu_ns() - began_ns)

        def measured_receive(session: Session, command: RemotingCommand) -> None:
            copy = RemotingCommand(
                command.code, ext_fields=command.ext_fields, body=command.body, flag=command.flag,
                serialize_type=command.serialize_type,
            )  # fmt: skip
            self.current = copy  # a parked request's own loses its fields
            self.requests += 1
            began_ns = cpu_ns()
            receive(session, command)
            took_ns = cpu_ns() - began_ns
            self.current = None
            of_code = self._of_code.setdefault(copy.code, [0, 0])
            of_code[0] += 1
            of_code[1] += took_ns
            if took_ns > self._worst[0]:
                self._worst = (took_ns, copy)

        handles: Any = asyncio.Handle
        handles._run = measured_handle

        def collects(phase: str, _: object) -> None:
            if phase == "start":
                self._collecting_since_ns = cpu_ns()
            else:
                self._collected_ns += cpu_ns() - self._collecting_since_ns

        gc.callbacks.append(collects)
        loops._run_once = measured_turn
        sessions: Any = Session
        sessions._receive = measured_receive

    def _callback(self, took_ns: int, handle: asyncio.Handle) -> None:
        if self.over:
            return
        if took_ns > self._of_turn_ns:
            self._of_turn_ns, self._of_turn = took_ns, ""
            if took_ns > 20_000_000:
                of_ns, command = self._worst
                self._code_of_turn = "no request" if command is None else code_name(command.code)
                what = repr(handle)[:300] if command is None else described(command)
                self._of_turn = (
                    f"{took_ns / 1e6:.0f} ms, of it {self._collected_ns / 1e6:.0f} ms by the"
                    f" garbage collector, {of_ns / 1e6:.0f} ms for {what}"
                )
        if took_ns > self.slowest_ns:
            self.slowest_ns, self.slowest = took_ns, self._of_turn
        if took_ns > STALL_MS * 1_000_000:
            self._report(f"stall {self._code_of_turn}", f"a stall: {self._of_turn}")

    def _turn(self, took_ns: int) -> None:
        if self.over:
            return
        self.slowest_turn_ns = max(self.slowest_turn_ns, took_ns)
        if took_ns > TURN_MS * 1_000_000 and self._of_turn_ns <= STALL_MS * 1_000_000:
            self._report(
                f"long turn {self._code_of_turn}",
                f"a stall: a turn of {took_ns / 1e6:.0f} ms; its longest callback: {self._of_turn}",
            )

    def failed(self, entry: Entry) -> None:
        """Report a handler that failed."""
        event = entry.event
        assert isinstance(event, HandlerFailed)
        during = "a timer or link" if self.current is None else described(self.current)
        places = [line for line in event.traceback.splitlines() if line.startswith("  File")]
        self._report(
            f"failed {event.code} {places[-1]}",
            f"HandlerFailed during {during}\n{event.traceback[-2500:]}",
        )


def anonymous_mib() -> float:
    """Return the memory of this process that is no mapped file."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


def main(store: Path, options: dict[str, Any]) -> None:
    """Run a cluster on ``store`` until a line or the end of stdin."""
    lock = threading.Lock()

    def say(said: Said) -> None:
        with lock:
            sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
            sys.stdout.flush()

    def report(kind: str, text: str) -> None:
        say(Finding(kind, text))

    reports_repairs = options.pop("reports_repairs", False)
    rate = options.pop("rate", 1)
    watch = Watch(report)
    watch_paths(store, lambda text: report(text, text))
    with Cluster(store=str(store), control_port=0, **options) as mq:
        if reports_repairs:
            for repaired in mq.inspect(lambda core: core.journal.find(StoreRepaired)):
                report("repaired", f"repaired after a clean stop: {repaired}")
        mq.inspect(lambda core: core.journal.listen(watch.failed, HandlerFailed))
        mq.clock.rate = rate
        gc.collect()
        gc.freeze()
        watch.install()
        say(Ports.of(mq))
        sys.stdin.readline()
        watch.over = True  # a stop may take its time
        processor_s = time.process_time()
        held_mib = anonymous_mib()
    say(
        Ended(
            watch.requests, watch.slowest_ns / 1e6, watch.slowest, watch.slowest_turn_ns / 1e6,
            watch.dearest(), processor_s, held_mib,
        )
    )  # fmt: skip


# -- in the process of the attacker ---------------------------------------------------------------


class WatchedServer:
    """A watched cluster, as its parent process sees it."""

    def __init__(self, store: Path, home: Path, **options: Any) -> None:
        self._found: dict[str, list[str]] = {}
        self.ended: Ended | None = None
        environment = os.environ | {
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = (sys.executable, "-m", "tests.attack.watched", str(store), json.dumps(options))
        self._process = subprocess.Popen(
            command, cwd=home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._stderr: list[str] = []
        self._ready: Ports | None = None
        self._is_ready = threading.Event()
        self._readers = [
            threading.Thread(target=target, daemon=True) for target in (self._read, self._read_log)
        ]
        for reader in self._readers:
            reader.start()

    @property
    def findings(self) -> list[str]:
        """The first finding of each kind, with the number of all."""
        return [
            first + (f"\n({len(more)} more of this kind)" if more else "")
            for first, *more in self._found.values()
        ]

    def found(self, kind: str, text: str) -> None:
        """Add a finding."""
        self._found.setdefault(kind, []).append(text)

    @property
    def pid(self) -> int:
        return self._process.pid

    def ready(self) -> Ports:
        """Wait until the cluster runs; RuntimeError if it does not."""
        self._is_ready.wait(START_TIMEOUT_S)
        if self._ready is None:
            raise RuntimeError(f"the server does not start: {self.log()[-2000:]}")
        return self._ready

    def stop(self) -> None:
        """Stop the cluster cleanly; what was wrong with its end is a finding."""
        process = self._process
        assert process.stdin is not None
        try:
            process.stdin.write("\n")
            process.stdin.close()
        except OSError:
            pass  # it is dead, as its exit code says
        try:
            code = process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
            self.found("end", f"the server did not stop within {STOP_TIMEOUT_S} s")
        for reader in self._readers:
            reader.join()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        if code:
            self.found("end", f"the server ended with {code}: {self.log()[-2000:]}")

    def log(self) -> str:
        """Return what the server wrote to stderr."""
        return "".join(self._stderr)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = msgspec.json.decode(line, type=prepared(Said))
            if isinstance(said, Finding):
                self.found(said.kind, said.text)
            elif isinstance(said, Ended):
                self.ended = said
            else:
                self._ready = said
                self._is_ready.set()
        self._is_ready.set()

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        self._stderr.extend(self._process.stderr)


@contextmanager
def watched_server(store: Path, home: Path, **options: Any) -> Iterator[WatchedServer]:
    """Run a watched cluster within the block, and stop it cleanly."""
    server = WatchedServer(store, home, **options)
    try:
        yield server
    finally:
        server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
