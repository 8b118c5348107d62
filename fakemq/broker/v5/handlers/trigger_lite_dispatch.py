"""TRIGGER_LITE_DISPATCH (200079): let clients look into all lite topics that have messages.

Refused: an unknown group, a usual one. A client that is not there is no error.

Source: broker/processor/LiteManagerProcessor.java#triggerLiteDispatch (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.tools import trigger
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.lite import TriggerLiteDispatchRequestHeader


@handles(table.TRIGGER_LITE_DISPATCH)
def trigger_lite_dispatch(
    broker: Broker5, request: Request[TriggerLiteDispatchRequestHeader]
) -> Steps[Reply[NoHeader]]:
    return (yield from trigger(broker, request.header.group, request.header.client_id))
