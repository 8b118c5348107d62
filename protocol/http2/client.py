"""The client's end of an HTTP/2 connection, sans-IO: what a gRPC client of the cluster needs.

No push, no priorities; any number of streams. It is strict about what its peer sends, so that it
finds mistakes of the server's end.

Source: RFC 9113
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.events import DataReceived, Http2Error, StreamReset
from fakemq.protocol.http2.hpack import Fields, HeaderDecoder, HpackError, encode

WINDOW_BYTES: Final = 1024 * 1024
"""What the server may send before the window is opened again, on a stream and on all of them."""


class FieldsReceived(NamedTuple):
    """Fields before or behind the bytes of an answer."""

    stream_id: int
    fields: dict[str, str]
    ended: bool
    """Whether the answer has no more."""


class GoesAway(NamedTuple):
    """The server takes no more streams, and has taken those up to ``last_id``."""

    last_id: int


ClientEvent = FieldsReceived | DataReceived | StreamReset | GoesAway


class _Stream:
    """A stream that the server has not ended."""

    __slots__ = ("received", "send")

    def __init__(self, send_bytes: int) -> None:
        self.send = send_bytes
        """The server's window."""
        self.received = 0


class Http2Client:
    """Requests become bytes as the server's windows allow; its bytes become events."""

    def __init__(self) -> None:
        self._streams: dict[int, _Stream] = {}
        self._next_id = 1
        self._send = self._first_send = f.FIRST_WINDOW_BYTES
        self._received = 0
        self._frame_max_bytes = f.FRAME_MAX_BYTES
        self._waiting: deque[tuple[int, bytes, bool]] = deque()
        """What waits for windows: stream, bytes, whether they are the last."""
        self._decoder = HeaderDecoder()
        self._rest = b""
        self._has_settings = False
        self._block: bytearray | None = None
        self._block_id = self._block_flags = 0
        self._out: list[bytes] = [_BEGIN]

    @property
    def unfinished_bytes(self) -> int:
        """The size of what has not arrived whole, and of what waits for windows."""
        waiting = sum(len(data) for _, data, _ in self._waiting)
        return len(self._rest) + waiting + (0 if self._block is None else len(self._block))

    # -- bytes out ----------------------------------------------------------------------------

    def begin(self, fields: Fields) -> int:
        """Begin a stream with a request's fields; return its number."""
        stream_id, self._next_id = self._next_id, self._next_id + 2
        self._streams[stream_id] = _Stream(self._first_send)
        self._out.append(f.frame(f.HEADERS, f.END_HEADERS, stream_id, encode(fields)))
        return stream_id

    def send(self, stream_id: int, data: bytes, *, end: bool = False) -> None:
        """Send bytes of a request, the part that does not fit the server's window later."""
        if stream_id in self._streams:
            self._waiting.append((stream_id, data, end))
            self._send_waiting()

    def reset(self, stream_id: int, code: int = f.CANCEL) -> None:
        """Give a stream up."""
        if self._streams.pop(stream_id, None) is not None:
            self._out.append(f.frame(f.RST_STREAM, 0, stream_id, code.to_bytes(4, "big")))

    def data_to_send(self) -> bytes:
        """Return the bytes for the server, none if there are none."""
        out, self._out = self._out, []
        return b"".join(out)

    def _send_waiting(self) -> None:
        blocked: deque[tuple[int, bytes, bool]] = deque()
        full: set[int] = set()
        for stream_id, data, end in self._waiting:
            stream = self._streams.get(stream_id)
            if stream is None:
                continue
            left = data
            while left and stream_id not in full:
                size_bytes = min(len(left), self._send, stream.send, self._frame_max_bytes)
                if size_bytes <= 0:
                    full.add(stream_id)
                    break
                stream.send -= size_bytes
                self._send -= size_bytes
                part, left = left[:size_bytes], left[size_bytes:]
                last = end and not left
                self._out.append(f.frame(f.DATA, f.END_STREAM * last, stream_id, part))
            if left or (end and stream_id in full):
                blocked.append((stream_id, left, end))
            elif end and not data:
                self._out.append(f.frame(f.DATA, f.END_STREAM, stream_id))
        self._waiting = blocked

    # -- bytes in -----------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[ClientEvent]:
        """Take bytes; return what they mean. Raise Http2Error for what no server may send."""
        data, at, events = self._rest + data, 0, list[ClientEvent]()
        while len(data) - at >= f.HEAD_BYTES:
            size_bytes = int.from_bytes(data[at : at + 3], "big")
            if size_bytes > f.FRAME_MAX_BYTES:
                raise Http2Error(f.FRAME_SIZE_ERROR, f"a frame of {size_bytes} bytes")
            start = at + f.HEAD_BYTES
            if start + size_bytes > len(data):
                break
            stream_id = int.from_bytes(data[at + 5 : start], "big") & f.WINDOW_MAX_BYTES
            payload = data[start : start + size_bytes]
            self._take(data[at + 3], data[at + 4], stream_id, payload, events)
            at = start + size_bytes
        self._rest = data[at:]
        return events

    def _take(
        self, kind: int, flags: int, stream_id: int, payload: bytes, events: list[ClientEvent]
    ) -> None:
        if self._block is not None:
            if kind != f.CONTINUATION or stream_id != self._block_id:
                raise Http2Error(f.PROTOCOL_ERROR, "a list of fields is followed by another frame")
            self._block += payload
            if flags & f.END_HEADERS:
                block, self._block = bytes(self._block), None
                self._take_fields(self._block_flags, stream_id, block, events)
            return
        if not self._has_settings and kind != f.SETTINGS:
            raise Http2Error(f.PROTOCOL_ERROR, "the first frame has no settings")
        if kind == f.DATA:
            self._take_data(flags, stream_id, payload, events)
        elif kind == f.HEADERS:
            if flags & f.END_HEADERS:
                self._take_fields(flags, stream_id, payload, events)
            else:
                self._block, self._block_id, self._block_flags = (
                    bytearray(payload),
                    stream_id,
                    flags,
                )
        elif kind == f.RST_STREAM:
            if self._streams.pop(stream_id, None) is not None:
                events.append(StreamReset(stream_id))
        elif kind == f.SETTINGS:
            self._take_settings(flags, payload)
        elif kind == f.PING:
            if not flags & f.ACK:
                self._out.append(f.frame(f.PING, f.ACK, 0, payload))
        elif kind == f.GOAWAY:
            events.append(GoesAway(int.from_bytes(payload[:4], "big")))
        elif kind == f.WINDOW_UPDATE:
            self._take_window(stream_id, int.from_bytes(payload, "big"))
        elif kind in (f.PUSH_PROMISE, f.CONTINUATION):
            raise Http2Error(f.PROTOCOL_ERROR, "a frame that no server sends here")

    def _take_fields(
        self, flags: int, stream_id: int, block: bytes, events: list[ClientEvent]
    ) -> None:
        if not 0 < stream_id < self._next_id or not stream_id & 1:
            raise Http2Error(f.PROTOCOL_ERROR, "fields of a stream that was not begun")
        try:
            fields = self._decoder.decode(block)
        except HpackError as error:
            raise Http2Error(f.COMPRESSION_ERROR, str(error)) from None
        ended = bool(flags & f.END_STREAM)
        if stream_id in self._streams:  # else it was given up
            events.append(FieldsReceived(stream_id, fields or {}, ended))
            if ended:
                del self._streams[stream_id]

    def _take_data(
        self, flags: int, stream_id: int, payload: bytes, events: list[ClientEvent]
    ) -> None:
        if not 0 < stream_id < self._next_id or not stream_id & 1:
            raise Http2Error(f.PROTOCOL_ERROR, "data of a stream that was not begun")
        self._received += len(payload)
        stream = self._streams.get(stream_id)
        if stream is not None:
            stream.received += len(payload)
        if max(self._received, 0 if stream is None else stream.received) > WINDOW_BYTES:
            raise Http2Error(f.FLOW_CONTROL_ERROR, "more data than the window allows")
        if self._received >= WINDOW_BYTES // 2:
            self._out.append(f.frame(f.WINDOW_UPDATE, 0, 0, self._received.to_bytes(4, "big")))
            self._received = 0
        if stream is None:
            return
        ended = bool(flags & f.END_STREAM)
        if ended:
            del self._streams[stream_id]
        elif stream.received >= WINDOW_BYTES // 2:
            more = stream.received.to_bytes(4, "big")
            self._out.append(f.frame(f.WINDOW_UPDATE, 0, stream_id, more))
            stream.received = 0
        events.append(DataReceived(stream_id, payload, ended))

    def _take_settings(self, flags: int, payload: bytes) -> None:
        if flags & f.ACK:
            return
        self._has_settings = True
        for setting, value in f.SETTING.iter_unpack(payload):
            if setting == f.INITIAL_WINDOW_SIZE:
                more, self._first_send = value - self._first_send, value
                for stream in self._streams.values():
                    stream.send += more
            elif setting == f.MAX_FRAME_SIZE:
                self._frame_max_bytes = value
        self._out.append(f.frame(f.SETTINGS, f.ACK, 0))
        self._send_waiting()

    def _take_window(self, stream_id: int, more: int) -> None:
        if not stream_id:
            self._send += more
        elif stream_id in self._streams:
            self._streams[stream_id].send += more
        self._send_waiting()


_BEGIN: Final = (
    f.PREFACE
    + f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, WINDOW_BYTES))
    + f.frame(f.WINDOW_UPDATE, 0, 0, (WINDOW_BYTES - f.FIRST_WINDOW_BYTES).to_bytes(4, "big"))
)
