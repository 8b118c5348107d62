"""Bytes that no client sends: frames that break the protocol, headers that bend it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from conformance.wire.raw import VERSION_4_9_7

NO_CODE = 9999
"""What a broker answers at once, because it does not know it."""
OPAQUE = 7
Text = TypeVar("Text", str, bytes)


class Malformed(NamedTuple):
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
    """Return the header of a request that brokers do not know, but for some changes."""
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


def _each(frame: Callable[[Text], bytes], headers: dict[str, Text]) -> list[Malformed]:
    """Headers by their names, all framed the same way."""
    return [Malformed(name, frame(header)) for name, header in headers.items()]


def _nested(depth: int) -> str:
    return "[" * depth + "]" * depth


LENGTHS = (
    Malformed("a length of -1", struct.pack(">i", -1) + bytes(8)),
    Malformed("a length of -2 billion", struct.pack(">i", -(2**31)) + bytes(8)),
    Malformed("zeros", bytes(64)),
    Malformed("a length of 3", struct.pack(">i", 3) + bytes(3)),
    Malformed("a length of 4, and no header", struct.pack(">ii", 4, 0)),
    Malformed("a length that makes 16 MiB and a byte", struct.pack(">i", 2**24 - 3) + bytes(8)),
    Malformed("a header longer than its frame", with_mark(100, b"{}")),
    Malformed("a header of 16 MiB in a small frame", with_mark(0xFFFFFF, b"{}")),
    Malformed("serialisation 2", with_mark(2 << 24 | 2, b"{}")),
    Malformed("serialisation 255", with_mark(0xFF << 24 | 2, b"{}")),
    Malformed("JSON said to be binary", with_mark(1 << 24 | 2, b"{}")),
    Malformed("HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Malformed("SSH", b"SSH-2.0-OpenSSH_9.6\r\n"),
)

HEADERS = (
    Malformed("an empty object", framed(b"{}"), None),
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
    Malformed("unknown keys", json_frame(colour="red", more={"deep": [1, 2]})),
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
    Malformed("the least opaque", json_frame(opaque=-(2**31)), -(2**31)),
    Malformed("an opaque of 33 bits", json_frame(opaque=2**32 + OPAQUE)),
    Malformed("an opaque of 65 bits", json_frame(opaque=2**64 + OPAQUE)),
    Malformed("no opaque", framed(b'{"code":9999}'), None),
    Malformed("flag 4", json_frame(flag=4)),
    Malformed("all flags but response and one-way", json_frame(flag=-4)),
    Malformed("all flags", json_frame(flag=-1)),
    Malformed("an answer that no request waits for", json_frame(flag=1, code=0)),
    Malformed("one-way", json_frame(flag=2)),
    Malformed("a language that is none", json_frame(language="KLINGON")),
    Malformed("a language by its number", json_frame(language=3)),
    Malformed("a language of a number that is none", json_frame(language=99)),
    Malformed("no language", json_frame(language=None)),
    Malformed("a version of text", json_frame(version="4.9.7")),
    Malformed("a version that is negative", json_frame(version=-1)),
    Malformed("a remark", json_frame(remark="hello")),
    Malformed("a remark that is an object", json_frame(remark={"a": 1})),
    Malformed("ext fields null", json_frame(extFields=None)),
    Malformed("ext fields an array", json_frame(extFields=[])),
    Malformed("ext fields text", json_frame(extFields="topic")),
    Malformed("ext fields empty text", json_frame(extFields="")),
    Malformed("an ext field null", json_frame(extFields={"topic": None})),
    Malformed("an ext field a number", json_frame(extFields={"topic": 1})),
    Malformed("an ext field an object", json_frame(extFields={"topic": {"a": [1]}})),
    Malformed("10,000 ext fields", json_frame(extFields={f"k{n}": "v" for n in range(10_000)})),
    Malformed("an ext field of 1 MiB", json_frame(extFields={"topic": "x" * (1 << 20)})),
    Malformed("nested 100 deep", framed(patched('"T"', _nested(100)))),
    Malformed("nested 1,000 deep", framed(patched('"T"', _nested(1_000)))),
    Malformed("nested 100,000 deep", framed(patched('"T"', _nested(100_000)))),
    Malformed(
        "another serialisation in the header", json_frame(serializeTypeCurrentRPC="ROCKETMQ")
    ),
    Malformed("no such serialisation in the header", json_frame(serializeTypeCurrentRPC="XML")),
)

BINARY = (
    Malformed("binary", binary()),
    Malformed("binary, code -1", binary(code=-1)),
    Malformed("binary, a language that is none", binary(language=99)),
    Malformed("binary, empty", framed(b"", serialisation=1)),
    Malformed("binary, cut off", framed(binary_header()[:12], serialisation=1)),
    Malformed("binary, one byte short", framed(binary_header()[:-1], serialisation=1)),
    Malformed(
        "binary, one byte short, a body", framed(binary_header()[:-1], b"\0\0", serialisation=1)
    ),
    Malformed("binary, a byte too many", framed(binary_header() + b"!", serialisation=1)),
    Malformed("binary, a remark", binary(remark=b"hello")),
    Malformed("binary, a remark of -1 bytes", binary(remark_length=-1)),
    Malformed("binary, a remark that reaches into the body", binary(b"x" * 9, remark_length=12)),
    Malformed("binary, a remark longer than the header", binary(b"x" * 99, remark_length=99)),
    Malformed("binary, a remark that is no UTF-8", binary(remark=b"\xff\xfe")),
    Malformed("binary, ext fields longer than the header", binary(b"x" * 99, fields_length=99)),
    Malformed(
        "binary, ext fields that reach into the body", binary(field(b"k", b"v"), fields_length=8)
    ),
    Malformed("binary, a field", binary(fields=field(b"k", b"v"))),
    Malformed("binary, a key of -1 bytes", binary(fields=field(b"k", b"v", key_length=-1))),
    Malformed("binary, a value of -1 bytes", binary(fields=field(b"k", b"v", value_length=-1))),
    Malformed("binary, a value longer than all", binary(fields=field(b"k", b"v", value_length=99))),
    Malformed(
        "binary, a value longer than the map", binary(fields=field(b"k", b"v", value_length=5))
    ),
    Malformed("binary, no key", binary(fields=field(b"", b"v"))),
    Malformed("binary, half a field", binary(fields=field(b"k", b"v")[:4])),
    Malformed("binary, 10,000 fields", binary(fields=field(b"k", b"v") * 10_000)),
    Malformed("binary, one-way", binary(flag=2)),
    Malformed("binary, all flags", binary(flag=-1)),
)

ALL = (*LENGTHS, *HEADERS, *VALUES, *BINARY)
