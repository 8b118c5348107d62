"""Hostile HTTP/2 at the gRPC port, beside a client that must not notice it.

Each attack is one connection, or some at once: floods of frames, streams without an end, fields
that grow, windows of nothing, lengths that lie, bombs, halves of TLS. The server must answer every
call of the honest client, keep its memory below `MEMORY_MAX_MIB`, and say little about it.
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random

from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.framing import framed
from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.hpack import encode
from fakemq.protocol.limits import HELD_MAX_BYTES
from tests.attack.honest_grpc import TOPIC, Honest
from tests.attack.progress import with_progress
from tests.support.imports import ROOT

ATTACKERS = 6
HOST = "127.0.0.1"
LINGER_S = 0.05
"""How long an attacker stays after its last byte."""
MEMORY_MAX_MIB = 200 + HELD_MAX_BYTES // (1 << 20)
"""Of the server: what it may hold for all peers, and 200 MiB for itself, its store and one message
of 8 MiB whose parts are empty."""
LINES_MAX = 400
"""Of warnings: each kind has its own limit a minute."""

SETTINGS = f.frame(f.SETTINGS, 0, 0)
OPEN = f.PREFACE + SETTINGS
PATH = "/apache.rocketmq.v2.MessagingService/"


def block(rpc: str = "QueryRoute", **more: str) -> bytes:
    """Return the encoded fields of a call."""
    fields = [(":method", "POST"), (":scheme", "http"), (":path", PATH + rpc), (":authority", "x")]
    fields += [("content-type", "application/grpc"), ("te", "trailers"), ("x-mq-client-id", "evil")]
    return encode(fields + [(name.replace("_", "-"), value) for name, value in more.items()])


def begin(stream_id: int, flags: int = f.END_HEADERS, fields: bytes = b"") -> bytes:
    return f.frame(f.HEADERS, flags, stream_id, fields or block())


def whole(stream_id: int, message: bytes, fields: bytes = b"") -> bytes:
    """Return a whole call."""
    return begin(stream_id, fields=fields) + f.frame(f.DATA, f.END_STREAM, stream_id, message)


ROUTE = framed(m.QueryRouteRequest(topic=m.Resource(name=TOPIC)).SerializeToString())
COMMAND = framed(m.TelemetryCommand(settings=m.Settings()).SerializeToString())


def number(value: int) -> bytes:
    return struct.pack(">I", value)


def odd(count: int) -> range:
    return range(1, 2 * count, 2)


def cut_data(stream_id: int, data: bytes) -> bytes:
    pieces = [data[at : at + 16_384] for at in range(0, len(data), 16_384)]
    return b"".join(f.frame(f.DATA, 0, stream_id, piece) for piece in pieces)


def lying(random: Random) -> bytes:
    size_bytes = random.choice([5, 1 << 20, 100 << 20, (1 << 31) - 1, (1 << 32) - 1])
    return OPEN + begin(1) + cut_data(1, b"\0" + number(size_bytes) + bytes(900_000))


def bomb(random: Random) -> bytes:
    data = gzip.compress(bytes(random.choice([1 << 20, 60 << 20, 100 << 20])), 1)
    fields = block("SendMessage", grpc_encoding="gzip")
    return OPEN + begin(1, fields=fields) + cut_data(1, gzipped(data))


def hpack_bomb(random: Random) -> bytes:
    big = b"\x40\x01a\x7f\xa1\x1e" + b"y" * 4000 + b"\xbe" * random.choice([1, 2, 12_000])
    return OPEN + b"".join(begin(one, f.END_HEADERS | 1, block() + big) for one in odd(50))


def mutated(random: Random) -> bytes:
    data = bytearray(OPEN + b"".join(whole(one, ROUTE) for one in odd(20)))
    for _ in range(random.randrange(1, 9)):
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data)


def waiting(random: Random) -> bytes:
    """Answers of many calls wait for windows, which grow by nothing worth their number."""
    calls = b"".join(whole(one, ROUTE) for one in odd(900))
    first = f.frame(4, 0, 0, f.SETTING.pack(4, random.choice([0, 1 << 20])))
    small = f.frame(f.WINDOW_UPDATE, 0, 0, number(1)) * 9_000
    many = f.frame(4, 0, 0, b"".join(f.SETTING.pack(4, value % 2) for value in range(2_700))) * 99
    return f.PREFACE + first + calls + random.choice([small, many])


def empty_parts(random: Random) -> bytes:
    """Two bytes of a request that are 80 once they are read."""
    size_bytes = random.choice([4 << 20, 8 << 20, 60 << 20])
    rpc = random.choice(["AckMessage", "SendMessage", "Telemetry"])
    part = b"\x0a\0" if rpc == "SendMessage" else b"\x1a\0"
    message = gzipped(gzip.compress(part * (size_bytes // 2), 1))
    head = begin(1, fields=block(rpc, grpc_encoding="gzip"))
    return OPEN + head + cut_data(1, message) + f.frame(f.DATA, f.END_STREAM, 1)


def gzipped(data: bytes) -> bytes:
    return b"\1" + number(len(data)) + data


def repeated(random: Random) -> bytes:
    """Words that an answer repeats for each queue."""
    endpoints = m.Endpoints(
        scheme=m.AddressScheme.IPv4, addresses=[m.Address(host="a" * 50)] * 9_000
    )
    request = m.QueryRouteRequest(topic=m.Resource(name=TOPIC), endpoints=endpoints)
    message = framed(request.SerializeToString())
    return OPEN + b"".join(
        begin(one) + cut_data(one, message) + f.frame(f.DATA, f.END_STREAM, one) for one in odd(9)
    )


def gathered_topics(random: Random) -> bytes:
    """A client of many topics, and all that walks over them: heartbeats, and its end."""
    topics = [m.Resource(name=f"gathered-{one}") for one in range(random.choice([60, 9_900]))]
    settings = m.Settings(client_type=m.ClientType.PRODUCER, publishing=m.Publishing(topics=topics))
    command = framed(m.TelemetryCommand(settings=settings).SerializeToString())
    said = begin(1, fields=block("Telemetry")) + cut_data(1, command)
    beat = framed(m.HeartbeatRequest().SerializeToString())
    end = framed(m.NotifyClientTerminationRequest().SerializeToString())
    rest = [(3, "Heartbeat", beat), (5, "NotifyClientTermination", end), (7, "Heartbeat", beat)]
    return OPEN + said + b"".join(whole(one, data, block(rpc)) for one, rpc, data in rest)


def gathered_receives(random: Random) -> bytes:
    """Receives of a group of its own that are held, or whose answers are not read."""
    group = m.Resource(name="Gathered")
    everything = m.FilterExpression(type=m.FilterType.TAG, expression="*")
    entry = m.SubscriptionEntry(topic=m.Resource(name=TOPIC), expression=everything)
    settings = m.Settings(
        client_type=m.ClientType.PUSH_CONSUMER,
        subscription=m.Subscription(group=group, subscriptions=[entry]),
    )
    command = framed(m.TelemetryCommand(settings=settings).SerializeToString())
    receive = m.ReceiveMessageRequest(
        group=group,
        message_queue=m.MessageQueue(topic=entry.topic, id=-1),
        filter_expression=everything,
        batch_size=32,
        auto_renew=True,
        long_polling_timeout=m.Duration(seconds=20),
    )
    data = framed(receive.SerializeToString())
    fields = block("ReceiveMessage", grpc_timeout="30S")
    said = begin(1, fields=block("Telemetry")) + f.frame(f.DATA, 0, 1, command)
    window = f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, 0))
    receives = b"".join(whole(1 + 2 * one, data, fields) for one in range(1, 900))
    open_ = f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, 1 << 20))
    return f.PREFACE + window + said + receives + random.choice([b"", open_])


Attack = Callable[[Random], bytes]
ATTACKS: dict[str, Attack] = {
    "streams": lambda r: OPEN + b"".join(begin(one) for one in odd(3_000)),
    "calls": lambda r: OPEN + b"".join(whole(one, ROUTE) for one in odd(r.choice([50, 1_000]))),
    "unknown paths": lambda r: OPEN + b"".join(begin(one, 5, block("Nix")) for one in odd(900)),
    "settings": lambda r: OPEN + f.frame(4, 0, 0, f.SETTING.pack(4, r.choice([0, 99]))) * 20_000,
    "pings": lambda r: OPEN + f.frame(f.PING, 0, 0, bytes(8)) * 20_000,
    "priorities": lambda r: OPEN + f.frame(f.PRIORITY, 0, 3, bytes(5)) * 20_000,
    "unknown frames": lambda r: OPEN + f.frame(77, 255, 0, bytes(99)) * 20_000,
    "rapid reset": lambda r: (
        OPEN
        + b"".join(
            whole(one, ROUTE) + f.frame(f.RST_STREAM, 0, one, number(8)) for one in odd(3_000)
        )
    ),
    "held and reset": lambda r: (
        OPEN + b"".join(begin(one) + f.frame(f.RST_STREAM, 0, one, number(8)) for one in odd(3_000))
    ),
    "continuations": lambda r: (
        OPEN + begin(1, 0) + f.frame(f.CONTINUATION, 0, 1, bytes(r.choice([0, 1, 16_000]))) * 20_000
    ),
    "huge fields": lambda r: (
        OPEN
        + b"".join(
            begin(one, 5, block(x="y" * r.choice([8_000, 9_000, 12_000]))) for one in odd(20)
        )
    ),
    "bomb of fields": hpack_bomb,
    "no window": lambda r: (
        OPEN
        + f.frame(4, 0, 0, f.SETTING.pack(4, 0))
        + b"".join(whole(one, ROUTE) for one in odd(900))
    ),
    "window overflow": lambda r: (
        OPEN + begin(1) + f.frame(f.WINDOW_UPDATE, 0, r.choice([0, 1]), number((1 << 31) - 1)) * 2
    ),
    "windows": lambda r: OPEN + f.frame(f.WINDOW_UPDATE, 0, 0, number(1)) * 20_000,
    "garbage": lambda r: OPEN + r.randbytes(50_000),
    "garbage at once": lambda r: r.randbytes(5_000),
    "HTTP/1": lambda r: b"POST / HTTP/1.1\r\nHost: x\r\n\r\n" * 99,
    "half of TLS": lambda r: b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + r.randbytes(200),
    "slow preface": lambda r: f.PREFACE[: r.randrange(24)],
    "balancer": lambda r: b"PROXY TCP4 " + r.randbytes(r.choice([5, 200])),
    "lying lengths": lying,
    "bomb of gzip": bomb,
    "changed bytes": mutated,
    "telemetry": lambda r: (
        OPEN + begin(1, fields=block("Telemetry")) + f.frame(f.DATA, 0, 1, COMMAND) * 5_000
    ),
    "windows of many calls": waiting,
    "empty parts": empty_parts,
    "repeated words": repeated,
    "gathered topics": gathered_topics,
    "gathered receives": gathered_receives,
    "sizes of the table": lambda r: (
        OPEN + b"".join(begin(one, 5, b"\x20" * 16_000) for one in odd(99))
    ),
    "empty data": lambda r: OPEN + begin(1) + f.frame(f.DATA, 0, 1) * 20_000,
}


def attack(port: int, data: bytes, random: Random) -> None:
    """Send the bytes of one attack, read what comes or nothing, and close or reset."""
    reads, piece_bytes = random.random() < 0.5, random.choice([1, 100, 1 << 16, 1 << 22])
    with suppress(OSError), socket.create_connection((HOST, port), 5) as sock:
        sock.settimeout(2)
        if random.random() < 0.3:
            reset = struct.pack("ii", 1, 0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        head, rest = data[:200], data[200:]
        for at in range(0, len(head), piece_bytes):
            sock.sendall(head[at : at + piece_bytes])
        until_s = time.monotonic() + 1
        for at in range(0, len(rest), 1 << 16):
            sock.sendall(rest[at : at + (1 << 16)])
            if time.monotonic() > until_s:
                break
        sock.settimeout(LINGER_S)
        while reads and time.monotonic() < until_s and sock.recv(1 << 16):
            pass
        time.sleep(0 if reads else LINGER_S)


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    """Attack ``count`` times; attack ``i`` is made from ``seed + i`` alone."""
    ready_file, log = folder / "ready.json", folder / "log"
    command = [sys.executable, "-m", "fakemq", "--namesrv-port", "0", "--broker-port", "0"]
    command += ["--grpc-port", "0", "--topic", f"{TOPIC}:2", "--ready-file", str(ready_file)]
    with (
        log.open("w") as lines,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=lines) as server,
    ):
        try:
            assert server.stdout is not None
            if not server.stdout.readline():
                yield f"the server did not start: {log.read_text()[-2000:]}"
                return
            addr = json.loads(ready_file.read_text())["grpc"]
            yield from _attacked(seed, count, addr)
            yield from _state(server, log)
        finally:
            server.terminate()


def _attacked(seed: int, count: int, addr: str) -> Iterator[str]:
    port = int(addr.rpartition(":")[2])
    names = list(ATTACKS)

    def one(number: int) -> None:
        random = Random(f"streams {seed + number}")
        attack(port, ATTACKS[names[(seed + number) % len(names)]](random), random)

    with Honest(addr) as honest, ThreadPoolExecutor(ATTACKERS) as attackers:
        for number in with_progress(range(0, count, ATTACKERS), count, "attacks"):
            list(attackers.map(one, range(number, min(count, number + ATTACKERS))))
            if honest.findings:
                break
    yield from honest.findings


def _state(server: subprocess.Popen[bytes], log: Path) -> Iterator[str]:
    if server.poll() is not None:
        yield f"the server ended with {server.returncode}: {log.read_text()[-2000:]}"
        return
    status = Path(f"/proc/{server.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    if (peak_mib := int(found[1]) >> 10) > MEMORY_MAX_MIB:
        yield f"the server took {peak_mib} MiB; {MEMORY_MAX_MIB} are the most"
    text = log.read_text()
    if "Traceback" in text or "HandlerFailed" in text:
        yield f"a failure of the server: {text[text.find('Traceback') :][:2000]}"
    if (said := text.count("\n")) > LINES_MAX:
        yield f"the server wrote {said} lines; {LINES_MAX} are the most"
