"""``python -m fakemq`` in a process of its own on one store, and what its clients were promised."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from random import Random

from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.imports import ROOT
from tests.support.promises import Promises

TOPIC, QUEUES = "orders", 4
READY_S = 60.0
STOP_S = 60.0
SEND_MS = 10_000
_LIMITED = """
import json, runpy, sys
for name, value in json.loads(sys.argv.pop(1)).items():
    import resource
    resource.setrlimit(getattr(resource, name), (value, value))
runpy.run_module("fakemq", run_name="__main__", alter_sys=True)
"""
"""``python -m fakemq`` after some limits were set."""


class Server:
    """A cluster of one master. ``arguments`` are further ones of the command line.

    What it writes to stderr goes to ``log``, which should lie on another disk than the store.
    Without ``store`` it is in memory. ``limits`` are values of `resource.setrlimit`, by name.
    """

    def __init__(
        self,
        store: Path | None,
        log: Path,
        *arguments: str,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self.log = log
        self._ready_file = log.with_suffix(".ready")
        self._ready_file.unlink(missing_ok=True)
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _LIMITED, json.dumps(limits or {}), "serve"),
                    *(() if store is None else ("--store", str(store))),
                    *("--namesrv-port", "0", "--broker-port", "0", "--topic", f"{TOPIC}:{QUEUES}"),
                    *("--ready-file", str(self._ready_file), *arguments),
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )

    def wait_until_ready(self) -> bool:
        """Wait for the ready line; return False if the process ended instead."""
        assert self.process.stdout is not None
        found, _, _ = select.select([self.process.stdout], [], [], READY_S)
        if not found:
            self.end(signal.SIGKILL)
            raise TimeoutError(f"not ready after {READY_S:.0f} s")
        return b"fakemq ready" in self.process.stdout.readline()

    @property
    def namesrv_addr(self) -> str:
        return str(json.loads(self._ready_file.read_text())["namesrv"])

    @property
    def broker_addr(self) -> str:
        return str(json.loads(self._ready_file.read_text())["brokers"][0]["addr"])

    def set_clock_rate(self, rate: int) -> None:
        """Let the cluster's time run faster. It needs ``--control-port 0``."""
        url = json.loads(self._ready_file.read_text())["control"]
        request = urllib.request.Request(
            f"{url.rstrip('/')}/v1/clock/rate",
            json.dumps({"rate": rate}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=READY_S) as answer:
            answer.read()

    def end(self, number: int) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        try:
            return self.process.wait(STOP_S)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()

    def bad_lines(self) -> list[str]:
        """Return what it should never have written to stderr."""
        text = self.log.read_text(errors="replace")
        at = max(text.find("Traceback"), text.find("a bug in fakemq"))
        return [text[max(0, at - 300) :][:3000]] if at >= 0 else []


class Ledger(Promises[tuple[int, int]]):
    """What a client was promised, by queue and queue offset."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = 0
        self.reason = ""
        """Why the last message was refused."""

    def send(self, client: Client, random: Random, most_bytes: int = 20_000) -> bool:
        """Send a message, and return whether it was acknowledged."""
        body = random.randbytes(random.choice((1, 10, 300, 4_000, most_bytes)))
        self.sent.add(body)
        message = Message(TOPIC, body, keys=f"k{random.randrange(100)}")
        queue = MessageQueue(TOPIC, "broker-a", random.randrange(QUEUES))
        try:
            sent = client.send(message, queue=queue, timeout_ms=SEND_MS)
        except FakemqError as error:
            self.refused += 1
            self.reason = str(error)
            return False
        if sent.status is not SendStatus.SEND_OK:
            self.refused += 1
            self.reason = sent.status.name
            return False
        self.acknowledged[queue.queue_id, sent.queue_offset] = body
        return True


def stored(client: Client) -> dict[tuple[int, int], bytes]:
    """Return the bodies of all messages of the topic, by queue and queue offset."""
    found: dict[tuple[int, int], bytes] = {}
    for queue_id in range(QUEUES):
        queue = MessageQueue(TOPIC, "broker-a", queue_id)
        offset, end = 0, client.max_offset(queue)
        while offset < end:
            pulled = client.pull(queue, offset, max_messages=1000)
            for message in pulled.messages:
                found[queue_id, message.queue_offset] = message.body
            if pulled.next_begin_offset <= offset:
                break
            offset = pulled.next_begin_offset
    return found
