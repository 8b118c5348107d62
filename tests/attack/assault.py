"""Many connections at once that send prepared bytes, and read, or do not, what comes back."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

HOST = "127.0.0.1"
LAST_OPAQUE = 1_234_567_891
_LAST_ANSWER = b'"opaque":%d' % LAST_OPAQUE
"""In the answer to the last request of a connection, which has a header in JSON."""
_CONNECTIONS = 8
_READ_BYTES = 1 << 18
SILENCE_S = 30.0
"""How long a connection may wait for its last answer."""
_LINGER_S = 0.05
"""How long a connection that gets no last answer stays open after its last byte."""


class End(Enum):
    """How a connection ends, once all is written."""

    ANSWERED = "closed after the answer to the last request"
    CLOSED = "closed soon"
    RESET = "reset at once"
    DEAF = "reset soon, and nothing was ever read"


@dataclass
class Call:
    """One connection: what it sends to which port, in pieces of at most ``piece_bytes``."""

    port: int
    data: bytes
    requests: int
    end: End
    piece_bytes: int = 1 << 17


@dataclass
class _Open:
    call: Call
    sock: socket.socket
    at: int = 0
    tail: bytes = b""
    waits_since_s: float = field(default_factory=time.monotonic)


class Assault:
    """Makes calls that are given by ``next_call``; only their interleaving depends on time."""

    def __init__(self, next_call: Callable[[], Call]) -> None:
        self.findings: list[str] = []
        self.handled = 0
        """Requests of connections whose last request was answered."""
        self.calls = self.ended_early = 0
        self._next_call = next_call
        self._selector = selectors.DefaultSelector()
        self._open: set[int] = set()

    def run(self, is_over: Callable[[], bool]) -> None:
        """Make calls until ``is_over``, and wait until all calls have ended."""
        while not is_over() and not self.findings:
            while len(self._selector.get_map()) < _CONNECTIONS:
                self._connect(self._next_call())
            self._turn()
        while self._selector.get_map():
            self._turn()
        self._selector.close()

    def _connect(self, call: Call) -> None:
        sock = socket.create_connection((HOST, call.port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        self.calls += 1
        events = selectors.EVENT_WRITE | (selectors.EVENT_READ if call.end is not End.DEAF else 0)
        self._selector.register(sock, events, _Open(call, sock))

    def _turn(self) -> None:
        for key, events in self._selector.select(_LINGER_S):
            one: _Open = key.data
            try:
                if events & selectors.EVENT_READ and not self._read(one):
                    continue
                if events & selectors.EVENT_WRITE:
                    self._write(one)
            except OSError:
                self._ended_early(one)
        now_s = time.monotonic()
        for key in list(self._selector.get_map().values()):
            self._look(key.data, now_s)

    def _write(self, one: _Open) -> None:
        call = one.call
        one.at += one.sock.send(call.data[one.at : one.at + call.piece_bytes])
        one.waits_since_s = time.monotonic()
        if one.at == len(call.data):
            if call.end is End.RESET:
                self._close(one, reset=True)
            else:
                events = selectors.EVENT_READ if call.end is not End.DEAF else 0
                if events:
                    self._selector.modify(one.sock, events, one)
                else:
                    self._close(one, reset=True)

    def _read(self, one: _Open) -> bool:
        data = one.sock.recv(_READ_BYTES)
        if not data:
            self._ended_early(one)
            return False
        one.waits_since_s = time.monotonic()
        if one.call.end is End.ANSWERED:
            if _LAST_ANSWER in one.tail + data:
                self.handled += one.call.requests
                self._close(one)
                return False
            one.tail = data[-len(_LAST_ANSWER) :]
        return True

    def _look(self, one: _Open, now_s: float) -> None:
        waited_s = now_s - one.waits_since_s
        if one.at == len(one.call.data) and one.call.end is End.CLOSED and waited_s > _LINGER_S:
            self._close(one)
        elif waited_s > (_LINGER_S if one.call.end is End.DEAF else SILENCE_S):
            if one.call.end is not End.DEAF:
                self.findings.append(
                    f"port {one.call.port} neither reads nor answers for {SILENCE_S:.0f} s"
                )
            self._close(one, reset=True)

    def _ended_early(self, one: _Open) -> None:
        if one.call.end is End.ANSWERED:
            self.ended_early += 1
        self._close(one)

    def _close(self, one: _Open, *, reset: bool = False) -> None:
        self._selector.unregister(one.sock)
        if reset:
            one.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.sock.close()
