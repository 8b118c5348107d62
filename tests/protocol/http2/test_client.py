"""The client's end of HTTP/2: with our server's end, and with h2's, over bytes cut anywhere."""

from __future__ import annotations

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived as H2Data
from h2.events import RequestReceived, StreamEnded
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.client import FieldsReceived, GoesAway, Http2Client
from fakemq.protocol.http2.connection import ServerConnection
from fakemq.protocol.http2.events import DataReceived, Http2Error, RequestBegun, StreamReset
from fakemq.protocol.http2.hpack import encode

REQUEST = [(":method", "POST"), (":scheme", "http"), (":path", "/x"), (":authority", "h:1")]
ANSWER = [(":status", "200"), ("content-type", "application/grpc")]
TRAILERS = [("grpc-status", "0")]
SIZES = st.sampled_from([0, 1, 5, 16_384, 16_385, 70_000, 1_100_000])


def cut(data: bytes, piece_bytes: int) -> list[bytes]:
    return [data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes)]


@given(
    st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=4), st.sampled_from([7, 999, 1 << 20])
)
def test_requests_and_answers_of_any_size_arrive(
    sizes: list[tuple[int, int]], piece_bytes: int
) -> None:
    client, server = Http2Client(), ServerConnection()
    if max(map(max, sizes)) > 100_000:
        piece_bytes = 1 << 20
    got: dict[int, bytes] = {}
    back: dict[int, bytes] = {}
    ends: list[int] = []
    left = {}
    for asked, answered in sizes:
        stream_id = client.begin(REQUEST)
        client.send(stream_id, b"q" * asked, end=True)
        left[stream_id] = answered
    while True:
        if server.may_send:
            server.send_piece()
        out, server_out = client.data_to_send(), server.data_to_send()
        if not out and not server_out:
            break
        for piece in cut(out, piece_bytes):
            for event in server.receive(piece):
                if isinstance(event, RequestBegun):
                    assert event.headers[":path"] == "/x"
                    got[event.stream_id] = b""
                elif isinstance(event, DataReceived):
                    got[event.stream_id] += event.data
                    if event.ended:
                        server.answer(
                            event.stream_id,
                            encode(ANSWER),
                            b"a" * left[event.stream_id],
                            encode(TRAILERS),
                        )
        for piece in cut(server_out, piece_bytes):
            for answer in client.receive(piece):
                if isinstance(answer, DataReceived):
                    back[answer.stream_id] = back.get(answer.stream_id, b"") + answer.data
                elif isinstance(answer, FieldsReceived) and answer.ended:
                    assert answer.fields == dict(TRAILERS)
                    ends.append(answer.stream_id)
    assert [len(data) for data in got.values()] == [asked for asked, _ in sizes]
    assert [len(back.get(one, b"")) for one in got] == [answered for _, answered in sizes]
    assert sorted(ends) == sorted(got)
    assert client.unfinished_bytes == 0


@given(SIZES)
def test_h2_understands_a_request(size_bytes: int) -> None:
    client = Http2Client()
    server = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
    server.initiate_connection()
    stream_id = client.begin(REQUEST)
    client.send(stream_id, b"q" * size_bytes, end=True)
    received, ended, fields = 0, False, list[object]()
    while True:
        out, server_out = client.data_to_send(), server.data_to_send()
        if not out and not server_out:
            break
        for event in server.receive_data(out) if out else ():
            if isinstance(event, RequestReceived):
                fields = list(event.headers)
            elif isinstance(event, H2Data):
                received += len(event.data)
                server.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                ended = True
        client.receive(server_out)
    assert fields == REQUEST
    assert (received, ended) == (size_bytes, True)


def started() -> tuple[Http2Client, int]:
    client = Http2Client()
    client.receive(f.frame(f.SETTINGS, 0, 0))
    return client, client.begin(REQUEST)


def test_answer_in_continuations_is_one_list_of_fields() -> None:
    client, stream_id = started()
    block = encode(ANSWER)
    events = client.receive(
        f.frame(f.HEADERS, 0, stream_id, block[:3])
        + f.frame(f.CONTINUATION, f.END_HEADERS, stream_id, block[3:])
    )
    assert events == [FieldsReceived(stream_id, dict(ANSWER), False)]


def test_reset_goaway_and_ping_are_understood() -> None:
    client, stream_id = started()
    client.data_to_send()
    assert client.receive(f.frame(f.PING, 0, 0, b"12345678")) == []
    assert client.data_to_send() == f.frame(f.PING, f.ACK, 0, b"12345678")
    assert client.receive(f.frame(f.GOAWAY, 0, 0, bytes(8))) == [GoesAway(0)]
    reset = f.frame(f.RST_STREAM, 0, stream_id, bytes(4))
    assert client.receive(reset) == [StreamReset(stream_id)]
    assert client.receive(reset) == []


def test_end_without_bytes_waits_for_the_bytes_before_it() -> None:
    client, server = Http2Client(), ServerConnection()
    stream_id = client.begin(REQUEST)
    client.send(stream_id, bytes(70_000))
    client.send(stream_id, b"", end=True)
    sizes, ends = [], []
    while data := client.data_to_send():
        for event in server.receive(data):
            if isinstance(event, DataReceived):
                sizes.append(len(event.data))
                ends.append(event.ended)
        client.receive(server.data_to_send())
    assert sum(sizes) == 70_000
    assert ends == [False] * (len(ends) - 1) + [True]


def test_stream_that_was_given_up_has_no_events() -> None:
    client, stream_id = started()
    client.data_to_send()
    client.reset(stream_id)
    assert client.data_to_send() == f.frame(f.RST_STREAM, 0, stream_id, f.CANCEL.to_bytes(4, "big"))
    late = f.frame(f.HEADERS, f.END_HEADERS, stream_id, encode(ANSWER))
    assert client.receive(late + f.frame(f.DATA, f.END_STREAM, stream_id, b"a")) == []


@pytest.mark.parametrize(
    "bad",
    [
        f.frame(f.DATA, 0, 0, b"a"),
        f.frame(f.DATA, 0, 99, b"a"),
        f.frame(f.HEADERS, f.END_HEADERS, 99, encode(ANSWER)),
        f.frame(f.HEADERS, f.END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"),
        f.frame(f.PUSH_PROMISE, f.END_HEADERS, 1, bytes(4)),
        f.frame(f.HEADERS, 0, 1, b"") + f.frame(f.PING, 0, 0, bytes(8)),
        f.head(f.FRAME_MAX_BYTES + 1, f.DATA, 0, 1),
    ],
    ids=["no-stream", "not-begun", "fields", "hpack", "push", "within-fields", "large"],
)
def test_frame_that_no_server_sends_is_an_error(bad: bytes) -> None:
    client, _ = started()
    with pytest.raises(Http2Error):
        client.receive(bad)


def test_first_frame_has_settings() -> None:
    with pytest.raises(Http2Error, match="the first frame has no settings"):
        Http2Client().receive(f.frame(f.PING, 0, 0, bytes(8)))
