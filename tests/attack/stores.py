"""Mutated stores: each starts with a line for each loss, or is refused with one line.

A few stores are written by sends, once. Each attack copies one, changes some of its files in any
way, and looks at it by `dump`, `dump --check` and a start. All messages are then read by queue, by
physical offset and by key; timer messages of 5.5.0 have to come when they are due.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, Literal, NamedTuple
from unittest.mock import patch

from fakemq.broker.broker import Broker
from fakemq.clock.slices import finished
from fakemq.config.spec import ClusterSpec, cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.dump.command import check_store, dump
from fakemq.errors import ConfigError, FakemqError
from fakemq.events import HandlerFailed, StoreRepaired, Warned
from fakemq.events.store import StoreRecovered
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.message import decode_record
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.store import seal
from fakemq.store.directory_file import extents
from fakemq.store.findings import OWN_TOPICS
from fakemq.store.stored_entries import Index
from fakemq.store.stored_node import StoredNode
from tests.attack.mutations import NODE, mutate
from tests.attack.progress import with_progress
from tests.support.crashes import CONFIG, CONFIG_5_5_0, TOPICS, Crashes

BASES = 4
"""For each reference; every other one is killed."""
REFERENCES: Final[tuple[Literal["4.9.7", "5.5.0"], ...]] = ("4.9.7", "5.5.0")
LONGEST_S = 15
_END_MS = 1 << 60


class Stored(NamedTuple):
    """A message that was acknowledged, and where it was."""

    topic: str
    queue_id: int
    offset: int
    phy_offset: int
    body: bytes
    key: str


class Timed(NamedTuple):
    """A timer message: its record in the timer topic, and where it is to come."""

    stored: Stored
    topic: str
    out_ms: int


class Base(NamedTuple):
    """A store of a broker that was stopped or killed."""

    root: Path
    reference: Literal["4.9.7", "5.5.0"]
    clean: bool
    stored: list[Stored]
    timed: list[Timed]
    """Those that wait."""


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    with patch.object(seal, "LEAST_BYTES", 0):  # the stores are short
        bases = [
            write_base(folder / f"base-{reference}-{number}", number, reference)
            for reference in REFERENCES
            for number in range(BASES)
        ]
        for number in with_progress(range(count), count, "mutated stores"):
            for line in attack(bases, seed + number, folder / "mutated"):
                yield f"--seed {seed + number} --count 1: {line}"


def write_base(root: Path, number: int, reference: Literal["4.9.7", "5.5.0"] = "4.9.7") -> Base:
    """Write a store by sends, delays, batches and transactions; the odd ones are killed.

    With 5.5.0 it has timers and pops, too.
    """
    root.mkdir()
    crashes = Crashes(root, number, "ASYNC_FLUSH", reference)
    broker = crashes.broker
    for _ in range(6):
        crashes.live()
        broker.clock.skew_ms = 0
        crashes.core.advance(3_000)
    for group in ("g", "h"):
        broker.offsets.commit(group, "orders", 0, 2)
    crashes.core.advance(20_000)
    if reference == "5.5.0":
        crashes.reconnect()
        for _ in range(10):
            crashes.timed()
        crashes.core.advance(1_500)
    stored = list(messages_of(broker))
    timed = list(timed_in(broker, stored))
    clean = number % 2 == 0
    if not clean:
        broker.kill()
    crashes.close()
    return Base(root, reference, clean, stored, timed)


def timed_in(broker: Broker, stored: list[Stored]) -> Iterator[Timed]:
    """Yield the timer messages that wait; what has rolled waits in its newest record."""
    came = keys_of(broker)
    newest = {one.key: one for one in stored if one.topic == TIMER_TOPIC}
    for key, one in newest.items():
        message = broker.store.look_message_by_offset(one.phy_offset)
        if message is not None and key not in came:
            properties = message.properties
            yield Timed(one, properties["REAL_TOPIC"], int(properties["TIMER_OUT_MS"]))


def keys_of(broker: Broker) -> Counter[str]:
    """Return how often each message is in the topics of users."""
    return Counter(
        message.properties.get("UNIQ_KEY", "")
        for topic, queues in TOPICS.items()
        for queue_id in range(queues)
        for message in broker.store.messages_in_queue(topic, queue_id)
    )


def messages_of(broker: Broker) -> Iterator[Stored]:
    for queue in broker.store.queues:
        for message in broker.store.messages_in_queue(queue.topic, queue.queue_id):
            key = message.properties.get("UNIQ_KEY", "")
            place = queue.topic, queue.queue_id, message.queue_offset
            yield Stored(*place, message.commit_log_offset, message.body, key)


def spec_of(root: Path, reference: Literal["4.9.7", "5.5.0"] = "4.9.7") -> ClusterSpec:
    return cluster_spec(
        reference=reference,
        store=str(root),
        clock="frozen",
        start_at="2023-11-14T23:13:20",
        config=CONFIG if reference == "4.9.7" else CONFIG_5_5_0,
        seed=1,
    )


# -- one attack -----------------------------------------------------------------------------------


def attack(bases: list[Base], seed: int, root: Path) -> list[str]:
    """Mutate a copy of one store; return what was wrong."""
    draw = random.Random(seed)
    base = draw.choice(bases)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(base.root, root, symlinks=True, copy_function=copy_sparse)
    done = [mutate(draw, root / NODE) for _ in range(draw.choice((1, 1, 1, 2, 3)))]
    found: list[str] = []
    try:
        with limit(LONGEST_S):
            findings = checked(root, found)
            found += started(base, root, findings)
    except Exception:
        found.append(traceback.format_exc().strip())
    finally:
        unlock(root)
    what = f"{base.reference}, {'clean' if base.clean else 'killed'}"
    return [f"{what}; {'; '.join(done)}: {line}" for line in found]


def copy_sparse(source: str, target: str) -> None:
    """Copy a file without its holes: the wheel has 38 MB of them."""
    with open(source, "rb") as old, open(target, "wb") as new:
        size_bytes = os.fstat(old.fileno()).st_size
        for begin, end in extents(old.fileno(), 0, size_bytes):
            old.seek(begin)
            new.seek(begin)
            new.write(old.read(end - begin))
        new.truncate(size_bytes)
    shutil.copystat(source, target)


class TooLongError(Exception):
    """An attack took too long."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise TooLongError(f"over {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def unlock(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def checked(root: Path, found: list[str]) -> str:
    """What `dump --check` says of a store; complaints of `dump` are one line."""
    lines: list[str] = []
    for show in (dump, check_store):
        try:
            show(str(root / NODE), lines.append if show is check_store else lambda line: None)
        except ConfigError as error:
            lines.append(str(error))
            if "\n" in str(error):
                found.append(f"more than a line: {error}")
    return "\n".join(lines)


def started(base: Base, root: Path, findings: str) -> Iterator[str]:
    """Start on the store; yield what was lost without a line, and what failed."""
    unindexed = [*ranges_of_missing_files(base.root / NODE, root / NODE)]
    core = ClusterCore(spec_of(root, base.reference), ["127.0.0.1:1"], [10911])
    core.stop_logging()
    try:
        core.start()
    except FakemqError as error:
        if "\n" in str(error):
            yield f"refused with more than a line: {error}"
        core.stop()
        return
    try:
        yield from losses(base, core, root / NODE, findings, unindexed)
        for failed in core.journal.find(HandlerFailed):
            yield f"HandlerFailed: {failed.traceback}"
    finally:
        core.stop()


def ranges_of_missing_files(before: Path, node: Path) -> Iterator[range]:
    """Yield which part of the log each index file had that is not there any more."""
    for file in StoredNode(str(before)).index_files():
        head = Index(file).head
        if head is not None and not (node / file.name).exists():
            yield range(head.begin_phy_offset, head.end_phy_offset + 1)


def losses(
    base: Base, core: ClusterCore, node: Path, findings: str, unindexed: list[range]
) -> Iterator[str]:
    broker = core.broker("broker-a")
    lines = [warned.text for warned in core.journal.find(Warned)]
    lines += [f"{one.file}:{one.offset}: {one.why}" for one in core.journal.find(StoreRepaired)]
    (recovered,) = core.journal.find(StoreRecovered)
    said = [line.replace(f"{node}/", "") for line in lines]
    silent = []
    for one in base.stored:
        if one.phy_offset < recovered.min_phy_offset:
            continue  # as if its file had been deleted for its age
        how = not_found(broker, one)
        if how == "key" and ("index/" in findings or any("index/" in line for line in said)):
            continue
        if (
            how == "key"
            and lost_its_key(broker, one)
            and any(one.phy_offset in part for part in unindexed)
        ):
            # No checksum of 4.9.7 covers properties, and any bytes may be in them. Only the index
            # also has the key: a store without it has nothing that could show the loss. The
            # message is there, by queue and by id, with its body.
            continue
        if how and not is_said(one, said):
            silent.append(f"{how} {one.topic}:{one.queue_id} offset {one.offset} at"
                          f" {one.phy_offset}")  # fmt: skip
    if silent:
        yield f"{len(silent)} lost silently, {silent[0]}; said: {said[:5]}"
    yield from lost_timers(base, core, said)


def lost_timers(base: Base, core: ClusterCore, said: list[str]) -> Iterator[str]:
    """Let all timers become due; yield which do not come, or come twice."""
    if not base.timed:
        return
    broker = core.broker("broker-a")
    before = keys_of(broker)
    latest_ms = max(one.out_ms for one in base.timed)
    core.advance(max(0, latest_ms - broker.clock.now_ms()) + 2_000)
    came = keys_of(broker)
    silent = [
        f"{one.stored.key} at {one.stored.phy_offset}"
        for one in base.timed
        if not came[one.stored.key] and not is_timer_said(one, said)
    ]
    if silent:
        yield f"{len(silent)} timers lost silently, {silent[0]}; said: {said[:5]}"
    # Without their progress, delay levels begin again, as in Java.
    again = ("commitlog", "consumequeue", "config/delayOffset.json")
    if not any(place in line for line in said for place in again):
        twice = [one.stored.key for one in base.timed if came[one.stored.key] > 1]
        twice += [
            key for key, count in came.items() if base.clean and before[key] and count > before[key]
        ]
        if twice:
            yield f"{len(twice)} timers came twice, {twice[0]}; said: {said[:5]}"


def is_timer_said(one: Timed, said: list[str]) -> bool:
    """Whether a line names a timer message that is lost."""
    lost = f"points at {one.stored.phy_offset}, where no timer message is"
    dropped = f"a timer message for topic {one.topic!r} is dropped"
    if any("timerlog/" in line and "more in this file" in line for line in said):
        return True  # a start names three of each file, and counts the others
    return is_said(one.stored, said) or any(lost in line or dropped in line for line in said)


def not_found(broker: Broker, one: Stored) -> str:
    """By which of the ways a message is not found; "" if by none."""
    store = broker.store
    unit = store.queue_unit(one.topic, one.queue_id, one.offset)
    message = unit and store.look_message_by_offset(unit[0], unit[1])
    if not message or message.body != one.body:
        return "queue"
    by_offset = store.look_message_by_offset(one.phy_offset)
    if by_offset is None or by_offset.body != one.body:
        return "id"
    if one.topic not in OWN_TOPICS and broker.topics.select(one.topic) is None:
        return "topic"
    if one.key:
        found = finished(store.query_message(one.topic, one.key, 64, 0, _END_MS)).buffers
        if one.body not in map(body_of, found):
            return "key"
    return ""


def lost_its_key(broker: Broker, one: Stored) -> bool:
    """Whether the properties of a message's record no longer have its key."""
    message = broker.store.look_message_by_offset(one.phy_offset)
    return message is not None and message.properties.get("UNIQ_KEY") != one.key


def body_of(record: memoryview) -> bytes | None:
    """The body of a record; None if the bytes are no record."""
    try:
        return decode_record(record).body
    except RemoteProtocolError:
        return None


def is_said(one: Stored, said: list[str]) -> bool:
    """Whether a line names the queue, the record, or a part of the log that it was in."""
    folder = f"consumequeue/{one.topic}"
    place = f"{one.topic}:{one.queue_id} offset "
    for line in said:
        if f"{folder}/{one.queue_id}" in line or f"{folder}:" in line or place in line:
            return True
        if "the commit log is gone" in line or ("topics.json" in line and "backup" in line):
            return True
        log = re.search(r"commitlog/(\d{20}):(\d+): ", line)
        if log is not None and one.phy_offset >= int(log[1]):
            return True
    return False
