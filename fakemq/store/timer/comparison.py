"""A start compares the timer topic with the units of its messages, and with what is delivered.

The messages are in the commit log, and their delivered copies, too: from both, all else is made
again. The timer log may be missing, cut, changed, or of another store; so may the checkpoint. Java
looks at none of it. Only what is in doubt is looked up in the log: after a clean stop that is
nothing, after a kill what came behind the last checkpoint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from fakemq.protocol.errors import NumberFormatError, RemoteProtocolError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.java import java_string_hash
from fakemq.protocol.message import decode_record
from fakemq.protocol.properties import (
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_OUT_MS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.protocol.timers import TIMER_DEQUEUE_MS, TIMER_ROLL_TIMES, TIMER_TOPIC
from fakemq.store.findings import (
    Finding,
    deleted_timer_message,
    few,
    no_timer_message,
    no_timer_unit,
    no_timer_unit_of,
    second_timer_unit,
    wrong_timer_chain,
    wrong_timer_unit,
)
from fakemq.store.timer.checkpoint import CheckpointState
from fakemq.store.timer.log import NO_UNIT

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt
    from fakemq.store.store import MessageStore
    from fakemq.store.timer.checkpoint import TimerCheckpoint
    from fakemq.store.timer.log import TimerLog, TimerUnit

LINES_A_FILE: Final = 3
"""The most findings of one file that are reported; the others are counted."""
_MARKED: Final = f"{TIMER_DEQUEUE_MS}\x01".encode()
"""What each delivered copy has among its properties."""
_ANCHOR_BYTES: Final = 64
_Identity = tuple[object, ...]


class Timed(NamedTuple):
    """A message of the timer topic."""

    phy_offset: int
    size_bytes: int
    out_ms: int
    deletes: bool
    topic: str | None
    """Its real topic."""
    store_ms: int
    unit: tuple[int, TimerUnit] | None
    """Position and unit; None if there is none, or a wrong one."""

    @property
    def slot_ms(self) -> int:
        return self.out_ms if self.unit is None else self.unit[1].slot_ms


class Compared(NamedTuple):
    """What a start knows about the timer topic."""

    timed: list[Timed]
    """All messages that have, or should have, a unit, in the order of their units."""
    waiting: set[int]
    """The physical offsets of those that are not delivered yet."""
    broken: bool
    """Whether the timer log has to be written anew."""
    in_doubt: bool
    """Whether anything is not as the last checkpoint says."""
    next_offset: int
    """The offset of the first message of the timer topic that should have no unit."""
    findings: list[Finding]
    """What is wrong in the timer log and in the topic; the units are made anew."""
    bad_log: str
    """Why the timer log is written anew; empty if it is not, or only its order is repaired."""
    bad_checkpoint: str
    """What is wrong with the checkpoint; empty if nothing is."""


def anchor_of(store: MessageStore, next_offset: int) -> int:
    """Return a checksum of the message before an offset of the timer topic; 0 without one."""
    entry = store.queue_unit(TIMER_TOPIC, 0, next_offset - 1) if next_offset > 0 else None
    record = None if entry is None else store.log.read(entry[0], min(entry[1], _ANCHOR_BYTES))
    return 0 if record is None else crc32(record)


class Comparison:
    """The comparison of one start. ``now_ms`` is the present slot, `run` does it all.

    A kill within ``repeat_ms`` of the last checkpoint delivers again, as Java's does.
    """

    def __init__(
        self,
        store: MessageStore,
        log: TimerLog,
        checkpoint: TimerCheckpoint,
        now_ms: int,
        repeat_ms: int,
    ) -> None:
        self._store = store
        self._log = log
        self._checkpoint = checkpoint
        self._now_ms = now_ms
        self._repeat_ms = repeat_ms
        self.why_not = self._why_not()
        """Why the checkpoint cannot be believed; None if it can."""
        self._trusted = self.why_not is None
        self._bad: list[Finding] = []
        self._broken = False
        self._bad_log = ""

    def _why_not(self) -> str | None:
        """Return why the checkpoint is not that of this store; "" if nothing is damaged."""
        checkpoint, store = self._checkpoint, self._store
        match checkpoint.state:
            case CheckpointState.EMPTY:
                return "it is missing or empty"
            case CheckpointState.DAMAGED:
                return "its checksum is wrong"
            case CheckpointState.OF_JAVA:
                return ""
        least = store.min_offset_in_queue(TIMER_TOPIC, 0)
        end = store.max_offset_in_queue(TIMER_TOPIC, 0)
        if checkpoint.log_end > store.log.max_offset or checkpoint.queue_offset > end:
            return ""  # a crash took records: perhaps delivered ones
        if least < checkpoint.queue_offset:
            anchor = anchor_of(store, checkpoint.queue_offset)
            return None if checkpoint.anchor == anchor else "it is of another store"
        return None  # its messages are deleted, or there was none

    def run(self, places: Iterable[tuple[int, TimerUnit | None]]) -> Compared:
        """Compare the topic with ``places``, which the timer log yields when it is loaded."""
        checkpoint, store = self._checkpoint, self._store
        timed = self._with_units(places)
        first = store.min_offset_in_queue(TIMER_TOPIC, 0)
        end = store.max_offset_in_queue(TIMER_TOPIC, 0)
        without: list[tuple[int, tuple[int, int, int]]] = []
        next_offset = min(checkpoint.queue_offset, end) if self._trusted else end
        for offset in range(first, end):
            entry = store.queue_unit(TIMER_TOPIC, 0, offset)
            if entry is None:
                continue
            if entry[0] in timed:
                next_offset = max(next_offset, offset + 1)
            else:
                without.append((offset, entry))
        missing: dict[int, Timed] = {}
        for offset, entry in without:
            if offset < next_offset and (one := self._lost(offset, entry)) is not None:
                missing[offset] = one
        everything = [*timed.values(), *missing.values()]
        if missing:
            everything.sort(key=lambda one: one.phy_offset)
        candidates = [one for one in everything if self._may_wait(one)]
        done = self._done(candidates, looked_up=not self._trusted or bool(missing))
        waiting = {one.phy_offset for one in candidates} - done
        for offset, one in missing.items():
            if one.phy_offset in waiting:
                self._find_missing(offset)
            self._broken |= one.out_ms >= self._now_ms  # it has rolled
        in_doubt = (
            not self._trusted
            or self._broken
            or len(waiting) < len(candidates)
            or checkpoint.log_end < store.log.max_offset
            or checkpoint.timer_log_flushed != self._log.end
            or checkpoint.last_read_ms > self._now_ms
        )
        findings = list(few(self._bad, LINES_A_FILE))
        return Compared(
            everything,
            waiting,
            self._broken,
            in_doubt,
            next_offset,
            findings,
            bad_log=self._bad_log,
            bad_checkpoint=(self.why_not or "") if everything else "",
        )

    # -- units --------------------------------------------------------------------------------

    def _with_units(self, places: Iterable[tuple[int, TimerUnit | None]]) -> dict[int, Timed]:
        """Return the messages with good units by physical offset, in the order of the units."""
        found: dict[int, Timed] = {}
        newest: dict[int, int] = {}  # the position of the newest unit of each slot
        least, end = self._store.log.min_offset, self._store.log.max_offset
        for position, unit in places:
            if unit is None:
                self._find(position, no_timer_unit())
                continue
            if 0 <= unit.phy_offset < least:
                if not self._is_past(unit.slot_ms):
                    path, at = self._log.place_of(position)
                    text = deleted_timer_message(unit.phy_offset, least)
                    self._bad.append(Finding(path, at, text))
                continue
            if unit.phy_offset >= end:
                self._broken = True
                self._bad_log = "units of records behind the log's end"
                continue
            one = self._timed(unit.phy_offset, unit.size_bytes, (position, unit))
            if one is None:
                self._find(position, no_timer_message(unit.phy_offset))
            elif unit.phy_offset in found:
                self._find(position, second_timer_unit(unit.phy_offset))
            elif text := wrong_unit(unit, one.out_ms, one.topic, deletes=one.deletes):
                self._find(position, text)
            else:
                before = newest.get(unit.slot_ms, NO_UNIT)
                if unit.previous not in (before, NO_UNIT):
                    self._find(position, wrong_timer_chain(unit.previous, before))
                # A chain that begins anew is that of a clock that went back.
                self._broken |= unit.previous != before
                found[unit.phy_offset] = one
                newest[unit.slot_ms] = position
        return found

    def _find(self, position: int, text: str) -> None:
        self._broken, self._bad_log = True, "units are damaged"
        path, at = self._log.place_of(position)
        self._bad.append(Finding(path, at, text))

    def _find_missing(self, offset: int) -> None:
        self._broken, self._bad_log = True, "units are missing"
        queue = self._store.consume_queue(TIMER_TOPIC, 0)
        place = None if queue is None else queue.place_of(offset)
        if place is not None:
            self._bad.append(Finding(place[0].path, place[1], no_timer_unit_of(offset)))

    def _timed(
        self, phy_offset: int, size_bytes: int, unit: tuple[int, TimerUnit] | None
    ) -> Timed | None:
        """Return the message of the timer topic at a place; None if no such one is there."""
        message = self._store.look_message_by_offset(phy_offset, size_bytes)
        if message is None or message.topic != TIMER_TOPIC:
            return None
        if (message.commit_log_offset, message.store_size_bytes) != (phy_offset, size_bytes):
            return None
        properties = message.properties
        try:
            out_ms = parse_long(properties.get(TIMER_OUT_MS, ""))
        except NumberFormatError:
            return None
        return Timed(
            phy_offset,
            size_bytes,
            out_ms,
            TIMER_DEL_UNIQKEY in properties,
            properties.get(REAL_TOPIC),
            message.store_timestamp_ms,
            unit,
        )

    def _lost(self, offset: int, entry: tuple[int, int, int]) -> Timed | None:
        """Return a message that should have a unit; None for one that was due when it came."""
        one = self._timed(entry[0], entry[1], None)
        if one is None:
            return None
        checkpoint = self._checkpoint
        done = offset < checkpoint.queue_offset and one.out_ms < checkpoint.last_read_ms
        return None if self._trusted and done else one

    # -- deliveries ---------------------------------------------------------------------------

    def _is_past(self, slot_ms: int) -> bool:
        """Return whether the checkpoint says that a slot was delivered, and it can be believed."""
        return self._trusted and slot_ms < min(self._checkpoint.last_read_ms, self._now_ms)

    def _may_wait(self, one: Timed) -> bool:
        return one.unit is None or not self._is_past(one.slot_ms)

    def _done(self, candidates: list[Timed], *, looked_up: bool) -> set[int]:
        """Return the physical offsets of the candidates that were delivered, or rolled."""
        checkpoint = self._checkpoint
        if not candidates:
            return set()
        if looked_up or any(one.slot_ms < checkpoint.read_before_ms for one in candidates):
            copies = self._copies(min(one.phy_offset for one in candidates))
            return self._originals(candidates, copies)
        copies = self._copies(checkpoint.log_end)
        done = self._originals(candidates, copies) if copies else set()
        times = [store_ms for _, store_ms in copies]
        if done and max(times) - min(times) <= self._repeat_ms:
            return set()  # a kill: what was delivered since the checkpoint comes again
        return done

    def _copies(self, begin: int) -> list[tuple[_Identity, int]]:
        """Return what was delivered or rolled from a place in the log on, and when."""
        copies: list[tuple[_Identity, int]] = []
        log = self._store.log
        for _, record in log.records(begin, log.max_offset):
            if _MARKED not in bytes(record):
                continue
            try:
                message = decode_record(record)
            except RemoteProtocolError:
                continue  # the recovery says so
            identity = _original_of(message)
            if identity is not None:
                copies.append((identity, message.store_timestamp_ms))
        return copies

    def _originals(self, candidates: list[Timed], copies: list[tuple[_Identity, int]]) -> set[int]:
        """Return the physical offsets of the candidates of which there are copies."""
        looked_up = (
            self._store.look_message_by_offset(one.phy_offset, one.size_bytes) for one in candidates
        )
        messages = (one for one in looked_up if one is not None)
        return _with_copies(messages, (identity for identity, _ in copies))


def came(messages: Iterable[MessageExt], later: Iterable[MessageExt]) -> set[int]:
    """Return the physical offsets of those timer messages that were delivered, or rolled.

    ``later`` are the records of the log from the first of them on.
    """
    copies = (_original_of(one) for one in later)
    return _with_copies(messages, (one for one in copies if one is not None))


def _with_copies(messages: Iterable[MessageExt], copies: Iterable[_Identity]) -> set[int]:
    """Return the physical offsets of the messages of which there are copies."""
    left = Counter(copies)
    done = set()
    for message in messages:
        identity = _identity(message, _rolls(message))
        if left[identity] > 0:
            left[identity] -= 1
            done.add(message.commit_log_offset)
    return done


def wrong_unit(unit: TimerUnit, out_ms: int, topic: str | None, *, deletes: bool) -> str:
    """Return what is wrong with the unit of a message; "" if nothing is."""
    topic_hash = 0 if topic is None else _hash_of(topic)
    slot_is_right = unit.slot_ms < out_ms if unit.rolls else unit.slot_ms == out_ms
    if slot_is_right and unit.deletes == deletes and unit.topic_hash == topic_hash:
        return ""
    return wrong_timer_unit(unit.phy_offset, unit.slot_ms, out_ms)


@lru_cache(1_000)
def _hash_of(topic: str) -> int:
    return java_string_hash(topic)


def _rolls(message: MessageExt) -> int:
    try:
        return parse_int(message.properties.get(TIMER_ROLL_TIMES, "0"))
    except NumberFormatError:
        return 0


def _identity(message: MessageExt, rolls: int) -> _Identity:
    """Return what a message of the timer topic has in common with its copies alone."""
    properties = message.properties
    return (
        properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX),
        properties.get(TIMER_OUT_MS),
        properties.get(REAL_TOPIC),
        properties.get(REAL_QUEUE_ID),
        rolls,
        message.born_timestamp_ms,
        message.born_host,
        message.body_crc,
        len(message.body),
    )


def _original_of(message: MessageExt) -> _Identity | None:
    """Return the identity of the message that a copy was made of; None if it is no copy."""
    if TIMER_DEQUEUE_MS not in message.properties:
        return None
    rolls = _rolls(message)
    if message.topic == TIMER_TOPIC:
        return _identity(message, rolls - 1)
    place = message.properties.get(REAL_TOPIC), message.properties.get(REAL_QUEUE_ID)
    return _identity(message, rolls) if place == (message.topic, str(message.queue_id)) else None
