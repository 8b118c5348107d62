"""How far timer messages are read and delivered: the file ``config/timercheck``.

Source: store/timer/TimerCheckpoint.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.errors import BodyError
from fakemq.protocol.layout.timer_codecs import TIMER_CHECKPOINT
from fakemq.store.timer import CHECKPOINT_PATH

if TYPE_CHECKING:
    from fakemq.store.files import Files

FILE_BYTES: Final = 4096


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

    def read(self, files: Files, now_ms: int) -> None:
        """Take over what the file says; of a new one, all is 0."""
        file = files.open(CHECKPOINT_PATH, FILE_BYTES, now_ms)
        if file.position < FILE_BYTES:
            file.truncate(FILE_BYTES)  # it counts as written to its end
        self.decode(file.read(0, TIMER_CHECKPOINT.size))

    def write(self, files: Files, now_ms: int) -> None:
        """Write the file and flush it; raise StoreError if the disk refuses."""
        file = files.open(CHECKPOINT_PATH, FILE_BYTES, now_ms)
        file.write_at(0, self.encode(), now_ms)
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

    def encode(self) -> bytes:
        """Return the bytes of the file, which are also the answer to GET_TIMER_CHECK_POINT."""
        return TIMER_CHECKPOINT.pack(
            self.last_read_ms,
            self.timer_log_flushed,
            self.queue_offset,
            self.master_queue_offset,
            self.state_version,
            self.version_timestamp_ms,
            self.version_counter,
        )

    def __repr__(self) -> str:
        return f"<timers delivered before {self.last_read_ms}, up to {self.queue_offset}>"
