"""What consumers that pull report about themselves, for ``mqadmin consumerStatus``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakemq.client.consuming.allocation import strategy_name
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.consuming.settings import CONSUME_FROM_WHERE
from fakemq.protocol.bodies.consumer import ConsumerRunningInfo
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.versions import VERSION_DESCRIPTIONS

if TYPE_CHECKING:
    from fakemq.client.instance import ClientInstance


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
