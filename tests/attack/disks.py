"""A disk that is full, on tmpfs and on ext4: the process lives, loses nothing, and continues.

Each step has a small disk of its own: tmpfs, or a loop file with ext4 of blocks of 1 or 4 KiB. A
client of a broker of 4.9.7 or of 5.5.0 sends messages of all kinds, timers and transactions too,
pops, asks by key and makes topics; at random moments another program fills the disk, up to a few
bytes, and frees it again. When it is free the broker must take messages again without a
restart. Then the process is stopped or killed, perhaps on the full disk, and started again.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from fakemq.client.blocking import Client
from fakemq.errors import FakemqError
from tests.attack.kills import REFERENCES
from tests.attack.mixed import MixedLedger, broken_promises
from tests.attack.outside import TOPIC, Server
from tests.attack.progress import with_progress

KINDS = ("tmpfs", "ext4 of 1024", "tmpfs", "ext4 of 4096")
DISK_BYTES = 48 << 20
RATE = 20
"""How much faster the cluster's time runs: it looks every 10 s how full its disk is."""
HEALS_S = 30.0
AT_ONCE = 3
"""Steps that run beside each other."""
_PIECE = bytes(1 << 16)


@cache
def missing() -> str:
    """Return why no disk can be made here; empty if one can."""
    if shutil.which("mkfs.ext4") is None:
        return "there is no mkfs.ext4"
    with TemporaryDirectory(prefix="fakemq-disk-") as folder:
        for kind in KINDS[:2]:
            try:
                with disk(kind, Path(folder)):
                    pass
            except (OSError, subprocess.CalledProcessError):
                return f"this user cannot mount {kind.partition(' ')[0]}"
    return ""


@contextmanager
def disk(kind: str, folder: Path) -> Iterator[Path]:
    """Mount an empty disk below ``folder``."""
    place = folder / "disk"
    place.mkdir(parents=True, exist_ok=True)
    if kind == "tmpfs":
        _call("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place))
    else:
        image = folder / "image"
        with image.open("wb") as file:
            file.truncate(DISK_BYTES)
        _call("mkfs.ext4", "-q", "-F", "-b", kind.rpartition(" ")[2], str(image))
        _call("mount", "-o", "loop", str(image), str(place))
    try:
        yield place
    finally:
        _call("umount", "-l", str(place))


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


class Filler:
    """A file that takes the disk's free bytes."""

    def __init__(self, place: Path) -> None:
        self._path = place / "filler"

    def fill(self, left_bytes: int) -> None:
        """Fill the disk until about ``left_bytes`` are free."""
        with self._path.open("ab", buffering=0) as file:
            for piece in (_PIECE, _PIECE[:1024]):
                with suppress(OSError):
                    while file.write(piece):
                        pass
            os.ftruncate(file.fileno(), max(0, os.fstat(file.fileno()).st_size - left_bytes))

    def free(self) -> None:
        """Give all bytes back."""
        self._path.unlink(missing_ok=True)


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    """Fill ``count`` disks, one after another."""
    if reason := missing():
        yield f"cannot run: {reason}"
        return
    acknowledged = refused = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        steps = pool.map(lambda number: step(seed + number, folder), range(count))
        for one in with_progress(steps, count, "full disks"):
            acknowledged += len(one.ledger)
            refused += one.ledger.refused
            yield from one.found
    print(f"  {acknowledged:,} messages were acknowledged, {refused:,} refused")


def step(seed: int, folder: Path) -> Step:
    """Fill one disk, and return what was found."""
    kind, own = KINDS[seed % len(KINDS)], folder / f"{seed}"
    with disk(kind, own) as place:
        one = Step(seed, place)
        one.run()
    one.found = [f"seed {seed}, {kind}: {line}" for line in one.found]
    if not one.found:
        shutil.rmtree(own)
    return one


class Step:
    """One disk."""

    def __init__(self, seed: int, place: Path) -> None:
        self.found: list[str] = []
        self._random = random = Random(seed)
        reference = random.choice(REFERENCES)
        self.ledger = MixedLedger("d", reference)
        self._store, self._log = place / "store", place.parent / "stderr.log"
        self._filler = Filler(place)
        config = place.parent / "config.properties"
        config.write_text(
            f"mappedFileSizeCommitLog={random.choice((262_144, 1 << 22, 1 << 30))}\n"
            f"mappedFileSizeConsumeQueue={random.choice((20 * 50, 6_000_000))}\n"
            f"maxHashSlotNum={random.choice((1_000, 5_000_000))}\n"
            # As in Java, a disk that is nearly full would lose its oldest messages.
            "cleanFileForciblyEnable=false\n"
        )
        flush = random.choice(("SYNC_FLUSH", "ASYNC_FLUSH"))
        self._arguments = (
            *("--flush", flush, "--reference", reference),
            *("--control-port", "0", "-c", str(config)),
        )

    def run(self) -> None:
        """Fill the disk, free it, end the process and compare."""
        random = self._random
        if random.random() < 0.2:
            self._filler.fill(random.randrange(1 << 18))  # it is full at the start, too
        server = self._start()
        self._filler.free()
        server = server or self._start()
        if server is None:
            self.found.append("it does not start")
            return
        with Client(server.namesrv_addr) as client:
            server.set_clock_rate(RATE)
            for _ in range(random.randint(1, 2)):
                self._use(client, random.randrange(100))
                self._filler.fill(random.choice((0, random.randrange(1 << 20))))
                self._use(client, random.randrange(20, 80))
                self._filler.free()
                self._heal(client)
        full = random.random() < 0.3
        if full:
            self._filler.fill(0)
        self._end(server, random.choice((signal.SIGTERM, signal.SIGKILL)))
        if full:
            again = self._start()
            if again is not None:
                self._end(again, signal.SIGTERM)
            self._filler.free()
        self._compare()
        self.found += server.bad_lines()

    def _start(self) -> Server | None:
        """Start; return None if that is refused, as on a full disk it may be."""
        server = Server(self._store, self._log, *self._arguments)
        if server.wait_until_ready():
            self.ledger.addr = server.broker_addr
            return server
        code = server.end(signal.SIGKILL)
        if code < 0:
            self.found.append(f"a start ended with {code}")
        return None

    def _end(self, server: Server, number: int) -> None:
        if (code := server.process.poll()) is not None:
            self.found.append(f"the process ended by itself with {code}")
        code = server.end(number)
        if code != (-number if number == signal.SIGKILL else 0):
            self.found.append(f"signal {number} ended it with {code}")

    def _use(self, client: Client, times: int) -> None:
        random = self._random
        for _ in range(times):
            chance = random.random()
            if chance < 0.95:
                self.ledger.send(client, random, 60_000)
                continue
            with suppress(FakemqError):
                if chance < 0.98:
                    client.query_messages(TOPIC, f"k{random.randrange(100)}")
                else:
                    client.create_topic(f"t{random.randrange(1000)}", 2)

    def _heal(self, client: Client) -> None:
        deadline_s = time.monotonic() + HEALS_S
        while not self.ledger.send(client, self._random):
            if time.monotonic() > deadline_s:
                self.found.append(
                    f"no message was taken for {HEALS_S:.0f} s on a free disk: {self.ledger.reason}"
                )
                return
            time.sleep(0.05)

    def _compare(self) -> None:
        server = self._start()
        if server is None:
            self.found.append("it does not start after the disk was full")
            return
        with Client(server.namesrv_addr) as client:
            server.set_clock_rate(RATE)
            self.found += broken_promises(client, [self.ledger])
            self._heal(client)
        self._end(server, signal.SIGTERM)
