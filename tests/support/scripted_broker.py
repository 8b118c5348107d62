"""A broker on a real port whose every step is written in the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.connection import Connection


class BrokerEnd:
    """The broker's end of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._connection = Connection()
        self._ready: list[RemotingCommand] = []

    def receive(self) -> RemotingCommand:
        while not self._ready:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the client has closed")
            self._ready += self._connection.receive_data(data)
        return self._ready.pop(0)

    def send(self, *commands: RemotingCommand) -> None:
        self.socket.sendall(b"".join(self._connection.encode(one) for one in commands))


def respond(request: RemotingCommand, code: int = 0) -> RemotingCommand:
    return RemotingCommand(code, flag=FLAG_RESPONSE, opaque=request.opaque)


class ScriptedBroker:
    """Plays one script per connection, in turn; a failing script fails the test."""

    def __init__(self, *scripts: Callable[[BrokerEnd], None]) -> None:
        self._scripts = scripts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(5)
        self.addr = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            for script in self._scripts:
                connection, _ = self._listener.accept()
                with connection:
                    connection.settimeout(5)
                    script(BrokerEnd(connection))
        except BaseException as error:
            self._failure = error

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread.join()
        self._listener.close()
        if self._failure is not None and error is None:
            raise self._failure


def refused_addr() -> str:
    """An address without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"
