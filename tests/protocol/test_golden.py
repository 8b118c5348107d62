"""Real frames, from ``data/golden``: each is read, and written again with the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.protocol.command import SerializeType
from fakemq.protocol.connection import Connection
from fakemq.protocol.frame import decode_frame, encode_frame

GOLDEN = Path(__file__).parent / "data" / "golden"
FILES = sorted(path.name for path in GOLDEN.glob("*.txt") if path.name != "README.txt")


def frames(file: str) -> list[tuple[str, bytes]]:
    lines = (line.split(" ") for line in (GOLDEN / file).read_text().splitlines())
    return [(f"{name} {way}", bytes.fromhex(text)) for name, way, text in lines if text != "-"]


def with_ext_fields(frame: bytes) -> bytes:
    """A JSON frame as we write it: some clients fail on a header without ``extFields``."""
    end = 8 + int.from_bytes(frame[5:8])
    header, body = frame[8:end], frame[end:]
    if b'"extFields":' not in header:
        header = header.replace(b',"flag":', b',"extFields":{},"flag":', 1)
    size = 4 + len(header) + len(body)
    return size.to_bytes(4) + b"\0" + len(header).to_bytes(3) + header + body


def without_empty_values(frame: bytes) -> bytes:
    """A binary frame as we write it: length 0 reads as null, which no peer writes."""
    end = 8 + int.from_bytes(frame[5:8])
    header, body = frame[8:end], frame[end:]
    start = 21 + int.from_bytes(header[13:17])
    fields, kept = header[start:], b""
    while fields:
        key = 2 + int.from_bytes(fields[:2])
        value = int.from_bytes(fields[key : key + 4])
        kept += fields[: key + 4 + value] if value else b""
        fields = fields[key + 4 + value :]
    header = header[: start - 4] + len(kept).to_bytes(4) + kept
    size = 4 + len(header) + len(body)
    return size.to_bytes(4) + b"\1" + len(header).to_bytes(3) + header + body


@pytest.mark.parametrize("file", FILES)
def test_frames_are_written_again_unchanged(file: str) -> None:
    for name, frame in frames(file):
        command = decode_frame(memoryview(frame))
        binary = command.serialize_type is SerializeType.ROCKETMQ
        expected = without_empty_values(frame) if binary else with_ext_fields(frame)
        assert encode_frame(command) == expected, name


@pytest.mark.parametrize("file", FILES)
def test_stream_reads_the_same_in_one_piece_and_byte_by_byte(file: str) -> None:
    stream = b"".join(frame for _, frame in frames(file)[:25])
    whole = Connection().receive_data(stream)
    connection = Connection()
    bytewise = [
        command
        for index in range(len(stream))
        for command in connection.receive_data(stream[index : index + 1])
    ]
    assert len(whole) == min(25, len(frames(file)))
    assert bytewise == whole


def test_real_broker_answers_some_binary_requests_in_json() -> None:
    """Answers it writes itself, and those to a request that blew up, ignore the request's form."""
    in_json = {
        name
        for name, frame in frames("broker_binary.txt")
        if name.endswith(" <") and frame[4] == SerializeType.JSON
    }
    assert in_json == {
        "PULL_MESSAGE.no_fields <",
        "VIEW_MESSAGE_BY_ID <",
        "VIEW_MESSAGE_BY_ID.none <",
    }
