"""Conditions on the properties of a message, and their values in Java's three-valued logic.

Properties are text. In a comparison they are converted to the type of the literal: ``a > 5`` needs
an int in ``a``, ``a > 5.0`` a double. If ``a`` cannot be converted, that is an error, and the
broker does not deliver the message.

Source: filter/expression/*.java (4.9.7), whose toString is ours, too
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from fakemq.broker.filters.sql_tokens import MQFilterError
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_bool, parse_int, parse_long
from fakemq.protocol.java import (
    compare_doubles,
    java_double_text,
    java_hash_map_order,
    parse_double,
)


class Long(int):
    """A number that is a long in Java; ``int`` stands for an Integer."""

    __slots__ = ()


Value: TypeAlias = "str | int | float | bool | None"
Properties: TypeAlias = Mapping[str, str]


class Expression:
    """Something with a value. ``condition`` says that it is true, false or null (unknown).

    `evaluate` raises MQFilterError where Java throws.
    """

    __slots__ = ()
    condition = True

    def evaluate(self, properties: Properties) -> Value:
        raise NotImplementedError

    def matches(self, properties: Properties) -> bool:
        """Whether the value is true: neither false nor null nor an exception.

        Source: broker/filter/ExpressionMessageFilter.java#isMatchedByCommitLog (4.9.7)
        """
        try:
            return self.evaluate(properties) is True
        except (MQFilterError, RecursionError):
            return False


class Constant(Expression):
    """A literal. Source: ConstantExpression.java, BooleanConstantExpression.java"""

    __slots__ = ("condition", "value")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.condition = value is None or isinstance(value, bool)

    def evaluate(self, properties: Properties) -> Value:
        return self.value

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        return java_text(self.value).upper() if self.condition else java_text(self.value)


class Property(Expression):
    """A property of the message, or null. Source: PropertyExpression.java"""

    __slots__ = ("_name",)
    condition = False

    def __init__(self, name: str) -> None:
        self._name = name

    def evaluate(self, properties: Properties) -> str | None:
        return properties.get(self._name)

    def __str__(self) -> str:
        return self._name


class BooleanCast(Expression):
    """A property where a condition should be: null, or else false, since it is no Boolean.

    Source: UnaryExpression.java#createBooleanCast
    """

    __slots__ = ("_property",)

    def __init__(self, of: Property) -> None:
        self._property = of

    def evaluate(self, properties: Properties) -> bool | None:
        return None if self._property.evaluate(properties) is None else False

    def __str__(self) -> str:
        return str(self._property)


class Negate(Expression):
    """A number below zero; of what is no number, null. Source: UnaryExpression.java#createNegate"""

    __slots__ = ("_of",)
    condition = False

    def __init__(self, of: Expression) -> None:
        self._of = of

    def evaluate(self, properties: Properties) -> Value:
        value = self._of.evaluate(properties)
        if value is None or isinstance(value, (str, bool)):
            return None
        return type(value)(-value)

    def __str__(self) -> str:
        return f"(- {self._of})"


class Not(Expression):
    """Source: UnaryExpression.java#createNOT"""

    __slots__ = ("_of",)

    def __init__(self, of: Expression) -> None:
        self._of = of

    def evaluate(self, properties: Properties) -> bool | None:
        value = self._of.evaluate(properties)
        return None if value is None else not value

    def __str__(self) -> str:
        return f"(NOT {self._of})"


