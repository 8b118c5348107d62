"""JSON as Fastjson 1.x reads and writes it."""

from __future__ import annotations

import contextlib
import json
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fakemq.clock.slices import finished
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.fastjson import JsonError, ObjectKey, dumps, loads

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "fastjson_cases.txt")
    .read_text(encoding="utf-8")
    .split("\n")
    if line and not line.startswith("#")
]
READ = [case[1:] for case in CASES if case[0] == "read"]
WRITTEN = [case[1:] for case in CASES if case[0] == "write"]


def canonical(value: Any) -> Any:
    """A value as FastjsonCases.java says what it has read."""
    if isinstance(value, dict):
        return ["object", *([canonical_key(key), canonical(one)] for key, one in value.items())]
    if isinstance(value, list):
        return ["array", *map(canonical, value)]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return ["decimal", value]
    return ["integer", str(value)]


def canonical_key(key: object) -> str:
    return key if isinstance(key, str) else dumps(key)


def comparable(tagged: Any) -> Any:
    """What Java said it read, with decimals as the float their digits mean."""
    if not isinstance(tagged, list):
        return tagged
    if tagged[0] == "decimal":
        return ["decimal", float(tagged[1])]
    if tagged[0] == "object":
        return ["object", *([key, comparable(one)] for key, one in tagged[1:])]
    if tagged[0] == "integer":
        return tagged
    return ["array", *map(comparable, tagged[1:])]


def test_recorded_cases_exist() -> None:
    assert len(READ) > 150
    assert len(WRITTEN) > 30


@pytest.mark.parametrize(("text", "expected"), READ, ids=[repr(text) for text, _ in READ])
def test_values_are_read_as_by_java(text: str, expected: Any) -> None:
    if expected == "error":
        with pytest.raises(JsonError):
            loads(text)
    else:
        assert canonical(loads(text)) == comparable(expected)
        if text.isascii():
            assert canonical(loads(text.encode())) == comparable(expected)


def marked(tree: Any) -> Any:
    """A recorded tree with its marks taken for what they are, as FastjsonCases.java does."""
    if isinstance(tree, dict):
        if "#set" in tree:
            return OrderedSet(marked(tree["#set"]))
        return {marked_key(key): marked(one) for key, one in tree.items()}
    return [marked(one) for one in tree] if isinstance(tree, list) else tree


def marked_key(key: str) -> Any:
    if key.startswith("#{"):
        return ObjectKey(loads(key[1:]))
    return loads(key[1:]) if key.startswith("#") else key


class OrderedSet(frozenset[Any]):
    """A set that iterates as it was filled, and may hold what has no hash."""

    def __new__(cls, items: list[Any]) -> OrderedSet:
        made = super().__new__(cls)
        made.items = items
        return made

    items: list[Any]

    def __iter__(self) -> Any:
        return iter(self.items)


@pytest.mark.parametrize(
    ("tree", "default", "pretty", "standard"), WRITTEN, ids=[repr(case[0]) for case in WRITTEN]
)
def test_values_are_written_as_by_java(tree: Any, default: str, pretty: str, standard: str) -> None:
    value = marked(tree)
    assert dumps(value) == default
    assert fastjson.dumps_pretty(value) == pretty
    assert fastjson.dumps_standard(value) == standard


class Queue(msgspec.Struct, frozen=True, order=True, rename="camel"):
    topic: str
    broker_name: str | None
    queue_id: int = 0


class Language(IntEnum):
    JAVA = 0


def test_bean_is_written_sorted_without_nulls() -> None:
    queue = Queue("T", "b", 3)
    assert dumps(queue) == '{"brokerName":"b","queueId":3,"topic":"T"}'
    assert dumps(Queue("T", None)) == '{"queueId":0,"topic":"T"}'
    assert dumps({queue: 1}) == '{{"brokerName":"b","queueId":3,"topic":"T"}:1}'
    assert fastjson.dumps_pretty([queue]) == (
        '[\n\t{\n\t\t"brokerName":"b",\n\t\t"queueId":3,\n\t\t"topic":"T"\n\t}\n]'
    )


def test_standard_form_sorts_keys_as_java_compares_them() -> None:
    keys = {Queue("T", "b", 1): 1, Queue("T", "b", 0): 0}
    assert list(loads(fastjson.dumps_standard(keys)).values()) == [0, 1]
    assert fastjson.dumps_standard({10: 1, 9: 2}) == '{"9":2,"10":1}'
    assert fastjson.dumps_standard({"\uff5e": 1, "\U0001f600": 2}) == (
        '{"\\uD83D\\uDE00":2,"\\uFF5E":1}'
    )


def test_enum_is_written_by_name() -> None:
    assert dumps({"language": Language.JAVA}) == '{"language":"JAVA"}'


@pytest.mark.parametrize("value", [object(), b"x", {"a": object()}])
def test_value_without_json_form_is_a_local_error(value: object) -> None:
    with pytest.raises(TypeError, match="no JSON for"):
        dumps(value)


def test_body_is_written_as_bytes() -> None:
    assert fastjson.encode({"a": "é\ud800"}) == '{"a":"é?"}'.encode()
    assert loads(b'{"a":"\xff"}') == {"a": "\ufffd"}


def test_keys_may_be_objects() -> None:
    [(key, one)] = loads('{{"queueId":0,"topic":"T"}:1}').items()
    assert key == {"queueId": 0, "topic": "T"}
    assert isinstance(key, ObjectKey)
    assert one == 1
    assert {key: 2}[ObjectKey(queueId=0, topic="T")] == 2


