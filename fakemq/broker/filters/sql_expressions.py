"""Conditions on the properties of a message, and their values in Java's three-valued logic.

Properties are text. In a comparison they are converted to the type of the literal: ``a > 5`` needs
an int in ``a``, ``a > 5.0`` a double. If ``a`` cannot be converted, that is an error, and the
broker does not deliver the message.

``str()`` of an expression is the text of Java's toString; errors contain it.

Source: filter/expression/*.java (4.9.7)
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
    """A part of a filter expression, which has a value for each message.

    ``condition``: whether the value is true, false or null (unknown), and no number or text.
    `evaluate` raises MQFilterError if Java throws an exception.
    """

    __slots__ = ("terms",)
    condition = True
    terms: int
    """The number of operands of a whole expression, which is what an evaluation costs."""

    def evaluate(self, properties: Properties) -> Value:
        raise NotImplementedError

    def matches(self, properties: Properties) -> bool:
        """Return whether the value is true: not false, not null and no exception.

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
    """A property in the place of a condition: null if it is absent, else false: it is no Boolean.

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
    """A number with the other sign; null if the value is no number.

    Source: UnaryExpression.java#createNegate
    """

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
    """The opposite of a condition; null stays null. Source: UnaryExpression.java#createNOT"""

    __slots__ = ("_of",)

    def __init__(self, of: Expression) -> None:
        self._of = of

    def evaluate(self, properties: Properties) -> bool | None:
        value = self._of.evaluate(properties)
        return None if value is None else not value

    def __str__(self) -> str:
        return f"(NOT {self._of})"


class In(Expression):
    """Whether a property is one of the texts. Source: UnaryExpression.java#createInExpression"""

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
    """Whether all of two or more conditions are true.

    One false condition makes it false; otherwise one null makes it null.

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
    """Whether any of two or more conditions is true.

    One true condition makes it true; otherwise one null makes it null.

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
    """Whether two values are equal after a conversion to one type; ``a IS NULL`` is made of it.

    There are three cases with null: 1. on the left only: null; 2. on the right only: false; 3. on
    both sides: true.

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
    """Compares two numbers, or two texts that are numbers of type double.

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
    """Return the text of Java's String.valueOf."""
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
    # A mistake of Java: it casts the Boolean to a String instead of converting it.
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
"""Types of left and right → how each side is converted before the comparison."""


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1: ``left`` is less than, equal to or greater than ``right``.

    Neither is null. A Boolean compared with a number is always -1. Raise MQFilterError for a text
    that is no number of the other side's type.

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
