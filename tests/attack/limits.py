"""Starts under limits of the process (`setrlimit`): refused in one line, or served until the stop.

Each step draws one or two limits, a store in memory or in a directory, and starts a server. One
that starts gets messages, is stopped, and a directory is started again without limits: what was
acknowledged must be there. A finding is a death by a signal, a traceback, a refusal of more than
one line, a hang, or a lost message.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random

from fakemq.client.blocking import Client
from tests.attack.outside import Ledger, Server, stored
from tests.attack.progress import with_progress

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SENDS = 20
LIMITS = {
    # Python itself needs some 30 MiB before it can say anything.
    "RLIMIT_AS": (64 * MIB, 200 * MIB, 900 * MIB, 1700 * MIB, 1800 * MIB, 2 * GIB, 4 * GIB),
    "RLIMIT_NOFILE": (5, 8, 12, 20, 40, 60, 64, 70, 100, 125, 130, 140, 256),
    "RLIMIT_FSIZE": (4 * KIB, 100 * KIB, MIB, 16 * MIB, 512 * MIB, GIB, 2 * GIB),
    "RLIMIT_NPROC": (1, 4, 64),
    "RLIMIT_STACK": (256 * KIB, 512 * KIB, MIB),
}


def missing() -> str:
    """Return why this machine cannot run it; empty if it can."""
    return "" if find_spec("resource") else "this system has no setrlimit"


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    """Start ``count`` servers under limits."""
    served = 0
    for number in with_progress(range(seed, seed + count), count, "starts"):
        try:
            lines, acknowledged = step(number, folder)
            served += acknowledged > 0
            yield from lines
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            yield f"seed {number} hung: {error}"
    print(f"  {served} of them took messages")


def step(seed: int, folder: Path) -> tuple[list[str], int]:
    """Start one server under limits; return the findings and how many messages it took."""
    random = Random(seed)
    store, log = folder / f"store-{seed}", folder / f"{seed}.log"
    limits = {name: random.choice(LIMITS[name]) for name in random.sample(sorted(LIMITS), 2)}
    arguments = []
    if random.random() < 0.5:
        config = folder / f"{seed}.properties"
        config.write_text(
            f"mappedFileSizeCommitLog={random.choice((64 * KIB, 16 * MIB))}\n"
            "mappedFileSizeConsumeQueue=1000\nmaxHashSlotNum=1000\nmaxIndexNum=400\n"
        )
        arguments = ["-c", str(config)]
    kept = store if random.random() < 0.6 else None
    ledger = Ledger()
    server = Server(kept, log, *arguments, limits=limits)
    found = []
    if server.wait_until_ready():
        with Client(server.namesrv_addr) as client:
            for _ in range(SENDS):
                ledger.send(client, random)
        if kept is None:
            with Client(server.namesrv_addr) as client:
                found += ledger.lost(stored(client))
        if code := server.end(signal.SIGTERM):
            found.append(f"the stop ended with {code}")
    else:
        code = server.end(0)
        lines = log.read_text(errors="replace").splitlines()
        if code != 1 or len(lines) != 1 or not lines[0].startswith("Error: "):
            found.append(f"the start ended with {code}: {lines[-3:]}")
    found += server.bad_lines()
    if kept is not None and ledger.acknowledged:
        found += _after(kept, log, arguments, ledger)
    if not found:
        shutil.rmtree(store, ignore_errors=True)
    where = "a directory" if kept else "memory"
    lines = [f"seed {seed}, {limits}, {where}: {line}" for line in found]
    return lines, len(ledger.acknowledged)


def _after(store: Path, log: Path, arguments: list[str], ledger: Ledger) -> list[str]:
    """Start the store again without limits, and return what is lost."""
    server = Server(store, log, *arguments)
    if not server.wait_until_ready():
        return [f"the start without limits failed with {server.end(signal.SIGKILL)}"]
    with Client(server.namesrv_addr) as client:
        found = ledger.lost(stored(client))
    if code := server.end(signal.SIGTERM):
        found.append(f"the stop without limits ended with {code}")
    return found
