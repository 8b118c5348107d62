"""GET_BROKER_RUNTIME_INFO (28): return figures of the broker and its store, as a table of texts.

Behaviour: as in 4.9.7, with the figures of 5.5.0.

Source: broker/processor/AdminBrokerProcessor.java#getBrokerRuntimeInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.v5.handlers import handles
from fakemq.broker.v5.runtime_info import runtime_info_5
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader


@handles(table.GET_BROKER_RUNTIME_INFO)
def get_broker_runtime_info(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    info = runtime_info_5(broker)
    table_of_texts = {key: info[key] for key in java_hash_map_order(info, 64)}
    return Reply(body=KVTable(table=table_of_texts).encode())
