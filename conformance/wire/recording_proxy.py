"""A TCP proxy that keeps every remoting frame that passes, in both directions."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable
from typing import NamedTuple

from conformance.wire.raw import RawConnection, split

_RESPONSE_BIT = 1
_ONEWAY_BIT = 2


class Recorded(NamedTuple):
    """One frame as it came in; ``to_server`` says which way it went."""

    connection: int
    to_server: bool
    frame: bytes


class Summary(NamedTuple):
    """What a frame's header says of it, in either serialisation."""

    code: int
    opaque: int
    is_response: bool
    is_oneway: bool


def summary(frame: bytes) -> Summary:
    """Read the few header fields that tell frames apart."""
    serialisation, header, _ = split(frame)
    if serialisation == 0:
        fields = json.loads(header)
        code, opaque, flag = fields["code"], fields["opaque"], fields["flag"]
    else:
        code, _, _, opaque, flag = struct.unpack_from(">HBHII", header)
    return Summary(code, opaque, bool(flag & _RESPONSE_BIT), bool(flag & _ONEWAY_BIT))


class RecordingProxy:
    """Listens on 127.0.0.1 for one target; a context manager.

    ``rewrite`` replaces text in frames to the client after they are recorded, by text of equal
    length: so a client is led from a route's real broker addresses to other proxies.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.addr = f"127.0.0.1:{self._listener.getsockname()[1]:05d}"
        self.rewrite: dict[bytes, bytes] = {}
        self.recorded: list[Recorded] = []
        self._lock = threading.Lock()
        self._ends: list[RawConnection] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> RecordingProxy:
        self._spawn(self._accept)
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()  # no new connection after this
        for end in self._ends:
            end.close()
        for thread in self._threads:
            thread.join()

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name="recording-proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client_socket, _ = self._listener.accept()
                client = RawConnection.over(client_socket)
                server = RawConnection(self._target, timeout=None)
                self._ends += [client, server]
                number = len(self._ends) // 2
                self._spawn(self._pump, number, True, client, server)
                self._spawn(self._pump, number, False, server, client)

    def _pump(
        self, number: int, to_server: bool, source: RawConnection, sink: RawConnection
    ) -> None:
        with contextlib.suppress(OSError):
            while True:
                frame = source.receive()
                with self._lock:
                    self.recorded.append(Recorded(number, to_server, frame))
                if not to_server:
                    for old, new in self.rewrite.items():
                        frame = frame.replace(old, new)
                sink.send(frame)
        source.close()
        sink.close()
