"""The bytes of a gRPC call, as its two ends write them."""

from __future__ import annotations

from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.framing import framed
from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.client import Http2Client
from fakemq.protocol.http2.hpack import encode

PATH = "/apache.rocketmq.v2.MessagingService/SendMessage"


def sent_message() -> bytes:
    """A request, serialized."""
    message = m.Message(
        topic=m.Resource(name="orders"),
        user_properties={"shop": "north"},
        system_properties=m.SystemProperties(message_id="01AA", keys=["k-1", "k-2"]),
        body=b"tea",
    )
    return bytes(m.SendMessageRequest(messages=[message]).SerializeToString())


def from_client(path: str = PATH, message: bytes | None = None, parts: int = 1) -> bytes:
    """A connection's begin, and one call, whose message is in several frames if asked."""
    connection = Http2Client()
    stream = connection.begin([(":method", "POST"), (":path", path), ("te", "trailers")])
    data = framed(sent_message() if message is None else message)
    for number in range(parts):
        part = data[number * len(data) // parts : (number + 1) * len(data) // parts]
        connection.send(stream, part, end=number == parts - 1)
    return connection.data_to_send()


def from_server() -> bytes:
    """The answer to that call, and the end of the connection."""
    answer = m.SendMessageResponse(status=m.Status(code=m.Code.OK, message="OK"))
    return b"".join(
        (
            f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.MAX_CONCURRENT_STREAMS, 1_000)),
            f.frame(f.HEADERS, f.END_HEADERS, 1, encode([(":status", "200")])),
            f.frame(f.DATA, 0, 1, framed(answer.SerializeToString())),
            f.frame(f.HEADERS, f.END_HEADERS | f.END_STREAM, 1, encode([("grpc-status", "0")])),
            f.frame(f.GOAWAY, 0, 0, b"\0\0\0\x01" + b"\0\0\0\x0b" + b"calm"),
        )
    )
