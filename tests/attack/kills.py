"""kill -9 under SYNC_FLUSH: what was acknowledged is there after the next start.

Each step has a store of its own with small files, of 4.9.7 or of 5.5.0, with its log in one folder
or in several. Some clients send messages of all kinds, timers and transactions too, and pop; at a
random moment the process is killed, every third time once more while it recovers. Then it must
start, have every acknowledged message and no other, take another one and stop cleanly.
"""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from fakemq.client.blocking import Client
from tests.attack.mixed import MixedLedger, broken_promises
from tests.attack.outside import Server
from tests.attack.progress import with_progress

CLIENTS = 3
REFERENCES = ("4.9.7", "5.5.0")
AT_ONCE = 3
"""Steps that run beside each other."""


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    """Kill ``count`` processes, each in a step of its own."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        steps = pool.map(lambda number: step(seed + number, folder), range(count))
        acknowledged = 0
        for lines, sent in with_progress(steps, count, "kills"):
            acknowledged += sent
            yield from lines
    print(f"  {acknowledged:,} messages were acknowledged")


def step(seed: int, folder: Path) -> tuple[list[str], int]:
    """Kill one process; return the findings and how many messages were acknowledged."""
    random = Random(seed)
    store, log = folder / f"store-{seed}", folder / f"{seed}.log"
    config = folder / f"{seed}.properties"
    reference = random.choice(REFERENCES)
    folders = [str(store / f"log-{number}") for number in range(random.choice((1, 2, 3)))]
    extensions = str(random.random() < 0.3).lower()
    config.write_text(
        f"storePathRootDir={store}/broker-a-0\n"
        f"storePathCommitLog={','.join(folders)}\n"
        f"enableConsumeQueueExt={extensions}\n"
        f"mappedFileSizeCommitLog={random.choice((65_536, 262_144, 1 << 26))}\n"
        f"mappedFileSizeConsumeQueue={random.choice((20 * 50, 6_000_000))}\n"
        "maxHashSlotNum=1000\nmaxIndexNum=400\n"
    )
    arguments = ("--flush", "SYNC_FLUSH", "--reference", reference, "-c", str(config))
    ledgers = [MixedLedger(f"{number}", reference) for number in range(CLIENTS)]
    found = []
    server = Server(None, log, *arguments)
    if server.wait_until_ready():
        _send_until_killed(server, ledgers, random)
    else:
        found.append("the first start failed")
    if seed % 3 == 0:  # killed while it recovers
        server = Server(None, log, *arguments)
        time.sleep(random.uniform(0.15, 0.5))
        server.end(signal.SIGKILL)
    server = Server(None, log, *arguments)
    if server.wait_until_ready():
        found += _compare(server, ledgers, random)
        code = server.end(signal.SIGTERM)
        if code:
            found.append(f"a clean stop ended with {code}")
    else:
        found.append(f"the start after the kill failed with {server.end(signal.SIGKILL)}")
    found += server.bad_lines()
    if not found:
        shutil.rmtree(store)
    return [f"seed {seed}: {line}" for line in found], sum(map(len, ledgers))


def _send_until_killed(server: Server, ledgers: list[MixedLedger], random: Random) -> None:
    killed = threading.Event()
    addr = server.namesrv_addr

    def send(ledger: MixedLedger, number: int) -> None:
        own = Random(number)
        ledger.addr = server.broker_addr
        with Client(addr) as client:
            while not killed.is_set():
                if not ledger.send(client, own):
                    return

    numbers = [random.getrandbits(32) for _ in ledgers]
    threads = [
        threading.Thread(target=send, args=one) for one in zip(ledgers, numbers, strict=True)
    ]
    for thread in threads:
        thread.start()
    time.sleep(random.uniform(0.02, 1.5))
    server.end(signal.SIGKILL)
    killed.set()
    for thread in threads:
        thread.join()


def _compare(server: Server, ledgers: list[MixedLedger], random: Random) -> list[str]:
    with Client(server.namesrv_addr) as client:
        found = broken_promises(client, ledgers)
        ledgers[0].addr = server.broker_addr
        if not ledgers[0].send(client, random):
            found.append(f"a send after the start was refused: {ledgers[0].reason}")
    return found
