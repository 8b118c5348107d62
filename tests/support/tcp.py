"""A client of the test's own over TCP: real bytes, blocking, one request after another."""

from __future__ import annotations

import errno
import socket
from typing import Self

from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.protocol.header import Header

HOST = "127.0.0.1"
TIMEOUT_S = 10.0


def refuses(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex((HOST, port)) == errno.ECONNREFUSED


class TcpPeer:
    """A connection to ``host:port``; what the other end asks ends up in ``requests``."""

    def __init__(self, addr: str) -> None:
        host, _, port = addr.rpartition(":")
        self.sock = socket.create_connection((host, int(port)), TIMEOUT_S)
        self.requests: list[RemotingCommand] = []
        self._connection = Connection()
        self._answers: dict[int, RemotingCommand] = {}

    def send(
        self, code: int, header: Header | None = None, body: bytes = b"", *, oneway: bool = False
    ) -> int:
        """Send a request. Return its opaque, for `receive`."""
        fields = {} if header is None else header.encode()
        command = RemotingCommand(code, ext_fields=fields, body=body)
        command.opaque = self._connection.next_opaque()
        if oneway:
            command.flag |= FLAG_ONEWAY
        self.sock.sendall(self._connection.encode(command))
        return command.opaque

    def receive(self, opaque: int) -> RemotingCommand:
        """Wait for the answer to a request; ConnectionError if the other end closes first."""
        while opaque not in self._answers:
            data = self.sock.recv(1 << 16)
            if not data:
                raise ConnectionError("closed by the other end")
            for command in self._connection.receive_data(data):
                if command.is_response:
                    self._answers[command.opaque] = command
                else:
                    self.requests.append(command)
        return self._answers.pop(opaque)

    def ask(self, code: int, header: Header | None = None, body: bytes = b"") -> RemotingCommand:
        """Send a request and wait for its answer."""
        return self.receive(self.send(code, header, body))

    def at_end(self) -> bool:
        """Whether the other end closes the connection; waits for it."""
        try:
            return self.sock.recv(1 << 16) == b""
        except ConnectionResetError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()
