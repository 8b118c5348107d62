"""The options of producers and consumers, for editors, type checkers and help().

What each does, and its default, is with the field of the same name in the settings that a class
here names. `fakemq.client.options.ClientConfig` has the options of all kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:  # a producer loads nothing of consumers
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from datetime import datetime

    from fakemq.client.consuming.allocation import AllocateStrategy
    from fakemq.client.consuming.settings import ConsumeFrom, MessageModel
    from fakemq.client.messages import LocalTransactionState
    from fakemq.client.producing.settings import Check
    from fakemq.protocol.codes import LanguageCode
    from fakemq.protocol.command import SerializeType
    from fakemq.protocol.message import MessageExt

State: TypeAlias = "LocalTransactionState | None"
AsyncCheck: TypeAlias = "Callable[[MessageExt], Awaitable[State] | State]"
"""Answers a broker that asks about a half message, perhaps an async function; None is UNKNOW."""


class FaceOptions(TypedDict, total=False):
    """Options of every producer and consumer.

    Those with an equal ``instance_name`` share one client: connections, heartbeats and client id.
    Without one each has a client of its own, with a unique id.
    """

    instance_name: str
    api_timeout_ms: int
    heartbeat_interval_ms: int
    route_interval_ms: int
    persist_interval_ms: int
    vip_channel: bool
    seed: int | None
    language: LanguageCode
    version: int
    serialize_type: SerializeType
    access_key: str
    secret_key: str
    security_token: str
    tls: bool
    tls_ca_file: str
    tls_check_host: bool
    tls_cert_file: str
    tls_key_file: str
    tls_key_password: str


class SendingOptions(FaceOptions, total=False):
    """Options of both kinds of producers."""

    namespace: str
    send_timeout_ms: int
    retry_times_when_send_failed: int
    retry_response_codes: Collection[int]
    retry_another_broker_when_not_store_ok: bool
    max_message_bytes: int
    compress_over_bytes: int
    compress_level: int
    create_topic_key: str
    default_topic_queue_nums: int
    smart_send: bool
    send_latency_fault_enable: bool
    latency_max_ms: Sequence[int]
    not_available_duration_ms: Sequence[int]
    check_request_hold_max: int
    trace: bool
    trace_topic: str


class ProducerOptions(SendingOptions, total=False):
    """Options of a producer: `fakemq.client.producing.settings.ProducerSettings`."""

    check: Check | None


class AsyncProducerOptions(SendingOptions, total=False):
    """Options of an asynchronous producer: `fakemq.client.producing.settings.ProducerSettings`.

    ``check`` may be an async function.
    """

    check: AsyncCheck | None


class PushOptions(FaceOptions, total=False):
    """Options of a push consumer: `fakemq.client.consuming.settings.PushSettings`.

    ``allocate`` may be the name of a strategy, such as ``"AVG_BY_CIRCLE"``.
    """

    namespace: str
    message_model: MessageModel
    ordered: bool
    consume_from: ConsumeFrom
    consume_timestamp: str | datetime | None
    allocate: AllocateStrategy | str
    consume_threads: int
    consume_message_batch_max_size: int
    pull_batch_size: int
    pull_interval_ms: int
    pull_threshold_for_queue: int
    pull_threshold_size_mib_for_queue: int
    pull_threshold_for_topic: int
    pull_threshold_size_mib_for_topic: int
    consume_concurrently_max_span: int
    pull_delay_when_error_ms: int
    post_subscription_when_pull: bool
    max_reconsume_times: int
    delay_level_when_next_consume: int
    suspend_current_queue_time_ms: int
    consume_timeout_ms: int
    unit_mode: bool
    offsets_directory: str | None
    trace: bool
    trace_topic: str


class LitePullOptions(FaceOptions, total=False):
    """Options of a lite pull consumer: `fakemq.client.consuming.lite_settings.LitePullSettings`.

    ``allocate`` may be the name of a strategy, such as ``"AVG_BY_CIRCLE"``.
    """

    namespace: str
    message_model: MessageModel
    consume_from: ConsumeFrom
    consume_timestamp: str | datetime | None
    allocate: AllocateStrategy | str
    auto_commit: bool
    auto_commit_interval_ms: int
    poll_timeout_ms: int
    pull_batch_size: int
    pull_threshold_for_all: int
    pull_threshold_for_queue: int
    pull_threshold_size_mib_for_queue: int
    consume_max_span: int
    pull_delay_when_error_ms: int
    broker_suspend_max_time_ms: int
    consumer_timeout_when_suspend_ms: int
    topic_metadata_check_interval_ms: int
    unit_mode: bool
    offsets_directory: str | None
    trace: bool
    trace_topic: str


class PullOptions(FaceOptions, total=False):
    """Options of a pull consumer or schedule: `fakemq.client.consuming.pull_settings.PullSettings`.

    ``allocate`` may be the name of a strategy, such as ``"AVG_BY_CIRCLE"``.
    """

    namespace: str
    message_model: MessageModel
    allocate: AllocateStrategy | str
    broker_suspend_max_time_ms: int
    consumer_timeout_when_suspend_ms: int
    consumer_pull_timeout_ms: int
    max_reconsume_times: int
    unit_mode: bool
    offsets_directory: str | None
