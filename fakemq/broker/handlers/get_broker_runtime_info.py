"""GET_BROKER_RUNTIME_INFO (28): return figures of the broker and its store, as a table of texts.

Source: broker/processor/AdminBrokerProcessor.java#getBrokerRuntimeInfo (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.tables.runtime_info import runtime_info
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader


@handles(table.GET_BROKER_RUNTIME_INFO)
def get_broker_runtime_info(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    info = runtime_info(broker)
    return Reply(
        body=KVTable(table={key: info[key] for key in java_hash_map_order(info, 64)}).encode()
    )
