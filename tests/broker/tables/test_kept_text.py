"""A change of one topic or group encodes that one, and the file is as if all were encoded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from fakemq.broker.broker import Broker
from fakemq.broker.tables.kept_text import KeptText
from fakemq.clock.slices import Steps, finished
from fakemq.config.model import BrokerConfig
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.topic import TopicConfig, TopicConfigSerializeWrapper
from fakemq.protocol.java import java_concurrent_map_order
from fakemq.protocol.unknown_fields import with_unknown
from tests.support.broker_lab import BrokerLab
from tests.support.calls import calls_of
from tests.support.slices import take_turns, work_in_turns

MANY = 2_000
NAMES = st.sampled_from([f"t{number}" for number in range(40)])

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
    for _ in range(3):
        lab.clock.slices.take_turn()
        assert not (tmp_path / "topics.json").exists()
    broker.topics.delete("topic-7")
    take_turns(lab.clock)
    written = fastjson.loads((tmp_path / "topics.json").read_text())["topicConfigTable"]
    assert written.keys() == {*names} - {"topic-7"}


def test_two_writers_of_one_table_make_its_texts_once() -> None:
    table: dict[str, object] = {f"t{number}": TopicConfig(f"t{number}") for number in range(MANY)}

    def new() -> KeptText[TopicConfigSerializeWrapper]:
        return KeptText("topicConfigTable", 8, lambda: table, TopicConfigSerializeWrapper)

    alone = sum(1 for _ in new().value({}))
    kept = new()
    writers = [kept.value({}), kept.value({})]
    steps = 0
    while writers and steps < 10 * alone:
        steps += 1
        writers = [one for one in writers if next(one, "ended") is None]
    assert steps <= alone + 1


def test_replaced_topics_and_a_tick_of_their_file_both_end(
    lab: BrokerLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = lab.broker(BrokerConfig(), config_folder=tmp_path)
    with broker.persistence.at_once():
        for number in range(MANY):
            broker.topics.create(f"topic-{number}", 4)
    work_in_turns(lab.clock, monkeypatch)
    broker.clock.carry_out(broker.topics.replace(broker.topics.persisted()), peer="master")
    broker.clock.carry_out(broker.persistence.topics.persist_in_steps(), peer="tick")
    for _ in range(MANY):
        if lab.clock.slices.waiting:
            lab.clock.slices.take_turn()
    assert not lab.clock.slices.waiting
    written = fastjson.loads((tmp_path / "topics.json").read_text())["topicConfigTable"]
    assert len(written) > MANY


def test_entry_put_again_goes_to_the_end_of_its_bucket() -> None:
    """The hash codes of Aa, BB and C# are the same."""
    table: dict[str, object] = {name: TopicConfig(name) for name in ("Aa", "BB")}
    kept = KeptText("topicConfigTable", 8, lambda: table, TopicConfigSerializeWrapper)

    def names() -> list[str]:
        text = fastjson.dumps_pretty(finished(kept.value({})))
        assert text == fastjson.dumps_pretty(finished(kept.captured()))
        return list(fastjson.loads(text)["topicConfigTable"])

    assert names() == ["Aa", "BB"]
    del table["Aa"]
    kept.changed("Aa")
    for name in ("C#", "Aa"):
        table[name] = TopicConfig(name)
        kept.changed(name)
    assert names() == ["BB", "C#", "Aa"]


def test_making_that_fails_is_begun_again() -> None:
    table: dict[str, object] = {"bad": object(), "good": TopicConfig("good")}
    kept = KeptText("topicConfigTable", 8, lambda: table, TopicConfigSerializeWrapper)
    for _ in range(2):
        with pytest.raises(TypeError):
            finished(kept.value({}))
    del table["bad"]
    kept.changed("bad")
    text = fastjson.dumps_pretty(finished(kept.value({})))
    assert list(fastjson.loads(text)["topicConfigTable"]) == ["good"]


class KeptTextMachine(RuleBasedStateMachine):
    """Several writers, of which each proceeds by steps, while the table changes."""

    def __init__(self) -> None:
        super().__init__()
        self.table: dict[str, object] = {
            f"t{number}": TopicConfig(f"t{number}") for number in range(400)
        }
        self.kept = KeptText("topicConfigTable", 8, lambda: self.table, TopicConfigSerializeWrapper)
        self.writers: list[Steps[object]] = []
        self.number = 0

    @rule(name=NAMES)
    def put(self, name: str) -> None:
        self.number += 1
        self.table[name] = TopicConfig(name, self.number)
        self.kept.changed(name)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.table.pop(name, None)
        self.kept.changed(name)

    @rule()
    def begin(self) -> None:
        if len(self.writers) < 4:
            self.writers.append(self.kept.value({}))

    @rule(which=st.integers(0, 3), steps=st.integers(1, 12))
    def proceed(self, which: int, steps: int) -> None:
        for _ in range(steps):
            if which < len(self.writers):
                self.step(which)

    @rule(which=st.integers(0, 3))
    def drop(self, which: int) -> None:
        if which < len(self.writers):
            self.writers.pop(which).close()

    @rule()
    def clear(self) -> None:
        self.kept.clear()

    def step(self, which: int) -> None:
        try:
            next(self.writers[which])
        except StopIteration as end:
            del self.writers[which]
            self.check(end.value)

    def check(self, value: object) -> None:
        written = fastjson.loads(fastjson.dumps_pretty(value))["topicConfigTable"]
        assert written == {
            name: fastjson.loads(fastjson.dumps(one)) for name, one in self.table.items()
        }

    def teardown(self) -> None:
        steps = 0
        while self.writers:
            steps += 1
            assert steps < 200
            for which in reversed(range(len(self.writers))):
                self.step(which)
        self.check(finished(self.kept.value({})))


TestKeptTextOfSeveralWriters = KeptTextMachine.TestCase
TestKeptTextOfSeveralWriters.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None
)


Op = tuple[str, str]


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
