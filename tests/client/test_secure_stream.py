"""TLS over a stream of anyio, and over the socket of a blocking channel."""

from __future__ import annotations

import socket
import ssl
import threading
from collections import deque
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream

from fakemq.client.remoting import BlockingChannel
from fakemq.client.secure_stream import SecureStream
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.tls.contexts import ClientTls, KeyPair, server_context
from fakemq.tls.stream import TlsStream
from tests.support.certificates import Certificates
from tests.support.tcp import HOST

pytestmark = pytest.mark.anyio


class NarrowStream(ByteStream):
    """A stream to a server that, once it is ``blocked``, reads nothing until its bytes are read."""

    def __init__(self, server: TlsStream) -> None:
        self.server = server
        self.arriving = deque[bytes]()
        self.blocked = False
        self.sending, self.was_read = anyio.Event(), anyio.Event()

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        data = self.arriving.popleft()
        if self.blocked and not self.arriving:
            self.was_read.set()
        return data

    async def send(self, item: bytes) -> None:
        if self.blocked:
            self.sending.set()
            await self.was_read.wait()
        self.server.receive(item)
        self.arriving.append(self.server.data_to_send())

    async def send_eof(self) -> None: ...

    async def aclose(self) -> None: ...


class EagerServer(TlsStream):
    """A server that sends plain bytes together with the end of the handshake, as TLS 1.2 allows."""

    def __init__(self, folder: Path, early: bytes) -> None:
        own = KeyPair(*Certificates(folder).pair("server"))
        context = server_context(own, client_auth="none", trust_path="")
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        super().__init__(context, server_side=True)
        self.write(early)  # leaves when the handshake is over


async def test_plain_bytes_with_the_end_of_the_handshake_are_received(tmp_path: Path) -> None:
    stream = NarrowStream(EagerServer(tmp_path, b"early"))
    secure = SecureStream(stream, ClientTls().stream("127.0.0.1"), "127.0.0.1:1")
    await secure.shake_hands()
    stream.server.write(b"later")
    stream.arriving.append(stream.server.data_to_send())
    assert await secure.receive() == b"early"
    assert await secure.receive() == b"later"


def test_blocking_channel_takes_a_request_with_the_end_of_the_handshake(tmp_path: Path) -> None:
    request = RemotingCommand(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, flag=FLAG_ONEWAY, opaque=7)
    stream = EagerServer(tmp_path, Connection().encode(request))
    taken: list[int] = []

    def on_request(addr: str, command: RemotingCommand) -> None:
        taken.append(command.opaque)

    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            while stream.handshaking:
                stream.receive(peer.recv(1 << 16))
                peer.sendall(stream.data_to_send())
            peer.recv(1)

    with socket.create_server((HOST, 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        addr = f"{HOST}:{listener.getsockname()[1]}"
        channel = BlockingChannel(addr, on_request, tls=ClientTls())
        channel.close()
        server.join()
    assert taken == [7]


async def test_end_that_waits_to_send_reads_on(tmp_path: Path) -> None:
    own = KeyPair(*Certificates(tmp_path).pair("server"))
    context = server_context(own, client_auth="none", trust_path="")
    stream = NarrowStream(TlsStream(context, server_side=True))
    secure = SecureStream(stream, ClientTls().stream("127.0.0.1"), "127.0.0.1:1")
    await secure.shake_hands()
    stream.blocked = True
    for text in (b"one", b"two"):
        stream.server.write(text)
        stream.arriving.append(stream.server.data_to_send())
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(secure.send, b"request")
            await stream.sending.wait()
            assert await secure.receive() == b"one"
            assert await secure.receive() == b"two"
