"""What a peer's bytes mean to the server's end of an HTTP/2 connection."""

from __future__ import annotations

from typing import NamedTuple


class RequestBegun(NamedTuple):
    """The headers of a new stream."""

    stream_id: int
    headers: dict[str, str]
    """By name; of fields with one name the last one counts."""
    ended: bool
    """Whether the peer sends no more."""
    fields_bytes: int
    """The size of the fields, as HTTP/2 counts it."""


class DataReceived(NamedTuple):
    """Bytes of a stream, none if only its end arrived."""

    stream_id: int
    data: bytes
    ended: bool


class StreamReset(NamedTuple):
    """The peer resets a stream, or breaks a rule on it: it is over."""

    stream_id: int


class Drained(NamedTuple):
    """All that was written to a stream has left; it waited for the peer's window before."""

    stream_id: int


Event = RequestBegun | DataReceived | StreamReset | Drained


class Http2Error(Exception):
    """The peer violates HTTP/2 or a limit: the connection is over, after what is still unsent."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        """What GOAWAY says, as in RFC 9113, section 7."""
        self.events: list[Event] = []
        """What arrived before the violation."""
