"""LITE_SUBSCRIPTION_CTL (200071): clients subscribe to lite topics, or no longer do.

Behaviour: an entry without a client, a group or a topic is passed over. Lite topics that belong to
another broker are left out, unless this one has messages of them.
Refused: no entries, a group that may not consume, more lite topics than the broker allows.

Source: broker/processor/LiteSubscriptionCtlProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.control import control
from fakemq.dispatch.answers import Parked, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.LITE_SUBSCRIPTION_CTL)
def lite_subscription_ctl(broker: Broker5, request: Request[NoHeader]) -> Parked[NoHeader]:
    return control(broker, request)
