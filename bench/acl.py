"""What access control costs a send: processor time of the broker, with it and without it.

Only if named. A client of this process sends messages of 128 bytes, some at once, with frames made
before: signed ones to a broker with accounts, of 5.5.0 with users, the same without a key to one
without. What is measured is the processor time of the broker's process, on the fake and on Java in
turns.
"""

from __future__ import annotations

import json
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.family import used_s
from bench.measure import Figure, Plan, Round, compared
from bench.process import FREE_PORTS, Running
from bench.requests import BODY, send_fields
from conformance.targets.accounts import AUTH, CLIENT, RULES, SECRET
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import NEWEST, REFERENCE
from conformance.wire.raw import frame
from conformance.wire.signing import signed
from fakemq.protocol.codes import RequestCode

WARM, MEASURED, TIMES = 60_000, 20_000, 8
"""Sends before processor time is measured, and while it is; the cheapest of several times counts,
because a JVM compiles meanwhile."""
AT_ONCE = 50
TOPIC, QUEUES = "Bench", 4
ACCOUNTS = {"aclEnable": "true"}
"""With it a broker of the bench gets its file of accounts, too."""
CHECKED = {REFERENCE: ACCOUNTS, NEWEST: ACCOUNTS | AUTH | {"migrateAuthFromV1Enabled": "true"}}
"""Release → what has its brokers check. Those of 5.5.0 make users of the accounts."""


class Sender:
    """A connection to a broker, and sends that it repeats."""

    def __init__(self, addr: str, *, sign: bool) -> None:
        host, _, port = addr.rpartition(":")
        self._sock = socket.create_connection((host, int(port)), 60)
        self._read = self._sock.makefile("rb")
        self._pieces = [
            b"".join(one_send(number, sign=sign) for number in range(at, at + AT_ONCE))
            for at in range(0, 40 * AT_ONCE, AT_ONCE)
        ]

    def send(self, count: int) -> None:
        """Send messages; raise RuntimeError if one is refused."""
        for number in range(count // AT_ONCE):
            self._sock.sendall(self._pieces[number % len(self._pieces)])
            for _ in range(AT_ONCE):
                size_bytes, header_bytes = struct.unpack(">II", self._read.read(8))
                header = self._read.read(size_bytes - 4)[: header_bytes & 0xFFFFFF]
                if b'"code":0' not in header:
                    raise RuntimeError(f"refused: {header!r}")


def one_send(number: int, *, sign: bool) -> bytes:
    """Return the frame of a send, with the signature of an account or without."""
    # What a send creates has four queues.
    fields: dict[str, object] = {**send_fields(number), "e": str(number % QUEUES)}
    if sign:
        fields = signed(fields, BODY, account=CLIENT, secret=SECRET)
    texts = {name: str(value) for name, value in fields.items()}
    return frame(RequestCode.SEND_MESSAGE_V2, texts, BODY, opaque=number)


def cost_us(addr: str, pid: int, *, sign: bool) -> float:
    """Return the processor time of a send, in microseconds."""
    sender = Sender(addr, sign=sign)
    sender.send(WARM)
    costs_s = []
    for _ in range(TIMES):
        begin_s = used_s(pid)
        sender.send(MEASURED)
        costs_s.append(used_s(pid) - begin_s)
    return min(costs_s) / MEASURED * 1e6


def fake_us(release: str, *, sign: bool) -> float:
    """Return what a send costs on the fake."""
    with ExitStack() as stack:
        more: list[str] = []
        if sign:
            rules = Path(stack.enter_context(tempfile.TemporaryDirectory()), "plain_acl.yml")
            rules.write_text(json.dumps(RULES))
            more = ["--acl", str(rules)]
        topic = ("--topic", f"{TOPIC}:{QUEUES}")
        node = Running(*FREE_PORTS, "--reference", release, *topic, *more)
        stack.callback(node.close)
        return cost_us(node.broker_addr, node.process.pid, sign=sign)


def java_us(release: str, *, sign: bool) -> float:
    """Return what a send costs on a real broker."""
    config = CHECKED[release] if sign else {}
    jvm = ("-Xms512m", "-Xmx512m")
    with JavaCluster(config=config, jvm=jvm, version=release) as cluster:
        (broker,) = cluster.brokers
        # The first send creates the topic: to make it by hand would need an admin's key.
        return cost_us(broker.addr, broker.pid, sign=sign)


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield what a send costs without and with the check, and what the check costs."""
    rounds: dict[str, list[Round]] = {}
    for _ in plan.turns():
        for release in CHECKED:
            of = "" if release == REFERENCE else f", {release}"
            fake = {sign: fake_us(release, sign=sign) for sign in (False, True)}
            java = fake
            if plan.java:
                java = {sign: java_us(release, sign=sign) for sign in (False, True)}
            for name, sign in (("a send without access control", False), ("a signed send", True)):
                rounds.setdefault(name + of, []).append(Round(java=java[sign], fake=fake[sign]))
            checks = Round(java=java[True] - java[False], fake=fake[True] - fake[False])
            rounds.setdefault(f"of it the check{of}", []).append(checks)
    for name, found in rounds.items():
        yield compared("acl", name, found, "µs", note="processor time of the broker")
