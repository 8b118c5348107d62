"""What a peer can make the server's end of HTTP/2 do and hold, by windows and settings."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakemq.protocol.http2 import connection as module
from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.connection import (
    FRAME_COST_BYTES,
    PIECE_BYTES,
    STREAMS_MAX,
    ServerConnection,
)
from fakemq.protocol.http2.events import Drained, Http2Error
from fakemq.protocol.http2.hpack import encode

BLOCK = encode([(":method", "POST"), (":path", "/a/B")])
ENDS = f.END_HEADERS | f.END_STREAM
SLOW = [HealthCheck.too_slow]


def with_streams(count: int, first_window_bytes: int) -> ServerConnection:
    """A connection with open streams, of which each waits for windows with 100 bytes."""
    server = ServerConnection()
    setting = f.SETTING.pack(f.INITIAL_WINDOW_SIZE, first_window_bytes)
    begun = [f.frame(f.HEADERS, ENDS, one, BLOCK) for one in range(1, 2 * count, 2)]
    server.receive(f.PREFACE + f.frame(f.SETTINGS, 0, 0, setting) + b"".join(begun))
    server.send_data(1, bytes(min(first_window_bytes, f.FIRST_WINDOW_BYTES)))
    for stream_id in range(1, 2 * count, 2):
        server.send_data(stream_id, bytes(100))
    server.data_to_send()
    return server


def window(stream_id: int, more: int) -> bytes:
    return f.frame(f.WINDOW_UPDATE, 0, stream_id, more.to_bytes(4, "big"))


def seconds(count: int, first_window_bytes: int, data: bytes) -> float:
    """Return the processor's time for bytes; the least of five, without collections of garbage."""
    found = []
    for _ in range(5):
        server = with_streams(count, first_window_bytes)
        gc.disable()
        try:
            began_s = time.process_time()
            server.receive(data)
            found.append(time.process_time() - began_s)
        finally:
            gc.enable()
    return min(found)


@pytest.mark.parametrize("first_window_bytes", [0, 100_000], ids=["their own", "the connection's"])
def test_small_windows_cost_no_more_when_many_streams_wait(first_window_bytes: int) -> None:
    data = window(0, 1) * 900
    few_s, many_s = (seconds(count, first_window_bytes, data) for count in (10, STREAMS_MAX))
    assert many_s < 10 * few_s, "it was a hundred times as much"


def test_of_many_windows_in_one_frame_the_last_one_counts() -> None:
    server = with_streams(STREAMS_MAX, 0)
    settings = [f.SETTING.pack(f.INITIAL_WINDOW_SIZE, number % 2) for number in range(2_700)]
    server.allowance = 11
    server.receive(f.frame(f.SETTINGS, 0, 0, b"".join(settings)))
    assert server.allowance == 0, "one for the frame, and ten for the windows of 1,000 streams"
    while server.may_send:
        server.send_piece()
    assert server.queued_bytes == STREAMS_MAX * 99
    with pytest.raises(Http2Error, match="too many frames"):
        server.receive(f.frame(f.SETTINGS, 0, 0, settings[0]))


def test_last_byte_of_an_answer_holds_no_more_than_itself() -> None:
    server = with_streams(1, 0)
    whole = 1 << 20
    server.send_data(1, bytes(whole))
    tracemalloc.start()
    server.send_data(1, bytes(whole))
    server.receive(window(0, 3 * whole) + window(1, 2 * whole + 99))
    while server.may_send:
        server.data_to_send()
        server.send_piece()
    server.data_to_send()
    held_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert server.queued_bytes == 1
    assert held_bytes < whole // 10


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from([0, 1, 3, 5, "first", "piece"]), st.integers(1, 300)), max_size=30
    ),
    piece_bytes=st.sampled_from([1, FRAME_COST_BYTES + 50, PIECE_BYTES]),
)
def test_waiting_answers_leave_as_windows_open_in_any_order(
    steps: list[tuple[int | str, int]], piece_bytes: int
) -> None:
    server = with_streams(3, 0)
    sent: dict[int, int] = dict.fromkeys((1, 3, 5), 0)
    with patch.object(module, "PIECE_BYTES", piece_bytes):
        for what, more in [*steps, ("first", 1_000), *[("piece", 0)] * 9]:
            setting = f.SETTING.pack(f.INITIAL_WINDOW_SIZE, more)
            if what == "piece":
                server.send_piece()
            elif what == "first":
                server.receive(f.frame(f.SETTINGS, 0, 0, setting))
            else:
                server.receive(window(int(what), more))
            for stream_id, size_bytes in data_frames(server.data_to_send()):
                sent[stream_id] += size_bytes
    assert not server.may_send
    assert sent == dict.fromkeys((1, 3, 5), 100)
    assert server.queued_bytes == 0


OPENS_ALL = window(0, f.WINDOW_MAX_BYTES - f.FIRST_WINDOW_BYTES) + f.frame(
    f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, f.WINDOW_MAX_BYTES)
)


@pytest.mark.parametrize("size_bytes", [0, 66_000], ids=["small", "large"])
def test_answers_whose_windows_open_at_once_leave_in_pieces(size_bytes: int) -> None:
    server = with_streams(STREAMS_MAX, 0)
    ids = range(1, 2 * STREAMS_MAX, 2)
    for stream_id in ids:
        server.send_data(stream_id, bytes(size_bytes))
    sent: dict[int, int] = {}
    drained: list[int] = []
    pieces, most_bytes = 0, PIECE_BYTES + f.FRAME_MAX_BYTES + FRAME_COST_BYTES
    events = server.receive(OPENS_ALL)
    while True:
        frames = [*data_frames(server.data_to_send())]
        cost_bytes = sum(one + FRAME_COST_BYTES for _, one in frames)
        assert cost_bytes <= most_bytes
        pieces += 1
        for stream_id, one in frames:
            sent[stream_id] = sent.get(stream_id, 0) + one
        drained += [event.stream_id for event in events if isinstance(event, Drained)]
        if not server.may_send:
            break
        events = server.send_piece()
    assert sent == dict.fromkeys(ids, size_bytes + 100)
    assert list(sent) == drained == [*ids], "the first that waits is the first to leave"
    assert pieces >= STREAMS_MAX * (size_bytes + 100 + FRAME_COST_BYTES) // most_bytes
    assert server.queued_bytes == 0


def test_bytes_behind_a_piece_leave_in_their_order() -> None:
    server = with_streams(1, 0)
    server.send_data(1, b"a" * 2 * PIECE_BYTES)
    server.receive(OPENS_ALL)
    server.send_data(1, b"b")
    server.end(1, BLOCK)
    assert b"b" not in server.data_to_send(), "the bytes before it wait for their turn"
    while server.may_send:
        server.send_piece()
    sent = server.data_to_send()
    assert sent.endswith(f.frame(f.DATA, 0, 1, b"b") + f.frame(f.HEADERS, ENDS, 1, BLOCK))
    assert not server.send_piece()


def data_frames(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the stream and the size of each frame of data."""
    at = 0
    while at < len(data):
        size_bytes = int.from_bytes(data[at : at + 3], "big")
        if data[at + 3] == f.DATA:
            yield int.from_bytes(data[at + 5 : at + 9], "big"), size_bytes
        at += f.HEAD_BYTES + size_bytes
