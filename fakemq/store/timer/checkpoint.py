"""How far timer messages are read and delivered: the file ``config/timercheck``.

Behind Java's fields, which are all that Java reads and writes, the file has a *mark*: what a start
needs to know whether the fields are those of this store and this moment, and a checksum of it all.
Java keeps the bytes of a mark. After a run of Java the checksum does not fit, and a start believes
the log alone.

Source: store/timer/TimerCheckpoint.java (5.5.0)
"""

from __future__ import annotations

import struct
from enum import Enum, auto
from typing import TYPE_CHECKING, Final
from zlib import crc32

from fakemq.protocol.errors import BodyError
from fakemq.protocol.layout.timer_codecs import TIMER_CHECKPOINT
from fakemq.store.timer import CHECKPOINT_PATH

if TYPE_CHECKING:
    from fakemq.store.files import Files

FILE_BYTES: Final = 4096
MARK_AT: Final = 64
MARK: Final = struct.Struct(">8sqqqI")
"""Magic bytes, `read_before_ms`, `log_end`, the counter of the data version, and `anchor`."""
_MAGIC: Final = b"fakemq 1"
_SUM: Final = struct.Struct(">I")
MARKED_BYTES: Final = MARK_AT + MARK.size + _SUM.size
"""The bytes of a file that are not always zero."""


class CheckpointState(Enum):
    """What a file is worth."""

    EMPTY = auto()
    """It is new, or nothing is in it."""
    OF_JAVA = auto()
    """Java has written it last: its fields may be right, or damaged."""
    DAMAGED = auto()
    """Its checksum is wrong."""
    MARKED = auto()
    """It is as a broker of ours wrote it, for this store or for another one."""


def state_of(data: bytes) -> CheckpointState:
    """Return what the first `MARKED_BYTES` of a file are worth."""
    if not any(data):
        return CheckpointState.EMPTY
    if len(data) < MARKED_BYTES or not any(data[MARK_AT:]):
        return CheckpointState.OF_JAVA
    magic, _, _, counter, _ = MARK.unpack_from(data, MARK_AT)
    at = MARK_AT + MARK.size
    if magic == _MAGIC and _SUM.unpack_from(data, at) == (crc32(data[:at]),):
        return CheckpointState.MARKED
    # Java counts its versions, we do not.
    by_java = magic == _MAGIC and counter != TIMER_CHECKPOINT.unpack_from(data)[-1]
    return CheckpointState.OF_JAVA if by_java else CheckpointState.DAMAGED


class TimerCheckpoint:
    """Progress that outlives the broker."""

    def __init__(self) -> None:
        self.last_read_ms = 0
        """The first slot that is not delivered yet."""
        self.timer_log_flushed = 0
        self.queue_offset = 0
        """The offset in the timer topic of the first message without a unit."""
        self.master_queue_offset = 0
        self.state_version = 0
        self.version_timestamp_ms = 0
        self.version_counter = 0
        self.read_before_ms = 0
        """All slots from here on were never delivered; below it some were, by a clock ahead."""
        self.log_end = 0
        """Where the commit log ended when all slots before `last_read_ms` were delivered."""
        self.anchor = 0
        """A checksum of the last message with a unit; in another store it differs."""
        self.state = CheckpointState.EMPTY

    def read(self, files: Files, now_ms: int) -> None:
        """Take over what the file says; of a new one, all is 0."""
        file = files.open(CHECKPOINT_PATH, FILE_BYTES, now_ms)
        if file.position < FILE_BYTES:
            file.truncate(FILE_BYTES)  # it counts as written to its end
        data = bytes(file.read(0, MARKED_BYTES))
        self.decode(data)
        self.state = state_of(data)
        if self.state is CheckpointState.MARKED:
            _, self.read_before_ms, self.log_end, _, self.anchor = MARK.unpack_from(data, MARK_AT)

    def write(self, files: Files, now_ms: int, queue_offset: int) -> None:
        """Write the file and flush it; raise StoreError if the disk refuses.

        The file says ``queue_offset``.
        """
        file = files.open(CHECKPOINT_PATH, FILE_BYTES, now_ms)
        self.read_before_ms = max(self.read_before_ms, self.last_read_ms)
        file.write_at(0, self.marked(queue_offset), now_ms)
        file.flush()

    def clear(self, files: Files, now_ms: int) -> None:
        """Write a file that says nothing; raise StoreError if the disk refuses."""
        file = files.open(CHECKPOINT_PATH, FILE_BYTES, now_ms)
        file.write_at(0, bytes(MARKED_BYTES), now_ms)
        file.flush()

    def decode(self, data: bytes | memoryview) -> None:
        """Take over these bytes; raise struct.error if they are too few."""
        (
            self.last_read_ms,
            self.timer_log_flushed,
            self.queue_offset,
            self.master_queue_offset,
            self.state_version,
            self.version_timestamp_ms,
            self.version_counter,
        ) = TIMER_CHECKPOINT.unpack_from(data)

    def follow(self, data: bytes) -> None:
        """Take over what a master answers; raise BodyError for what is no checkpoint.

        The log and the offset of the own units stay.
        """
        if len(data) < TIMER_CHECKPOINT.size:
            raise BodyError(f"a checkpoint of {len(data)} bytes: expected {TIMER_CHECKPOINT.size}")
        master = TimerCheckpoint()
        master.decode(data)
        self.last_read_ms = master.last_read_ms
        self.master_queue_offset = master.master_queue_offset
        self.state_version = master.state_version
        self.version_timestamp_ms = master.version_timestamp_ms
        self.version_counter = master.version_counter

    def encode(self, queue_offset: int | None = None) -> bytes:
        """Return the fields as bytes, which are also the answer to GET_TIMER_CHECK_POINT."""
        return TIMER_CHECKPOINT.pack(
            self.last_read_ms,
            self.timer_log_flushed,
            self.queue_offset if queue_offset is None else queue_offset,
            self.master_queue_offset,
            self.state_version,
            self.version_timestamp_ms,
            self.version_counter,
        )

    def marked(self, queue_offset: int) -> bytes:
        """Return the first `MARKED_BYTES` of the file."""
        data = self.encode(queue_offset).ljust(MARK_AT, b"\0") + MARK.pack(
            _MAGIC, self.read_before_ms, self.log_end, self.version_counter, self.anchor
        )
        return data + _SUM.pack(crc32(data))

    def __repr__(self) -> str:
        return f"<timers delivered before {self.last_read_ms}, up to {self.queue_offset}>"
