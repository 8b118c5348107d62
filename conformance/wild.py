"""Bytes that no client sends: frames that break the protocol, headers that bend it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from conformance.raw import VERSION_4_9_7

NO_CODE = 9999
"""What a broker answers at once, because it does not know it."""
OPAQUE = 7
Text = TypeVar("Text", str, bytes)


class Wild(NamedTuple):
    """Something to send, and the number that an answer to it must have."""

    name: str
    data: bytes
    opaque: int | None = OPAQUE
    """None where it has none, and a JVM counts on from wherever it is."""


def framed(header: bytes, body: bytes = b"", *, serialisation: int = 0) -> bytes:
    """A frame around header bytes of any kind."""
    return with_mark(serialisation << 24 | len(header), header + body)


def with_mark(mark: int, rest: bytes) -> bytes:
    """A frame whose header length and serialisation are what ``mark`` says."""
    return struct.pack(">II", 4 + len(rest), mark) + rest


def header(**changes: object) -> dict[str, object]:
    """The header of a request that brokers do not know, but for some changes."""
    return {
        "code": NO_CODE,
        "flag": 0,
        "language": "JAVA",
        "opaque": OPAQUE,
        "serializeTypeCurrentRPC": "JSON",
        "version": VERSION_4_9_7,
    } | changes


def json_frame(**changes: object) -> bytes:
    """That header in a frame."""
    return framed(json.dumps(header(**changes)).encode())


def patched(old: str, new: str | bytes) -> bytes:
    """That header with some of its text replaced, in no frame yet."""
    text = json.dumps(header(extFields={"topic": "T"}), separators=(",", ":")).encode()
    assert old.encode() in text
    return text.replace(old.encode(), new if isinstance(new, bytes) else new.encode())


def binary_header(
    *,
    code: int = NO_CODE,
    language: int = 0,
    flag: int = 0,
    remark: bytes = b"",
    remark_length: int | None = None,
    fields: bytes = b"",
    fields_length: int | None = None,
) -> bytes:
    """A header in RocketMQ's own serialisation, whose lengths may lie."""
    return (
        struct.pack(">HBHII", code & 0xFFFF, language, VERSION_4_9_7, OPAQUE, flag & 0xFFFFFFFF)
        + struct.pack(">i", len(remark) if remark_length is None else remark_length)
        + remark
        + struct.pack(">i", len(fields) if fields_length is None else fields_length)
        + fields
    )


def binary(body: bytes = b"", **changes: object) -> bytes:
    """That header in a frame."""
    return framed(binary_header(**changes), body, serialisation=1)  # type: ignore[arg-type]


def field(key: bytes, value: bytes, *, key_length: int = -9, value_length: int = -9) -> bytes:
    """One ext field of a binary header, whose lengths may lie."""
    return (
        struct.pack(">h", len(key) if key_length == -9 else key_length)
        + key
        + struct.pack(">i", len(value) if value_length == -9 else value_length)
        + value
    )


def _each(frame: Callable[[Text], bytes], headers: dict[str, Text]) -> list[Wild]:
    """Headers by their names, all framed the same way."""
    return [Wild(name, frame(header)) for name, header in headers.items()]


def _nested(depth: int) -> str:
    return "[" * depth + "]" * depth


