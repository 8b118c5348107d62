"""What RocketMQ's own filters made of three thousand expressions, and what ours make of them.

``data/java_filters.txt`` says how it was recorded; `FilterCases.java` beside it has the expressions
that were written by hand and makes up the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from fakemq.broker.filters.bloom import BloomFilter
from fakemq.broker.filters.manager import bloom_size
from fakemq.broker.filters.sql_expressions import Expression
from fakemq.broker.filters.sql_parser import compile_sql
from fakemq.broker.filters.sql_tokens import MQFilterError
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.java import java_double_text, parse_double
from tests.support.java_filters import recorded, texts

LETTERS = {True: "T", False: "F", None: "N"}


PROPERTIES: list[dict[str, str]] = [json.loads(line) for line in recorded("properties")]


def letter(expression: Expression, properties: dict[str, str]) -> str:
    try:
        value = expression.evaluate(properties)
    except MQFilterError:
        return "!"
    assert value is None or isinstance(value, bool)
    return LETTERS[value]


def test_conditions_have_javas_values() -> None:
    wrong = {}
    for text, expected in texts("expression"):
        expression = compile_sql(text)
        values = "".join(letter(expression, properties) for properties in PROPERTIES)
        if values != expected:
            wrong[text] = (expected, values)
    assert wrong == {}


def test_parser_errors_are_javas() -> None:
    expecting = {
        number: json.loads(text)
        for number, _, text in (line.partition(" ") for line in recorded("expecting"))
    }
    wrong = {}
    for text, rest in texts("error"):
        message, end = json.JSONDecoder().raw_decode(rest)
        expected = message + expecting.get(rest[end + 1 :], "")
        try:
            error = f"none: {compile_sql(text)}"
        except MQFilterError as raised:
            error = str(raised)
        if error != expected:
            wrong[text] = (expected, error)
    assert wrong == {}


def test_numbers_in_texts_are_read_as_in_java() -> None:
    def said(parse: Callable[[str], int | float], text: str) -> str:
        try:
            value = parse(text)
        except NumberFormatError:
            return "!"
        return java_double_text(value) if isinstance(value, float) else str(value)

    for text, expected in texts("number"):
        numbers = [said(parse, text) for parse in (parse_int, parse_long, parse_double)]
        assert numbers == expected.split(" "), repr(text)


def test_bloom_filters_have_javas_bits() -> None:
    for line in recorded("bloom"):
        error_rate, expected, rest = line.split(" ", 2)
        text, end = json.JSONDecoder().raw_decode(rest)
        bloom = BloomFilter(*bloom_size(int(error_rate), int(expected)))
        bits = {"bitNum": bloom.bits, "bitPos": bloom.bit_positions(text)}
        assert bits == json.loads(rest[end + 1 :]), line
