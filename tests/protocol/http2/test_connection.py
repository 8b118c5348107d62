"""The server's end of HTTP/2: the same as h2's, and within limits whatever a peer sends."""

from __future__ import annotations

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived as H2Data
from h2.events import StreamEnded, TrailersReceived
from h2.settings import SettingCodes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.connection import (
    ALLOWANCE,
    BLOCK_MAX_BYTES,
    RESET_COST,
    STREAMS_MAX,
    WINDOW_BYTES,
    ServerConnection,
)
from fakemq.protocol.http2.events import Http2Error, RequestBegun, StreamReset
from fakemq.protocol.http2.hpack import encode
from tests.support.http2_judge import STEPS, seen_by_h2, seen_by_us, written_by_client

SETTINGS = f.frame(f.SETTINGS, 0, 0)
BLOCK = encode([(":method", "POST"), (":path", "/a/B")])
ENDS = f.END_HEADERS | f.END_STREAM
SLOW = [HealthCheck.too_slow]
"""h2 is; on a loaded machine a test would fail for that alone."""


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = sorted({place % (len(data) + 1) for place in places})
    return [data[start:stop] for start, stop in zip([0, *at], [*at, len(data)], strict=True)]


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(STEPS, st.lists(st.integers(0, 1 << 20), max_size=6))
def test_client_means_the_same_to_us_and_to_h2_however_its_bytes_are_cut(
    steps: list[tuple[object, ...]], places: list[int]
) -> None:
    data = written_by_client(steps)
    judged = seen_by_h2([data])
    assert not judged.failed
    assert seen_by_us(cut(data, places)) == judged


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(STEPS, st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=4))
def test_changed_bytes_mean_the_same_as_to_h2_or_end_the_connection(
    steps: list[tuple[object, ...]], changes: list[tuple[int, int]]
) -> None:
    data = bytearray(written_by_client(steps))
    for place, byte in changes:
        data[place % len(data)] = byte
    whole, pieces = seen_by_us([bytes(data)]), seen_by_us(cut(bytes(data), [p for p, _ in changes]))
    assert whole == pieces
    judged = seen_by_h2([bytes(data)])
    if not judged.failed and not whole.failed:
        assert whole.streams.keys() >= judged.streams.keys()


@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_after_the_preface_raise_nothing_else(pieces: list[bytes]) -> None:
    server = ServerConnection()
    try:
        server.receive(f.PREFACE + SETTINGS)
        for piece in pieces:
            server.receive(piece)
    except Http2Error:
        assert f.frame(f.GOAWAY, 0, 0)[3:] in server.data_to_send()


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(
    sizes=st.lists(st.integers(0, 50_000), min_size=1, max_size=5),
    window=st.integers(1_000, 100_000),
    frame_bytes=st.sampled_from([16_384, 20_000, 1 << 20]),
)
def test_answers_obey_the_windows_of_h2_and_arrive_whole(
    sizes: list[int], window: int, frame_bytes: int
) -> None:
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    client.update_settings(
        {SettingCodes.INITIAL_WINDOW_SIZE: window, SettingCodes.MAX_FRAME_SIZE: frame_bytes}
    )
    server = ServerConnection()
    server.receive(client.data_to_send())
    client.receive_data(server.data_to_send())  # h2 knows its new limits from the next call on
    ids = [2 * number + 1 for number in range(len(sizes))]
    for stream_id in ids:
        request = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "x")]
        client.send_headers(stream_id, request, end_stream=True)
    server.receive(client.data_to_send())
    for stream_id, size_bytes in zip(ids, sizes, strict=True):
        server.answer(
            stream_id, encode([(":status", "200")]), bytes(size_bytes), encode([("a", "1")])
        )
    got, ended = dict.fromkeys(ids, 0), set()
    while data := server.data_to_send():
        for event in client.receive_data(data):  # h2 raises if a window is exceeded
            if isinstance(event, H2Data):
                got[event.stream_id] += len(event.data)
                size_bytes = event.flow_controlled_length
                if size_bytes:
                    client.acknowledge_received_data(size_bytes, event.stream_id)
            elif isinstance(event, TrailersReceived | StreamEnded):
                ended.add(event.stream_id)
        server.allowance = ALLOWANCE
        server.receive(client.data_to_send())
        if server.may_send:
            server.send_piece()
    assert [got[stream_id] for stream_id in ids] == sizes
    assert ended == set(ids)
    assert server.queued_bytes == 0