LENGTHS = (
    Wild("a length of -1", struct.pack(">i", -1) + bytes(8)),
    Wild("a length of -2 billion", struct.pack(">i", -(2**31)) + bytes(8)),
    Wild("zeros", bytes(64)),
    Wild("a length of 3", struct.pack(">i", 3) + bytes(3)),
    Wild("a length of 4, and no header", struct.pack(">ii", 4, 0)),
    Wild("a length that makes 16 MiB and a byte", struct.pack(">i", 2**24 - 3) + bytes(8)),
    Wild("a header longer than its frame", with_mark(100, b"{}")),
    Wild("a header of 16 MiB in a small frame", with_mark(0xFFFFFF, b"{}")),
    Wild("serialisation 2", with_mark(2 << 24 | 2, b"{}")),
    Wild("serialisation 255", with_mark(0xFF << 24 | 2, b"{}")),
    Wild("JSON said to be binary", with_mark(1 << 24 | 2, b"{}")),
    Wild("HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Wild("SSH", b"SSH-2.0-OpenSSH_9.6\r\n"),
)

HEADERS = (
    Wild("an empty object", framed(b"{}"), None),
    *_each(
        framed,
        {
            "null": b"null",
            "an array": b"[]",
            "an array of objects": b'[{"code":9999}]',
            "a number": b"42",
            "a string": b'"code"',
            "no JSON": b"code=9999",
            "cut off": b'{"code":9999,"opaque":7',
            "something behind it": b'{"code":9999,"opaque":7} and more',
            "a byte order mark": b"\xef\xbb\xbf" + b'{"code":9999,"opaque":7}',
            "UTF-16": '{"code":9999,"opaque":7}'.encode("utf-16"),
            "bytes that are no UTF-8, in a value": patched('"T"', b'"\xff\xfe\xc3"'),
            "bytes that are no UTF-8, in a key": patched('"topic"', b'"\xff\xfe\xc3"'),
            "a zero byte in a value": patched('"T"', b'"a\x00b"'),
            "a zero byte behind it": b'{"code":9999,"opaque":7}\x00',
            "the code twice": b'{"code":10,"code":9999,"opaque":7}',
            "single quotes": b"{'code':9999,'opaque':7}",
            "no quotes": b"{code:9999,opaque:7}",
            "commas too many": b'{"code":9999,,"opaque":7,}',
            "a comment": b'{"code":9999,/* hello */"opaque":7}',
        },
    ),
    Wild("unknown keys", json_frame(colour="red", more={"deep": [1, 2]})),
)

VALUES = (
    *_each(
        lambda code: framed(patched(str(NO_CODE), code)),
        {
            "the code as text": '"9999"',
            "the code null": "null",
            "the code true": "true",
            "the code 1.5": "1.5",
            "the code NaN": "NaN",
            "the code 1e3": "1e3",
            "the code an object": "{}",
            "the code empty text": '""',
            "the code no number": '"many"',
            "the code -1": "-1",
            "the greatest code": str(2**31 - 1),
            "a code of 33 bits": str(2**32),
            "a code of 64 bits": str(2**63 - 1),
            "a code of 65 bits": str(2**64),
            "a code of 400 digits": "9" * 400,
        },
    ),
    Wild("the least opaque", json_frame(opaque=-(2**31)), -(2**31)),
    Wild("an opaque of 33 bits", json_frame(opaque=2**32 + OPAQUE)),
    Wild("an opaque of 65 bits", json_frame(opaque=2**64 + OPAQUE)),
    Wild("no opaque", framed(b'{"code":9999}'), None),
    Wild("flag 4", json_frame(flag=4)),
    Wild("all flags but response and one-way", json_frame(flag=-4)),
    Wild("all flags", json_frame(flag=-1)),
    Wild("an answer that nobody waits for", json_frame(flag=1, code=0)),
    Wild("one-way", json_frame(flag=2)),
    Wild("a language that is none", json_frame(language="KLINGON")),
    Wild("a language by its number", json_frame(language=3)),
    Wild("a language of a number that is none", json_frame(language=99)),
    Wild("no language", json_frame(language=None)),
    Wild("a version of text", json_frame(version="4.9.7")),
    Wild("a version that is negative", json_frame(version=-1)),
    Wild("a remark", json_frame(remark="hello")),
    Wild("a remark that is an object", json_frame(remark={"a": 1})),
    Wild("ext fields null", json_frame(extFields=None)),
    Wild("ext fields an array", json_frame(extFields=[])),
    Wild("ext fields text", json_frame(extFields="topic")),
    Wild("ext fields empty text", json_frame(extFields="")),
    Wild("an ext field null", json_frame(extFields={"topic": None})),
    Wild("an ext field a number", json_frame(extFields={"topic": 1})),
    Wild("an ext field an object", json_frame(extFields={"topic": {"a": [1]}})),
    Wild("10,000 ext fields", json_frame(extFields={f"k{n}": "v" for n in range(10_000)})),
    Wild("an ext field of 1 MiB", json_frame(extFields={"topic": "x" * (1 << 20)})),
    Wild("nested 100 deep", framed(patched('"T"', _nested(100)))),
    Wild("nested 1,000 deep", framed(patched('"T"', _nested(1_000)))),
    Wild("nested 100,000 deep", framed(patched('"T"', _nested(100_000)))),
    Wild("another serialisation in the header", json_frame(serializeTypeCurrentRPC="ROCKETMQ")),
    Wild("no such serialisation in the header", json_frame(serializeTypeCurrentRPC="XML")),
)

BINARY = (
    Wild("binary", binary()),
    Wild("binary, code -1", binary(code=-1)),
    Wild("binary, a language that is none", binary(language=99)),
    Wild("binary, empty", framed(b"", serialisation=1)),
    Wild("binary, cut off", framed(binary_header()[:12], serialisation=1)),
    Wild("binary, one byte short", framed(binary_header()[:-1], serialisation=1)),
    Wild("binary, one byte short, a body", framed(binary_header()[:-1], b"\0\0", serialisation=1)),
    Wild("binary, a byte too many", framed(binary_header() + b"!", serialisation=1)),
    Wild("binary, a remark", binary(remark=b"hello")),
    Wild("binary, a remark of -1 bytes", binary(remark_length=-1)),
    Wild("binary, a remark that reaches into the body", binary(b"x" * 9, remark_length=12)),
    Wild("binary, a remark longer than the header", binary(b"x" * 99, remark_length=99)),
    Wild("binary, a remark that is no UTF-8", binary(remark=b"\xff\xfe")),
    Wild("binary, ext fields longer than the header", binary(b"x" * 99, fields_length=99)),
    Wild("binary, ext fields that reach into the body", binary(field(b"k", b"v"), fields_length=8)),
    Wild("binary, a field", binary(fields=field(b"k", b"v"))),
    Wild("binary, a key of -1 bytes", binary(fields=field(b"k", b"v", key_length=-1))),
    Wild("binary, a value of -1 bytes", binary(fields=field(b"k", b"v", value_length=-1))),
    Wild("binary, a value longer than all", binary(fields=field(b"k", b"v", value_length=99))),
    Wild("binary, a value longer than the map", binary(fields=field(b"k", b"v", value_length=5))),
    Wild("binary, no key", binary(fields=field(b"", b"v"))),
    Wild("binary, half a field", binary(fields=field(b"k", b"v")[:4])),
    Wild("binary, 10,000 fields", binary(fields=field(b"k", b"v") * 10_000)),
    Wild("binary, one-way", binary(flag=2)),
    Wild("binary, all flags", binary(flag=-1)),
)

ALL = (*LENGTHS, *HEADERS, *VALUES, *BINARY)
