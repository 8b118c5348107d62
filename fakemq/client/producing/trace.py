"""Sends traces of what a producer or consumer does, in batches, by an inner producer.

Source: client/trace/AsyncTraceDispatcher.java, client/trace/hook/*TraceHookImpl.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.messages import LocalTransactionState, Message, SendStatus
from fakemq.client.producing import namespace
from fakemq.client.producing.settings import ProducerSettings
from fakemq.client.producing.trace_records import (
    ConsumedMessage,
    ConsumeReturnType,
    Consuming,
    EndedTransaction,
    Published,
    TracedType,
    TraceRecord,
    joined_keys,
)
from fakemq.client.send_operations import SendOperations, Sent
from fakemq.client.tasks import Signal, Sleep, Task, Wait
from fakemq.protocol import properties as names
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.message import MessageExt
from fakemq.protocol.topics import TRACE_TOPIC

if TYPE_CHECKING:
    from fakemq.client.running_task import RunningTask
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

GROUP_NAME_PREFIX = "_INNER_TRACE_PRODUCER"
DEFAULT_REGION = "DefaultRegion"
SEND_TIMEOUT_MS = 5_000
MAX_MESSAGE_BYTES = 128_000
SEGMENT_CHARS = MAX_MESSAGE_BYTES - 10_000
"""Records are sent when their text is as long as this."""
KEYS_BYTES = 30_000
"""The most bytes of keys of one message, whose properties a broker limits to 32 KiB. Records with
more are sent at once; a key that does not fit is left out. Differs: Java's broker refuses them."""
WAIT_MS = 500
"""How long the first record of a message waits for others."""
FLUSH_MS = 500
"""How long a shutdown waits for the last traces."""
UNDER_WAY_MAX = 64
"""The most messages of traces under way at once; further ones are dropped."""


class TraceKind(Enum):
    """Whose traces they are; a part of the inner group's name."""

    PRODUCE = "PRODUCE"
    CONSUME = "CONSUME"


