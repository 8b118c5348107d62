"""The figures of GET_BROKER_RUNTIME_INFO at a broker of 5.5.0: those of 4.9.7, and its own.

Source: broker/processor/AdminBrokerProcessor.java#prepareRuntimeInfo,
store/DefaultMessageStore.java#getEarliestMessageTime (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.runtime_info import runtime_info
from fakemq.broker.v5.parts import parts_of
from fakemq.config.v5.model import config5

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker


def runtime_info_5(broker: Broker) -> dict[str, str]:
    """Return all figures by name; no request waits for the threads of acks and lite pulls.

    Differs: what was put until a morning counts messages of Java's own topics, too.
    """
    info, config = runtime_info(broker), config5(broker.config)
    del info["brokerVersion"]
    info["getTransferredTps"] = info.pop("getTransferedTps")
    info["earliestMessageTimeStamp"] = str(_earliest_message_time_ms(broker))
    put_nums = broker.stats.put_nums().items()
    put = sum(num for topic, num in put_nums if not broker.topics.is_system(topic))
    return info | {
        "msgPutTotalTodayNow": str(put),
        "brokerActive": str(not config.is_slave).lower(),
        "litePullThreadPoolQueueSize": "0",
        "litePullThreadPoolQueueCapacity": str(config.lite_pull_thread_pool_queue_capacity),
        "litePullThreadPoolQueueHeadWaitTimeMills": "0",
        "ackThreadPoolQueueSize": "0",
        "ackThreadPoolQueueCapacity": str(config.ack_thread_pool_queue_capacity),
        "ackThreadPoolQueueHeadWaitTimeMills": "0",
        # A message gets its slot, and leaves it, at its time: nothing is behind.
        "timerReadBehind": "0",
        "timerOffsetBehind": "0",
        "timerCongestNum": str(parts_of(broker).timers.metrics.total),
        "timerEnqueueTps": "0.0",
        "timerDequeueTps": "0.0",
    }


def _earliest_message_time_ms(broker: Broker) -> int:
    """Return when the first message was stored; -1 if there is none."""
    message = broker.store.look_message_by_offset(broker.store.min_phy_offset)
    return -1 if message is None else message.store_timestamp_ms
