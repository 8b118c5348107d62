"""A slave whose name server and master answer anything: it warns or waits, and never fails."""

from __future__ import annotations

import struct
from random import Random

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.events import HandlerFailed
from fakemq.net.link import Link
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import encode_record
from tests.support.broker_lab import BrokerLab
from tests.support.master_tables import FAST, GOOD, MAIN

NAMESRV, HA = "10.0.0.8:9876", "10.0.0.9:10912"
ADDRS = [
    *(
        MAIN,
        "",
        "a",
        ":",
        "10.0.0.9:",
        "a:-1",
        "a:99999",
        "a:" + "9" * 5000,
        "a:\u0663",
        "\ud800:1",
    ),
    *("a" * 300 + ":1", "[::1]:1", "a\0b:10911", "10.0.0.9:1"),
]
ODD_VALUES = [
    *("0", "-1", "1e400", "9" * 400, "9" * 5000, "2147483648", "9223372036854775808", "null", '""'),
    *('"x"', "[]", "{}", "true", '"\\ud800"', '"../x"', '"a@b@c"', '"%RETRY%"', "1.5", "NaN"),
    *('{"a":{"b":1}}', "[[1]]", '"' + "x" * 400 + '"', "[" * 200, '{"0":-1,"99":5}', '{"x":1}'),
]
ODD_BODIES = [b"", b"null", b"[]", b"\xff\xfe", b"{" * 500, b"7", b'""', bytes(99), b"{1:2,{}:3}"]
RECORD = encode_record(
    "orders", b"hello", "TAGS\x01a", queue_id=0, born_host=("1.1.1.1", 1), store_host=("1.1.1.1", 2)
)


def mutated(random: Random, body: bytes) -> bytes:
    """Change a good body: one of its values, one of its bytes, or all of it."""
    kind = random.randrange(4)
    if kind == 0:
        return random.choice(ODD_BODIES)
    if kind == 1:
        at = random.randrange(len(body))
        return body[:at] + bytes([random.randrange(256)]) + body[at + 1 :]
    for _ in range(random.randrange(1, 4)):
        colons = [at for at, byte in enumerate(body) if byte == ord(":")]
        if colons:
            start = random.choice(colons) + 1
            ends = [at for at in range(start, len(body)) if body[at : at + 1] in b",}]"]
            end = random.choice(ends[:3]) if ends else len(body)
            body = body[:start] + random.choice(ODD_VALUES).encode() + body[end:]
    return body


def frames(random: Random) -> bytes:
    """Return what a master might send on the HA port."""
    parts = []
    at = 0
    for _ in range(random.randrange(1, 5)):
        body = random.choice(
            [b"", RECORD, RECORD[:50], bytes(20), random.randbytes(40), RECORD * 3]
        )
        if random.random() < 0.3:
            changed = bytearray(body)
            for _ in range(min(3, len(changed))):
                changed[random.randrange(len(changed))] = random.randrange(256)
            body = bytes(changed)
        offset = random.choice([at, at, at, 0, -1, 2**62, 2**63 - 1, 2**40])
        size = random.choice([len(body)] * 6 + [-1, 2**31 - 1, 4 << 20, len(body) + 1])
        parts.append(struct.pack(">qi", offset, size) + body)
        at += len(body)
    return b"".join(parts)[: random.choice([None, None, 11, 13])]


class HAMaster:
    """The endpoint of a slave's link: it writes bytes at once, and ignores what it gets."""

    language = "ha"
    node = "master"
    unfinished_bytes = 0

    def __init__(self, link: Link, data: bytes) -> None:
        link.write(data)

    def data_received(self, data: bytes) -> None: ...
    def connection_lost(self, why: str = "") -> None: ...
    def resume_processing(self) -> None: ...
    def close_for_violation(self, why: str, kind: str) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


# Over a second: each of some seeds plays twelve steps of a slave's life.
@pytest.mark.slow
@pytest.mark.parametrize("first", range(80, 100, 10))
def test_slave_of_a_hostile_master_never_fails(first: int) -> None:
    for seed in range(first, first + 10):
        random = Random(seed)
        lab = BrokerLab()

        def registered(request: RemotingCommand, random: Random = random) -> RemotingCommand:
            fields = {"masterAddr": MAIN, "haServerAddr": HA}
            if random.random() < 0.3:
                fields[random.choice(list(fields))] = random.choice(ADDRS)
            if request.code == RequestCode.QUERY_DATA_VERSION:
                fields["changed"] = random.choice(["true", "false", "", "x"])
            table = b'{"table":{"orders":"broker-a:4"}}'
            return RemotingCommand(
                random.choice([0, 0, 0, 1, -1]), ext_fields=fields, body=mutated(random, table)
            )

        def answered(request: RemotingCommand, random: Random = random) -> RemotingCommand:
            return RemotingCommand(0, body=mutated(random, GOOD[request.code]))

        lab.name_server(NAMESRV).answer = registered
        for addr in (MAIN, FAST):
            lab.name_server(addr).answer = answered

        def accept(link: Link, random: Random = random) -> HAMaster:
            return HAMaster(link, frames(random))

        lab.network.listen(HA, accept)
        config = BrokerConfig(
            broker_role="SLAVE", broker_id=1, force_register=random.random() < 0.5
        )
        slave = lab.broker(config, namesrv_addrs=(NAMESRV,))
        for _ in range(12):
            lab.pass_time(random.choice([3_000, 10_000, 30_000]))
        slave.stop()
        lab.network.settle()
        failed = lab.journal.find(HandlerFailed)
        assert not failed, f"seed {seed}: {failed[0].traceback}"
