"""CHECK_CLIENT_CONFIG (46): check the filter expression of a consumer before it starts.

Behaviour: as in 4.9.7, but a request without a body is SUCCESS.

Source: broker/processor/ClientManageProcessor.java#checkClientConfig (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.check_client_config import check_client
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import readable_json
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.CHECK_CLIENT_CONFIG)
def check_client_config(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    if request.body:
        check_client(broker, readable_json(request.body))
    return Reply()