class TraceDispatcher:
    """Takes records of one producer or consumer, and sends them to the trace topic.

    It is a producer of the client, with a group of its own. Differs: in Java it has a client of its
    own, too. Records are lost, with a line in the log, if no broker takes them.

    Source: client/trace/AsyncTraceDispatcher.java (4.9.7)
    """

    def __init__(
        self,
        services: ClientServices,
        group: str,
        kind: TraceKind,
        *,
        topic: str = TRACE_TOPIC,
    ) -> None:
        """``group`` is the producer's or consumer's, in its namespace."""
        self._services = services
        self._time = services.instance.time
        self._traced_group = namespace.unwrap(group)
        self._topic = topic
        self.group = _free_group(services, f"{GROUP_NAME_PREFIX}-{group}-{kind.value}")
        settings = ProducerSettings(
            group=self.group,
            send_timeout_ms=SEND_TIMEOUT_MS,
            max_message_bytes=MAX_MESSAGE_BYTES,
        )
        self._sends = SendOperations(services.instance, settings=settings, kept_by_services=True)
        self._segment: list[TraceRecord] = []
        self._segment_chars = self._keys_bytes = 0
        self._flushing: RunningTask[None] | None = None
        self._under_way = 0
        self._all_sent = Signal()
        self._all_sent.set()

    def topics(self) -> Iterable[str]:
        """Return the topic of traces, whose route is kept fresh."""
        return (self._topic,)

    def start(self) -> None:
        """Register the inner producer."""
        self._services.register_producer(self)

    def shutdown(self) -> Task[None]:
        """Send what is there, wait for it up to `FLUSH_MS`, and unregister the inner producer."""
        self._send_segment()
        yield Wait(self._all_sent, FLUSH_MS, "client_trace")
        yield from self._services.unregister_producer(self.group)

    # -- records --------------------------------------------------------------

    def sent(self, sent: Sent) -> None:
        """Take a message that a producer has sent.

        Source: client/trace/hook/SendMessageTraceHookImpl.java (4.9.7)
        """
        message, result = sent.message, sent.result
        if message.topic.startswith(self._topic) or not result.trace_on:
            return
        published = Published(
            timestamp_ms=sent.begin_ms,
            # A broker's text: with the separators of records it would forge some.
            region_id=result.region_id if result.region_id.isprintable() else DEFAULT_REGION,
            group=self._traced_group,
            topic=namespace.unwrap(message.topic),
            msg_id=result.msg_id,
            tags=message.properties.get(names.TAGS),
            keys=message.properties.get(names.KEYS),
            store_host=sent.addr,
            body_bytes=sent.body_bytes,
            cost_ms=self._time.wall_ms() - sent.begin_ms,
            type=_type_of(message),
            offset_msg_id=result.offset_msg_id,
            success=result.status is SendStatus.SEND_OK,
        )
        self.append(published.record())

    def transaction_ended(
        self,
        message: Message | MessageExt,
        msg_id: str,
        addr: str,
        state: LocalTransactionState,
        *,
        from_check: bool,
    ) -> None:
        """Take the end of a transaction.

        Source: client/trace/hook/EndTransactionTraceHookImpl.java (4.9.7)
        """
        if message.topic.startswith(self._topic):
            return
        properties = message.properties
        ended = EndedTransaction(
            timestamp_ms=self._time.wall_ms(),
            region_id=properties.get(names.MSG_REGION) or DEFAULT_REGION,
            group=self._traced_group,
            topic=namespace.unwrap(message.topic),
            msg_id=msg_id,
            tags=properties.get(names.TAGS),
            keys=properties.get(names.KEYS),
            store_host=addr,
            transaction_id=properties.get(names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX),
            state=state,
            from_check=from_check,
        )
        self.append(ended.record())

    def before_consume(self, messages: Sequence[MessageExt]) -> Consuming | None:
        """Take messages that a listener is called with; return what `after_consume` takes.

        Return None if no message has a trace: then there is nothing to take after the call.

        Source: client/trace/hook/ConsumeMessageTraceHookImpl.java#consumeMessageBefore (4.9.7)
        """
        traced = [one for one in messages if one.properties.get(names.TRACE_SWITCH) != "false"]
        if not traced:
            return None
        now_ms = self._time.wall_ms()
        consuming = Consuming(
            timestamp_ms=now_ms,
            region_id=traced[-1].properties.get(names.MSG_REGION),
            group=self._traced_group,
            request_id=self._services.instance.unique_ids.create(now_ms),
            messages=tuple(
                ConsumedMessage(one.msg_id, one.keys, one.reconsume_times) for one in traced
            ),
            call_size=len(messages),
        )
        self.append(consuming.record())
        return consuming

    def after_consume(
        self, consuming: Consuming, *, success: bool, return_type: ConsumeReturnType | None
    ) -> None:
        """Take the end of a listener's call."""
        record = consuming.ended(self._time.wall_ms(), success=success, return_type=return_type)
        self.append(record)

    # -- sending --------------------------------------------------------------

    def append(self, record: TraceRecord) -> None:
        """Take a record; send it with others, `WAIT_MS` later or when they are many."""
        keys_bytes = sum(map(_key_bytes, record.keys))
        if self._segment and self._keys_bytes + keys_bytes > KEYS_BYTES:
            self._send_segment()
        self._segment.append(record)
        self._segment_chars += len(record.text)
        self._keys_bytes += keys_bytes
        if self._segment_chars >= SEGMENT_CHARS:
            self._send_segment()
        elif self._flushing is None:
            self._flushing = self._services.tasks.start(self._flush_later(), "trace")

    def _flush_later(self) -> Task[None]:
        yield Sleep(WAIT_MS, "client_trace")
        self._flushing = None
        self._send_segment()

    def _send_segment(self) -> None:
        if self._flushing is not None:
            self._services.tasks.cancel(self._flushing)
            self._flushing = None
        segment, self._segment = self._segment, []
        self._segment_chars = self._keys_bytes = 0
        if not segment:
            return
        if self._under_way >= UNDER_WAY_MAX:
            _log.warning("%d traces are dropped: brokers are too slow", len(segment))
            return
        keys = _fitting(java_hash_map_order(key for record in segment for key in record.keys))
        body = "".join(record.text for record in segment).encode("utf-8", "replace")
        message = Message(self._topic, body, keys=joined_keys(keys))
        self._under_way += 1
        self._all_sent.clear()
        self._services.tasks.start(self._send(message), "send traces")

    def _send(self, message: Message) -> Task[None]:
        try:
            yield from self._sends.send(message)
        except (MQBrokerError, MQClientError, RemotingError) as error:
            _log.error("send trace data failed: %s", error)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._all_sent.set()


def _key_bytes(key: str) -> int:
    return len(key.encode("utf-8", "replace")) + 1  # and the blank behind it


def _fitting(keys: Iterable[str]) -> list[str]:
    """Return the keys for which a message has room."""
    fitting, left = [], KEYS_BYTES
    for key in keys:
        key_bytes = _key_bytes(key)
        if key_bytes <= left:
            fitting.append(key)
            left -= key_bytes
    return fitting


def _free_group(services: ClientServices, prefix: str) -> str:
    number = 1
    while f"{prefix}-{number}" in services.producers:
        number += 1
    return f"{prefix}-{number}"


def _type_of(message: Message) -> TracedType:
    properties = message.properties
    if "__STARTDELIVERTIME" in properties or names.DELAY_TIME_LEVEL in properties:
        return TracedType.DELAY
    if properties.get(names.TRANSACTION_PREPARED) == "true":
        return TracedType.TRANSACTION_HALF
    return TracedType.NORMAL
