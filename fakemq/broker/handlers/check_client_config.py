"""Code 46: a consumer asks whether its filter expression is understood, before it starts.

Source: broker/processor/ClientManageProcessor.java#checkClientConfig (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.handlers import handles
from fakemq.broker.pull import check_filter_type
from fakemq.broker.required import body_of
from fakemq.dispatch import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.heartbeat import CheckClientRequestBody
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker


@handles(table.CHECK_CLIENT_CONFIG)
def check_client_config(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    subscription = CheckClientRequestBody.decode(body_of(request)).subscription_data
    if subscription is not None:
        check_filter_type(subscription)
    return Reply()
