"""A record as a value: before it is in the log, and once it is there."""

from __future__ import annotations

import msgspec

from fakemq.protocol.properties import decode_properties


class RecordDraft(msgspec.Struct, gc=False):
    """The part of a record in which the messages of one batch differ."""

    flag: int
    body: bytes
    properties: bytes
    """Encoded, as they are stored."""
    size_bytes: int
    """Of the whole record."""
    tags_code: int
    """As in `LogRecord`."""
    msg_id: str
    """The unique id that the client gave the message, as the journal has it; "" for none."""
    known_properties: dict[str, str] | None = None
    """Decoded; None if no one has needed that yet."""

    @property
    def decoded_properties(self) -> dict[str, str]:
        """The properties as a mapping."""
        known = self.known_properties
        if known is None:
            known = decode_properties(self.properties.decode("utf-8", "replace"))
            self.known_properties = known
        return known


class LogRecord(msgspec.Struct, gc=False):
    """The fields of a record of the log that its consume queue needs.

    ``size_bytes`` is the whole record; ``phy_offset`` counts bytes of the log, ``queue_offset``
    entries of the queue. ``tags_code`` is the hash of the tags, or in the schedule topic the time
    in milliseconds at which the record is due.
    Source: store/DispatchRequest.java (4.9.7)
    """

    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int
    size_bytes: int
    sys_flag: int
    tags_code: int
    store_timestamp_ms: int
    draft: RecordDraft | None = None
    """The draft that a put wrote; None for a record that was read from a log."""
