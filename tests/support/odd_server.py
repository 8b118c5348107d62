"""A server whose answers are odd bytes."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand, SerializeType
from fakemq.protocol.connection import Connection

Answering = Callable[[RemotingCommand], bytes]


@contextmanager
def server(answering: Answering, *, closes: bool = True) -> Iterator[str]:
    """Answer the first request of each connection by these bytes, and close it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                commands: list[RemotingCommand] = []
                decoder = Connection()
                try:
                    while not commands:
                        data = connection.recv(65536)
                        if not data:
                            break
                        commands = decoder.receive_data(data)
                    if commands:
                        connection.sendall(answering(commands[0]))
                    while not closes and connection.recv(65536):
                        pass
                except OSError:
                    continue

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def framed(request: RemotingCommand, **changes: Any) -> bytes:
    command = RemotingCommand(0, flag=FLAG_RESPONSE, opaque=request.opaque)
    for name, value in changes.items():
        setattr(command, name, value)
    return Connection().encode(command)


ODD_BYTES: dict[str, Answering] = {
    "nothing": lambda request: b"",
    "garbage": lambda request: b"\xff" * 100,
    "http": lambda request: b"HTTP/1.1 200 OK\r\n\r\n",
    "zeros": lambda request: bytes(64),
    "negative length": lambda request: b"\x80\0\0\0" + bytes(60),
    "length beyond the frame": lambda request: b"\x7f\xff\xff\xff",
    "header beyond the frame": lambda request: b"\0\0\0\x10\0\xff\xff\xff" + bytes(12),
    "other opaque": lambda request: framed(request, opaque=request.opaque + 1),
    "its own request": lambda request: Connection().encode(request),
    "no JSON": lambda request: b"\0\0\0\x06\0\0\0\x02{[",
    "deep JSON": lambda request: (50_004).to_bytes(4) + (50_000).to_bytes(4) + b"[" * 50_000,
    "binary header": lambda request: framed(request, serialize_type=SerializeType.ROCKETMQ)[:-2],
    "deep body": lambda request: framed(request, body=b'{"topicList":' * 1_000),
    "zip bomb": lambda request: framed(request, body=zlib.compress(bytes(1 << 24))),
}
