"""The two kinds of message id, both upper-case hexadecimal.

An *offset id* says where a message is stored: ``ip 4 or 16 | port int32 | physical offset int64``,
32 or 56 digits. A *unique id* is made by the client: ``ip 4 or 16 | pid int16 | hash of the class
loader int32 | milliseconds since the month began int32 | counter int16``, of the same two lengths,
so the text of an id does not show its kind.

The offset ids of answers to sends are made with their records, in `fakemq.store.commitlog`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.hosts import Host, pack_host, unpack_host
from fakemq.protocol.java import int32

_OFFSET = struct.Struct(">q")
_UNIQUE_FIXED = struct.Struct(">Hi")
_UNIQUE_TIME = struct.Struct(">I")
_UNIQUE_COUNTER = struct.Struct(">H")
_UNIQUE_MOVING = struct.Struct(">IH")
_ID_BYTES = (16, 28)

_CLOCK_STEP_MS = 1_000_000
"""How far the clock may step back over the month's begin and still count as its first moment."""


class OffsetId(NamedTuple):
    """What an offset id says."""

    store_host: Host
    physical_offset: int


class UniqueId(NamedTuple):
    """What a unique id says; ``since_month_ms`` is unsigned, the counter wraps at 65536."""

    ip: str
    pid: int
    class_loader_hash: int
    since_month_ms: int
    counter: int


def create_offset_id(store_host: Host, physical_offset: int) -> str:
    """Return the offset id of the message stored there.

    Source: common/message/MessageDecoder.java#createMessageId (4.9.7)
    """
    return (pack_host(store_host) + _OFFSET.pack(physical_offset)).hex().upper()


def decode_offset_id(text: str) -> OffsetId:
    """Return what an offset id says; RemoteProtocolError if it is none.

    Differs: Java reads letters beyond F as digits, and any length but 32 as IPv6.

    Source: common/message/MessageDecoder.java#decodeMessageId (4.9.7)
    """
    data = _id_bytes(text)
    (physical_offset,) = _OFFSET.unpack(data[-_OFFSET.size :])
    return OffsetId(unpack_host(data[: -_OFFSET.size]), physical_offset)


class UniqueIdGenerator:
    """Makes the unique ids of one client process.

    The month begins at midnight of its first day, ``utc_offset_ms`` east of UTC.

    Source: common/message/MessageClientIDSetter.java#createUniqID (4.9.7)
    """

    def __init__(
        self,
        ip: str,
        pid: int,
        class_loader_hash: int,
        *,
        counter: int = 0,
        utc_offset_ms: int = 0,
    ) -> None:
        fixed = _UNIQUE_FIXED.pack(pid & 0xFFFF, int32(class_loader_hash))
        self._prefix = (pack_host((ip, 0))[:-4] + fixed).hex().upper()
        self._counter = counter
        self._utc_offset_ms = utc_offset_ms
        self._month_ms = self._next_month_ms = -1
        # Of the last id: many are made in one millisecond.
        self._now_ms = -1
        self._start = ""

    def create(self, now_ms: int) -> str:
        """Return the next id, made at this time."""
        if now_ms != self._now_ms:
            self._start = self._prefix + self._time_text(now_ms)
            self._now_ms = now_ms
        counter = _UNIQUE_COUNTER.pack(self._counter & 0xFFFF)
        self._counter += 1
        return self._start + counter.hex().upper()

    def _time_text(self, now_ms: int) -> str:
        if now_ms >= self._next_month_ms:
            self._month_ms, self._next_month_ms = month_around(now_ms, self._utc_offset_ms)
        since_month_ms = int32(now_ms - self._month_ms)
        if -_CLOCK_STEP_MS < since_month_ms < 0:
            since_month_ms = 0
        return _UNIQUE_TIME.pack(since_month_ms & 0xFFFF_FFFF).hex().upper()


def decode_unique_id(text: str) -> UniqueId:
    """Return what a unique id says; RemoteProtocolError if it is none."""
    data = _id_bytes(text)
    fixed_at = len(data) - _UNIQUE_MOVING.size - _UNIQUE_FIXED.size
    ip, _ = unpack_host(data[:fixed_at] + bytes(4))
    pid, class_loader_hash = _UNIQUE_FIXED.unpack_from(data, fixed_at)
    since_month_ms, counter = _UNIQUE_MOVING.unpack_from(data, fixed_at + _UNIQUE_FIXED.size)
    return UniqueId(ip, pid, class_loader_hash, since_month_ms, counter)


def unique_id_time_ms(text: str, now_ms: int, utc_offset_ms: int = 0) -> int:
    """Return when a unique id was made, if that was in this month or the one before.

    Source: common/message/MessageClientIDSetter.java#getNearlyTimeFromID (4.9.7)
    """
    since_month_ms = decode_unique_id(text).since_month_ms
    month_ms, _ = month_around(now_ms, utc_offset_ms)
    if month_ms + since_month_ms >= now_ms:
        month_ms, _ = month_around(month_ms - 1, utc_offset_ms)
    return month_ms + since_month_ms


def month_around(time_ms: int, utc_offset_ms: int = 0) -> tuple[int, int]:
    """Return when the month with this moment begins, and when the next one does."""
    from datetime import datetime, timedelta, timezone  # no server needs it to start

    zone = timezone(timedelta(milliseconds=utc_offset_ms))
    moment = datetime.fromtimestamp(time_ms // 1000, zone)
    first = datetime(moment.year, moment.month, 1, tzinfo=zone)
    following = datetime(moment.year + moment.month // 12, moment.month % 12 + 1, 1, tzinfo=zone)
    return int(first.timestamp()) * 1000, int(following.timestamp()) * 1000


def _id_bytes(text: str) -> bytes:
    try:
        data = bytes.fromhex(text) if text.isalnum() else b""
    except ValueError:
        data = b""
    if len(data) not in _ID_BYTES:
        raise RemoteProtocolError(
            f"{text!r} is no message id: those are 32 or 56 hexadecimal digits"
        )
    return data
