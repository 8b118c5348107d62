"""The filters that requests of POP bring with them.

Source: broker/processor/PopMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    from fakemq.broker.filters.expressions import PullFilter
    from fakemq.protocol.bodies.heartbeat import SubscriptionData


class FilterMaker:
    """Makes the filter for each queue of a request; None if every message passes.

    Each queue needs one of its own, because a filter counts what its answers have cost.
    ``subscription`` is what the filter is of; None if there is none.
    """

    __slots__ = ("_make", "subscription")

    def __init__(
        self, make: Callable[[], PullFilter | None], subscription: SubscriptionData | None
    ) -> None:
        self._make = make
        self.subscription = subscription

    def __call__(self) -> PullFilter | None:
        return self._make()


def filter_maker(topic: str, expression: str | None, expression_type: str | None) -> FilterMaker:
    """Return what makes the filters of a request.

    Raise Refused for an expression that cannot be read.
    """
    if not expression or (expression == SUB_ALL and is_tag_type(expression_type)):
        return FilterMaker(lambda: None, None)
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
        return FilterMaker(lambda: by_tags, None if by_tags is None else subscription)
    # Most clusters never see an expression.
    from fakemq.broker.filters.expressions import ExpressionMessageFilter, compile_expression
    from fakemq.broker.filters.sql_tokens import MQFilterError

    try:
        # Only brokers that pop are here: they know all of 5.5.0's words.
        compiled = compile_expression(expression_type, expression, text_conditions=True)
    except MQFilterError as error:
        raise unreadable from error
    return FilterMaker(lambda: ExpressionMessageFilter(compiled), subscription)
