"""The figures of GET_BROKER_RUNTIME_INFO, in the order in which Java puts them into its table.

A broker here has no threads and perhaps no disk. Figures about those are the ones of an idle Java
broker: nothing to flush, and queues of length 0, unless a fault keeps threads busy.

Source: broker/processor/AdminBrokerProcessor.java#prepareRuntimeInfo,
store/DefaultMessageStore.java#getRuntimeInfo (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.java import java_double_text
from fakemq.protocol.topics import SCHEDULE_TOPIC
from fakemq.store.delay_detour import delay_level_to_queue_id

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker

_INT_MAX = 0x7FFFFFFF
_NOTHING = "0 B"


def runtime_info(broker: Broker) -> dict[str, str]:
    """Return all figures by name."""
    return _store_info(broker) | _broker_info(broker) | _buffer_info(broker)


def _store_info(broker: Broker) -> dict[str, str]:
    store = broker.store
    # In whole per cent, rounded up: common/UtilAll.java#getDiskPartitionSpaceUsedPercent
    space = store.disk_space
    ratio = java_double_text(space.rounded_ratio())
    folders = space.rounded_ratios() or {"memory/commitlog": space.rounded_ratio()}
    return (
        store.stats.runtime_info()
        | {
            f"commitLogDiskRatio_{folder}": java_double_text(of_folder)
            for folder, of_folder in folders.items()
        }
        | {"commitLogDiskRatio": ratio, "consumeQueueDiskRatio": ratio}
        | {
            f"scheduleMessageOffset_{level}": f"{offset},{_scheduled_to(broker, level)}"
            for level, offset in sorted(broker.delay.offsets.items())
        }
        | {
            "commitLogMinOffset": str(store.min_phy_offset),
            "commitLogMaxOffset": str(store.max_phy_offset),
        }
    )


def _scheduled_to(broker: Broker, level: int) -> int:
    return broker.store.max_offset_in_queue(SCHEDULE_TOPIC, delay_level_to_queue_id(level))


def _broker_info(broker: Broker) -> dict[str, str]:
    config, pools, lock = broker.config, broker.pools, broker.store.held_lock
    reference = broker.reference

    def size(pool: str) -> str:
        return "0" if pools is None else str(pools.size(pool))

    def head_wait_ms(pool: str) -> str:
        return "0" if pools is None else str(pools.head_wait_ms(pool))

    return (
        {"brokerVersionDesc": reference.version_name, "brokerVersion": str(reference.version)}
        | broker.store.stats.totals_by_day()
        | {
            "sendThreadPoolQueueSize": size("send"),
            "sendThreadPoolQueueCapacity": str(config.send_thread_pool_queue_capacity),
            "pullThreadPoolQueueSize": size("pull"),
            "pullThreadPoolQueueCapacity": str(config.pull_thread_pool_queue_capacity),
            "queryThreadPoolQueueSize": size("query"),
            "queryThreadPoolQueueCapacity": str(config.query_thread_pool_queue_capacity),
            "EndTransactionQueueSize": size("transaction"),
            "EndTransactionThreadPoolQueueCapacity": str(
                config.end_transaction_pool_queue_capacity
            ),
            "dispatchBehindBytes": "0",
            "pageCacheLockTimeMills": "0" if lock is None else str(lock.held_ms),
            "sendThreadPoolQueueHeadWaitTimeMills": head_wait_ms("send"),
            "pullThreadPoolQueueHeadWaitTimeMills": head_wait_ms("pull"),
            "queryThreadPoolQueueHeadWaitTimeMills": head_wait_ms("query"),
            "earliestMessageTimeStamp": str(_earliest_message_time_ms(broker)),
            "startAcceptSendRequestTimeStamp": str(config.start_accept_send_request_time_stamp),
        }
    )


def _earliest_message_time_ms(broker: Broker) -> int:
    """Return when the first message was stored; -1 while the log is short.

    Java reads twice maxMessageSize there, and fails while the first file has less.
    Source: store/DefaultMessageStore.java#getEarliestMessageTime (4.9.7)
    """
    store, begin = broker.store, broker.store.min_phy_offset
    if store.select_one_message_by_offset(begin, broker.config.max_message_size * 2) is None:
        return -1
    message = store.look_message_by_offset(begin)
    return -1 if message is None else message.store_timestamp_ms


def _buffer_info(broker: Broker) -> dict[str, str]:
    store, config = broker.store, broker.config
    info = {"remainTransientStoreBufferNumbs": str(_INT_MAX)}
    if config.transient_store_pool_enable:
        info["remainTransientStoreBufferNumbs"] = str(config.transient_store_pool_size)
        info["remainHowManyDataToCommit"] = _NOTHING
    info["remainHowManyDataToFlush"] = _NOTHING
    free_bytes = round(store.disk_space.total_bytes * (1 - store.used_ratio()))
    info["commitLogDirCapacity"] = (
        f"Total : {_human(store.disk_space.total_bytes)}, Free : {_human(free_bytes)}."
    )
    return info


def _human(size_bytes: int) -> str:
    """Source: common/MixAll.java#humanReadableByteCount (4.9.7)"""
    if size_bytes < 1024:
        return f"{size_bytes} B"
    power = (size_bytes.bit_length() - 1) // 10
    return f"{size_bytes / 1024**power:.1f} {'KMGTPE'[power - 1]}iB"
