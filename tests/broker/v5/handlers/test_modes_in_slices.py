"""A mode beside many others is written in slices, and answered when it is in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.v5.parts import parts_of
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.pop import SetMessageRequestModeRequestBody
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab
from tests.support.pops import GROUP, TOPIC
from tests.support.slices import work_in_turns

MANY = 500


@pytest.fixture
def broker(lab: BrokerLab, tmp_path: Path) -> Broker:
    broker = lab.broker(reference=REFERENCE, config_folder=tmp_path)
    broker.create_topic(TOPIC, 2)
    modes = parts_of(broker).pop.modes
    for number in range(MANY):
        topic = f"topic-{number}"
        modes.set(topic, GROUP, SetMessageRequestModeRequestBody(topic=topic, consumer_group=GROUP))
    return broker


def written(folder: Path) -> dict[str, dict[str, object]]:
    file = folder / "messageRequestMode.json"
    found = fastjson.loads(file.read_text()) if file.exists() else {}
    table: dict[str, dict[str, object]] = found.get("messageRequestModeMap", {})
    return table


def test_mode_is_written_in_slices_before_the_answer(
    lab: BrokerLab, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = [lab.outside_peer(broker, f"peer-{number}") for number in range(2)]
    for group in ("a", "b"):
        broker.groups.find(group)
    work_in_turns(lab.clock, monkeypatch)
    answers = [
        peer.send(
            RequestCode5.SET_MESSAGE_REQUEST_MODE,
            body=json.dumps({"topic": TOPIC, "consumerGroup": group, "mode": "POP"}).encode(),
        )
        for peer, group in zip(peers, ("a", "b"), strict=True)
    ]
    assert not any(answer.response for answer in answers)
    turns = 0
    while lab.clock.slices.waiting:
        lab.clock.slices.take_turn()
        lab.network.settle()
        turns += 1
        for answer, group in zip(answers, ("a", "b"), strict=True):
            assert answer.response is None or group in written(tmp_path).get(TOPIC, {})
    assert turns > 8
    assert [answer.response.code for answer in answers if answer.response] == [0, 0]
    assert len(written(tmp_path)) == MANY + 1
