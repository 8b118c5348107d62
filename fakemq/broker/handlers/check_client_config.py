"""CHECK_CLIENT_CONFIG (46): check the filter expression of a consumer before it starts.

Source: broker/processor/ClientManageProcessor.java#checkClientConfig (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.checks import check_filter_type
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol import table
from fakemq.protocol.bodies.heartbeat import CheckClientRequestBody
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.subscription import is_tag_type
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.protocol.bodies.heartbeat import SubscriptionData


@handles(table.CHECK_CLIENT_CONFIG)
def check_client_config(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    check_client(broker, body_of(request))
    return Reply()


def check_client(broker: Broker, json: bytes) -> None:
    """Raise Refused if the body of a request has an expression that the broker cannot read."""
    body = CheckClientRequestBody.decode_or_null(json)
    subscription = None if body is None else body.subscription_data
    if subscription is not None and not is_tag_type(subscription.expression_type):
        check_filter_type(broker, subscription)
        _check_expression(subscription, broker.reference.text_conditions)


def _check_expression(subscription: SubscriptionData, text_conditions: bool) -> None:
    # Imported here, because most brokers never see an expression.
    from fakemq.broker.filters.expressions import compile_expression
    from fakemq.broker.filters.sql_tokens import MQFilterError

    try:
        compile_expression(
            subscription.expression_type, subscription.sub_string, text_conditions=text_conditions
        )
    except MQFilterError as error:
        raise Refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error) or None) from error
