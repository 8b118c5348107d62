"""The conditions of a filter expression that only 5.5.0 has: on a part of a text."""

from __future__ import annotations

import operator
from collections.abc import Callable

from fakemq.broker.filters.sql_expressions import Expression, Properties


class TextCondition(Expression):
    """Whether a text contains another, or begins or ends with it; never null.

    ``symbol`` is one of Java's, such as ``NOT CONTAINS``. Every value that is no text, and every
    comparison with an empty text, is false, with NOT, too.
    Source: ComparisonExpression.java#ContainsExpression and the five behind it (5.5.0)
    """

    __slots__ = ("_holds", "_negated", "_of", "_symbol", "_text")

    def __init__(self, of: Expression, symbol: str, text: str) -> None:
        self._of = of
        self._symbol = symbol
        self._text = text
        self._negated = symbol.startswith("NOT ")
        self._holds = _TEXT_CONDITIONS[symbol.removeprefix("NOT ")]

    def evaluate(self, properties: Properties) -> bool:
        value = self._of.evaluate(properties)
        if not self._text or not isinstance(value, str):
            return False
        return self._holds(value, self._text) is not self._negated

    def __str__(self) -> str:
        return f"({self._symbol} {self._of})"


_TEXT_CONDITIONS: dict[str, Callable[[str, str], bool]] = {
    "CONTAINS": operator.contains,
    "STARTSWITH": str.startswith,
    "ENDSWITH": str.endswith,
}
