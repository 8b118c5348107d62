"""Frames that Java's own classes wrote, one per header class and serialize type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import VERSION_4_9_7, RemotingCommand, SerializeType
from fakemq.protocol.connection import Connection
from fakemq.protocol.header import Header, parse_bool, parse_int, parse_long
from tests.support.headers import CLASSES

CASES = [
    line.split()
    for line in (Path(__file__).parent / "data/java_frames.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
OF_HEADERS, PLAIN = CASES[:-2], CASES[-2:]


def filled(cls: type[Header]) -> Header:
    """The header with every field as FrameCases.java sets it."""
    values = {parse_int: -7, parse_long: 2**40, parse_bool: True}
    return cls(
        **{
            attr: f"é {wire}" if converter is str else values[converter]  # type: ignore[index]
            for wire, attr, converter in cls.field_specs()
        }
    )


def command_of(cls: type[Header], opaque: int, kind: SerializeType) -> RemotingCommand:
    return RemotingCommand(
        310,
        ext_fields={"more": "x"} | filled(cls).encode(),
        body=b"\x00\x01\xff",
        flag=2,
        opaque=opaque,
        remark='é\n"日',
        language=LanguageCode.GO,
        version=VERSION_4_9_7,
        serialize_type=kind,
    )


def test_every_header_was_written_in_both_types() -> None:
    written = {(name, kind) for name, kind, _ in OF_HEADERS}
    names = CLASSES.keys() - {"RpcRequestHeader"}
    assert written == {(name, kind.name) for name in names for kind in SerializeType}


@pytest.mark.parametrize("at", range(len(OF_HEADERS)))
def test_javas_frame_is_read_and_written_again(at: int) -> None:
    name, kind, frame = OF_HEADERS[at]
    data = bytes.fromhex(frame)
    cls, connection = CLASSES[name], Connection()
    [command] = connection.receive_data(data)
    # V2 has Java's bname twice: as its n, which is read, and as the base class's, which is not.
    command.ext_fields.pop("bname" if name.endswith("V2") else "", None)
    assert command == command_of(cls, at, SerializeType[kind])
    assert cls.decode(command.ext_fields) == filled(cls)
    again = connection.encode(command)
    if not name.endswith("V2"):
        assert len(again) == len(data)  # the order of ext fields is a HashMap's
    assert Connection().receive_data(again) == [command]
    if command.serialize_type is SerializeType.JSON:
        ours, java = (list(json.loads(header_of(one))) for one in (again, data))
        assert ours == java


def header_of(frame: bytes) -> bytes:
    return frame[8 : 8 + int.from_bytes(frame[5:8], "big")]


@pytest.mark.parametrize(("name", "kind", "frame"), PLAIN)
def test_response_without_a_header_is_read(name: str, kind: str, frame: str) -> None:
    assert name == "-"
    [command] = Connection().receive_data(bytes.fromhex(frame))
    assert command == RemotingCommand(
        0,
        flag=1,
        opaque=len(OF_HEADERS) + (kind == "ROCKETMQ"),
        version=0,
        serialize_type=SerializeType[kind],
    )
