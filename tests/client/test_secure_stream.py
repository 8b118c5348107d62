"""TLS over a stream of anyio."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream

from fakemq.client.secure_stream import SecureStream
from fakemq.tls.contexts import ClientTls, KeyPair, server_context
from fakemq.tls.stream import TlsStream
from tests.support.certificates import Certificates

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
