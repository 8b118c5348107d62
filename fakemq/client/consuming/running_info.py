"""What a push consumer reports about itself, for ``mqadmin consumerStatus``.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#consumerRunningInfo,
client/impl/factory/MQClientInstance.java#consumerRunningInfo (4.9.7)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakemq.client.consuming.allocation import strategy_name
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.consuming.settings import CONSUME_FROM_WHERE
from fakemq.client.tasks import Task
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.consumer import ConsumerRunningInfo, ProcessQueueInfo
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.versions import VERSION_DESCRIPTIONS

if TYPE_CHECKING:
    from fakemq.client.consuming.context import ConsumerContext
    from fakemq.client.consuming.process_queue import ProcessQueue
    from fakemq.client.consuming.pulling import PullService
    from fakemq.client.instance import ClientInstance

MIB = 1 << 20
NO_OFFSET = -1


def running_info(
    context: ConsumerContext, subscriptions: Sequence[SubscriptionData], pulling: PullService
) -> Task[ConsumerRunningInfo]:
    """Return the settings, queues, offsets and counters of a consumer."""
    info = ConsumerRunningInfo(
        properties=_properties(context, pulling),
        subscription_set=sorted(subscriptions, key=lambda one: f"{one.topic}@{one.sub_string}"),
    )
    for queue in sorted(context.queues):
        process_queue = context.queues.get(queue)
        if process_queue is None:  # dropped while another queue's offset was asked for
            continue
        committed = context.offsets.in_memory(queue)
        if committed is None:
            try:
                committed = yield from context.offsets.read(queue)
            except FakemqError:
                committed = None
        info.mq_table[queue] = _queue_info(context, process_queue, committed)
    for topic in sorted(one.topic or "" for one in subscriptions):
        info.status_table[topic] = context.statistics.status(topic)
    return info


def _queue_info(
    context: ConsumerContext, process_queue: ProcessQueue, committed: int | None
) -> ProcessQueueInfo:
    """Source: client/impl/consumer/ProcessQueue.java#fillProcessQueueInfo (4.9.7)"""
    carrier = context.services.carrier
    to_wall_ms = carrier.wall_ms() - carrier.elapsed_ms()
    info = ProcessQueueInfo(
        commit_offset=NO_OFFSET if committed is None else committed,
        # A queue that needs no lock is one that has it: each begins with it in Java.
        # Source: client/impl/consumer/RebalanceImpl.java#updateProcessQueueTableInRebalance (4.9.7)
        locked=process_queue.locked or not context.is_locking,
        try_unlock_times=process_queue.try_unlock_times,
        last_lock_timestamp=to_wall_ms + process_queue.last_lock_ms,
        droped=process_queue.dropped,
        last_pull_timestamp=to_wall_ms + process_queue.last_pull_ms,
        last_consume_timestamp=to_wall_ms + process_queue.last_consume_ms,
    )
    if process_queue.waiting:
        info.cached_msg_min_offset = process_queue.first_offset() or 0
        info.cached_msg_max_offset = process_queue.last_offset() or 0
        info.cached_msg_count = process_queue.waiting
        info.cached_msg_size_in_mi_b = process_queue.size_bytes // MIB
    taken = process_queue.taken_range()
    if taken is not None:
        info.transaction_msg_min_offset, info.transaction_msg_max_offset = taken
        info.transaction_msg_count = process_queue.taken
    return info


def _properties(context: ConsumerContext, pulling: PullService) -> dict[str, str]:
    """Return the settings under the names of Java's fields."""
    settings, instance = context.settings, context.services.instance
    values: dict[str, object] = {
        "consumerGroup": context.group,
        "messageModel": settings.message_model,
        "consumeFromWhere": CONSUME_FROM_WHERE[settings.consume_from],
        "allocateMessageQueueStrategy": strategy_name(settings.allocate),
        "consumeThreadMin": settings.consume_threads,
        "consumeThreadMax": settings.consume_threads,
        "consumeConcurrentlyMaxSpan": settings.consume_concurrently_max_span,
        "pullThresholdForQueue": pulling.threshold,
        "pullThresholdSizeForQueue": pulling.threshold_mib,
        "pullThresholdForTopic": settings.pull_threshold_for_topic,
        "pullThresholdSizeForTopic": settings.pull_threshold_size_mib_for_topic,
        "pullInterval": settings.pull_interval_ms,
        "consumeMessageBatchMaxSize": settings.consume_message_batch_max_size,
        "pullBatchSize": settings.pull_batch_size,
        "postSubscriptionWhenPull": settings.post_subscription_when_pull,
        "unitMode": settings.unit_mode,
        "maxReconsumeTimes": settings.max_reconsume_times,
        "suspendCurrentQueueTimeMillis": settings.suspend_current_queue_time_ms,
        "consumeTimeout": settings.consume_timeout_ms // 60_000,
        "PROP_CONSUMEORDERLY": settings.ordered,
        "PROP_THREADPOOL_CORE_SIZE": settings.consume_threads,
        "PROP_CONSUMER_START_TIMESTAMP": pulling.started_ms,
        "PROP_NAMESERVER_ADDR": "".join(f"{addr};" for addr in instance.name_servers.addrs),
        "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
        "PROP_CLIENT_VERSION": VERSION_DESCRIPTIONS.get(instance.config.version, "HIGHER_VERSION"),
    }
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
    }


