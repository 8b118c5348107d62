"""A mode beside many others is written in slices, and answered when it is in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.tables.persistence import MODES, ConfigFile
from fakemq.clock.slices import Steps
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.pop import SetMessageRequestModeRequestBody
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.pops import GROUP, TOPIC
from tests.support.slices import work_in_turns

MANY = 500


@pytest.fixture
def broker(lab: BrokerLab, tmp_path: Path) -> Broker:
    broker = lab.broker(reference=REFERENCE, config_folder=tmp_path)
    broker.create_topic(TOPIC, 2)
    modes = broker5(broker).pop.modes
    for number in range(MANY):
        topic = f"topic-{number}"
        modes.set(topic, GROUP, SetMessageRequestModeRequestBody(topic=topic, consumer_group=GROUP))
    return broker


def written(folder: Path) -> dict[str, dict[str, object]]:
    file = folder / "messageRequestMode.json"
    found = fastjson.loads(file.read_text()) if file.exists() else {}
    table: dict[str, dict[str, object]] = found.get("messageRequestModeMap", {})
    return table


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files whose text was begun, once for each text."""
    found: list[str] = []
    real = ConfigFile._text_in_steps

    def counted(file: ConfigFile[Any]) -> Steps[str]:
        found.append(file.name)
        return real(file)

    monkeypatch.setattr(ConfigFile, "_text_in_steps", counted)
    return found


@pytest.mark.parametrize(("peers", "at_most"), [(1, 1), (2, 2), (8, 3)])
def test_modes_at_once_share_texts_and_are_written_before_the_answers(
    lab: BrokerLab,
    broker: Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    texts: list[str],
    peers: int,
    at_most: int,
) -> None:
    groups = [f"group-{number}" for number in range(peers)]
    for group in groups:
        broker.groups.find(group)
    work_in_turns(lab.clock, monkeypatch)
    texts.clear()
    answers = [
        lab.outside_peer(broker, group).send(
            RequestCode5.SET_MESSAGE_REQUEST_MODE,
            body=json.dumps({"topic": TOPIC, "consumerGroup": group, "mode": "POP"}).encode(),
        )
        for group in groups
    ]
    assert not any(answer.response for answer in answers)
    while lab.clock.slices.waiting:
        lab.clock.slices.take_turn()
        lab.network.settle()
        for answer, group in zip(answers, groups, strict=True):
            assert answer.response is None or group in written(tmp_path).get(TOPIC, {})
    assert [answer.response.code for answer in answers if answer.response] == [0] * peers
    assert len(written(tmp_path)) == MANY + 1
    assert 1 <= texts.count(MODES) <= at_most