# -- limits -----------------------------------------------------------------------------------


def opened() -> ServerConnection:
    server = ServerConnection()
    server.receive(f.PREFACE + SETTINGS)
    server.data_to_send()
    return server


def headers(stream_id: int, flags: int = ENDS, block: bytes = BLOCK) -> bytes:
    return f.frame(f.HEADERS, flags, stream_id, block)


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def ends(data: bytes, code: int, server: ServerConnection | None = None) -> Http2Error:
    server = server or opened()
    with pytest.raises(Http2Error) as caught:
        server.receive(data)
    assert caught.value.code == code
    goaway = server.data_to_send().rpartition(bytes((f.GOAWAY, 0, 0, 0, 0, 0)))[2]
    assert goaway[4:8] == number(code)
    return caught.value


CALM = f.ENHANCE_YOUR_CALM
FLOODS = {
    "settings": f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(4, 1)),
    "settings acks": f.frame(f.SETTINGS, f.ACK, 0),
    "pings": f.frame(f.PING, 0, 0, bytes(8)),
    "ping acks": f.frame(f.PING, f.ACK, 0, bytes(8)),
    "windows": f.frame(f.WINDOW_UPDATE, 0, 0, number(1)),
    "priorities": f.frame(f.PRIORITY, 0, 1, bytes(5)),
    "unknown frames": f.frame(99, 0, 0),
    "goaways": f.frame(f.GOAWAY, 0, 0, bytes(8)),
    "empty data": f.frame(f.DATA, 0, 1),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_flood_of_frames_without_a_request_ends_the_connection(flood: bytes) -> None:
    server = opened()
    server.receive(headers(1, f.END_HEADERS))
    server.allowance = ALLOWANCE
    server.receive(flood * ALLOWANCE)
    ends(flood, CALM, server)


def test_rapid_reset_ends_the_connection() -> None:
    server = opened()
    server.allowance = ALLOWANCE

    def begun_and_reset(stream_id: int) -> bytes:
        return headers(stream_id) + f.frame(f.RST_STREAM, 0, stream_id, number(f.CANCEL))

    last_id = 2 * ALLOWANCE // RESET_COST - 1
    for stream_id in range(1, last_id + 1, 2):
        begun, reset = server.receive(begun_and_reset(stream_id))
        assert isinstance(begun, RequestBegun)
        assert reset == StreamReset(stream_id)
    ends(begun_and_reset(last_id + 2), CALM, server)


@pytest.mark.parametrize("more", [0, f.WINDOW_MAX_BYTES], ids=["by nothing", "too large"])
def test_wrong_window_costs_as_much_as_a_reset(more: int) -> None:
    server = opened()
    server.allowance = RESET_COST
    wrong = f.frame(f.WINDOW_UPDATE, 0, 1, number(more))
    _, reset = server.receive(headers(1) + wrong)
    assert reset == StreamReset(1)
    assert server.allowance == 0
    server.allowance = RESET_COST - 1
    server.receive(headers(3))
    ends(f.frame(f.WINDOW_UPDATE, 0, 3, number(more)), CALM, server)


def test_remoting_frame_is_named() -> None:
    error = ends(b"\0\0\0\x60\0\0\0\x5c{", f.PROTOCOL_ERROR, ServerConnection())
    assert str(error).startswith("bytes of RocketMQ's remoting protocol: this is the port for gRPC")
    error = ends(b"GET / HTTP/1.1", f.PROTOCOL_ERROR, ServerConnection())
    assert str(error) == "bytes that are no HTTP/2"