# What consumers that pull report about themselves, for ``mqadmin consumerStatus``.
def lite_running_info(
    instance: ClientInstance,
    settings: LitePullSettings,
    group: str,
    subscriptions: Sequence[SubscriptionData],
    started_ms: int,
) -> ConsumerRunningInfo:
    """Return settings, under the names of Java's fields, and subscriptions; no queues, as in Java.

    Source: client/impl/consumer/DefaultLitePullConsumerImpl.java#consumerRunningInfo (4.9.7)
    """
    values: dict[str, object] = {
        "consumerGroup": group,
        "messageModel": settings.message_model,
        "consumeFromWhere": CONSUME_FROM_WHERE[settings.consume_from],
        "allocateMessageQueueStrategy": strategy_name(settings.allocate),
        "autoCommit": settings.auto_commit,
        "autoCommitIntervalMillis": settings.auto_commit_interval_ms,
        "pollTimeoutMillis": settings.poll_timeout_ms,
        "pullBatchSize": settings.pull_batch_size,
        "pullThresholdForAll": settings.pull_threshold_for_all,
        "pullThresholdForQueue": settings.pull_threshold_for_queue,
        "pullThresholdSizeForQueue": settings.pull_threshold_size_mib_for_queue,
        "consumeMaxSpan": settings.consume_max_span,
        "brokerSuspendMaxTimeMillis": settings.broker_suspend_max_time_ms,
        "consumerTimeoutMillisWhenSuspend": settings.consumer_timeout_when_suspend_ms,
        "topicMetadataCheckIntervalMillis": settings.topic_metadata_check_interval_ms,
        "unitMode": settings.unit_mode,
    }
    return _info(instance, values, subscriptions, started_ms)


def pull_running_info(
    instance: ClientInstance,
    settings: PullSettings,
    group: str,
    subscriptions: Sequence[SubscriptionData],
    started_ms: int,
) -> ConsumerRunningInfo:
    """Return settings, under the names of Java's fields, and subscriptions; no queues, as in Java.

    Source: client/impl/consumer/DefaultMQPullConsumerImpl.java#consumerRunningInfo (4.9.7)
    """
    values: dict[str, object] = {
        "consumerGroup": group,
        "messageModel": settings.message_model,
        "allocateMessageQueueStrategy": strategy_name(settings.allocate),
        "brokerSuspendMaxTimeMillis": settings.broker_suspend_max_time_ms,
        "consumerTimeoutMillisWhenSuspend": settings.consumer_timeout_when_suspend_ms,
        "consumerPullTimeoutMillis": settings.consumer_pull_timeout_ms,
        "maxReconsumeTimes": settings.max_reconsume_times,
        "unitMode": settings.unit_mode,
    }
    return _info(instance, values, subscriptions, started_ms)


def _info(
    instance: ClientInstance,
    settings: dict[str, object],
    subscriptions: Sequence[SubscriptionData],
    started_ms: int,
) -> ConsumerRunningInfo:
    """Source: client/impl/factory/MQClientInstance.java#consumerRunningInfo (4.9.7)"""
    values = {
        **settings,
        "PROP_CONSUMER_START_TIMESTAMP": started_ms,
        "PROP_NAMESERVER_ADDR": "".join(f"{addr};" for addr in instance.name_servers.addrs),
        "PROP_CONSUME_TYPE": "CONSUME_ACTIVELY",
        "PROP_CLIENT_VERSION": VERSION_DESCRIPTIONS.get(instance.config.version, "HIGHER_VERSION"),
    }
    return ConsumerRunningInfo(
        properties={
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in values.items()
        },
        subscription_set=sorted(subscriptions, key=lambda one: f"{one.topic}@{one.sub_string}"),
    )
