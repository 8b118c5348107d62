"""Filter expressions that hypothesis makes up: their values, and what is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.filters.expressions import compile_expression
from fakemq.broker.filters.sql_expressions import Expression, Value
from fakemq.broker.filters.sql_parser import MAX_DEPTH, compile_sql
from fakemq.broker.filters.sql_tokens import FilterTooLongError, MQFilterError

NAMES = ("a", "b", "order_id", "$x", "TAGS")
Truth: TypeAlias = "bool | None"
Properties: TypeAlias = Mapping[str, str]


class Unknowable(Exception):  # noqa: N818  # what the real one calls a RuntimeException
    """A text that is to be a number is none."""


class Condition(NamedTuple):
    """The text of a condition, and what it means, in the words of this test."""

    text: str
    meaning: Callable[[Properties], Truth]


def an_int(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or abs(int(text)) >= 2**31:
        raise Unknowable
    return int(text)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


names = st.sampled_from(NAMES)
numbers = st.integers(0, 2**31 - 1)
words = st.text(max_size=4)
values = st.one_of(words, st.integers(-(2**32), 2**32).map(str), st.floats().map(str))
properties_of_messages = st.dictionaries(names, values)
symbols = st.sampled_from(
    [
        (">", int.__gt__),
        (">=", int.__ge__),
        ("<", int.__lt__),
        ("<=", int.__le__),
        ("=", int.__eq__),
        ("<>", int.__ne__),
    ]
)


@st.composite
def comparisons(draw: st.DrawFn) -> Condition:
    name, number = draw(names), draw(numbers)
    symbol, holds = draw(symbols)

    def meaning(properties: Properties) -> Truth:
        value = properties.get(name)
        return None if value is None else holds(an_int(value), number)

    return Condition(f"{name} {symbol} {number}", meaning)


@st.composite
def same_texts(draw: st.DrawFn) -> Condition:
    name, text, negated = draw(names), draw(words), draw(st.booleans())

    def meaning(properties: Properties) -> Truth:
        value = properties.get(name)
        return None if value is None else (value == text) is not negated

    return Condition(f"{name} {'<>' if negated else '='} {quoted(text)}", meaning)


@st.composite
def memberships(draw: st.DrawFn) -> Condition:
    name, texts, negated = draw(names), draw(st.lists(words, min_size=1)), draw(st.booleans())

    def meaning(properties: Properties) -> Truth:
        value = properties.get(name)
        return None if value is None else (value in texts) is not negated

    listed = ", ".join(map(quoted, texts))
    return Condition(f"{name} {'NOT ' if negated else ''}IN ({listed})", meaning)


@st.composite
def null_checks(draw: st.DrawFn) -> Condition:
    name, negated = draw(names), draw(st.booleans())
    text = f"{name} IS {'NOT ' if negated else ''}NULL"
    return Condition(text, lambda properties: (name not in properties) is not negated)


@st.composite
def ranges(draw: st.DrawFn) -> Condition:
    name, negated = draw(names), draw(st.booleans())
    low, high = sorted((draw(numbers), draw(numbers)))

    def meaning(properties: Properties) -> Truth:
        value = properties.get(name)
        return None if value is None else (low <= an_int(value) <= high) is not negated

    text = f"{name} {'NOT ' if negated else ''}BETWEEN {low} AND {high}"
    return Condition(text, meaning)


def literal(text: str, truth: Truth) -> Condition:
    return Condition(text, lambda properties: truth)


literals = st.sampled_from([literal("TRUE", True), literal("false", False), literal("Null", None)])


def negation(of: Condition) -> Condition:
    def meaning(properties: Properties) -> Truth:
        truth = of.meaning(properties)
        return None if truth is None else not truth

    return Condition(f"NOT ({of.text})", meaning)


def conjunction(one: Condition, other: Condition) -> Condition:
    def meaning(properties: Properties) -> Truth:
        left = one.meaning(properties)
        if left is False:
            return False
        right = other.meaning(properties)
        return False if right is False else None if None in (left, right) else True

    return Condition(f"({one.text}) AND ({other.text})", meaning)


def disjunction(one: Condition, other: Condition) -> Condition:
    def meaning(properties: Properties) -> Truth:
        left = one.meaning(properties)
        if left is True:
            return True
        right = other.meaning(properties)
        return True if right is True else None if None in (left, right) else False

    return Condition(f"({one.text}) or ({other.text})", meaning)


conditions = st.recursive(
    st.one_of(comparisons(), same_texts(), memberships(), null_checks(), ranges(), literals),
    lambda inner: st.one_of(
        inner.map(negation),
        st.builds(conjunction, inner, inner),
        st.builds(disjunction, inner, inner),
    ),
    max_leaves=12,
)


def evaluated(expression: Expression, properties: Properties) -> Value | str:
    try:
        return expression.evaluate(properties)
    except MQFilterError:
        return "error"


@given(condition=conditions, properties=properties_of_messages)
def test_condition_has_the_value_of_its_meaning(
    condition: Condition, properties: Properties
) -> None:
    try:
        expected: Value = condition.meaning(properties)
    except Unknowable:
        expected = "error"
    assert evaluated(compile_sql(condition.text), properties) == expected


TOKENS = [
    *("a", "b", "5", "5.5", "9l", "'x'", "NOT", "and", "OR", "BETWEEN", "in", "TRUE", "null", "IS"),
    *("=", "<>", ">", ">=", "<", "<=", "(", ",", ")", "+", "-", "--", "/*", "*/", ".", "'", "@"),
    *("\n", "\t", "\ud83d\ude00", "\U0001f600"),
]


@given(
    text=st.one_of(
        st.text(), st.lists(st.sampled_from(TOKENS)).map(" ".join), conditions.map(lambda c: c.text)
    ),
    properties=properties_of_messages,
)
def test_any_text_is_a_condition_or_a_parser_error(text: str, properties: Properties) -> None:
    error = ""
    try:
        value = evaluated(compile_sql(text), properties)
    except MQFilterError as raised:
        error = str(raised)
    if error:
        assert error.startswith(("org.apache.rocketmq.filter.parser.", "java.lang."))
    else:
        assert value in (True, False, None, "error")


def test_long_conditions_do_not_nest() -> None:
    many = " OR ".join(f"a = '{number}'" for number in range(2_000))
    assert compile_sql(many).evaluate({"a": "1999"}) is True
    assert compile_sql(many.replace("OR", "and")).evaluate({"a": "0"}) is False
    assert compile_sql(many).evaluate({}) is None


@pytest.mark.parametrize(("opened", "closed"), [("(", ")"), ("NOT ", ""), ("+", ""), ("- ", "")])
def test_deep_nesting_is_an_error_like_javas_stack_overflow(opened: str, closed: str) -> None:
    def nested(depth: int) -> str:
        return f"{opened * depth}a{closed * depth} IS NULL"

    assert compile_sql(nested(MAX_DEPTH - 1)).evaluate({}) in (True, False)
    with pytest.raises(MQFilterError, match=r"^java\.lang\.StackOverflowError$"):
        compile_sql(nested(MAX_DEPTH))
    with pytest.raises(MQFilterError, match=r"^java\.lang\.StackOverflowError$"):
        compile_sql(nested(20_000))


@pytest.mark.parametrize(
    "text",
    [
        " OR ".join(["a = 1"] * 60_000),
        "+(" * 45 + " OR ".join(["a = 1"] * 2_000) + ")" * 45,
        "a IN ('" + "', '".join(["x" * 100] * 1_000) + "')",
    ],
    ids=["conditions", "plus signs", "characters"],
)
def test_very_long_filter_is_refused(text: str) -> None:
    with pytest.raises(FilterTooLongError, match="fakemq reads no filter of over"):
        compile_expression("SQL92", text, text_conditions=False)


def test_comparison_chain_too_long_for_the_stack_matches_nothing() -> None:
    chain = "a" + " = 'x'" * 4_000
    assert not compile_sql(chain).matches({"a": "x"})
    with pytest.raises(MQFilterError, match=r"^java\.lang\.StackOverflowError$"):
        compile_sql(f"({chain}) > 5")


def test_condition_that_is_not_true_matches_nothing() -> None:
    condition = compile_sql("a > 5")
    matched = [condition.matches(given) for given in ({"a": "6"}, {"a": "5"}, {}, {"a": "x"})]
    assert matched == [True, False, False, False]


def test_minus_signs_on_the_last_line_are_read_once_each() -> None:
    # Each might begin a comment, if only the line ended; once, each cost the rest of the text.
    assert compile_sql(" OR ".join(["a = --1"] * 1_500)).matches({"a": "1"})
    assert compile_sql("a = -- one\r-1 --\n-- two").matches({"a": "-1"})
    assert compile_sql("a = --1").matches({"a": "1"})
