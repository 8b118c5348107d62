"""POP_LITE_MESSAGE (200070): take messages of the lite topics to which a client subscribes.

Behaviour: without a message the request is held for its poll time.

Source: broker/processor/PopLiteMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.pop import pop_lite
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.lite import (
    PopLiteMessageRequestHeader,
    PopLiteMessageResponseHeader,
)


@handles(table.POP_LITE_MESSAGE)
def pop_lite_message(
    broker: Broker5, request: Request[PopLiteMessageRequestHeader]
) -> Reply[PopLiteMessageResponseHeader] | Parked[PopLiteMessageResponseHeader]:
    return pop_lite(broker, request)
