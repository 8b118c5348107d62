"""The server's end of an HTTP/2 connection, sans-IO.

It knows what gRPC needs: no push, no priorities, requests only. `protocol/http2/hpack.py` has the
limits of header lists; the others are here. A frame that carries no request costs an allowance,
which the user of the connection refills every second: so floods of such frames end.

Source: RFC 9113
"""

# Over 400 lines: one state, that of the connection, is read and changed by every kind of frame.

from __future__ import annotations

from collections import deque
from typing import Final

from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.events import (
    DataReceived,
    Drained,
    Event,
    Http2Error,
    RequestBegun,
    StreamReset,
)
from fakemq.protocol.http2.hpack import LIST_MAX_BYTES, HeaderDecoder, HpackError, encode

STREAMS_MAX: Final = 1_000
"""How many streams a peer may have open at once; Java's limit is that of its memory."""

WINDOW_BYTES: Final = 1024 * 1024
"""What a peer may send before the window is opened again, on a stream and on all of them.

Source: io/grpc/netty/NettyServerBuilder.java#DEFAULT_FLOW_CONTROL_WINDOW (grpc-java)
"""

BLOCK_MAX_BYTES: Final = 64 * 1024
"""The encoded fields of one list, in all its frames."""

ALLOWANCE: Final = 10_000
"""How many frames that carry no request a peer may send between refills."""

STREAMS_OF_COST: Final = 100
"""A change of the first window costs one more for each 100 streams: it changes theirs."""

RESET_COST: Final = 10
"""What a stream that is reset or refused costs of it: it has made this end work for nothing."""

PIECE_BYTES: Final = 256 * 1024
"""What leaves at once when windows open, with `FRAME_COST_BYTES` for each frame; see
`ServerConnection.may_send`. One frame of a peer may open the windows of all its streams."""

FRAME_COST_BYTES: Final = 512
"""What a frame costs of a piece in addition to its bytes: small messages take time, too."""

_REMOTING: Final = (
    "bytes of RocketMQ's remoting protocol: this is the port for gRPC clients, such a client needs"
    " the port of a name server"
)


class _Stream:
    """A stream that is not over at both ends."""

    __slots__ = (
        *("ended", "local_ended", "queue", "queued_bytes", "received", "resets_at_end", "send"),
        "trailers",
    )

    def __init__(self, send_bytes: int) -> None:
        self.ended = False
        """Whether the peer has ended it."""
        self.local_ended = False
        """Whether this end has, or will when `queue` is empty."""
        self.send = send_bytes
        """The peer's window: how much may be sent; negative after a change of settings."""
        self.received = 0
        """The bytes that arrived since the peer's window was opened last."""
        self.queue: deque[memoryview] | None = None
        """What waits for the peer's window."""
        self.queued_bytes = 0
        self.trailers: bytes | None = None
        self.resets_at_end = False
        """Whether the peer is to send no more when `queue` is empty."""


