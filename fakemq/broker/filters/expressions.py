"""Filters by expressions on a message's properties.

Source: broker/filter/ExpressionMessageFilter.java, ExpressionForRetryMessageFilter.java,
filter/FilterFactory.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

from fakemq.broker.filters.sql_parser import compile_sql
from fakemq.broker.filters.sql_tokens import FilterTooLongError, MQFilterError
from fakemq.protocol.limits import SUBSCRIPTION_MAX_CHARS
from fakemq.protocol.message import record_properties_bytes
from fakemq.protocol.properties import RETRY_TOPIC, decode_properties
from fakemq.protocol.subscription import ExpressionType
from fakemq.store.message_filter import MessageFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemq.broker.filters.sql_expressions import Expression


_KNOWN_CHARS = 1_000
"""A longer text is compiled each time."""


def compile_expression(
    expression_type: str | None, text: str | None, *, text_conditions: bool
) -> Expression:
    """Return the condition in a subscription's text; see `Reference.text_conditions`.

    Raise MQFilterError with the text of Java's exception, which is empty if ``text`` is None.
    """
    if expression_type != ExpressionType.SQL92:
        raise MQFilterError(
            'Cannot invoke "org.apache.rocketmq.filter.FilterSpi.compile(String)" because the'
            ' return value of "org.apache.rocketmq.filter.FilterFactory.get(String)" is null'
        )
    if text is None:
        raise MQFilterError
    if len(text) > SUBSCRIPTION_MAX_CHARS:
        most = f"{SUBSCRIPTION_MAX_CHARS} characters"
        raise FilterTooLongError(f"fakemq reads no filter of over {most}")
    # Very long texts are not cached: a peer may send any number of them.
    compiled = compile_sql if len(text) <= _KNOWN_CHARS else compile_sql.__wrapped__
    return compiled(text, text_conditions=text_conditions)


_MOST_COST = 100_000
"""What one get may cost, in a unit of about 0.1 µs: 800 usual messages cost a third of it."""
_COST_OF_MESSAGE, _COST_OF_TERM, _BYTES_OF_UNIT = 20, 4, 4


class _Cost:
    """Adds up what the messages cost that one get compares with its filter."""

    __slots__ = ("_cost",)
    tags_codes = None

    def __init__(self) -> None:
        self._cost = 0

    @property
    def is_spent(self) -> bool:
        return self._cost > _MOST_COST

    def _decoded(self, record: memoryview, terms: int = 0) -> dict[str, str]:
        properties = record_properties_bytes(record)
        self._cost += _COST_OF_MESSAGE + _COST_OF_TERM * terms + len(properties) // _BYTES_OF_UNIT
        return _decoded(properties)


class ExpressionMessageFilter(_Cost):
    """Lets through the messages for which a condition is true."""

    __slots__ = ("_expression",)

    def __init__(self, expression: Expression) -> None:
        super().__init__()
        self._expression = expression

    def is_matched_by_consume_queue(self, tags_code: int | None) -> bool:
        """Return True: an entry has no properties.

        Java looks at the bits in its extension, which say the same as the properties.
        """
        return True

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        return self._expression.matches(self._decoded(record, self._expression.terms))

    def is_matched_by_properties(self, properties: bytes) -> bool:
        return self._expression.matches(_decoded(properties))

    @property
    def condition(self) -> Expression:
        return self._expression


class ExpressionForRetryMessageFilter(_Cost):
    """Lets through retries of the messages for which the group's condition is true.

    ``expression_of`` returns the group's condition for the topic to which the message was first
    sent. If the group has none for that topic, every retry matches.
    Differs: Java throws an exception if a message does not name its first topic.
    """

    __slots__ = ("_by_entry", "_expression_of")

    def __init__(
        self, by_entry: PullFilter | None, expression_of: Callable[[str], Expression | None]
    ) -> None:
        super().__init__()
        self._by_entry = by_entry
        self._expression_of = expression_of

    def is_matched_by_consume_queue(self, tags_code: int | None) -> bool:
        return self._by_entry is None or self._by_entry.is_matched_by_consume_queue(tags_code)

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        return self._is_matched(self._decoded(record))

    def is_matched_by_properties(self, properties: bytes) -> bool:
        return self._is_matched(_decoded(properties))

    @property
    def condition(self) -> ExpressionForRetryMessageFilter:
        return self

    def _is_matched(self, properties: Mapping[str, str]) -> bool:
        expression = self._expression_of(properties.get(RETRY_TOPIC, ""))
        if expression is None:
            return True
        self._cost += _COST_OF_TERM * expression.terms
        return expression.matches(properties)


def _decoded(properties: bytes) -> dict[str, str]:
    return decode_properties(properties.decode("utf-8", "replace"))


# The filter of a pull, as the store and held pulls call it.
class PullFilter(MessageFilter, Protocol):
    """Source: store/MessageFilter.java#isMatchedByCommitLog (4.9.7), whose arguments exclude
    each other
    """

    def is_matched_by_properties(self, properties: bytes) -> bool:
        """As by the commit log, of a message that has just arrived, its properties as stored."""

    @property
    def tags_codes(self) -> frozenset[int] | None:
        """The hashes of tags that alone decide; None if properties decide, too."""

    @property
    def condition(self) -> Hashable:
        """What it asks of a record: two filters with the same condition take the same records."""
