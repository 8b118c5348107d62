"""A change of one topic or group encodes that one, and the file is as if all were encoded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.broker.broker import Broker
from fakemq.broker.kept_text import KeptText
from fakemq.clock.slices import finished
from fakemq.config.model import BrokerConfig
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.topic import TopicConfig, TopicConfigSerializeWrapper
from fakemq.protocol.java import java_concurrent_map_order
from fakemq.protocol.unknown_fields import with_unknown
from tests.support.broker_lab import BrokerLab
from tests.support.calls import calls_of
from tests.support.slices import take_turns, work_in_turns

MANY = 2_000


CHANGES: dict[str, Callable[[Broker], object]] = {
    "a new topic": lambda broker: broker.topics.create("one", 4),
    "another number of queues": lambda broker: broker.topics.create("topic-7", 5),
    "a topic less": lambda broker: broker.topics.delete("topic-7"),
    "a new group": lambda broker: broker.groups.find("one"),
    "a group less": lambda broker: broker.groups.delete("group-7"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_beside_many_encodes_what_has_changed(
    lab: BrokerLab, tmp_path: Path, change: str
) -> None:
    broker = lab.broker(BrokerConfig(), config_folder=tmp_path)
    with broker.persistence.at_once():
        for number in range(MANY):
            broker.topics.create(f"topic-{number}", 4)
            broker.groups.find(f"group-{number}")
    assert calls_of(lambda: CHANGES[change](broker)) < MANY
    texts = {
        name: (tmp_path / name).read_text() for name in ("topics.json", "subscriptionGroup.json")
    }
    for file in (broker.persistence.topics, broker.persistence.groups):
        assert texts[file.name] == finished(file.captured_text())


def test_first_change_after_a_start_encodes_what_has_changed(
    lab: BrokerLab, tmp_path: Path
) -> None:
    broker = lab.broker(BrokerConfig(), config_folder=tmp_path)
    with broker.persistence.at_once():
        for number in range(MANY):
            broker.topics.create(f"topic-{number}", 4)
    broker.kill()
    broker.start()
    assert calls_of(lambda: broker.topics.create("one", 4)) < MANY
    assert len(fastjson.loads((tmp_path / "topics.json").read_text())["topicConfigTable"]) > MANY


def test_tables_of_a_master_are_encoded_in_slices(
    lab: BrokerLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = lab.broker(BrokerConfig(), config_folder=tmp_path)
    names = [f"topic-{number}" for number in range(MANY)]
    wrapper = TopicConfigSerializeWrapper({name: TopicConfig(name) for name in names})
    work_in_turns(lab.clock, monkeypatch)
    broker.clock.carry_out(broker.topics.replace(wrapper), peer=broker)
    assert not (tmp_path / "topics.json").exists()
    broker.topics.delete("topic-7")
    assert take_turns(lab.clock) >= 3
    written = fastjson.loads((tmp_path / "topics.json").read_text())["topicConfigTable"]
    assert written.keys() == {*names} - {"topic-7"}


Op = tuple[str, str]
NAMES = st.sampled_from([f"t{number}" for number in range(40)])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["put", "delete", "write", "clear"]), NAMES)))
def test_kept_text_is_that_of_all_entries(ops: list[Op]) -> None:
    table: dict[str, object] = {}
    unknown: dict[str, Any] = {"later": 1, "topicConfigTable": {"t1": {"more": "x"}}}
    kept = KeptText("topicConfigTable", 8, lambda: table, TopicConfigSerializeWrapper)
    order: list[str] = []

    def expected() -> dict[str, object]:
        rest = with_unknown(TopicConfigSerializeWrapper(), unknown)
        assert isinstance(rest, dict)
        entries = {
            name: fastjson.loads(fastjson.dumps(one)) | ({"more": "x"} if name == "t1" else {})
            for name, one in table.items()
        }
        return {**fastjson.loads(fastjson.dumps(rest)), "topicConfigTable": entries}

    for number, (op, name) in enumerate([*ops, ("write", "")]):
        if op == "put":
            table[name] = TopicConfig(name, number)
            kept.changed(name)
        elif op == "delete":
            table.pop(name, None)
            kept.changed(name)
        elif op == "clear":
            kept.clear()
        else:
            text = fastjson.dumps_pretty(finished(kept.value(unknown)))
            assert fastjson.loads(text) == expected()
            order = list(fastjson.loads(text)["topicConfigTable"])
    kept.clear()
    whole = fastjson.dumps_pretty(finished(kept.value(unknown)))
    assert whole == fastjson.dumps_pretty(with_unknown(finished(kept.captured()), unknown))
    if not any(op == "delete" for op, _ in ops):
        assert order == java_concurrent_map_order(table, 8)
