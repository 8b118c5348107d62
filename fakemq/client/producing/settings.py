"""The settings of one producer, with Java's defaults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from fakemq.client.messages import LocalTransactionState, Message
from fakemq.client.options import ClientConfig
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.message import MessageExt
from fakemq.protocol.topics import AUTO_CREATE_TOPIC_KEY_TOPIC, TRACE_TOPIC

Selector: TypeAlias = Callable[[Sequence[MessageQueue], Message], MessageQueue]
"""Takes the queues of a topic and the message to send; returns one of the queues."""

Selection: TypeAlias = Selector | Literal["random"]
"""A function of the user, or Java's SelectMessageQueueByRandom."""

Execute: TypeAlias = Callable[[Message], LocalTransactionState | None]
"""The local transaction of a half message; None is UNKNOW."""

AsyncExecute: TypeAlias = Callable[
    [Message], Awaitable[LocalTransactionState | None] | LocalTransactionState | None
]
"""The same, perhaps an async function."""

Check: TypeAlias = Callable[[MessageExt], LocalTransactionState | None]
"""Takes a half message, with its decompressed body, that a broker asks about; None is UNKNOW."""

LIMITS = {
    "send_timeout_ms": (1, INT_MAX),
    "retry_times_when_send_failed": (0, INT_MAX),
    "max_message_bytes": (1, INT_MAX),
    "compress_over_bytes": (0, INT_MAX),
    "compress_level": (0, 9),
    "default_topic_queue_nums": (1, INT_MAX),
    "check_request_hold_max": (1, INT_MAX),
}
"""The lowest and highest values of numbers. Java checks none of them when it starts: most of what
is outside makes each send fail."""

RETRY_RESPONSE_CODES = frozenset(
    (
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
    )
)
"""Response codes after which the send is tried at another broker."""


class ProducerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one producer.

    Source: client/producer/DefaultMQProducer.java, client/latency/MQFaultStrategy.java (4.9.7)
    """

    group: str
    namespace: str = ""
    """Put before the names of topics and groups, as ``namespace%topic``."""
    send_timeout_ms: int = 3_000
    """For all attempts of one send together."""
    retry_times_when_send_failed: int = 2
    """How often a failed send is tried again. Differs: Java has another number for its
    asynchronous sends, which it tries again only after errors of the transport."""
    retry_response_codes: frozenset[int] = RETRY_RESPONSE_CODES
    retry_another_broker_when_not_store_ok: bool = False
    """Try another broker after a send status other than SEND_OK, too."""
    max_message_bytes: int = 4 * 1024 * 1024
    """The longest body, and the most that one batch of `send_batches` takes."""
    compress_over_bytes: int = 4096
    compress_level: int = 5
    create_topic_key: str = AUTO_CREATE_TOPIC_KEY_TOPIC
    """The topic whose route and settings are used for a topic that does not exist yet."""
    default_topic_queue_nums: int = 4
    vip_channel: bool = False
    """Send to the port two below the broker's."""
    smart_send: bool = True
    """Send by SEND_MESSAGE_V2, which has one-letter fields; if False by SEND_MESSAGE."""
    send_latency_fault_enable: bool = False
    """Avoid brokers that failed or answered slowly, for a time that depends on the latency."""
    latency_max_ms: tuple[int, ...] = (50, 100, 550, 1_000, 2_000, 3_000, 15_000)
    not_available_duration_ms: tuple[int, ...] = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
    """How long a broker is avoided after a latency of at least ``latency_max_ms`` at that index."""
    check: Check | None = None
    """Answers brokers that ask about half messages of the group."""
    check_request_hold_max: int = 2_000
    """The most checks under way at once; further ones are dropped, and the broker asks again."""
    trace: bool = False
    """Send a trace of each message to ``trace_topic``."""
    trace_topic: str = TRACE_TOPIC

    @classmethod
    def of_config(cls, config: ClientConfig, group: str | None = None) -> ProducerSettings:
        """Return the settings of a client for work by hand."""
        return cls(
            group=group or config.producer_group,
            send_timeout_ms=config.send_timeout_ms,
            retry_times_when_send_failed=config.retry_times_when_send_failed,
            max_message_bytes=config.max_message_bytes,
            compress_over_bytes=config.compress_over_bytes,
            create_topic_key=config.create_topic_key,
            default_topic_queue_nums=config.default_topic_queue_nums,
            vip_channel=config.vip_channel,
            smart_send=config.smart_send,
        )
