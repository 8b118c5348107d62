"""Our delays and retries beside those of a real broker that was asked the same.

``data/java_delays.txt`` says of itself what it is. Physical offsets are compared as they are, so
every record before them has Java's size, order and place.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.protocol.message import MessageExt, decode_records
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer

LEVELS = "1s 2s 3s"


class Java:
    """The recording."""

    def __init__(self, text: str) -> None:
        self.steps: list[tuple[str, str]] = []
        self.due: dict[int, list[int]] = {}
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word == "port":
                self.port = int(rest)
            elif word == "log":
                self.records = decode_records(bytes.fromhex(rest))
            elif word == "due":
                level, delay_ms = map(int, rest.split())
                self.due.setdefault(level, []).append(delay_ms)
            elif word != "#":
                self.steps.append((word, rest))


@pytest.fixture(scope="module")
def recorded() -> Java:
    return Java((Path(__file__).parent / "data" / "java_delays.txt").read_text())


@pytest.fixture
def broker(lab: BrokerLab, recorded: Java) -> Broker:
    broker = lab.broker(BrokerConfig(listen_port=recorded.port, message_delay_level=LEVELS))
    broker.create_topic("Delays", 4)
    return broker


def command(frame: str) -> RemotingCommand:
    (found,) = Connection().receive_data(bytes.fromhex(frame))
    return found


def ours(broker: Broker) -> list[MessageExt]:
    store, at = broker.store, 0
    found = []
    while (message := store.look_message_by_offset(at)) is not None:
        found.append(message)
        at += message.store_size_bytes
    return found


def shape(message: MessageExt) -> dict[str, object]:
    """All of a record but when it was stored, and by which port of its producer."""
    names = set(MessageExt.__slots__) - {"_properties", "store_timestamp_ms"}
    return {name: getattr(message, name) for name in names} | {"born_host": message.born_host[0]}


def replay(
    lab: BrokerLab, peer: Peer, steps: list[tuple[str, str]]
) -> Iterator[tuple[object, object]]:
    """Our answers and Java's."""
    answer: RemotingCommand | None = None
    for word, rest in steps:
        if word == "wait":
            lab.clock.advance_ms(int(rest))
        elif word == ">":
            answer = peer.send_command(command(rest)).response
        else:
            assert answer is not None
            expected = command(rest)
            yield (
                (answer.code, answer.ext_fields, answer.remark, answer.body),
                (expected.code, expected.ext_fields, expected.remark, expected.body),
            )


def test_answers_records_and_delivery_times_equal_javas(
    lab: BrokerLab, broker: Broker, recorded: Java
) -> None:
    for answered, expected in replay(lab, lab.peer(broker.addr), recorded.steps):
        assert answered == expected
    for mine, theirs in zip(ours(broker), recorded.records, strict=True):
        assert shape(mine) == shape(theirs)
    assert {
        level: [
            unit[2] - stored.store_timestamp_ms
            for stored in broker.store.messages_in_queue("SCHEDULE_TOPIC_XXXX", level - 1)
            if (unit := broker.store.queue_unit(stored.topic, level - 1, stored.queue_offset))
        ]
        for level in (1, 2, 3)
    } == recorded.due
