"""Every code with every field and body amiss: answered or not, but never a bug, and never the end.

What real brokers and name servers answer to much of this is recorded in conformance/recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest

from fakemq.broker.broker import Broker
from fakemq.clock.clock import Clock
from fakemq.config.model import BrokerConfig
from fakemq.events import HandlerFailed, KvConfigPrinted
from fakemq.journal.journal import Journal
from fakemq.namesrv.kv import PRINTED_LINES_MAX
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand, SerializeType
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.namesrv_lab import NamesrvLab, put_kv
from tests.support.peer import Peer

FIELDS = {
    row.code: [wire for wire, _, _ in row.request_header.field_specs()] for row in table.rows()
}
CONTENTS: list[tuple[str | None, bytes]] = [
    (None, b""),
    (None, b"{}"),
    ("", b"[]"),
    ("x", b"\xff\xfe nonsense"),
    ("orders", b"null"),
    ("%RETRY%x", b"7"),
    ("-1", b'"text"'),
    ("0", b'{"a":'),
    ("1", b"[[[[[[[[[["),
    ("2147483647", b'[{"topic":1}]'),
    ("-2147483648", bytes(64)),
    ("9223372036854775807", b"{1:2,{}:3}"),
    ("9" * 5_000, b'{"clientID":{},"consumerDataSet":7,"mqSet":{},"offsetTable":[]}'),
    ("true", b'{"clientID":"c","groupName":"g","consumerGroup":"g","mqSet":[{}],"topic":"t"}'),
    ("\ud800", b'{"clientID":"\\ud800","consumerDataSet":[{"groupName":"\\ud800"}]}'),
    ("a\x01b\x02c\x01\x02", b"\x00" * 20),
    ("\u0663", b"\xef\xbb\xbf{}"),  # a digit, to Java too
]


def sweep(
    clock: Clock, connect: Callable[[], Peer], serialize_type: SerializeType, flag: int
) -> None:
    """Send every code with all of `CONTENTS`; no connection may end, and nothing may fail."""
    for value, body in CONTENTS:
        peer = connect()
        for code in RequestCode:
            fields = {} if value is None else dict.fromkeys(FIELDS.get(code, []), value)
            peer.send_command(
                RemotingCommand(
                    code, ext_fields=fields, body=body, flag=flag, serialize_type=serialize_type
                )
            )
        assert not peer.closed, "whatever was wrong with them, they were requests"
        clock.advance("90s")
        failed = peer.journal.find(HandlerFailed)
        assert not failed, failed[0].traceback


FORMS = pytest.mark.parametrize(
    ("serialize_type", "flag"),
    [(SerializeType.JSON, 0), (SerializeType.ROCKETMQ, 0), (SerializeType.JSON, FLAG_ONEWAY)],
    ids=["json", "binary", "one-way"],
)


@FORMS
@pytest.mark.parametrize("port", ["main", "vip"])
def test_broker_survives_every_code(
    lab: BrokerLab, port: str, serialize_type: SerializeType, flag: int
) -> None:
    broker = lab.broker(BrokerConfig(enable_property_filter=True))
    addr = broker.addr if port == "main" else broker.vip_addr
    sweep(lab.clock, lambda: lab.peer(addr), serialize_type, flag)
    assert_works(lab.peer(broker.addr))


def assert_works(peer: Peer) -> None:
    answer = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header("works"), b"hello")
    assert (answer.code, answer.remark) == (0, None)


@FORMS
def test_name_server_survives_every_code(serialize_type: SerializeType, flag: int) -> None:
    namesrv = NamesrvLab()
    sweep(namesrv.clock, namesrv.peer, serialize_type, flag)
    answer = namesrv.peer().ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": "T"})
    assert answer.code == 17


def test_stored_names_are_limited_in_length(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    long = "x" * 200_000
    for code in RequestCode:
        peer.send(code, ext_fields=dict.fromkeys(FIELDS.get(code, []), long))
    assert longest_text(lab.journal) < 1_000


def test_name_servers_journal_limits_printed_texts() -> None:
    lab = NamesrvLab()
    server = lab.name_server()
    for number in range(2 * PRINTED_LINES_MAX):
        put_kv(lab.peer(server), "N", f"k{number}", "x" * 200_000)
    lab.clock.advance("2m")
    (printed,) = lab.journal.find(KvConfigPrinted)
    assert printed.lines[-1] == f"… and {PRINTED_LINES_MAX + 1} more"
    assert len(printed.lines) == PRINTED_LINES_MAX + 1
    assert longest_text(lab.journal) < 1_000


def longest_text(journal: Journal) -> int:
    """Of all that a journal keeps, whatever its form."""
    fields = [msgspec.structs.astuple(entry.event) for entry in journal]
    return max(len(text) for text in texts_in(fields))


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)
