"""Our answers, checks and records beside those of a real broker that got the same requests.

``data/java_transactions.gz`` is a real broker's whole wire and log, with checks every 2 s, 1 s of
immunity and three checks; ``data/java_transactions_defaults.gz`` one at the checks' own pace. Both
are written by ``python -m conformance.capture.transactions``. What is compared is every byte but
times and the ports of clients.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from conformance.wire.raw import json_header, split
from fakemq.config.model import BrokerConfig
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import decode_record
from fakemq.protocol.topics import TRANS_OP_HALF_TOPIC
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Answer, Peer
from tests.support.transactions import pass_check

DATA = Path(__file__).parent / "data"
MOST_CHECKS = 3
"""How many looks it takes at most until a broker asks."""


class Replay:
    """Plays a recording's requests to a broker of our own, and compares what comes."""

    def __init__(self, name: str) -> None:
        text = gzip.decompress((DATA / name).read_bytes()).decode()
        self.lines = text.partition("\n\n")[2].splitlines()
        self.lab = BrokerLab(frozen=False)
        config = BrokerConfig(listen_port=int(self._one("port")))
        for key, _, value in (line[7:].partition("=") for line in self._all("config ")):
            setattr(config, re.sub("([A-Z])", r"_\1", key).lower(), int(value))
        self.broker = self.lab.broker(config)
        self.broker.create_topic("Transactions", 4)
        self.peers: dict[str, Peer] = {}
        self.answers: dict[int, Answer] = {}

    def _all(self, start: str) -> list[str]:
        return [line for line in self.lines if line.startswith(start)]

    def _one(self, word: str) -> str:
        (line,) = self._all(f"{word} ")
        return line.partition(" ")[2]

    def run(self) -> None:
        case = ""
        for line in self.lines:
            kind, *words = line.split(" ")
            if kind == "#":
                case = line
            elif kind == ">":
                self._send(words[0], int(words[1]), bytes.fromhex(words[2]))
            elif kind == "<":
                ours, javas = self._came(words[0], bytes.fromhex(words[1]))
                assert ours == javas, case
            elif kind == "check":
                pass_check(self.lab)
            elif kind == "wait":
                self.lab.pass_time(int(words[0]))
            elif kind == "x":
                self.peers.pop(words[0]).close()

    def _send(self, client: str, at_ms: int, whole: bytes) -> None:
        if client not in self.peers:
            self.peers[client] = self.lab.peer(self.broker.addr)
        header = json_header(whole)
        fields = header.get("extFields") or {}
        assert isinstance(fields, dict)
        if "bornTimestamp" in fields:
            age_ms = at_ms - int(fields["bornTimestamp"])
            fields["bornTimestamp"] = str(self.lab.clock.now_ms() - age_ms)
        command = RemotingCommand(int(str(header["code"])), ext_fields=fields, body=split(whole)[2])
        if int(str(header["flag"])) & 2:
            self.peers[client].session.invoke_oneway(command)
            self.lab.network.settle()
        else:
            opaque = int(str(header["opaque"]))
            self.answers[opaque] = self.peers[client].send_command(command)

    def _came(self, client: str, whole: bytes) -> tuple[object, object]:
        """What came here, and what came from Java."""
        header = json_header(whole)
        javas = (header["code"], header.get("extFields") or {}, _remark(header.get("remark")))
        body = split(whole)[2]
        if int(str(header["flag"])) & 1:
            found = self.answers.pop(int(str(header["opaque"]))).response
            assert found is not None
            return (found.code, found.ext_fields, _remark(found.remark), found.body), (*javas, body)
        requests = self.peers[client].requests
        for _ in range(MOST_CHECKS):
            if not requests:
                pass_check(self.lab)
        asked = requests.pop(0)
        assert asked.is_oneway
        ours = (asked.code, asked.ext_fields, _remark(asked.remark), blotted(asked.body))
        return ours, (*javas, blotted(body))

    def logs(self) -> tuple[list[bytes], list[bytes]]:
        """Our records and Java's."""
        java_log, ours, javas = bytes.fromhex(self._one("log")), [], []
        at = 0
        while at < len(java_log):
            javas.append(java_log[at : at + int.from_bytes(java_log[at : at + 4])])
            at += len(javas[-1])
        at = 0
        while at < self.broker.store.max_phy_offset:
            record = self.broker.store.select_one_message_by_offset(at)
            assert record is not None
            ours.append(bytes(record))
            at += len(record)
        return [blotted(one) for one in ours], [blotted(one) for one in javas]


def _remark(remark: object) -> str:
    """An exception by its class: its words are the JVM's."""
    return re.sub(r"^(java\.[\w.]+Exception): .*", r"\1", str(remark or ""), flags=re.DOTALL)


def blotted(record: bytes) -> bytes:
    """A record without its times and, unless the broker made it, without its sender's port."""
    found = bytearray(record)
    found[40:48] = found[56:64] = bytes(8)
    if decode_record(record).topic != TRANS_OP_HALF_TOPIC:
        found[52:56] = bytes(4)
    return bytes(found)


@pytest.mark.parametrize("name", ["java_transactions.gz", "java_transactions_defaults.gz"])
def test_answers_checks_and_records_equal_javas(name: str) -> None:
    replay = Replay(name)
    replay.run()
    ours, javas = replay.logs()
    for our, java in zip(ours, javas, strict=False):
        assert our == java, decode_record(java)
    assert len(ours) == len(javas)
