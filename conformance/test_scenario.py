"""Scenarios reach a cluster over sockets only, and their runner writes down what it says."""

from __future__ import annotations

import ast
import contextlib
import json
from pathlib import Path

import pytest

from conformance.__main__ import main
from conformance.normalise import Normaliser
from conformance.peer import Peer
from conformance.scenario import scenario, scenarios
from tests.client.scripted_broker import Peer as Broker
from tests.client.scripted_broker import ScriptedBroker
from tests.client.scripts import asks_before_it_answers

INSIDE = ("fakemq.broker", "fakemq.namesrv", "fakemq.store", "fakemq.net", "fakemq.cluster_core")


def test_conformance_knows_nothing_of_the_inside() -> None:
    bad = []
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            bad += [f"{path.name}: {name}" for name in names if name.startswith(INSIDE)]
    assert not bad


def test_a_name_is_given_once() -> None:
    name = scenarios()[0].function
    with pytest.raises(ValueError, match="two scenarios are called"):
        scenario("again")(name)


def test_the_command_names_the_scenarios_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kv_config"]) == 0
    assert capsys.readouterr().out.startswith("the same  kv_config: ")
    assert main(["--show", "kv_config"]) == 0
    assert capsys.readouterr().out.startswith("# KV config")
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "no scenario ['nonsense']; there are" in capsys.readouterr().err


def test_what_comes_in_front_of_an_answer_is_written_down_first() -> None:
    lines: list[str] = []

    def script(broker: Broker) -> None:
        with contextlib.suppress(ConnectionError):  # a scenario's peer answers nothing
            asks_before_it_answers(broker)

    with ScriptedBroker(script) as broker:
        peer = Peer("client", "broker-a", broker.addr, Normaliser({}, 0), lines)
        pending = peer.send(34, {"b": True, "a": 1}, {"x": []}, oneway=False)
        answer = pending.answer()
        peer.close()
    assert answer.code == 7
    assert lines == [
        "client -> broker-a  HEART_BEAT (34)",
        "    a: 1",
        "    b: true",
        "    body: JSON, every key quoted",
        *(f"    {line}" for line in json.dumps({"x": []}, indent=1).splitlines()),
        "client <- broker-a  asks NOTIFY_CONSUMER_IDS_CHANGED (40), one-way",
        "client <- broker-a  asks GET_CONSUMER_RUNNING_INFO (307)",
        "client <- broker-a  code 7",
    ]
