"""``python -m conformance.wire.noise``: a crowd of peers that talk nonsense to every port.

Each of its connections draws what it does next from a stream of its own, which the seed and its
number make: the same seed sends the same bytes, whatever becomes of the others. At the end one line
of JSON says what was done how often.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import struct
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from conformance.wire import malformed
from conformance.wire.raw import binary_frame, frame
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode

PAUSE_S = 1.0
"""How long a connection is left alone after each thing it does, at most."""
READ_S = 0.3
SLOW_S = 0.05

_FIELDS = {row.code: [w for w, _, _ in row.request_header.field_specs()] for row in table.rows()}
_CODES = sorted(RequestCode)
_VALUES = ("", "x", "0", "1", "-1", "Nowhere", "%RETRY%x", str(2**31 - 1), str(2**63), "\x01\x02")
_BODIES = (b"", b"{}", b"[]", b"null", b"7", b"\xff\xfe\x00", b'{"a":', b"[" * 500, bytes(4_000))
_GREEDY = frame(RequestCode.GET_ALL_TOPIC_CONFIG, {}) + frame(RequestCode.GET_BROKER_CONFIG, {})
_TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(200))


class Peer:
    """One connection at a time, and what it does next."""

    def __init__(self, seed: int, number: int, addr: str, did: Counter[str]) -> None:
        self.chance = random.Random(f"{seed} {number}")
        host, _, port = addr.rpartition(":")
        self._place = host, int(port)
        self._addr = addr
        self._did = did
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def run(self) -> None:
        """Talk until it is cancelled."""
        await asyncio.sleep(self.chance.random() * PAUSE_S)
        while True:
            try:
                self._reader, self._writer = await asyncio.open_connection(*self._place)
            except OSError:  # no socket listens here, or no descriptor is left
                self._did[f"refused at {self._addr}"] += 1
                await asyncio.sleep(PAUSE_S)
                continue
            try:
                await self._live()
            except OSError:
                self._did["closed by the node"] += 1
            finally:
                self._writer.close()

    async def _live(self) -> None:
        while True:
            act = self.chance.choice(_ACTS)
            self._did[act.__name__] += 1
            await act(self)
            await asyncio.sleep(self.chance.random() * PAUSE_S)
            over = act is Peer.half_close or self._reader.at_eof()
            if self.chance.random() < 0.3 or over:
                self._reset_sometimes()
                return

    def _reset_sometimes(self) -> None:
        if self.chance.random() < 0.5:
            sock = self._writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def _read(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(READ_S):
                await self._reader.read(1 << 16)

    # -- what it does -------------------------------------------------------------------------

    async def noise(self) -> None:
        await self._send(self.chance.randbytes(self.chance.randrange(1, 4_096)))

    async def malformed_frame(self) -> None:
        await self._send(self.chance.choice(malformed.ALL).data)
        await self._read()

    async def request(self) -> None:
        await self._send(self._any_request())
        await self._read()

    async def requests_cut_anywhere(self) -> None:
        data = b"".join(self._any_request() for _ in range(20))
        while data:
            size = self.chance.randrange(1, 300)
            await self._send(data[:size])
            data = data[size:]
        await self._read()

    async def changed_request(self) -> None:
        data = bytearray(self._any_request())
        for _ in range(self.chance.randrange(1, 5)):
            data[self.chance.randrange(len(data))] = self.chance.randrange(256)
        await self._send(bytes(data))
        await self._read()

    async def frame_without_end(self) -> None:
        await self._send(struct.pack(">I", self.chance.randrange(1 << 16, 15 << 20)))
        await self._send(bytes(self.chance.randrange(1 << 16)))

    async def slow_request(self) -> None:
        data = self._any_request()
        for at in range(min(len(data), 20)):
            await self._send(data[at : at + 1])
            await asyncio.sleep(SLOW_S)
        await self._send(data[20:])

    async def half_close(self) -> None:
        await self._send(self._any_request())
        self._writer.write_eof()
        await self._read()

    async def greed(self) -> None:
        """Ask for much, and read nothing of it."""
        self._writer.write(_GREEDY * self.chance.randrange(1, 50))

    async def other_protocol(self) -> None:
        await self._send(self.chance.choice((_TLS_HELLO, b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP")))

    async def idleness(self) -> None:
        await asyncio.sleep(3 * PAUSE_S)

    def _any_request(self) -> bytes:
        code = self.chance.choice(_CODES)
        fields = {
            name: self.chance.choice(_VALUES)
            for name in _FIELDS.get(code, ())
            if self.chance.random() < 0.9
        }
        write = self.chance.choice((frame, binary_frame))
        flag = self.chance.choice((0, 0, 0, 1, 2, 3))
        opaque = self.chance.randrange(1 << 31)
        return write(code, fields, self.chance.choice(_BODIES), opaque=opaque, flag=flag)


_ACTS: Sequence[Callable[[Peer], Awaitable[None]]] = (
    Peer.noise,
    Peer.malformed_frame,
    Peer.malformed_frame,
    Peer.request,
    Peer.request,
    Peer.requests_cut_anywhere,
    Peer.changed_request,
    Peer.frame_without_end,
    Peer.slow_request,
    Peer.half_close,
    Peer.greed,
    Peer.other_protocol,
    Peer.idleness,
)


async def crowd(seed: int, connections: int, seconds: float, addrs: Sequence[str]) -> Counter[str]:
    """Have ``connections`` peers talk to the addresses in turn; return what they did."""
    did: Counter[str] = Counter()
    peers = [Peer(seed, n, addrs[n % len(addrs)], did) for n in range(connections)]
    tasks = [asyncio.create_task(peer.run()) for peer in peers]
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    ended = [task.exception() for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:  # a mistake of this program
        if error is not None:
            raise error
    return did


def main(arguments: list[str] | None = None) -> int:
    """Run the crowd; 0 unless it failed itself."""
    parser = argparse.ArgumentParser(prog="python -m conformance.wire.noise", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("addrs", nargs="+", metavar="HOST:PORT")
    options = parser.parse_args(arguments)
    did = asyncio.run(crowd(options.seed, options.connections, options.seconds, options.addrs))
    print(json.dumps(did, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
