"""Fuzzed requests on every port of a running cluster, beside an honest client.

Each round has a cluster of its own in another process, which watches itself (`watched`): up to
100,000 requests, every code and none, headers of both kinds, both ports of a broker, a name server,
the HA port and, lightly, the control port. Most rounds spare what an honest client needs, and one
runs beside them; every fourth round does not, and changes configs and registers brokers, too. Four
rounds have a cluster of 4.9.7, the next four one of 5.5.0, with its codes. At the end of a round
the cluster stops and starts again on the same directory, where all that was acknowledged must still
be.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from tests.attack.assault import HOST, Assault
from tests.attack.calls import Calls
from tests.attack.honest import QUEUES, TIMEOUT_MS, TOPIC, Honest
from tests.attack.hostile_frames import HostileFrames
from tests.attack.hostile_names import HostileNames
from tests.attack.journeys import travel
from tests.attack.ports import Ports
from tests.attack.sandbox import Sandbox
from tests.attack.watched import WatchedServer, watched_server

ROUND = 100_000
"""Requests of a round."""
RATE = 2
"""How much faster the cluster's time runs: delays, checks and scans come due during a round."""
NAMES = 60
"""How many names take the ways of `journeys` in each round."""
MEMORY_MAX_MIB = 600
FINDINGS_MAX = 20
"""After this number of findings of a round the others are only counted."""


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    """Attack with ``count`` requests, in rounds of seeds ``seed``, ``seed + 1`` and so on."""
    done = 0
    while done < count:
        a_round = Round(seed, min(ROUND, count - done), folder / f"round-{seed}")
        a_round.run()
        found = a_round.findings
        yield from (f"seed {seed}: {line}" for line in found[:FINDINGS_MAX])
        if len(found) > FINDINGS_MAX:
            yield f"seed {seed}: and {len(found) - FINDINGS_MAX} more"
        done += a_round.requests
        seed += 1


class Round:
    """One cluster, attacked, stopped and started again."""

    def __init__(self, seed: int, requests: int, folder: Path) -> None:
        self.seed = seed
        self.requests = requests
        self.findings: list[str] = []
        self.spares_all = seed % 4 != 0
        self.reference = ("4.9.7", "5.5.0")[seed // 4 % 2]
        self._sandbox = Sandbox(folder)
        self._names = HostileNames(seed, folder)

    def run(self) -> None:
        """Fill ``findings``."""
        sandbox, honest = self._sandbox, None
        with watched_server(sandbox.store, sandbox.home, rate=RATE, **self._options()) as server:
            ready = server.ready()
            began_s = time.monotonic()
            with ExitStack() as stack:
                if self.spares_all:
                    honest = stack.enter_context(Honest(f"{HOST}:{ready.namesrv}"))
                assault = self._attack(ready)
            seconds = time.monotonic() - began_s
        self.findings += server.findings
        self._judge(server, assault, seconds)
        if honest is not None:
            self.findings += honest.findings
        with watched_server(
            sandbox.store, sandbox.home, reports_repairs=True, **self._options()
        ) as again:
            try:
                addr = f"{HOST}:{again.ready().namesrv}"
                if honest is not None:
                    self.findings += honest.losses(addr)
            except RuntimeError as error:
                again.found("start", str(error))
        self.findings += (f"after the restart: {line}" for line in again.findings)
        self.findings += sandbox.escapes()

    def _options(self) -> dict[str, Any]:
        """Return the options of the cluster, which differ with the seed."""
        return {
            "reference": self.reference,
            "topics": {TOPIC: QUEUES, "Hostile1": 4},
            "slaves": int(self.seed % 4 == 1),
            "config": {
                "enablePropertyFilter": "true",
                "mappedFileSizeCommitLog": str(64 << 20),
                "autoCreateTopicEnable": "true",
            },
        }

    def _attack(self, ready: Ports) -> Assault:
        with Client(f"{HOST}:{ready.namesrv}", send_timeout_ms=TIMEOUT_MS) as client:
            sent = [client.send(Message("Hostile1", b"%d" % n)) for n in range(20)]
        places = [int(one.offset_msg_id[-16:], 16) for one in sent]
        random = Random(f"calls {self.seed}")
        frames = HostileFrames(random, self._names, places, self.spares_all, self.reference)
        calls = Calls(random, frames, ready)
        assault = Assault(calls.next_call)
        assault.run(lambda: assault.handled >= self.requests // 2)
        names = random.sample(self._names.all, NAMES)
        travelled = travel(HOST, ready.main, names, self.findings)
        last = Assault(calls.next_call)
        left = self.requests - assault.handled - travelled
        last.run(lambda: last.handled >= left)
        for name in ("handled", "calls", "ended_early"):
            setattr(assault, name, getattr(assault, name) + getattr(last, name))
        self.findings += assault.findings + last.findings
        return assault

    def _judge(self, server: WatchedServer, assault: Assault, seconds: float) -> None:
        ended = server.ended
        if ended is None:
            self.findings.append("the server did not end by itself")
            return
        if ended.anonymous_mib > MEMORY_MAX_MIB:
            self.findings.append(f"{ended.anonymous_mib:.0f} MiB of memory")
        print(
            f"  seed {self.seed}: {ended.requests:,} requests in {seconds:.1f} s,"
            f" {ended.requests / seconds:,.0f} a second;"
            f" {assault.calls:,} connections, {assault.ended_early:,} closed by the server;"
            f" longest callback {ended.slowest_ms:.0f} ms, turn {ended.slowest_turn_ms:.0f} ms"
            f" of the processor; {ended.anonymous_mib:.0f} MiB",
            file=sys.stderr,
        )
        dearest = ", ".join(f"{name} {n:,} in {s:.1f} s" for name, n, s in ended.dearest)
        print(f"    {ended.processor_s:.0f} s of the processor: {dearest}", file=sys.stderr)
        if ended.slowest_ms > 50:
            print(f"    {ended.slowest[:1000]}", file=sys.stderr)
