"""HTTP/2 and the gRPC messages in it, explained."""

from __future__ import annotations

import pytest

from fakemq.decoding.explain import explain, kind_of
from fakemq.decoding.fields import Field, Problem, Title
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.http2 import frames as f
from tests.support.captures import BROKER, CLIENT, SYN, Sent, pcap
from tests.support.command_line import run
from tests.support.grpc_bytes import PATH, from_client, from_server

LATE = m.SendMessageRequest(
    messages=[
        m.Message(system_properties=m.SystemProperties(delivery_timestamp={"seconds": 1 << 60}))
    ]
).SerializeToString()


def explained(data: bytes) -> tuple[dict[str, object], list[str], list[str]]:
    """The values of fields by name, the titles, and the problems."""
    items = list(explain(data, kind_of(data)))
    return (
        {one.name: one.value for one in items if isinstance(one, Field)},
        [one.text for one in items if isinstance(one, Title)],
        [one.text for one in items if isinstance(one, Problem)],
    )


@pytest.mark.parametrize("parts", [1, 3])
def test_request_has_its_fields_and_those_of_its_message(parts: int) -> None:
    values, titles, problems = explained(from_client(parts=parts))
    assert problems == []
    assert titles[0] == "HTTP/2, a client's end: gRPC"
    assert titles.count("DATA, stream 1") == parts
    wanted = {"te": "trailers", "message": PATH, "keys[1]": "k-2", "body": "tea", "name": "orders"}
    assert wanted.items() <= values.items()
    assert values["user_properties[shop]"] == "north"


def test_server_of_a_capture_is_explained_by_its_requests() -> None:
    segments = [
        Sent(CLIENT, BROKER, 9, flags=SYN),
        Sent(BROKER, CLIENT, 5, flags=SYN),
        Sent(CLIENT, BROKER, 10, from_client()),
        Sent(BROKER, CLIENT, 6, from_server()),
    ]
    values, titles, problems = explained(pcap(segments))
    assert problems == []
    assert "HTTP/2, a server's end: gRPC" in titles
    assert values["MAX_CONCURRENT_STREAMS"] == 1_000
    assert values["code"] == 20_000
    assert (values["grpc-status"], values["text"]) == ("0", "calm")
    alone, _, _ = explained(from_server())
    assert alone["message"] == "of an unknown RPC"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (from_client()[:-4], "bytes by its length;"),
        (from_client() + b"\0\0", "2 bytes are left; a frame of HTTP/2 begins with 9"),
        (from_client(message=LATE), "delivery_timestamp: Timestamp is not valid"),
        (from_client(message=b"\xff\xff"), "the message is no SendMessageRequest"),
        (from_server() + f.frame(f.HEADERS, f.END_HEADERS, 3, b"\x80"), "header fields: "),
        (
            from_server() + f.frame(f.DATA, f.PADDED, 1, b"\x09x"),
            "9 bytes of padding in a frame of 2",
        ),
        (from_server() + f.frame(f.DATA, 0, 1, b"\x02\0\0\0\0"), "message: gRPC frame header malf"),
    ],
)
def test_wrong_bytes_are_named(data: bytes, text: str) -> None:
    _, _, problems = explained(data)
    assert len(problems) == 1
    assert text in problems[0]


def test_message_of_an_unknown_rpc_is_shown_as_bytes() -> None:
    values, _, problems = explained(from_client("/other.Service/Call", b"\x0a\x01a"))
    assert problems == []
    assert values["fields"] == b"\x0a\x01a"


def test_command_explains_hex_digits_of_http2() -> None:
    text = run("decode", from_client().hex()).stdout
    assert "HEADERS, stream 1" in text
    assert "messages[0]" in text
