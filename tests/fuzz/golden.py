"""Seeds that real RocketMQ wrote: golden frames, records and files of the protocol's tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.frame import decode_frame

DATA = Path(__file__).parents[1] / "protocol" / "data"
_SEED_MAX_BYTES = 2048


@lru_cache(maxsize=1)
def frames() -> tuple[tuple[str, str, bytes], ...]:
    """(name, way, frame) of every golden frame that is not too long to mutate."""
    return tuple(_read_frames())


def _read_frames() -> Iterator[tuple[str, str, bytes]]:
    for path in sorted((DATA / "golden").glob("*.txt")):
        if path.name == "README.txt":
            continue
        for line in path.read_text().splitlines():
            name, way, text = line.split(" ")
            if text != "-" and len(text) <= 2 * _SEED_MAX_BYTES:
                yield name, way, bytes.fromhex(text)


def commands() -> Iterator[tuple[str, str, RemotingCommand]]:
    """The same, decoded."""
    for name, way, frame in frames():
        yield name, way, decode_frame(memoryview(frame))


def header_bytes(frame: bytes) -> bytes:
    """The header in a frame."""
    return frame[8 : 8 + int.from_bytes(frame[5:8])]


def bodies() -> Iterator[bytes]:
    """The bodies of all golden frames."""
    for _, _, command in commands():
        if command.body:
            yield command.body


def commit_log() -> bytes:
    """A commit log that a Java broker wrote."""
    return (DATA / "golden" / "store" / "commitlog" / ("0" * 20)).read_bytes()


def json_cases() -> Iterator[bytes]:
    """Texts that fastjson was asked about, and the files a Java broker keeps in config/."""
    for line in (DATA / "fastjson_cases.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith('["read"'):
            yield json.loads(line)[1].encode("utf-8", "surrogatepass")
    for path in sorted((DATA / "golden" / "store" / "config").glob("*.json")):
        yield path.read_bytes()


def compressed_bodies() -> Iterator[tuple[int, bytes]]:
    """sysFlag and body of messages that Java producers compressed."""
    for line in (DATA / "java_compressed.txt").read_text().splitlines():
        if not line.startswith("#") and len(line) <= 2 * _SEED_MAX_BYTES:
            _, sys_flag, body = line.split()
            yield int(sys_flag), bytes.fromhex(body)
