"""Links over TLS, at a node of the test's own."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from pathlib import Path

import pytest

from fakemq.net import pacing
from fakemq.net import tls as net_tls
from fakemq.net.tcp import TcpLink
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.serving.listener import Listener, Port
from fakemq.tls.contexts import ClientTls, KeyPair, server_context
from fakemq.tls.stream import TlsStream
from tests.support.certificates import Certificates
from tests.support.listener_lab import ListenerLab, listening, until
from tests.support.tcp import HOST, TIMEOUT_S


class TlsDoor:
    """Expects TLS on each connection."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def stream_for(self, first_byte: int) -> TlsStream:
        return TlsStream(self._context, server_side=True)


@pytest.fixture
def door(tmp_path: Path) -> TlsDoor:
    own = KeyPair(*Certificates(tmp_path).pair("server"))
    return TlsDoor(server_context(own, client_auth="none", trust_path=""))


class TlsPeer:
    """A client's end of a connection to ``port``, after its handshake."""

    def __init__(self, port: Port) -> None:
        self.sock = socket.create_connection((HOST, port.port), TIMEOUT_S)
        self.stream = ClientTls().stream(HOST)
        self.stream.start()
        while self.stream.handshaking:
            self.sock.sendall(self.stream.data_to_send())
            self.stream.receive(self.sock.recv(1 << 16))
        self.sock.sendall(self.stream.data_to_send())

    def end(self, data: bytes) -> bool:
        """Send the last bytes and the end in one piece; return whether the other end ends so."""
        self.stream.write(data)
        self.stream.close()
        self.sock.sendall(self.stream.data_to_send())
        with self.sock:
            while data := self.sock.recv(1 << 16):
                self.stream.receive(data)
        return self.stream.ended


def oneway(count: int) -> bytes:
    codec = Connection()
    requests = [RemotingCommand(7, flag=FLAG_ONEWAY, opaque=number) for number in range(count)]
    return b"".join(map(codec.encode, requests))


def test_requests_before_the_peers_end_are_all_handled(
    port: Port, door: TlsDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "_TURN_MS", 0)
    taken: list[int] = []

    async def use(lab: ListenerLab, listener: Listener) -> None:
        lab.dispatch = lambda session, command: taken.append(command.opaque)
        assert await asyncio.to_thread(lambda: TlsPeer(port).end(oneway(100)))
        await lab.gone.wait()

    listening(port, use, door=door)
    assert taken == list(range(100))


def test_closed_link_is_freed_without_the_garbage_collector(port: Port, door: TlsDoor) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        gc.disable()
        try:
            assert await asyncio.to_thread(lambda: TlsPeer(port).end(oneway(1)))
            await lab.gone.wait()
            await lab.link_is_freed()
        finally:
            gc.enable()

    listening(port, use, door=door)


def test_killed_node_waits_no_longer_to_refuse_a_handshake(
    port: Port, door: TlsDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(net_tls, "HANDSHAKE_TIMEOUT_S", 0.1)

    async def use(lab: ListenerLab, listener: Listener) -> None:
        loop = asyncio.get_running_loop()
        with socket.create_connection((HOST, port.port), TIMEOUT_S) as sock:
            sock.sendall(b"\x16")
            await until(lambda: len(lab.sessions) == 1)
            await until(lambda: lab.held.total_bytes > 0)  # of the handshake
            lab.sessions[0].pause()
            late_at = loop.time() + 0.15
            await until(lambda: loop.time() > late_at)
            assert not lab.sessions[0].closed
            lab.sessions[0].close("killed")
            await lab.link_is_freed()

    listening(port, use, door=door)


def test_handshake_that_ends_after_a_long_pause_is_not_refused(port: Port, door: TlsDoor) -> None:
    taken: list[int] = []

    async def use(lab: ListenerLab, listener: Listener) -> None:
        lab.dispatch = lambda session, command: taken.append(command.opaque)
        stream = ClientTls().stream(HOST)
        stream.start()
        with socket.create_connection((HOST, port.port), TIMEOUT_S) as sock:
            sock.sendall(stream.data_to_send())
            while stream.handshaking:  # the other end waits for this end's last bytes
                stream.receive(await asyncio.to_thread(sock.recv, 1 << 16))
            (session,) = lab.sessions
            session.pause()
            assert isinstance(session.link, TcpLink)
            assert session.link._tls is not None
            session.link._tls._time_out()
            stream.write(oneway(1))
            sock.sendall(stream.data_to_send())
            session.resume()
            await until(lambda: taken == [0])
            assert not session.closed

    listening(port, use, door=door)


def test_handshake_that_is_late_after_a_pause_is_refused_at_once(port: Port, door: TlsDoor) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        with socket.create_connection((HOST, port.port), TIMEOUT_S) as sock:
            sock.sendall(b"\x16")
            await until(lambda: lab.held.total_bytes > 0)
            (session,) = lab.sessions
            session.pause()
            assert isinstance(session.link, TcpLink)
            assert session.link._tls is not None
            session.link._tls._time_out()
            assert not session.closed
            session.resume()
            assert session.closed

    listening(port, use, door=door)
