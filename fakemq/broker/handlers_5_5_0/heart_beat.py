"""HEART_BEAT (34): register a client as 4.9.7 does, and tell what it may leave out.

Behaviour: the answer says that this broker reads heartbeats without subscriptions, and that the
group's subscriptions changed. So a client with ``useHeartbeatV2`` sends whole ones each time.

Source: broker/processor/ClientManageProcessor.java#heartBeat (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers.heart_beat import register
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.HEART_BEAT)
def heart_beat(broker: Broker, request: Request[NoHeader]) -> Steps[Reply[NoHeader] | None]:
    reply = yield from register(broker, request)
    if reply is not None:
        reply.ext_fields = {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
    return reply
