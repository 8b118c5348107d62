"""The events of HTTP/2 as h2 sees them, for comparison with ours; and a client's random bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, RequestReceived, StreamReset, TrailersReceived
from h2.exceptions import H2Error
from h2.settings import SettingCodes
from hypothesis import strategies as st

from fakemq.protocol.http2 import events as ours
from fakemq.protocol.http2.connection import ServerConnection


@dataclass
class Seen:
    """What a server's end made of a peer's bytes; ``failed`` if it has ended the connection."""

    streams: dict[int, list[object]] = field(default_factory=dict)
    """By stream: its fields, its bytes, and ``end`` or ``reset``."""
    failed: bool = False

    def fields(self, stream_id: int, fields: dict[str, str], ended: bool) -> None:
        self.streams[stream_id] = [fields, b""]
        if ended:
            self.streams[stream_id].append("end")

    def data(self, stream_id: int, data: bytes, ended: bool) -> None:
        stream = self.streams[stream_id]
        assert isinstance(stream[1], bytes)
        stream[1] += data
        if ended:
            stream.append("end")


def seen_by_h2(pieces: list[bytes]) -> Seen:
    """Return what h2 makes of bytes, as a server that opens its windows at once."""
    server = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
    server.initiate_connection()
    seen = Seen()
    try:
        for piece in pieces:
            for event in server.receive_data(piece):
                if isinstance(event, RequestReceived):
                    fields = {str(name): str(value) for name, value in event.headers}
                    seen.fields(event.stream_id, fields, event.stream_ended is not None)
                elif isinstance(event, DataReceived):
                    size_bytes = event.flow_controlled_length
                    server.acknowledge_received_data(size_bytes, event.stream_id)
                    seen.data(event.stream_id, event.data, event.stream_ended is not None)
                elif isinstance(event, TrailersReceived):
                    seen.data(event.stream_id, b"", True)
                elif isinstance(event, StreamReset):
                    seen.streams[event.stream_id].append("reset")
    except H2Error:
        seen.failed = True
    return seen


def seen_by_us(pieces: list[bytes]) -> Seen:
    """Return what our end makes of bytes."""
    server, seen = ServerConnection(), Seen()
    for piece in pieces:
        try:
            found = server.receive(piece)
        except ours.Http2Error as error:
            found, seen.failed = error.events, True
        for event in found:
            if isinstance(event, ours.RequestBegun):
                seen.fields(event.stream_id, event.headers, event.ended)
            elif isinstance(event, ours.DataReceived):
                seen.data(event.stream_id, event.data, event.ended)
            elif isinstance(event, ours.StreamReset):
                seen.streams[event.stream_id].append("reset")
        if seen.failed:
            break
    return seen


FIELDS = st.fixed_dictionaries(
    {"te": st.just("trailers")},
    optional={
        "content-type": st.sampled_from(["application/grpc", "text/plain"]),
        "x-mq-client-id": st.text("ab@1", max_size=9),
        "x-long": st.integers(0, 6_000).map(lambda size: "y" * size),
        "grpc-timeout": st.sampled_from(["5S", "x"]),
    },
)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), FIELDS, st.booleans()),
        st.tuples(st.just("data"), st.integers(0, 3), st.integers(0, 20_000), st.booleans()),
        st.tuples(st.just("trailers"), st.integers(0, 3)),
        st.tuples(st.just("reset"), st.integers(0, 3)),
        st.tuples(st.just("ping")),
        st.tuples(st.just("window"), st.integers(0, 3), st.integers(1, 1 << 20)),
        st.tuples(st.just("settings"), st.integers(0, 1 << 20)),
        st.tuples(st.just("priority"), st.integers(0, 3)),
        st.tuples(st.just("padded"), st.integers(0, 3), st.integers(0, 255)),
    ),
    max_size=14,
)
"""What a client does, one step after another; streams by their number."""


def written_by_client(steps: list[tuple[object, ...]]) -> bytes:
    """Return the bytes of a client that takes steps; those that HTTP/2 forbids it are left out."""
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    ids: list[int] = []
    for kind, *given in steps:
        try:
            _step(client, ids, str(kind), given)
        except (H2Error, IndexError, KeyError):  # KeyError: h2 has forgotten the stream
            continue
    return client.data_to_send()


def _step(client: H2Connection, ids: list[int], kind: str, given: list[object]) -> None:
    if kind == "begin":
        fields = {":method": "POST", ":scheme": "http", ":path": "/a/B", ":authority": "x"}
        assert isinstance(given[0], dict)
        fields |= given[0]
        stream_id = client.get_next_available_stream_id()
        client.send_headers(stream_id, list(fields.items()), end_stream=bool(given[1]))
        ids.append(stream_id)
        return
    if kind == "ping":
        client.ping(b"12345678")
        return
    number = given[0]
    assert isinstance(number, int)
    if kind == "settings":
        client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: number})
        return
    stream_id = ids[number]
    if kind == "data":
        size_bytes = given[1]
        assert isinstance(size_bytes, int)
        size_bytes = min(size_bytes, 16_384, client.local_flow_control_window(stream_id))
        client.send_data(stream_id, bytes(size_bytes), end_stream=bool(given[2]))
    elif kind == "padded":
        padding = given[1]
        assert isinstance(padding, int)
        client.send_data(stream_id, b"abc", pad_length=padding)
    elif kind == "trailers":
        client.send_headers(stream_id, [("x-end", "1")], end_stream=True)
    elif kind == "reset":
        client.reset_stream(stream_id, ErrorCodes.CANCEL)
    elif kind == "window":
        increment = given[1]
        assert isinstance(increment, int)
        client.increment_flow_control_window(increment, stream_id)
    elif kind == "priority":
        client.prioritize(stream_id, weight=7)
