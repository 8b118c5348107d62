"""QUERY_DATA_VERSION (322): has a broker's topic config changed since it last registered?

Behaviour: a broker that is unknown has changed. If nothing changed, its silence counts from now.
The body is the data version known here, if any.
Ignored: broker name, id and cluster: the address alone decides.

Source: namesrv/processor/DefaultRequestProcessor.java#queryBrokerTopicConfig (4.9.7)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import readable_json
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.bodies.topic import DataVersion
from fakemq.protocol.headers.namesrv import (
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
)


@handles(table.QUERY_DATA_VERSION)
def query_data_version(
    node: NameServer, request: Request[QueryDataVersionRequestHeader]
) -> Reply[QueryDataVersionResponseHeader]:
    broker_addr = or_null(request.header, "broker_addr")
    data_version = DataVersion.decode_or_null(readable_json(request.body))
    changed = node.registration.is_topic_config_changed(broker_addr, data_version)
    if not changed:
        node.registration.update_timestamp(broker_addr)
    known = node.registration.query_topic_config(broker_addr)
    return Reply(
        QueryDataVersionResponseHeader(changed=changed),
        body=b"" if known is None else known.encode(),
    )
