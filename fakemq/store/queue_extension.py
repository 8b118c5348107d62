"""Consume queues with extensions: for each entry, a unit with more than its tags code.

With enableConsumeQueueExt an entry has the address of a unit in place of a tags code: the offset of
the unit in the extension's files, plus -2^63. A unit has its size, the tags code, the store time
and the bits of the filters that the message matches.
Source: store/ConsumeQueueExt.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.layout.codecs import EXTENSION_HEAD
from fakemq.protocol.message import FIRST_EXTENSION_ADDRESS, LEAST_TAGS_CODE
from fakemq.store.consumequeue import UNIT_BYTES, ConsumeQueue
from fakemq.store.mapped_file_queue import MappedFileQueue
from fakemq.store.queue_folders import EXTENSION_FOLDER, queue_folder

if TYPE_CHECKING:
    from fakemq.config.model import BrokerConfig
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.files import Files
    from fakemq.store.mapped_file_queue import Cut

_END: Final = (-1).to_bytes(2, signed=True)
_END_BLANK_BYTES: Final = 4
MAX_UNIT_BYTES: Final = 0x7FFF
_FILES_LOOKED_AT: Final = 3


class ExtensionUnit(NamedTuple):
    """What the extension has of one message; no ``bit_map`` is b""."""

    tags_code: int
    store_timestamp_ms: int
    bit_map: bytes

    @property
    def size_bytes(self) -> int:
        """The size of the unit in its file."""
        return EXTENSION_HEAD.size + len(self.bit_map)


class QueueExtension:
    """The units of one queue, by address. ``folder`` is that of their files."""

    __slots__ = ("_files",)

    def __init__(self, files: Files, folder: str, file_size_bytes: int) -> None:
        self._files = MappedFileQueue(files, folder, file_size_bytes, grows=True)

    def put(self, unit: ExtensionUnit, now_ms: int) -> int:
        """Add a unit and return its address; return its tags code if no file can have the unit.

        Differs: Java fills three files with nothing for each unit that is too large for a file.
        Source: ConsumeQueueExt.java#put (4.9.7)
        """
        files, size_bytes = self._files, unit.size_bytes
        file_size_bytes = files.file_size_bytes
        if (
            size_bytes > min(MAX_UNIT_BYTES, file_size_bytes - _END_BLANK_BYTES)
            or FIRST_EXTENSION_ADDRESS + files.max_offset + file_size_bytes >= LEAST_TAGS_CODE
        ):
            return unit.tags_code
        last = files.last
        if last is not None and size_bytes > file_size_bytes - last.position - _END_BLANK_BYTES:
            if last.position + len(_END) <= file_size_bytes:
                last.append(_END, now_ms)
            if last.position < file_size_bytes:
                last.truncate(file_size_bytes)  # Java, too, counts the rest as written
            last = None
        if last is None:
            if not files.row:
                files.clear_folder()  # an earlier queue of this name may have left files
            last = files.add_file(0, now_ms)
            last.truncate(0)
        address = FIRST_EXTENSION_ADDRESS + files.last_offset + last.position
        tags_code, stored_ms, bit_map = unit
        last.append(
            EXTENSION_HEAD.pack(size_bytes, tags_code, stored_ms, len(bit_map)) + bit_map, now_ms
        )
        return address

    def get(self, address: int) -> ExtensionUnit | None:
        """Return the unit at an address; None if there is none.

        Source: ConsumeQueueExt.java#get (4.9.7)
        """
        if address >= LEAST_TAGS_CODE:
            return None
        files, offset = self._files, address - FIRST_EXTENSION_ADDRESS
        file = files.find(offset)
        if file is None:
            return None
        at = offset % files.file_size_bytes
        bits_at = at + EXTENSION_HEAD.size
        if bits_at > file.position:
            return None
        size_bytes, tags_code, stored_ms, bits_bytes = EXTENSION_HEAD.unpack(
            file.read(at, EXTENSION_HEAD.size)
        )
        bits_bytes = max(0, bits_bytes)
        if size_bytes < 1 or bits_at + bits_bytes > file.position:
            return None
        return ExtensionUnit(tags_code, stored_ms, bytes(file.read(bits_at, bits_bytes)))

    # -- files ----------------------------------------------------------------------------------

    def load(self, now_ms: int) -> None:
        """Open the existing files, each as if full."""
        self._files.load(now_ms)

    @property
    def is_empty(self) -> bool:
        """Whether it has no file."""
        return not self._files.row

    def end_behind(self, address: int) -> None:
        """Cut off what is behind the unit of an address.

        If the unit is not there, the next one begins a new file, so that no entry points at it.
        Source: ConsumeQueueExt.java#truncateByMaxAddress (4.9.7)
        """
        unit, files = self.get(address), self._files
        if unit is not None:
            files.truncate(address - FIRST_EXTENSION_ADDRESS + unit.size_bytes)
        elif files.last is not None:
            files.last.truncate(files.file_size_bytes)

    def delete_before(self, address: int) -> None:
        """Delete the files that end before the unit of an address.

        Source: ConsumeQueueExt.java#truncateByMinAddress (4.9.7)
        """
        self._files.delete_before(address - FIRST_EXTENSION_ADDRESS - 1)

    def destroy(self) -> None:
        """Delete the files."""
        self._files.destroy()


class ExtendedQueue(ConsumeQueue):
    """A consume queue with an extension.

    ``bit_map_at`` is called with a topic and the physical offset of a record, and returns the bits
    of the filters that the record matches; only with enableCalcFilterBitMap.
    """

    __slots__ = ("_bit_map_at", "_config", "_units")

    def __init__(
        self,
        topic: str,
        queue_id: int,
        files: Files,
        file_size_bytes: int,
        config: BrokerConfig,
        bit_map_at: Callable[[str, int], bytes],
    ) -> None:
        super().__init__(topic, queue_id, files, file_size_bytes)
        folder = queue_folder(topic, queue_id, EXTENSION_FOLDER)
        self._units = QueueExtension(files, folder, config.mapped_file_size_consume_queue_ext)
        self._config = config
        self._bit_map_at = bit_map_at

    def unit_of(self, code: int) -> ExtensionUnit | None:
        """Return the unit of an entry with this tags code, if that is the address of one.

        Source: store/ConsumeQueue.java#getExt (4.9.7)
        """
        return self._units.get(code)

    def tags_code_of(self, code: int) -> int | None:
        if code >= LEAST_TAGS_CODE:
            return code
        unit = self._units.get(code)
        return None if unit is None else unit.tags_code

    def with_tags_codes(self, units: bytes) -> bytes:
        found = bytearray()
        for phy_offset, size_bytes, code in UNIT.iter_unpack(units):
            tags_code = self.tags_code_of(code)
            found += UNIT.pack(phy_offset, size_bytes, code if tags_code is None else tags_code)
        return bytes(found)

    # -- appending ------------------------------------------------------------------------------

    def _extended_code(self, tags_code: int, phy_offset: int, now_ms: int) -> int:
        """Add a unit and return its address.

        Differs: Java adds units of entries, too, that the queue has already; nothing points at
        those.
        Source: store/ConsumeQueue.java#putMessagePositionInfoWrapper (4.9.7)
        """
        config = self._config
        if not config.enable_consume_queue_ext:  # an operator has changed it since
            return tags_code
        bits = (
            self._bit_map_at(self.topic, phy_offset) if config.enable_calc_filter_bit_map else b""
        )
        return self._units.put(ExtensionUnit(tags_code, now_ms, bits), now_ms)

    def append_next(
        self, queue_offset: int, units: bytes, phy_offset: int, end_offset: int, now_ms: int
    ) -> bool:
        """Return False: each entry needs a unit of its own."""
        return False

    def append_units(
        self,
        queue_offset: int,
        units: bytearray,
        stored_ms: int,
        log: CommitLog,
        *,
        light: bool = False,
    ) -> None:
        for offset, (phy_offset, size_bytes, code) in enumerate(
            UNIT.iter_unpack(units), queue_offset
        ):
            now_ms = log.store_timestamp_ms(phy_offset, size_bytes)
            self.append(phy_offset, size_bytes, code, offset, now_ms, light=light)

    # -- files ----------------------------------------------------------------------------------

    def load(self, now_ms: int) -> None:
        super().load(now_ms)
        self._units.load(now_ms)

    def recover(self) -> list[Cut]:
        cuts = super().recover()
        self._end_units()
        return cuts

    def truncate(self, phy_offset: int) -> list[Cut]:
        """Drop entries, and the units of these; return which entries were dropped.

        Differs: Java leaves the units, and nothing points at those.
        """
        cuts = super().truncate(phy_offset)
        self._end_units()
        return cuts

    def _end_units(self) -> None:
        """Cut off the units behind that of the last entry, among the last files, that has one."""
        if self._units.is_empty:
            return
        for file in self._queue.row[: -_FILES_LOOKED_AT - 1 : -1]:
            for at in range(file.position - UNIT_BYTES, -1, -UNIT_BYTES):
                _, _, code = UNIT.unpack(file.read(at, UNIT_BYTES))
                if code < LEAST_TAGS_CODE:
                    self._units.end_behind(code)
                    return
        if self._queue.row:
            self._units.end_behind(0)
        else:
            self._units.destroy()

    def correct_min_offset(self, min_phy_offset: int) -> None:
        super().correct_min_offset(min_phy_offset)
        unit = self.unit_at(self.min_offset)
        if unit is not None and unit[2] < LEAST_TAGS_CODE:
            self._units.delete_before(unit[2])

    def destroy(self) -> None:
        super().destroy()
        self._units.destroy()
