"""Finding in the journal by kind, fields, time and predicate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fakemq
from fakemq.errors import ConfigError
from fakemq.events import Dispatched, LogAppended, TopicChanged
from fakemq.events.kinds import kinds

ROOT = Path(__file__).parents[2] / "fakemq"


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, clock="frozen", start_at="2024-02-29T12:00:00Z") as cluster:
        cluster.create_topic("orders", 1)
        cluster.seed("orders", [b"one", b"two"])
        cluster.clock.advance("1s")
        cluster.seed("orders", [b"three"])
        yield cluster


def test_search_by_class_name_and_fields(mq: fakemq.Cluster) -> None:
    assert len(mq.journal.find(LogAppended)) == 3
    assert mq.journal.find("LogAppended") == mq.journal.find(LogAppended)
    assert [one.queue_offset for one in mq.journal.find(LogAppended, node="broker-a-0")] == [0, 1]
    assert mq.journal.find("Dispatched", topic="orders", node="broker-b-0", queue_offset=0)


def test_search_by_number_entry_and_time(mq: fakemq.Cluster) -> None:
    entries = mq.journal.entries("LogAppended")
    assert mq.journal.entries("LogAppended", since=entries[0]) == entries[1:]
    assert mq.journal.entries("LogAppended", since=entries[1].seq) == entries[2:]
    assert mq.journal.entries("LogAppended", since=mq.clock.now()) == entries[2:]
    assert mq.journal.entries("LogAppended", since="2024-02-29T12:00:01Z") == entries[2:]
    assert entries[2].at_ms - entries[0].at_ms == 1000


def test_search_by_predicate(mq: fakemq.Cluster) -> None:
    found = mq.journal.find(LogAppended, where=lambda event: event.queue_offset)
    assert [one.node for one in found] == ["broker-a-0"]
    assert mq.journal.find("Event", where=lambda event: isinstance(event, Dispatched))


def test_search_of_all_kinds_by_a_field_of_some(mq: fakemq.Cluster) -> None:
    found = mq.journal.find("Event", topic="orders")
    assert {type(one) for one in found} == {LogAppended, Dispatched, TopicChanged}
    assert mq.journal.entries()[-1] == mq.journal.tail(1)[0]


def test_search_by_the_name_of_a_code(mq: fakemq.Cluster) -> None:
    found = mq.journal.find("RequestReceived", code="REGISTER_BROKER")
    assert found
    assert {one.node for one in found} == {"namesrv-0"}


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        ("LogApended", {}, "no kind of event is called 'LogApended'; did you mean LogAppended?"),
        ("LogAppended", {"topc": "a"}, "LogAppended has no field 'topc'; did you mean topic?"),
        (
            "ClockMoved",
            {"zzz": 1},
            "ClockMoved has no field 'zzz'; there are: by_ms, how, node",
        ),
        (
            "RequestReceived",
            {"code": "SEND_MESAGE"},
            "code='SEND_MESAGE' is no RequestCode; did you mean SEND_MESSAGE?",
        ),
    ],
)
def test_search_for_an_unknown_kind_or_field_is_refused(
    mq: fakemq.Cluster, kind: str, fields: dict[str, object], text: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        mq.journal.find(kind, since=None, where=None, **fields)


def test_every_kind_is_known_and_no_field_is_a_search_argument() -> None:
    texts = (path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py"))
    written = {
        node.name
        for text in texts
        if "Event" in text  # to parse all of the package takes four seconds
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "Event" for base in node.bases)
    }
    assert set(kinds()) == written | {"Event"}
    for kind in kinds().values():
        assert not {"since", "where"} & set(kind.__struct_fields__)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda journal: journal.find(int), "int.*expected a class of fakemq.events"),
        (lambda journal: journal.find("LogAppended", topic=5), "topic=5: expected str"),
        (lambda journal: journal.find("LogAppended", queue_id=True), "queue_id=True: expected int"),
        (lambda journal: journal.find("Delivered", offsets=1), "offsets=1: expected Sequence"),
        (lambda journal: journal.cause_chain("5"), "'5': expected an entry of the journal"),
    ],
)
def test_value_of_another_type_is_refused(mq: fakemq.Cluster, ask: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        ask(mq.journal)


def test_cause_chain_takes_an_entry_number(mq: fakemq.Cluster) -> None:
    caused = next(entry for entry in mq.journal if entry.cause)
    assert mq.journal.cause_chain(caused.seq) == mq.journal.cause_chain(caused) != []
    with pytest.raises(LookupError, match="no entry 999999; the journal has 1 to"):
        mq.journal.cause_chain(999_999)
    assert mq.journal.find("RequestHandled", response_code=None) == []
