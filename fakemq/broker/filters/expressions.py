"""Filters by expressions on a message's properties.

Source: broker/filter/ExpressionMessageFilter.java, ExpressionForRetryMessageFilter.java,
filter/FilterFactory.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.filters.sql_parser import compile_sql
from fakemq.broker.filters.sql_tokens import MQFilterError
from fakemq.protocol.message import record_properties
from fakemq.protocol.properties import RETRY_TOPIC, decode_properties
from fakemq.protocol.subscription import ExpressionType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemq.broker.filters.pull_filter import PullFilter
    from fakemq.broker.filters.sql_expressions import Expression


_KNOWN_CHARS = 1_000
"""A longer text is compiled each time."""


def compile_expression(expression_type: str | None, text: str | None) -> Expression:
    """Return the condition in a subscription's text.

    Raise MQFilterError with the text of Java's exception, which is empty if ``text`` is None.
    """
    if expression_type != ExpressionType.SQL92:
        raise MQFilterError(
            'Cannot invoke "org.apache.rocketmq.filter.FilterSpi.compile(String)" because the'
            ' return value of "org.apache.rocketmq.filter.FilterFactory.get(String)" is null'
        )
    if text is None:
        raise MQFilterError
    # Very long texts are not cached: a peer may send any number of them.
    return (compile_sql if len(text) <= _KNOWN_CHARS else compile_sql.__wrapped__)(text)


class ExpressionMessageFilter:
    """Lets through the messages for which a condition is true."""

    __slots__ = ("_expression",)

    def __init__(self, expression: Expression) -> None:
        self._expression = expression

    def is_matched_by_consume_queue(self, tags_code: int) -> bool:
        """Return True: a plain queue entry contains no properties."""
        return True

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        return self._expression.matches(record_properties(record))

    def is_matched_by_properties(self, properties: bytes) -> bool:
        return self._expression.matches(_decoded(properties))


class ExpressionForRetryMessageFilter:
    """Lets through retries of the messages for which the group's condition is true.

    ``expression_of`` returns the group's condition for the topic to which the message was first
    sent. If the group has none for that topic, every retry matches.
    Differs: Java throws an exception if a message does not name its first topic.
    """

    __slots__ = ("_by_entry", "_expression_of")

    def __init__(
        self, by_entry: PullFilter | None, expression_of: Callable[[str], Expression | None]
    ) -> None:
        self._by_entry = by_entry
        self._expression_of = expression_of

    def is_matched_by_consume_queue(self, tags_code: int) -> bool:
        return self._by_entry is None or self._by_entry.is_matched_by_consume_queue(tags_code)

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        return self._is_matched(record_properties(record))

    def is_matched_by_properties(self, properties: bytes) -> bool:
        return self._is_matched(_decoded(properties))

    def _is_matched(self, properties: Mapping[str, str]) -> bool:
        expression = self._expression_of(properties.get(RETRY_TOPIC, ""))
        return expression is None or expression.matches(properties)


def _decoded(properties: bytes) -> dict[str, str]:
    return decode_properties(properties.decode("utf-8", "replace"))
