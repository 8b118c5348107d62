"""Fuzzed requests on every port of a running cluster, beside an honest client.

Each round has a cluster of its own in another process, which watches itself (`watched`): up to
50,000 requests, every code and none, headers of both kinds, both ports of a broker, a name server,
the HA port and, lightly, the control port. Most rounds spare what an honest client needs, and one
runs beside them; every fourth round does not, and changes configs and registers brokers, too. At
the end of a round the cluster stops and starts again on the same directory, where all that was
acknowledged must still be.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from tests.attack.assault import LAST_OPAQUE, Assault, Call, End
from tests.attack.honest import QUEUES, TOPIC, Honest
from tests.attack.hostile_frames import HostileFrames
from tests.attack.hostile_names import HostileNames
from tests.attack.journeys import travel
from tests.attack.sandbox import Sandbox
from tests.attack.watched import Ready, WatchedServer, watched_server

HOST = "127.0.0.1"
ROUND = 50_000
"""Requests of a round."""
RATE = 10
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
            "topics": {TOPIC: QUEUES, "Hostile1": 4},
            "slaves": int(self.seed % 4 == 1),
            "config": {
                "enablePropertyFilter": "true",
                "mappedFileSizeCommitLog": str(64 << 20),
                "autoCreateTopicEnable": "true",
            },
        }

    def _attack(self, ready: Ready) -> Assault:
        with Client(f"{HOST}:{ready.namesrv}") as client:
            sent = [client.send(Message("Hostile1", b"%d" % n)) for n in range(20)]
        places = [int(one.offset_msg_id[-16:], 16) for one in sent]
        random = Random(f"calls {self.seed}")
        frames = HostileFrames(random, self._names, places, self.spares_all)
        calls = Calls(random, frames, ready)
        assault = Assault(HOST, calls.next_call)
        assault.run(self.requests // 2)
        names = random.sample(self._names.all, NAMES)
        travelled = travel(HOST, ready.main, names, self.findings)
        last = Assault(HOST, calls.next_call)
        last.run(self.requests - assault.handled - travelled)
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
        print(f"    of the processor: {dearest}", file=sys.stderr)
        if ended.slowest_ms > 50:
            print(f"    {ended.slowest[:1000]}", file=sys.stderr)


class Calls:
    """Connections to all ports, each with its way to send and to end."""

    def __init__(self, random: Random, frames: HostileFrames, ready: Ready) -> None:
        self._random, self._frames = random, frames
        kinds: list[tuple[Callable[[int], Call], int, int]] = [
            (self._remoting, ready.main, 56),
            (self._remoting, ready.vip, 10),
            (self._remoting, ready.namesrv, 30),
            (self._replication, ready.ha, 3),
            (self._control, ready.control, 1),
        ]
        self._kinds = [(make, port) for make, port, _ in kinds]
        self._weights = [weight for _, _, weight in kinds]

    def next_call(self) -> Call:
        ((make, port),) = self._random.choices(self._kinds, self._weights)
        return make(port)

    def _remoting(self, port: int) -> Call:
        random, frames = self._random, self._frames
        requests = random.choice((1, 10, 50, 100, 200, 200, 400))
        sent = [frames.frame() for _ in range(requests)]
        if random.random() < 0.1:
            random.shuffle(sent)
        piece_bytes = random.choice((1 << 17, 1 << 17, 1 << 17, 1 << 14, 1500))
        match random.randrange(20):
            case 0:
                sent.append(frames.broken())
                return Call(port, b"".join(sent), 0, End.CLOSED, piece_bytes)
            case 1:
                sent.append(frames.broken())
                return Call(port, b"".join(sent), 0, End.RESET, piece_bytes)
            case 2:
                return Call(port, b"".join(sent), 0, End.DEAF, piece_bytes)
            case 3:
                sent = sent[:5]
                piece_bytes = random.randint(1, 60)
        sent.append(frames.last(LAST_OPAQUE))
        return Call(port, b"".join(sent), len(sent), End.ANSWERED, piece_bytes)

    def _replication(self, port: int) -> Call:
        random = self._random
        reports = [
            random.choice((0, 1, -1, 2**63 - 1, -(2**63), 10**6, random.getrandbits(40)))
            for _ in range(random.randint(1, 50))
        ]
        data = b"".join(report.to_bytes(8, signed=True) for report in reports)
        if random.random() < 0.5:
            data += random.randbytes(random.randint(1, 3000))
        end = random.choice((End.CLOSED, End.RESET, End.DEAF))
        return Call(port, data, 0, end, random.choice((1 << 17, 7)))

    def _control(self, port: int) -> Call:
        random = self._random
        method = random.choice(("GET", "PUT", "PATCH", "DELETE", "X" * 300))
        path = "/v1/" + random.choice(
            ("topics", "topics/../x", "topics/%2e%2e", "brokers", "clock", "journal?after=-1",
             "topics/\u00e9" * 100, "groups/x/lag", "faults", "snapshots/99999999999999999999")
        )  # fmt: skip
        body = random.choice((b"", b"{}", b"[" * 50_000, b'{"queues": 1e999}', b'{"queues": "x"}'))
        length = random.choice((len(body), len(body) + 10, 0, -1))
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Length: {length}\r\n"
        data = head.encode("utf-8", "replace") + b"Content-Type: application/json\r\n\r\n" + body
        return Call(port, data, 0, random.choice((End.CLOSED, End.RESET)), 1 << 17)
