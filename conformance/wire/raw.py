"""Remoting frames by hand, over a plain blocking socket.

Deliberately a second, tiny implementation: what it records from a real cluster must not have passed
through the codec that the recordings check.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Mapping

VERSION_4_9_7 = 407
_UPDATE_AND_CREATE_TOPIC = 17


def frame(
    code: int,
    fields: Mapping[str, str] | None = None,
    body: bytes = b"",
    *,
    opaque: int = 1,
    flag: int = 0,
    version: int = VERSION_4_9_7,
    language: str = "JAVA",
) -> bytes:
    """One frame with a JSON header, as a Java client sends it."""
    header: dict[str, object] = {"code": code}
    if fields is not None:
        header["extFields"] = dict(fields)
    header |= {
        "flag": flag,
        "language": language,
        "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON",
        "version": version,
    }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    return struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body


def binary_frame(
    code: int,
    fields: Mapping[str, str] | None = None,
    body: bytes = b"",
    *,
    opaque: int = 1,
    flag: int = 0,
    remark: str = "",
    version: int = VERSION_4_9_7,
) -> bytes:
    """Return the same command with RocketMQ's own header serialisation."""
    items = b"".join(
        struct.pack(">H", len(k)) + k + struct.pack(">I", len(v)) + v
        for k, v in ((key.encode(), value.encode()) for key, value in (fields or {}).items())
    )
    text = remark.encode()
    header = struct.pack(">HBHII", code, 0, version, opaque, flag)
    header += struct.pack(">I", len(text)) + text + struct.pack(">I", len(items)) + items
    mark = (1 << 24) | len(header)
    return struct.pack(">II", 4 + len(header) + len(body), mark) + header + body


def split(whole: bytes) -> tuple[int, bytes, bytes]:
    """A frame's serialisation (0 JSON, 1 binary), header bytes and body."""
    (mark,) = struct.unpack_from(">I", whole, 4)
    end = 8 + (mark & 0xFFFFFF)
    return mark >> 24, whole[8:end], whole[end:]


def json_header(whole: bytes) -> dict[str, object]:
    """Return the header of a JSON frame."""
    serialisation, header, _ = split(whole)
    if serialisation != 0:
        raise ValueError(f"header serialisation is {serialisation}, wanted 0 (JSON)")
    decoded: dict[str, object] = json.loads(header)
    return decoded


class RawConnection:
    """A connection that sends and receives whole frames; a context manager."""

    def __init__(self, address: str, timeout: float | None = 10.0) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout)
        self._buffer = bytearray()

    @classmethod
    def over(cls, connected: socket.socket) -> RawConnection:
        """Take over a socket that is connected already."""
        connection = cls.__new__(cls)
        connection._socket = connected
        connection._buffer = bytearray()
        return connection

    def close(self) -> None:
        """Close at once, also under another thread's ``receive``; twice does nothing."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def send(self, whole: bytes) -> None:
        self._socket.sendall(whole)

    def receive(self) -> bytes:
        """The next whole frame. Raises TimeoutError, ConnectionError when the peer closed."""
        while True:
            if len(self._buffer) >= 4:
                end = 4 + int.from_bytes(self._buffer[:4])
                if len(self._buffer) >= end:
                    whole = bytes(self._buffer[:end])
                    del self._buffer[:end]
                    return whole
            piece = self._socket.recv(65536)
            if not piece:
                raise ConnectionError("the peer has closed the connection")
            self._buffer += piece

    def call(self, whole: bytes) -> bytes:
        self.send(whole)
        return self.receive()


def call(address: str, whole: bytes) -> bytes:
    """One request on a connection of its own, and the answer."""
    with RawConnection(address) as connection:
        return connection.call(whole)


def create_topic(
    broker_addr: str,
    name: str,
    queues: int,
    perm: int = 6,
    *,
    attributes: str = "",
    write_queues: int | None = None,
) -> None:
    """Create or change a topic on one broker. Raises ValueError with what the broker says.

    ``attributes`` are for a broker of 5.5.0, such as ``+message.type=FIFO``; ``write_queues`` are
    as many as ``queues`` if nothing is said.
    """
    fields = {
        "topic": name,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues if write_queues is None else write_queues),
        "perm": str(perm),
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    if attributes:
        fields["attributes"] = attributes
    answer = json_header(call(broker_addr, frame(_UPDATE_AND_CREATE_TOPIC, fields)))
    if answer["code"] != 0:
        raise ValueError(f"{broker_addr} refuses topic {name}: {answer}")
