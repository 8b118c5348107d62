"""The server's end of an HTTP/2 connection, sans-IO."""

from __future__ import annotations

from collections.abc import Iterable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived as H2Data,
)
from h2.events import (
    RequestReceived,
    StreamEnded,
    TrailersReceived,
    WindowUpdated,
)
from h2.events import (
    StreamReset as H2Reset,
)
from h2.exceptions import ProtocolError, StreamClosedError

from fakemq.protocol.http2.events import (
    DataReceived,
    Drained,
    Event,
    Http2Error,
    RequestBegun,
    StreamReset,
)

Fields = Iterable[tuple[str, str]]


class ServerConnection:
    """The bytes of a peer become events; what is written becomes bytes, as its windows allow."""

    def __init__(self) -> None:
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self._h2.initiate_connection()
        self._waiting: dict[int, bytearray] = {}
        self._trailers: dict[int, list[tuple[str, str]]] = {}

    @property
    def queued_bytes(self) -> int:
        """What waits for the peer's windows."""
        return sum(map(len, self._waiting.values()))

    def queued_bytes_of(self, stream_id: int) -> int:
        """What waits for the peer's windows on one stream."""
        return len(self._waiting.get(stream_id, ()))

    def receive(self, data: bytes) -> list[Event]:
        """Take bytes; return what they mean. Raise Http2Error after the connection's end."""
        try:
            received = self._h2.receive_data(data)
        except ProtocolError as error:
            raise Http2Error(str(error)) from None
        events: list[Event] = []
        for event in received:
            if isinstance(event, RequestReceived):
                headers = {str(name): str(value) for name, value in event.headers}
                ended = event.stream_ended is not None
                events.append(RequestBegun(event.stream_id, headers, ended))
            elif isinstance(event, H2Data):
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                events.append(
                    DataReceived(event.stream_id, event.data, event.stream_ended is not None)
                )
            elif isinstance(event, TrailersReceived):
                events.append(DataReceived(event.stream_id, b"", True))
            elif isinstance(event, H2Reset):
                self._forget(event.stream_id)
                events.append(StreamReset(event.stream_id))
            elif isinstance(event, StreamEnded):
                pass
            elif isinstance(event, WindowUpdated):
                ids = [event.stream_id] if event.stream_id else list(self._waiting)
                events += [Drained(one) for one in ids if self._flush(one)]
        return events

    def send_headers(self, stream_id: int, fields: Fields, *, end: bool = False) -> None:
        """Send the first headers of an answer; with ``end`` it has nothing else."""
        try:
            self._h2.send_headers(stream_id, list(fields), end_stream=end)
        except (ProtocolError, StreamClosedError):
            self._forget(stream_id)

    def send_data(self, stream_id: int, data: bytes) -> None:
        """Send bytes of an answer, the part that does not fit the peer's window later."""
        self._waiting.setdefault(stream_id, bytearray()).extend(data)
        self._flush(stream_id)

    def end(self, stream_id: int, trailers: Fields) -> None:
        """End an answer with trailers, after all its bytes."""
        if stream_id in self._waiting:
            self._trailers[stream_id] = list(trailers)
        else:
            self.send_headers(stream_id, trailers, end=True)

    def reset(self, stream_id: int, code: int) -> None:
        """Give a stream up, without the bytes that wait."""
        self._forget(stream_id)
        try:
            self._h2.reset_stream(stream_id, ErrorCodes(code))
        except (ProtocolError, StreamClosedError):
            return

    def go_away(self, code: int, text: str) -> None:
        """Say that this end takes no more streams."""
        self._h2.close_connection(code, text.encode())

    def data_to_send(self) -> bytes:
        """Return the bytes for the peer, none if there are none."""
        return self._h2.data_to_send()

    def _forget(self, stream_id: int) -> None:
        self._waiting.pop(stream_id, None)
        self._trailers.pop(stream_id, None)

    def _flush(self, stream_id: int) -> bool:
        """Send what the windows allow; return whether nothing waits any more."""
        waiting = self._waiting.get(stream_id)
        if waiting is None:
            return False
        try:
            while waiting:
                most = min(
                    self._h2.local_flow_control_window(stream_id),
                    self._h2.max_outbound_frame_size,
                )
                if most <= 0:
                    return False
                self._h2.send_data(stream_id, bytes(waiting[:most]))
                del waiting[:most]
        except (ProtocolError, StreamClosedError):
            self._forget(stream_id)
            return False
        del self._waiting[stream_id]
        trailers = self._trailers.pop(stream_id, None)
        if trailers is not None:
            self.send_headers(stream_id, trailers, end=True)
        return True