def test_streams_beyond_the_limit_are_refused_and_then_end_the_connection() -> None:
    server = opened()
    ids = [2 * one + 1 for one in range(STREAMS_MAX)]
    assert len(server.receive(b"".join(map(headers, ids)))) == STREAMS_MAX
    assert server.data_to_send() == b""
    assert server.receive(headers(ids[-1] + 2)) == []
    assert server.data_to_send() == f.frame(f.RST_STREAM, 0, ids[-1] + 2, number(f.REFUSED_STREAM))
    flood = b"".join(headers(ids[-1] + 4 + 2 * one) for one in range(ALLOWANCE // RESET_COST))
    ends(flood, CALM, server)


def test_continuations_without_an_end_are_bounded() -> None:
    server = opened()
    server.receive(headers(1, 0))
    piece = f.frame(f.CONTINUATION, 0, 1, bytes(16_384))
    for _ in range(BLOCK_MAX_BYTES // 16_384 - 1):
        server.receive(piece)
    assert server.unfinished_bytes <= BLOCK_MAX_BYTES
    ends(piece, CALM, server)


def test_empty_continuations_are_bounded() -> None:
    server = opened()
    server.receive(headers(1, 0))
    ends(f.frame(f.CONTINUATION, 0, 1) * (ALLOWANCE + 1), CALM, server)


def test_fields_beyond_the_limit_are_answered_with_431() -> None:
    server = opened()
    assert server.receive(headers(1, block=BLOCK + encode([("x", "y" * 9_000)]))) == []
    assert server.data_to_send() == f.frame(f.HEADERS, ENDS, 1, encode([(":status", "431")]))
    assert len(server.receive(headers(3))) == 1


def test_data_beyond_the_window_ends_the_connection() -> None:
    server = opened()
    server.receive(headers(1, f.END_HEADERS))
    piece = f.frame(f.DATA, 0, 1, bytes(16_384))
    for _ in range(200):  # windows are opened again
        server.receive(piece)
    sent = server.data_to_send()
    opened_bytes = sent.count(f.head(4, f.WINDOW_UPDATE, 0, 0))
    assert opened_bytes >= 200 * 16_384 // WINDOW_BYTES


VIOLATIONS = {
    "no settings first": (f.PREFACE + headers(1), f.PROTOCOL_ERROR),
    "no preface": (b"GET / HTTP/1.1\r\n", f.PROTOCOL_ERROR),
    "long frame": (f.PREFACE + f.head(16_385, f.SETTINGS, 0, 0), f.FRAME_SIZE_ERROR),
}


@pytest.mark.parametrize(("data", "code"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_wrong_beginning_ends_the_connection(data: bytes, code: int) -> None:
    ends(data, code, ServerConnection())


WRONG = {
    "even stream": (headers(2), f.PROTOCOL_ERROR),
    "no stream": (headers(0), f.PROTOCOL_ERROR),
    "data before fields": (f.frame(f.DATA, 0, 1, b"x"), f.PROTOCOL_ERROR),
    "data behind the end": (headers(1) + f.frame(f.DATA, 0, 1, b"x"), f.STREAM_CLOSED),
    "fields twice": (headers(1, f.END_HEADERS) + headers(1, f.END_HEADERS), f.PROTOCOL_ERROR),
    "padding": (headers(1, ENDS | f.PADDED, b"\x09abc"), f.PROTOCOL_ERROR),
    "no padding": (headers(1, ENDS | f.PADDED, b""), f.PROTOCOL_ERROR),
    "short priority": (headers(1, ENDS | f.WITH_PRIORITY, b"abc"), f.FRAME_SIZE_ERROR),
    "self": (headers(1, ENDS | f.WITH_PRIORITY, b"\0\0\0\1\0" + BLOCK), f.PROTOCOL_ERROR),
    "frame in fields": (headers(1, 0) + SETTINGS, f.PROTOCOL_ERROR),
    "other stream in fields": (headers(1, 0) + f.frame(f.CONTINUATION, 4, 3), f.PROTOCOL_ERROR),
    "lone continuation": (f.frame(f.CONTINUATION, 4, 1), f.PROTOCOL_ERROR),
    "push": (f.frame(f.PUSH_PROMISE, 4, 1, bytes(4)), f.PROTOCOL_ERROR),
    "fields": (headers(1, block=b"\x80"), f.COMPRESSION_ERROR),
    "reset of nothing": (f.frame(f.RST_STREAM, 0, 1, bytes(4)), f.PROTOCOL_ERROR),
    "short reset": (headers(1) + f.frame(f.RST_STREAM, 0, 1, b"x"), f.FRAME_SIZE_ERROR),
    "settings of a stream": (f.frame(f.SETTINGS, 0, 1), f.PROTOCOL_ERROR),
    "cut settings": (f.frame(f.SETTINGS, 0, 0, b"x"), f.FRAME_SIZE_ERROR),
    "full ack": (f.frame(f.SETTINGS, f.ACK, 0, bytes(6)), f.FRAME_SIZE_ERROR),
    "huge window": (
        f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(4, 1 << 31)),
        f.FLOW_CONTROL_ERROR,
    ),
    "small frames": (f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(5, 1)), f.PROTOCOL_ERROR),
    "push setting": (f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(2, 2)), f.PROTOCOL_ERROR),
    "ping of a stream": (f.frame(f.PING, 0, 1, bytes(8)), f.PROTOCOL_ERROR),
    "short ping": (f.frame(f.PING, 0, 0, b"x"), f.FRAME_SIZE_ERROR),
    "window by nothing": (f.frame(f.WINDOW_UPDATE, 0, 0, number(0)), f.PROTOCOL_ERROR),
    "window overflow": (
        f.frame(f.WINDOW_UPDATE, 0, 0, number(f.WINDOW_MAX_BYTES)),
        f.FLOW_CONTROL_ERROR,
    ),
    "window of nothing": (f.frame(f.WINDOW_UPDATE, 0, 9, number(1)), f.PROTOCOL_ERROR),
    "short window": (f.frame(f.WINDOW_UPDATE, 0, 0, b"x"), f.FRAME_SIZE_ERROR),
    "priority of nothing": (f.frame(f.PRIORITY, 0, 0, bytes(5)), f.PROTOCOL_ERROR),
    "short priority frame": (f.frame(f.PRIORITY, 0, 1, b"x"), f.FRAME_SIZE_ERROR),
    "goaway of a stream": (f.frame(f.GOAWAY, 0, 1, bytes(8)), f.PROTOCOL_ERROR),
    "short goaway": (f.frame(f.GOAWAY, 0, 0, b"x"), f.FRAME_SIZE_ERROR),
}


@pytest.mark.parametrize(("data", "code"), WRONG.values(), ids=WRONG)
def test_violation_ends_the_connection_with_its_code(data: bytes, code: int) -> None:
    ends(data, code)


@pytest.mark.parametrize(
    ("more", "code"),
    [(0, f.PROTOCOL_ERROR), (f.WINDOW_MAX_BYTES, f.FLOW_CONTROL_ERROR)],
    ids=["nothing", "overflow"],
)
def test_wrong_window_of_a_stream_ends_only_the_stream(more: int, code: int) -> None:
    server = opened()
    server.receive(headers(1, f.END_HEADERS))
    window = f.frame(f.WINDOW_UPDATE, 0, 1, number(more))
    assert server.receive(window) == [StreamReset(1)]
    assert server.data_to_send() == f.frame(f.RST_STREAM, 0, 1, number(code))
    assert len(server.receive(headers(3))) == 1


def test_acknowledgement_of_settings_stands_before_data_that_they_allow() -> None:
    server = opened()
    server.receive(f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, 0)))
    server.receive(headers(1))
    server.send_data(1, b"later")
    assert b"later" not in server.data_to_send()
    server.receive(f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, 9)))
    sent = server.data_to_send()
    assert sent.startswith(f.frame(f.SETTINGS, f.ACK, 0))
    assert sent.endswith(f.frame(f.DATA, 0, 1, b"later"))