class In(Expression):
    """Whether a property is one of some texts. Source: UnaryExpression.java#createInExpression"""

    __slots__ = ("_negated", "_property", "_texts")

    def __init__(self, of: Property, texts: Sequence[str], *, negated: bool) -> None:
        self._property = of
        self._negated = negated
        self._texts: Collection[str] = (
            texts
            if len(texts) < 5
            else dict.fromkeys(java_hash_map_order(texts, len(texts) * 4 // 3 + 1))
        )

    def evaluate(self, properties: Properties) -> bool | None:
        value = self._property.evaluate(properties)
        return None if value is None else (value in self._texts) is not self._negated

    def __str__(self) -> str:
        return (
            f"{self._property} {'NOT IN' if self._negated else 'IN'} ( {', '.join(self._texts)} )"
        )


class And(Expression):
    """All of two or more conditions: what is false decides, what is null does not.

    Source: LogicExpression.java#createAND
    """

    __slots__ = ("_terms",)

    def __init__(self, terms: Sequence[Expression]) -> None:
        self._terms = tuple(terms)

    def evaluate(self, properties: Properties) -> bool | None:
        result: bool | None = True
        for term in self._terms:
            value = term.evaluate(properties)
            if value is None:
                result = None
            elif not value:
                return False
        return result

    def __str__(self) -> str:
        return _chain(self._terms, "&&")


class Or(Expression):
    """Any of two or more conditions: what is true decides, what is null does not.

    Source: LogicExpression.java#createOR
    """

    __slots__ = ("_terms",)

    def __init__(self, terms: Sequence[Expression]) -> None:
        self._terms = tuple(terms)

    def evaluate(self, properties: Properties) -> bool | None:
        result: bool | None = False
        for term in self._terms:
            value = term.evaluate(properties)
            if value is None:
                result = None
            elif value:
                return True
        return result

    def __str__(self) -> str:
        return _chain(self._terms, "||")


class Equal(Expression):
    """Whether two values are the same once they are of one type; IS NULL is one of these.

    Null on the left is unknown, on the right it is another value, on both sides it is the same.

    Source: ComparisonExpression.java#doCreateEqual
    """

    __slots__ = ("_left", "_right")

    def __init__(self, left: Expression, right: Expression) -> None:
        self._left = left
        self._right = right

    def evaluate(self, properties: Properties) -> bool | None:
        left = self._left.evaluate(properties)
        right = self._right.evaluate(properties)
        if left is None:
            return True if right is None else None
        return False if right is None else compare(left, right) == 0

    def __str__(self) -> str:
        return f"({self._left} == {self._right})"


_ORDERS: dict[str, Callable[[int, int], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


class Order(Expression):
    """How two numbers follow each other, or two texts that are numbers (of type double).

    Source: ComparisonExpression.java#evaluate
    """

    __slots__ = ("_holds", "_left", "_right", "_symbol")

    def __init__(self, left: Expression, symbol: str, right: Expression) -> None:
        self._left = left
        self._symbol = symbol
        self._right = right
        self._holds = _ORDERS[symbol]

    def evaluate(self, properties: Properties) -> bool | None:
        left = self._left.evaluate(properties)
        if left is None:
            return None
        right = self._right.evaluate(properties)
        if right is None:
            return None
        if isinstance(left, str) and isinstance(right, str):
            try:
                left, right = parse_double(left), parse_double(right)
            except NumberFormatError as error:
                raise MQFilterError(
                    "java.lang.RuntimeException: It's illegal to compare string by"
                    f" '>=', '>', '<', '<='. lv={left}, rv={right}"
                ) from error
        return self._holds(compare(left, right), 0)

    def __str__(self) -> str:
        return f"({self._left} {self._symbol} {self._right})"


def java_text(value: Value) -> str:
    """String.valueOf."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return java_double_text(value) if isinstance(value, float) else str(value)


def _chain(terms: Sequence[Expression], symbol: str) -> str:
    text = str(terms[0])
    for term in terms[1:]:
        text = f"({text} {symbol} {term})"
    return text


# -- comparing ----------------------------------------------------------------------------------


def _as_it_is(value: Value) -> Value:
    return value


def _no_text(truth: bool) -> Value:
    # Java casts where it means to convert.
    raise MQFilterError(
        "java.lang.ClassCastException: class java.lang.Boolean cannot be cast to class"
        " java.lang.String (java.lang.Boolean and java.lang.String are in module java.base of"
        " loader 'bootstrap')"
    )


_Converter: TypeAlias = Callable[[Any], Value]
_CONVERTERS: dict[tuple[type, type], tuple[_Converter, _Converter]] = {
    (bool, str): (_no_text, _as_it_is),
    (str, bool): (parse_bool, _as_it_is),
    (str, int): (parse_int, _as_it_is),
    (str, Long): (parse_long, _as_it_is),
    (str, float): (parse_double, _as_it_is),
    (int, str): (_as_it_is, parse_int),
    (Long, str): (_as_it_is, parse_long),
    (float, str): (_as_it_is, parse_double),
    (int, Long): (_as_it_is, _as_it_is),
    (Long, int): (_as_it_is, _as_it_is),
    (int, float): (float, _as_it_is),
    (Long, float): (float, _as_it_is),
    (float, int): (_as_it_is, float),
    (float, Long): (_as_it_is, float),
}
"""For what has unlike types, how each side becomes one of one type."""


def compare(left: Value, right: Value) -> int:
    """Below, at or above 0 as ``left`` is before, at or behind ``right``; neither is null.

    A Boolean and a number are -1, whatever they are. Raises MQFilterError for text that is no
    number of the other side's type.

    Source: ComparisonExpression.java#__compare (4.9.7)
    """
    one: Any = left
    other: Any = right
    types = type(left), type(right)
    if types[0] is not types[1]:
        converters = _CONVERTERS.get(types)
        if converters is None:
            return -1
        try:
            one, other = converters[0](left), converters[1](right)
        except NumberFormatError as error:
            raise MQFilterError(
                f"java.lang.RuntimeException: java.lang.NumberFormatException: {error}"
            ) from error
    if isinstance(one, float):
        return compare_doubles(one, other)
    return int(one > other) - int(one < other)
