"""GET_BROKER_RUNTIME_INFO (28): return figures of the broker and its store, as a table of texts.

Behaviour: as in 4.9.7, with the figures of 5.5.0.
Differs: what was put until a morning counts messages of Java's own topics, too.

Source: broker/processor/AdminBrokerProcessor.java#getBrokerRuntimeInfo, #prepareRuntimeInfo,
store/DefaultMessageStore.java#getEarliestMessageTime (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.tables.runtime_info import runtime_info
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader


@handles(table.GET_BROKER_RUNTIME_INFO)
def get_broker_runtime_info(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    info = _runtime_info(broker)
    table_of_texts = {key: info[key] for key in java_hash_map_order(info, 64)}
    return Reply(body=KVTable(table=table_of_texts).encode())


def _runtime_info(broker: Broker5) -> dict[str, str]:
    """Return all figures by name; no request waits for the threads of acks and lite pulls."""
    info, config = runtime_info(broker), broker.config
    del info["brokerVersion"]
    info["getTransferredTps"] = info.pop("getTransferedTps")
    info["earliestMessageTimeStamp"] = str(_earliest_message_time_ms(broker))
    put_nums = broker.stats.put_nums().items()
    put = sum(num for topic, num in put_nums if not broker.topics.is_system(topic))
    return info | {
        "msgPutTotalTodayNow": str(put),
        "brokerActive": str(broker.role.has_duties).lower(),
        "litePullThreadPoolQueueSize": "0",
        "litePullThreadPoolQueueCapacity": str(config.lite_pull_thread_pool_queue_capacity),
        "litePullThreadPoolQueueHeadWaitTimeMills": "0",
        "ackThreadPoolQueueSize": "0",
        "ackThreadPoolQueueCapacity": str(config.ack_thread_pool_queue_capacity),
        "ackThreadPoolQueueHeadWaitTimeMills": "0",
        # A message gets its slot, and leaves it, at its time: nothing is behind.
        "timerReadBehind": "0",
        "timerOffsetBehind": "0",
        "timerCongestNum": str(broker.timers.metrics.total),
        "timerEnqueueTps": "0.0",
        "timerDequeueTps": "0.0",
    }


def _earliest_message_time_ms(broker: Broker5) -> int:
    """Return when the first message was stored; -1 if there is none."""
    message = broker.store.look_message_by_offset(broker.store.min_phy_offset)
    return -1 if message is None else message.store_timestamp_ms
