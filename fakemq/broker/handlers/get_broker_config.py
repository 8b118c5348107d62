"""GET_BROKER_CONFIG (26): return the broker's config as text, in ``key=value`` lines.

Behaviour: all of Java's keys by their field names, in Java's order, and the other keys of the file
that the broker was started with; the header carries the version of the config. Folders that do not
exist are left out.

Source: broker/processor/AdminBrokerProcessor.java#getBrokerConfig (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.config.updates import properties_text
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.admin import GetBrokerConfigResponseHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_BROKER_CONFIG)
def get_broker_config(
    broker: Broker, request: Request[NoHeader]
) -> Reply[GetBrokerConfigResponseHeader]:
    return Reply(
        GetBrokerConfigResponseHeader(version=broker.config_version.encode().decode()),
        body=properties_text(broker.config).encode(),
    )