def test_error_names_position_and_text() -> None:
    with pytest.raises(RemoteProtocolError, match="expected ':' behind a key at character 4 of 6"):
        loads('{"a" 1}'.replace(" ", "")[:4] + "?}")


@pytest.mark.parametrize("opening", ["[", '{"a":', "{a:", "{", "{[", "[{a:"])
def test_nesting_never_exhausts_the_stack(opening: str) -> None:
    with pytest.raises(JsonError):
        loads(opening * 100_000)


@pytest.mark.parametrize("text", ["1" * 5000 + "L", "{" + "1" * 5000 + ":1}"])
def test_overlong_numbers_are_refused(text: str) -> None:
    with pytest.raises(JsonError, match="too long"):
        loads(text)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
)
KEYS = (
    st.text(max_size=5)
    | st.integers(min_value=-(2**63), max_value=2**63 - 1)
    | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2).map(
        ObjectKey
    )
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner.filter(lambda one: one is not None), max_size=4)
    ),
    max_leaves=12,
)


@given(TREES)
@settings(deadline=None)
def test_written_value_is_read_back(tree: Any) -> None:
    assert loads(dumps(tree)) == tree
    assert loads(fastjson.dumps_pretty(tree)) == tree


@given(TREES)
@settings(deadline=None)
def test_standard_form_is_read_by_standard_parsers(tree: Any) -> None:
    text = fastjson.dumps_standard(tree)
    assert text.isascii()
    with contextlib.suppress(AmbiguousKeysError):
        assert json.loads(text) == with_text_keys(tree)


class AmbiguousKeysError(Exception):
    pass


def with_text_keys(tree: Any) -> Any:
    if isinstance(tree, dict):
        quoted = {canonical_key(key): with_text_keys(one) for key, one in tree.items()}
        if len(quoted) < len(tree):
            raise AmbiguousKeysError
        return quoted
    if isinstance(tree, int) and abs(tree) >= 1 << 53:
        return str(tree)
    return [with_text_keys(one) for one in tree] if isinstance(tree, list) else tree


@given(st.text(alphabet="{}[]:,\"'\\ au01.-+eESL/*\n\u0000", max_size=30) | st.binary(max_size=30))
@example("[ 1 /*")
@settings(deadline=None, max_examples=300)
def test_any_text_raises_one_kind_of_error(text: str | bytes) -> None:
    with contextlib.suppress(JsonError):
        loads(text)


@pytest.mark.parametrize("levels", [129, 600, 5000, 5400])
def test_deep_nesting_is_refused_in_standard_json_too(levels: int) -> None:
    assert loads("[" * 129 + "]" * 129)
    with pytest.raises(JsonError, match="nested deeper than 128"):
        loads("[" * (levels + 1) + "]" * (levels + 1))
    with pytest.raises(JsonError, match="nested deeper than 128"):
        loads('{"a":' * (levels + 1) + "0" + "}" * (levels + 1))


NUMBERS = {str(number): number for number in range(100)}


def test_deep_value_is_written_in_steps() -> None:
    value = {"list": [{"group": [{"table": NUMBERS}]}]}
    assert sum(1 for _ in fastjson.encode_in_steps(value)) > 100
    assert finished(fastjson.encode_in_steps(value)) == fastjson.encode(value)


def test_pretty_text_of_nested_maps_is_written_in_steps() -> None:
    value = {"table": {"topic@group": NUMBERS, "empty": {}}, "list": [1, 2]}
    assert sum(1 for _ in fastjson.dumps_pretty_in_steps(value)) > 100
    assert finished(fastjson.dumps_pretty_in_steps(value)) == fastjson.dumps_pretty(value)


def as_map(bean: msgspec.Struct) -> dict[str, object]:
    return dict(fastjson.bean_items(bean))


@given(
    st.text(),
    st.none() | st.text(),
    st.sampled_from(('"topicName":""', "SINGLE_TAG")),
    st.booleans(),
)
def test_named_bean_is_written_like_its_map(
    name: str, null_name: Any, kind: str, order: bool
) -> None:
    for one in (name, null_name):
        bean = TopicConfig(topic_name=one, topic_filter_type=kind, order=order)
        table, maps = {"a": bean}, {"a": as_map(bean)}
        assert dumps(table) == dumps(maps)
        assert fastjson.dumps_pretty(table) == fastjson.dumps_pretty(maps)
        assert finished(fastjson.encode_in_steps(table)) == fastjson.encode(maps)
        assert finished(fastjson.dumps_pretty_in_steps(table)) == fastjson.dumps_pretty(maps)


@given(st.dictionaries(st.integers(), st.integers(), max_size=5))
def test_map_of_numbers_is_written_like_any_map(numbers: dict[int, int]) -> None:
    class Number(int):
        pass

    one_by_one: dict[int, int] = {key: Number(value) for key, value in numbers.items()}
    for write in (dumps, fastjson.dumps_pretty):
        assert write({"a": {"b": numbers}}) == write({"a": {"b": one_by_one}})


@pytest.mark.parametrize(
    "beans",
    [
        [TopicConfig(topic_name=f"topic-{number}") for number in range(200)],
        [SubscriptionGroupConfig(group_name=f"group-{number}") for number in range(200)],
    ],
)
def test_many_named_beans_take_few_calls_each(beans: list[msgspec.Struct]) -> None:
    # Each new topic writes them all: one beside 10,000 took 150 ms.
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        fastjson.dumps_pretty(dict(enumerate(beans)))
    finally:
        sys.setprofile(before)
    assert calls < 12 * len(beans)
