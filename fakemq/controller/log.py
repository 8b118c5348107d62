"""The log of a group of controllers: a line of JSON for each event, in ``events.jsonl``.

An event is in the file before the answer to its request leaves. What a kill cuts off is the last
line: without its end it does not count. A log that has many more lines than groups is written
anew, beside the file, then renamed: at a start, and when it has doubled since the last time.

Java keeps such events in the files of DLedger or jRaft. Neither reads the other's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from fakemq.controller.events import (
    AlterSyncStateSetEvent,
    ApplyBrokerIdEvent,
    CleanBrokerDataEvent,
    ControllerEvent,
    ElectMasterEvent,
    GroupKept,
    UpdateBrokerAddressEvent,
)
from fakemq.errors import ConfigError, StoreError
from fakemq.files.regular import open_regular, require_regular, write_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

FILE = "events.jsonl"
SPARE_LINES = 1_000
"""How many more lines than twice its groups a log may have before it is written anew."""

_Event: TypeAlias = (
    AlterSyncStateSetEvent
    | ApplyBrokerIdEvent
    | ElectMasterEvent
    | CleanBrokerDataEvent
    | UpdateBrokerAddressEvent
    | GroupKept
)


class EventLog:
    """The log in one folder, which one process writes at a time."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.path = os.path.join(folder, FILE)
        self._number: int | None = None
        self.size_bytes = 0
        self.kept_bytes = 0
        """How large it was when it was last written anew, or could not be."""
        self.lines = 0
        """How many events it has."""

    @property
    def has_doubled(self) -> bool:
        """Whether it is twice as large as when it was last written anew: not at each event."""
        return self.size_bytes > 2 * self.kept_bytes

    def open(self) -> Iterator[ControllerEvent]:
        """Open the log, and yield its events; take them all before `append`.

        Raise ConfigError for a line that is no event, and if another process has the log open.
        """
        try:
            os.makedirs(self._folder, exist_ok=True)
            self._number = open_regular(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            _lock(self._number)
            with os.fdopen(os.dup(self._number), "rb") as file:
                file.seek(0)
                yield from self._read(file)
            os.ftruncate(self._number, self.size_bytes)
        except BlockingIOError:
            self.close()
            raise ConfigError(
                f"controllerStorePath={self._folder}: another process has this log open; give each"
                " controller a folder of its own"
            ) from None
        except OSError as error:
            self.close()
            raise ConfigError(
                f"controllerStorePath={self._folder}: {error.filename or self.path}: cannot keep a"
                f" log here: {error.strerror}"
            ) from None
        except ConfigError:
            self.close()
            raise

    def _read(self, lines: Iterable[bytes]) -> Iterator[ControllerEvent]:
        decoder = msgspec.json.Decoder(_Event)
        self.size_bytes = self.kept_bytes = self.lines = 0
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return  # a kill cut it off, and its answer never left
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise ConfigError(
                    f"{self.path}:{number}: no event of a controllers' log: {error}; put back a"
                    " copy of the file, or delete it. Without it the controllers know no group,"
                    " and brokers must delete brokerIdentity and epochFileCheckpoint to join again"
                ) from None
            self.size_bytes += len(line)
            self.lines += 1

    def append(self, events: Iterable[ControllerEvent]) -> None:
        """Write events at the end; raise StoreError if the disk refuses, and then none is there."""
        lines = [msgspec.json.encode(event) + b"\n" for event in events]
        number = self._number
        if number is None:
            raise StoreError(f"{self.path}: the log of the controllers is closed")
        data = b"".join(lines)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(number, left) :]
        except OSError as error:
            self._cut(number)
            raise StoreError(f"{self.path}: could not be written: {error.strerror}") from None
        self.size_bytes += len(data)
        self.lines += len(lines)

    def _cut(self, number: int) -> None:
        """Remove what a failed write has left; close the log if that fails, too."""
        try:
            os.ftruncate(number, self.size_bytes)
        except OSError:
            self.close()

    def rewrite(self, events: Iterable[ControllerEvent]) -> None:
        """Replace all lines by others, which make the same state; raise ConfigError."""
        lines = [msgspec.json.encode(event) + b"\n" for event in events]
        beside = self.path + ".tmp"
        try:
            require_regular(beside)
            write_regular(beside, b"".join(lines))
            number = open_regular(beside, os.O_RDWR | os.O_APPEND)
            try:
                _lock(number)
                os.replace(beside, self.path)
            except OSError:
                os.close(number)
                raise
        except OSError as error:
            raise ConfigError(f"{beside}: could not be written: {error.strerror}") from None
        self.close()
        self._number, self.lines = number, len(lines)
        self.size_bytes = self.kept_bytes = sum(map(len, lines))

    def close(self) -> None:
        """Close the file; what it has stays."""
        if self._number is not None:
            os.close(self._number)
            self._number = None


def _lock(number: int) -> None:
    """Lock a log for this process; raise BlockingIOError if another one has it."""
    try:
        import fcntl
    except ImportError:  # not on every system
        return
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