class ServerConnection:
    """The bytes of a peer become events; what is written becomes bytes, as its windows allow."""

    def __init__(self) -> None:
        self.queued_bytes = 0
        """What waits for the peer's windows, on all streams."""
        self.allowance = ALLOWANCE
        """See `ALLOWANCE`; the user of the connection sets it anew."""
        self._streams: dict[int, _Stream] = {}
        self._waiting: dict[int, _Stream] = {}
        """Those that wait for the window of the connection, or for the next piece, and not for
        their own window."""
        self._piece_bytes = PIECE_BYTES
        """What is left of the present piece."""
        self._last_id = 0
        self._send = f.FIRST_WINDOW_BYTES
        self._received = 0
        self._first_send = f.FIRST_WINDOW_BYTES
        self._frame_max_bytes = f.FRAME_MAX_BYTES
        self._decoder = HeaderDecoder()
        self._rest = b""
        self._has_preface = self._has_settings = False
        self._block: bytearray | None = None
        """The fields of a list whose end has not arrived."""
        self._block_id = self._block_flags = self._block_frames = 0
        self._goes_away = False
        self._out: list[bytes | memoryview] = [_BEGIN]

    @property
    def unfinished_bytes(self) -> int:
        """The size of what has not arrived whole."""
        return len(self._rest) + (0 if self._block is None else len(self._block))

    @property
    def may_send(self) -> bool:
        """Whether bytes wait that the peer's windows allow: the user calls `send_piece` soon."""
        return bool(self._waiting) and self._send > 0

    def queued_bytes_of(self, stream_id: int) -> int:
        """What waits for the peer's windows on one stream."""
        stream = self._streams.get(stream_id)
        return 0 if stream is None else stream.queued_bytes

    # -- bytes in -----------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Event]:
        """Take bytes; return what they mean.

        Raise Http2Error, whose ``events`` came before it, when the connection is over.
        """
        if self._rest:
            data = self._rest + data
        at, end, events = 0, len(data), []  # type: tuple[int, int, list[Event]]
        self._piece_bytes = PIECE_BYTES
        try:
            if not self._has_preface:
                at = self._take_preface(data)
            while end - at >= f.HEAD_BYTES and self._has_preface:
                size_bytes = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
                if size_bytes > f.FRAME_MAX_BYTES:
                    raise _error(f.FRAME_SIZE_ERROR, f"a frame of {size_bytes} bytes")
                start = at + f.HEAD_BYTES
                stop = start + size_bytes
                if stop > end:
                    break
                stream_id = int.from_bytes(data[at + 5 : start], "big") & f.WINDOW_MAX_BYTES
                self._take(data[at + 3], data[at + 4], stream_id, data[start:stop], events)
                at = stop
        except Http2Error as error:
            error.events = events
            self._end(error.code, str(error))
            raise
        self._rest = data[at:] if at < end else b""
        return events

    def _take_preface(self, data: bytes) -> int:
        size = min(len(data), len(f.PREFACE))
        if data[:size] != f.PREFACE[:size]:
            # Only a remoting frame begins with 0: with a length below 2^24.
            why = "bytes that are no HTTP/2" if data[0] else _REMOTING
            raise _error(f.PROTOCOL_ERROR, why)
        if size < len(f.PREFACE):
            return 0
        self._has_preface = True
        return size

    def _take(
        self, kind: int, flags: int, stream_id: int, payload: bytes, events: list[Event]
    ) -> None:
        """Take one frame."""
        if self._block is not None:
            if kind != f.CONTINUATION or stream_id != self._block_id:
                raise _error(f.PROTOCOL_ERROR, "a list of fields is followed by another frame")
            self._continue_block(flags, payload, events)
            return
        if not self._has_settings and kind != f.SETTINGS:
            raise _error(f.PROTOCOL_ERROR, "the first frame has no settings")
        if kind == f.DATA:
            self._take_data(flags, stream_id, payload, events)
        elif kind == f.HEADERS:
            self._take_headers(flags, stream_id, payload, events)
        else:
            self._spend(1)
            take = _OTHERS.get(kind)
            if take is not None:  # frames of unknown kinds are ignored
                take(self, flags, stream_id, payload, events)

    def _spend(self, cost: int) -> None:
        self.allowance -= cost
        if self.allowance < 0:
            raise _error(f.ENHANCE_YOUR_CALM, "too many frames that carry no request")

    def _take_data(self, flags: int, stream_id: int, payload: bytes, events: list[Event]) -> None:
        if not 0 < stream_id <= self._last_id:
            raise _error(f.PROTOCOL_ERROR, "data of a stream that was not begun")
        size_bytes = len(payload)
        self._received += size_bytes
        if self._received > WINDOW_BYTES:
            raise _error(f.FLOW_CONTROL_ERROR, "more data than the window allows")
        if self._received >= WINDOW_BYTES // 2:
            self._out.append(f.frame(f.WINDOW_UPDATE, 0, 0, self._received.to_bytes(4, "big")))
            self._received = 0
        if flags & f.PADDED:
            payload = _unpadded(payload)
        ended = flags & f.END_STREAM != 0
        if not ended and not payload:
            self._spend(1)
        stream = self._streams.get(stream_id)
        if stream is None or stream.ended:
            self._spend(1)
            if stream is not None:
                raise _error(f.STREAM_CLOSED, "data behind the end of a stream")
            return  # of a stream that this end has reset: the peer may not know yet
        stream.received += size_bytes
        if stream.received > WINDOW_BYTES:
            raise _error(f.FLOW_CONTROL_ERROR, "more data than the window of a stream allows")
        if ended:
            stream.ended = True
            self._forget_if_over(stream_id, stream)
        elif stream.received >= WINDOW_BYTES // 2:
            update = stream.received.to_bytes(4, "big")
            self._out.append(f.frame(f.WINDOW_UPDATE, 0, stream_id, update))
            stream.received = 0
        events.append(DataReceived(stream_id, payload, ended))

    def _take_headers(
        self, flags: int, stream_id: int, payload: bytes, events: list[Event]
    ) -> None:
        if not stream_id & 1:
            raise _error(f.PROTOCOL_ERROR, f"a client cannot begin the stream {stream_id}")
        if flags & f.PADDED:
            payload = _unpadded(payload)
        if flags & f.WITH_PRIORITY:
            if len(payload) < 5:
                raise _error(f.FRAME_SIZE_ERROR, "a frame that is too short for its priority")
            if int.from_bytes(payload[:4], "big") & f.WINDOW_MAX_BYTES == stream_id:
                raise _error(f.PROTOCOL_ERROR, "a stream that depends on itself")
            payload = payload[5:]
        if flags & f.END_HEADERS:
            self._take_block(flags, stream_id, payload, events)
        else:
            self._block, self._block_id, self._block_flags = bytearray(payload), stream_id, flags
            self._block_frames = 0

    def _continue_block(self, flags: int, payload: bytes, events: list[Event]) -> None:
        block = self._block
        assert block is not None
        block += payload
        self._spend(1)
        if len(block) > BLOCK_MAX_BYTES:
            raise _error(f.ENHANCE_YOUR_CALM, f"a list of fields of over {BLOCK_MAX_BYTES} bytes")
        if flags & f.END_HEADERS:
            self._block = None
            self._take_block(self._block_flags, self._block_id, bytes(block), events)

    def _take_block(self, flags: int, stream_id: int, block: bytes, events: list[Event]) -> None:
        try:
            fields = self._decoder.decode(block)
        except HpackError as error:
            raise _error(f.COMPRESSION_ERROR, str(error)) from None
        ended = flags & f.END_STREAM != 0
        if stream_id <= self._last_id:
            self._take_trailers(stream_id, ended, events)
            return
        self._last_id = stream_id
        if self._goes_away:
            self._spend(1)
            return
        if fields is None:
            self._spend(RESET_COST)
            end = f.END_HEADERS | f.END_STREAM
            self._out.append(f.frame(f.HEADERS, end, stream_id, _TOO_LARGE))
            return
        if len(self._streams) >= STREAMS_MAX:
            self._spend(RESET_COST)
            code = f.REFUSED_STREAM.to_bytes(4, "big")
            self._out.append(f.frame(f.RST_STREAM, 0, stream_id, code))
            return
        self._spend(0)  # `refuse` may have spent it all
        stream = self._streams[stream_id] = _Stream(self._first_send)
        stream.ended = ended
        events.append(RequestBegun(stream_id, fields, ended, self._decoder.list_bytes))

    def _take_trailers(self, stream_id: int, ended: bool, events: list[Event]) -> None:
        stream = self._streams.get(stream_id)
        if stream is None:
            self._spend(1)  # this end has reset it: the peer may not know yet
            return
        if stream.ended or not ended:
            raise _error(f.PROTOCOL_ERROR, "a second list of fields that ends no stream")
        stream.ended = True
        self._forget_if_over(stream_id, stream)
        events.append(DataReceived(stream_id, b"", True))

    def _take_priority(
        self, flags: int, stream_id: int, payload: bytes, events: list[Event]
    ) -> None:
        if not stream_id:
            raise _error(f.PROTOCOL_ERROR, "a priority of no stream")
        if len(payload) != 5:
            raise _error(f.FRAME_SIZE_ERROR, "a priority that has not five bytes")

    def _take_reset(self, flags: int, stream_id: int, payload: bytes, events: list[Event]) -> None:
        if len(payload) != 4:
            raise _error(f.FRAME_SIZE_ERROR, "a reset that has not four bytes")
        if not 0 < stream_id <= self._last_id:
            raise _error(f.PROTOCOL_ERROR, "the reset of a stream that was not begun")
        self._spend(RESET_COST - 1)
        if self._drop(stream_id):
            events.append(StreamReset(stream_id))

    def _take_settings(
        self, flags: int, stream_id: int, payload: bytes, events: list[Event]
    ) -> None:
        if stream_id:
            raise _error(f.PROTOCOL_ERROR, "settings of a stream")
        if flags & f.ACK:
            if payload:
                raise _error(f.FRAME_SIZE_ERROR, "settings in an acknowledgement")
            if not self._has_settings:
                raise _error(f.PROTOCOL_ERROR, "the first frame has no settings")
            return
        if len(payload) % f.SETTING.size:
            raise _error(f.FRAME_SIZE_ERROR, "settings that are cut")
        self._has_settings = True
        # First: to the peer a larger window counts from the acknowledgement on.
        self._out.append(_SETTINGS_ACK)
        window_bytes = self._first_send
        for setting, value in f.SETTING.iter_unpack(payload):
            if setting == f.INITIAL_WINDOW_SIZE:
                if value > f.WINDOW_MAX_BYTES:
                    raise _error(f.FLOW_CONTROL_ERROR, "a window of over 2^31 - 1 bytes")
                window_bytes = value
            elif setting == f.MAX_FRAME_SIZE:
                if not f.FRAME_MAX_BYTES <= value < 1 << 24:
                    raise _error(f.PROTOCOL_ERROR, f"frames of at most {value} bytes")
                self._frame_max_bytes = min(value, PIECE_BYTES)
            elif setting == f.ENABLE_PUSH and value > 1:
                raise _error(f.PROTOCOL_ERROR, f"ENABLE_PUSH={value}: expected 0 or 1")
        if window_bytes != self._first_send:  # of several, the last one holds
            self._change_windows(window_bytes, events)

    def _change_windows(self, value: int, events: list[Event]) -> None:
        self._spend(len(self._streams) // STREAMS_OF_COST)
        more, self._first_send = value - self._first_send, value
        for stream in self._streams.values():
            stream.send += more
            if stream.send > f.WINDOW_MAX_BYTES:
                raise _error(f.FLOW_CONTROL_ERROR, "a window of over 2^31 - 1 bytes")
        if more > 0 and self.queued_bytes:
            for stream_id, stream in self._streams.items():
                if stream.queued_bytes and stream.send > 0:
                    self._waiting[stream_id] = stream
            self._send_waiting(events)

    def _take_ping(self, flags: int, stream_id: int, payload: bytes, events: list[Event]) -> None:
        if stream_id:
            raise _error(f.PROTOCOL_ERROR, "a ping of a stream")
        if len(payload) != 8:
            raise _error(f.FRAME_SIZE_ERROR, "a ping that has not eight bytes")
        if not flags & f.ACK:
            self._out.append(f.frame(f.PING, f.ACK, 0, payload))

    def _take_window(self, flags: int, stream_id: int, payload: bytes, events: list[Event]) -> None:
        if len(payload) != 4:
            raise _error(f.FRAME_SIZE_ERROR, "a window that has not four bytes")
        more = int.from_bytes(payload, "big") & f.WINDOW_MAX_BYTES
        if stream_id > self._last_id:
            raise _error(f.PROTOCOL_ERROR, "the window of a stream that was not begun")
        if not stream_id:
            if not more:
                raise _error(f.PROTOCOL_ERROR, "a window that grows by nothing")
            self._send += more
            if self._send > f.WINDOW_MAX_BYTES:
                raise _error(f.FLOW_CONTROL_ERROR, "a window of over 2^31 - 1 bytes")
            self._send_waiting(events)
            return
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        stream.send += more
        if not more or stream.send > f.WINDOW_MAX_BYTES:
            self._spend(RESET_COST - 1)
            self.reset(stream_id, f.FLOW_CONTROL_ERROR if more else f.PROTOCOL_ERROR)
            events.append(StreamReset(stream_id))
        elif stream.queued_bytes and stream.send > 0:
            self._waiting[stream_id] = stream
            self._send_waiting(events)

    def _take_goaway(self, flags: int, stream_id: int, payload: bytes, events: list[Event]) -> None:
        if stream_id:
            raise _error(f.PROTOCOL_ERROR, "a GOAWAY of a stream")
        if len(payload) < 8:
            raise _error(f.FRAME_SIZE_ERROR, "a GOAWAY that is cut")

    def _take_misplaced(
        self, flags: int, stream_id: int, payload: bytes, events: list[Event]
    ) -> None:
        raise _error(f.PROTOCOL_ERROR, "a frame that no client sends here")

    # -- bytes out ----------------------------------------------------------------------------

    def send_headers(self, stream_id: int, block: bytes, *, end: bool = False) -> None:
        """Send a list of fields, encoded by `hpack.encode`; with ``end`` the answer has no more."""
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        flags = f.END_HEADERS | f.END_STREAM if end else f.END_HEADERS
        self._out.append(f.head(len(block), f.HEADERS, flags, stream_id) + block)
        if end:
            stream.local_ended = True
            self._forget_if_over(stream_id, stream)

    def send_data(self, stream_id: int, data: bytes) -> None:
        """Send bytes of an answer, the part that does not fit the peer's window later."""
        stream = self._streams.get(stream_id)
        if stream is None or not data:
            return
        size_bytes = len(data)
        if size_bytes <= min(stream.send, self._send, self._frame_max_bytes) and not stream.queue:
            stream.send -= size_bytes
            self._send -= size_bytes
            self._out += (f.head(size_bytes, f.DATA, 0, stream_id), data)
            return
        if stream.queue is None:
            stream.queue = deque()
        stream.queue.append(memoryview(data))
        stream.queued_bytes += size_bytes
        self.queued_bytes += size_bytes
        if stream_id not in self._waiting:
            self._send_queue(stream_id, stream, f.WINDOW_MAX_BYTES)

    def answer(self, stream_id: int, block: bytes, data: bytes, trailers: bytes) -> None:
        """Send a whole answer: its first fields, its bytes and its trailers."""
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        size_bytes = len(data)
        if not stream.ended or size_bytes > min(stream.send, self._send, self._frame_max_bytes):
            self.send_headers(stream_id, block)
            self.send_data(stream_id, data)
            self.end(stream_id, trailers)
            return
        self._send -= size_bytes
        del self._streams[stream_id]
        self._out += (
            f.head(len(block), f.HEADERS, f.END_HEADERS, stream_id) + block,
            f.head(size_bytes, f.DATA, 0, stream_id),
            data,
            f.head(len(trailers), f.HEADERS, f.END_HEADERS | f.END_STREAM, stream_id) + trailers,
        )

    def end(self, stream_id: int, block: bytes) -> None:
        """End an answer with trailers, encoded by `hpack.encode`, after all its bytes."""
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        if stream.queued_bytes:
            stream.trailers, stream.local_ended = block, True
        else:
            self.send_headers(stream_id, block, end=True)

    def reset(self, stream_id: int, code: int) -> None:
        """Give a stream up, without the bytes that wait."""
        if self._drop(stream_id):
            self._out.append(f.frame(f.RST_STREAM, 0, stream_id, code.to_bytes(4, "big")))

    def refuse(self, stream_id: int, code: int) -> None:
        """Give a stream up because the peer breaks a rule on it, at the cost of a reset."""
        self.allowance -= RESET_COST
        self.reset(stream_id, code)

    def reset_ended(self, stream_id: int) -> None:
        """Let the peer send no more on a stream that this end has ended, after all its bytes."""
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        if stream.queued_bytes:
            stream.resets_at_end = True
        else:
            self.reset(stream_id, f.NO_ERROR)

    def go_away(self, code: int, text: str) -> None:
        """Say that this end takes no more streams."""
        if not self._goes_away:
            self._end(code, text)

    def _end(self, code: int, text: str) -> None:
        self._goes_away = True
        payload = self._last_id.to_bytes(4, "big") + code.to_bytes(4, "big")
        self._out.append(f.frame(f.GOAWAY, 0, 0, payload + text.encode("ascii", "replace")))

    def data_to_send(self) -> bytes:
        """Return the bytes for the peer, none if there are none."""
        out, self._out = self._out, []
        return b"".join(out)

    def send_piece(self) -> list[Event]:
        """Send the next piece of what the peer's windows allow; return which streams it drained."""
        events: list[Event] = []
        self._piece_bytes = PIECE_BYTES
        self._send_waiting(events)
        return events

    def _send_waiting(self, events: list[Event]) -> None:
        """Send what waits, the first stream first, as the connection's window and piece allow."""
        while self.may_send and self._piece_bytes > 0:
            stream_id, stream = next(iter(self._waiting.items()))
            spent_bytes = self._send_queue(stream_id, stream, self._piece_bytes)
            self._piece_bytes -= spent_bytes
            if not stream.queued_bytes:
                events.append(Drained(stream_id))

    def _send_queue(self, stream_id: int, stream: _Stream, piece_bytes: int) -> int:
        """Send what waits on a stream, as the windows and ``piece_bytes`` allow.

        Return what it cost of the piece, which the last frame may exceed.
        """
        queue, spent_bytes = stream.queue, 0
        while queue:
            if spent_bytes >= piece_bytes:
                return spent_bytes
            most = min(stream.send, self._send, self._frame_max_bytes)
            if most <= 0:
                if stream.send > 0:
                    self._waiting[stream_id] = stream
                else:
                    self._waiting.pop(stream_id, None)
                return spent_bytes
            data = queue.popleft()
            if len(data) > most:
                queue.appendleft(_rest(data, most))
                data = data[:most]
            size_bytes = len(data)
            stream.send -= size_bytes
            self._send -= size_bytes
            stream.queued_bytes -= size_bytes
            self.queued_bytes -= size_bytes
            spent_bytes += size_bytes + FRAME_COST_BYTES
            self._out += (f.head(size_bytes, f.DATA, 0, stream_id), data)
        self._waiting.pop(stream_id, None)
        if stream.trailers is not None:
            self.send_headers(stream_id, stream.trailers, end=True)
            if stream.resets_at_end:
                self.reset(stream_id, f.NO_ERROR)
        return spent_bytes

    def _drop(self, stream_id: int) -> bool:
        """Forget a stream and what waits on it; return whether there was one."""
        stream = self._streams.pop(stream_id, None)
        if stream is None:
            return False
        self.queued_bytes -= stream.queued_bytes
        self._waiting.pop(stream_id, None)
        return True

    def _forget_if_over(self, stream_id: int, stream: _Stream) -> None:
        if stream.ended and stream.local_ended and not stream.queued_bytes:
            del self._streams[stream_id]


def _rest(data: memoryview, at: int) -> memoryview:
    """Return what follows, in memory of its size: a peer may leave the last byte of each answer."""
    rest, whole = data[at:], data.obj
    assert isinstance(whole, bytes)
    return memoryview(bytes(rest)) if 2 * len(rest) <= len(whole) else rest


def _error(code: int, text: str) -> Http2Error:
    return Http2Error(code, text)


def _unpadded(payload: bytes) -> bytes:
    """Return a payload without its padding. Raise Http2Error."""
    if not payload or payload[0] >= len(payload):
        raise _error(f.PROTOCOL_ERROR, "more padding than payload")
    return payload[1 : len(payload) - payload[0]]


_BEGIN: Final = f.frame(
    f.SETTINGS,
    0,
    0,
    f.SETTING.pack(f.MAX_CONCURRENT_STREAMS, STREAMS_MAX)
    + f.SETTING.pack(f.INITIAL_WINDOW_SIZE, WINDOW_BYTES)
    + f.SETTING.pack(f.MAX_HEADER_LIST_SIZE, LIST_MAX_BYTES),
) + f.frame(f.WINDOW_UPDATE, 0, 0, (WINDOW_BYTES - f.FIRST_WINDOW_BYTES).to_bytes(4, "big"))
"""The settings of this end, and the window of the whole connection."""

_TOO_LARGE: Final = encode([(":status", "431")])
"""The answer to fields beyond the limit, as grpc-java's."""

_SETTINGS_ACK: Final = f.frame(f.SETTINGS, f.ACK, 0)

_OTHERS: Final = {
    f.PRIORITY: ServerConnection._take_priority,
    f.RST_STREAM: ServerConnection._take_reset,
    f.SETTINGS: ServerConnection._take_settings,
    f.PUSH_PROMISE: ServerConnection._take_misplaced,
    f.PING: ServerConnection._take_ping,
    f.GOAWAY: ServerConnection._take_goaway,
    f.WINDOW_UPDATE: ServerConnection._take_window,
    f.CONTINUATION: ServerConnection._take_misplaced,
}
"""What takes frames of a kind, but DATA and HEADERS."""
