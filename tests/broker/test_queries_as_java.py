"""A real broker's answers to everything that only looks, beside ours to the very same requests.

``tests/protocol/data/golden/broker_queries.txt`` has requests and answers; what is stored by them
comes to the same places in both logs. Between them Java took its samples once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.frame import decode_frame
from fakemq.protocol.message import decode_records
from tests.support.broker_lab import BrokerLab

GOLDEN = Path(__file__).parents[1] / "protocol" / "data" / "golden" / "broker_queries.txt"
JAVA_SAMPLED_BEFORE = "GET_BROKER_CONSUME_STATS"
OWN_WORDS = "java.lang.NullPointerException"
"""What a JVM says of a null depends on its own version."""
RECORDS = (RequestCode.QUERY_MESSAGE, RequestCode.PULL_MESSAGE)

Exchange = tuple[str, RemotingCommand, RemotingCommand | None]
"""Name, request, answer."""


def golden() -> Iterator[Exchange]:
    name, request = "", RemotingCommand(0)
    for line in GOLDEN.read_text().splitlines():
        word, way, text = line.split()
        command = None if text == "-" else decode_frame(memoryview(bytes.fromhex(text)))
        if way == ">":
            assert command is not None
            name, request = word, command
        elif way == "<":
            yield name, request, command


def normal(text: str) -> str:
    """Without what differs from run to run: times, and where the broker listens."""
    text = re.sub(r"\b1[0-9]{12}\b", "<ms>", text)
    text = re.sub(r"\b20[0-9]{2}-[0-9-]{5}#[0-9:]{12}", "<time>", text)
    text = re.sub(r'"delayTime":[0-9]+\b', '"delayTime":<ms>', text)
    return re.sub(r"\b127\.0\.0\.1:[0-9]+\b", "<address>", text)


def fields(command: RemotingCommand) -> dict[str, str]:
    return {key: normal(value) for key, value in command.ext_fields.items() if key != "msgId"}


def body(request: RemotingCommand, answer: RemotingCommand) -> object:
    if request.code in RECORDS:
        return [
            (one.topic, one.queue_offset, one.commit_log_offset, one.body, one.properties_string)
            for one in decode_records(answer.body)
        ]
    return normal(answer.body.decode())


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[RemotingCommand, RemotingCommand | None, RemotingCommand | None]]:
    """Request, Java's answer and ours, by name."""
    lab = BrokerLab()
    lab.clock.advance("2s")
    peer = lab.peer(lab.broker().addr)
    found = {}
    for name, request, java in golden():
        if name == JAVA_SAMPLED_BEFORE:
            lab.clock.advance("10s")
        found[name] = (request, java, peer.send_command(request).response)
    return found


NAMES = sorted({name for name, _, _ in golden()} - {"GET_BROKER_RUNTIME_INFO"})


@pytest.mark.parametrize("name", NAMES)
def test_answer_equals_javas(
    name: str,
    answers: dict[str, tuple[RemotingCommand, RemotingCommand | None, RemotingCommand | None]],
) -> None:
    request, java, ours = answers[name]
    if java is None:
        assert ours is None
        return
    assert ours is not None
    assert ours.code == java.code
    if java.remark is not None and java.remark.startswith(OWN_WORDS):
        assert ours.remark is not None
        assert ours.remark.startswith(OWN_WORDS)
        return
    assert ours.remark == java.remark
    assert ours.serialize_type == java.serialize_type
    assert fields(ours) == fields(java)
    assert body(request, ours) == body(request, java)


def test_runtime_info_has_javas_keys_in_javas_order(
    answers: dict[str, tuple[RemotingCommand, RemotingCommand | None, RemotingCommand | None]],
) -> None:
    _, java, ours = answers["GET_BROKER_RUNTIME_INFO"]
    assert java is not None
    assert ours is not None
    expected, found = (KVTable.decode(one.body).table for one in (java, ours))
    per_path = [key for key in (*expected, *found) if key.startswith("commitLogDiskRatio_")]
    for key in per_path:
        expected.pop(key, None), found.pop(key, None)
    assert list(found) == list(expected)
    differ = {key for key in found if found[key] != expected[key]}
    assert differ == {
        *("bootTimestamp", "runtime", "commitLogDirCapacity", "remainHowManyDataToFlush"),
        *("commitLogDiskRatio", "consumeQueueDiskRatio"),
        *("putMessageEntireTimeMax", "getMessageEntireTimeMax"),
    }
