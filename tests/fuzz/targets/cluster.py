"""A whole broker and name server in memory, fed with sequences of requests gone wrong.

An input is a sequence of parts, each with its length in front. A part is one byte that says how it
is sent (see `Part`), a header in JSON up to a line feed, which no header has within, and a body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fakemq.broker.filters.sql_parser import compile_sql
from fakemq.clock.node_clock import NodeClock
from fakemq.config.model import NamesrvConfig
from fakemq.events import HandlerFailed, RequestHandled
from fakemq.namesrv.namesrv import NameServer
from fakemq.net.memory import MemoryLink
from fakemq.protocol.command import SerializeType
from fakemq.protocol.connection import Connection
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError
from fakemq.protocol.frame import encode_frame
from fakemq.protocol.header_json import decode_json_header
from tests.fuzz import golden
from tests.fuzz.target import Target, Violation, outcome
from tests.fuzz.targets.wire import received
from tests.support.broker_lab import BrokerLab
from tests.support.echo import Echo

NAMESRV_ADDR = "127.0.0.1:9876"
_MAY_BE_HELD_MS = 70_000
_PATIENT = frozenset({11, 361})
"""Pulls, which may be held for as long as they say."""

# -- inputs ---------------------------------------------------------------------------------------


@dataclass
class Part:
    """One frame, and how it is sent.

    ``how`` has, from its lowest bit: two bits for the connection (main port, another one there,
    VIP port, name server), two for what comes behind (nothing, nothing, 1 s, 31 s), one for closing
    the connection, one for binary headers, one for a frame that is sent in two pieces, one for a
    frame whose length is a byte short.
    """

    how: int
    header: bytes
    body: bytes

    @classmethod
    def of(cls, data: bytes) -> Part:
        header, _, body = data[1:].partition(b"\n")
        return cls(data[0] if data else 0, header, body)

    def frame(self) -> bytes:
        """The bytes to send."""
        if self.how & 0x20:
            command = outcome(lambda: decode_json_header(self.header), RemoteProtocolError)
            if command is not None:
                command.body, command.serialize_type = self.body, SerializeType.ROCKETMQ
                frame = outcome(lambda: encode_frame(command), LocalProtocolError)
                if frame is not None:
                    return frame
        size = 4 + len(self.header) + len(self.body) - (self.how >> 7)
        return size.to_bytes(4) + len(self.header).to_bytes(4) + self.header + self.body


def unpack(data: bytes) -> list[bytes]:
    """The parts of an input; whatever it is, there is a way to read it."""
    parts = []
    while data:
        end = 2 + int.from_bytes(data[:2])
        parts.append(data[2:end])
        data = data[end:]
    return parts


def pack(parts: list[bytes]) -> bytes:
    """The input of these parts."""
    return b"".join(len(part[:65535]).to_bytes(2) + part[:65535] for part in parts)


# -- playing --------------------------------------------------------------------------------------


class FuzzedCluster:
    """One broker registered at one name server, on a frozen clock, and four connections."""

    def __init__(self) -> None:
        self.world = BrokerLab()
        world = self.world
        clock = NodeClock(world.clock, "namesrv-0")
        self.namesrv = NameServer("namesrv-0", NamesrvConfig(), clock, world.journal)
        self.namesrv.start(NAMESRV_ADDR)
        world.network.listen(NAMESRV_ADDR, self.namesrv.accept)
        self.broker = world.broker(namesrv_addrs=(NAMESRV_ADDR,))
        self.broker.create_topic("Golden", 4)
        world.network.settle()
        self.echoes: dict[int, Echo] = {}
        self.sent: dict[int, bytes] = {}
        self._next_port = 40_000

    def send(self, part: Part) -> None:
        number = part.how & 3
        if number not in self.echoes or self.echoes[number].lost:
            self.check(number)
            self._connect(number)
        frame = part.frame()
        self.sent[number] += frame
        link = self.echoes[number].link
        if part.how & 0x40:
            link.write(frame[: len(frame) // 2])
            self.world.network.settle()
            frame = frame[len(frame) // 2 :]
        link.write(frame)
        self.world.network.settle()
        if part.how & 0x10:
            link.close()
            self.world.network.settle()
            self.check(number)
            del self.echoes[number]
        if part.how & 0x08:
            self.pass_ms(31_000 if part.how & 0x04 else 1_000)

    def _connect(self, number: int) -> None:
        node = (self.broker, self.broker, self.broker, self.namesrv)[number]
        accept = self.broker.accept_fast if number == 2 else node.accept
        here = f"127.0.0.1:{self._next_port}"
        self._next_port += 1
        link = MemoryLink(self.world.network, here, node.addr, "fuzz", node.name, outside=True)
        echo = self.echoes[number] = Echo(answers=False)
        self.sent[number] = b""
        link.open(echo.on, accept)

    def pass_ms(self, ms: int) -> None:
        self.world.clock.advance_ms(ms)
        self.world.outside_time_passes(ms)

    def check(self, number: int, *, at_end: bool = False) -> None:
        """Raise Violation if the answers are impossible or, ``at_end``, not complete."""
        echo = self.echoes.get(number)
        if echo is None:
            return
        requests, why = received([self.sent[number]])
        if why and not echo.lost and echo.link.peer is not None:  # type: ignore[attr-defined]
            raise Violation(f"the connection is open, although {why}")
        answers = [one for one in Connection().receive_data(echo.received) if one.is_response]
        unasked = {one.opaque for one in answers} - {one.opaque for one in requests}
        if unasked:
            raise Violation(f"answers to {unasked}, which were not asked")
        if not at_end or echo.lost or why:
            return
        wanted = [one for one in requests if not (one.is_response or one.is_oneway)]
        silent = {one.opaque for one in wanted} - {one.opaque for one in answers}
        unanswered = self.world.journal.find(RequestHandled, response_code=None)
        codes = _PATIENT.union(event.code for event in unanswered)  # as Java leaves them, too
        for one in wanted:
            if one.opaque in silent and one.code not in codes:
                raise Violation(f"no answer to request code {one.code}")


def play(data: bytes) -> None:
    """No handler fails, nothing escapes, what is asked is answered or costs the connection."""
    compile_sql.cache_clear()  # an input means the same whatever was played before
    lab = FuzzedCluster()
    for part in unpack(data):
        lab.send(Part.of(part))
    lab.pass_ms(_MAY_BE_HELD_MS)
    for number in lab.echoes:
        lab.check(number, at_end=True)
    failed = lab.world.journal.find(HandlerFailed)
    if failed:
        raise Violation(f"a handler failed: {failed[0].error}\n{failed[0].traceback}")


# -- seeds ----------------------------------------------------------------------------------------


def _seeds() -> Iterator[bytes]:
    """Every golden request by itself, and in the company it came in."""
    company: list[bytes] = []
    for name, way, frame in golden.frames():
        if way != ">" or frame[4] != SerializeType.JSON:
            continue
        where = 3 if "namesrv" in name else 0
        header = golden.header_bytes(frame)
        part = bytes([where]) + header + b"\n" + frame[8 + len(header) :]
        yield pack([part])
        yield pack([bytes([3]) + part[1:]])
        company.append(part)
        if len(company) == 8:
            yield pack(company)
            company = []


_WORDS = tuple(
    b"Golden TBW102 %RETRY%G RMQ_SYS_TRANS_HALF_TOPIC SCHEDULE_TOPIC_XXXX DefaultCluster broker-a "
    b"127.0.0.1:10911 null -1 2147483647 9223372036854775807 9223372036854775808 SQL92 \\u0001 "
    b'{} [] "" : ,'.split(b" ")
)

TARGETS = (
    Target(
        "cluster",
        play,
        ("fakemq.broker.*", "fakemq.namesrv.*", "fakemq.store.*", "fakemq.net.session"),
        _seeds,
        _WORDS,
        unpack=unpack,
        pack=pack,
        max_bytes=8192,
        runs=150,
    ),
)
