"""The filters that requests of POP bring with them.

Source: broker/processor/PopMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.filters.tags import tags_filter
from fakemq.dispatch.answers import Refused
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.limits import SUBSCRIPTION_MAX_CHARS
from fakemq.protocol.subscription import (
    SUB_ALL,
    SubscriptionError,
    build_subscription,
    is_tag_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.broker.filters.pull_filter import PullFilter

    FilterMaker: TypeAlias = Callable[[], PullFilter | None]


def filter_maker(topic: str, expression: str | None, expression_type: str | None) -> FilterMaker:
    """Return what makes the filter for each queue of a request; it makes None if all pass.

    Each queue needs one of its own, because a filter counts what its answers have cost.
    Raise Refused for an expression that cannot be read.
    """
    if not expression or (expression == SUB_ALL and is_tag_type(expression_type)):
        return lambda: None
    if len(expression) > SUBSCRIPTION_MAX_CHARS:
        most = f"fakemq reads no subscription of over {SUBSCRIPTION_MAX_CHARS} characters"
        raise Refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, most)
    unreadable = Refused(
        ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed"
    )
    try:
        subscription = build_subscription(topic, expression, expression_type)
    except SubscriptionError as error:
        raise unreadable from error
    if is_tag_type(subscription.expression_type):
        by_tags = tags_filter(subscription)
        return lambda: by_tags
    # Most clusters never see an expression.
    from fakemq.broker.filters.expressions import ExpressionMessageFilter, compile_expression
    from fakemq.broker.filters.sql_tokens import MQFilterError

    try:
        # Only brokers that pop are here: they know all of 5.5.0's words.
        compiled = compile_expression(expression_type, expression, text_conditions=True)
    except MQFilterError as error:
        raise unreadable from error
    return lambda: ExpressionMessageFilter(compiled)
