"""One task's writing: rows to parcels, parcels to queues, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from fakemq.client.blocking import Client
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.instance import NOT_FOUND_TOPIC_EXCEPTION
from fakemq.client.messages import Message, SendResult
from fakemq.machine_time import real_elapsed_ms
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import java_string_hash
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.spark.commit_message import Written
from fakemq.spark.deliveries import LONGEST_PAUSE_MS, Deliveries, DeliveryError, Parcel, in_full
from fakemq.spark.row_ids import RowIds
from fakemq.spark.write_options import WriteOptions
from fakemq.spark.write_rows import OutgoingRow, RowError, outgoing_rows

if TYPE_CHECKING:
    import pyarrow as pa

PARCEL_BYTES_MAX = 1024 * 1024
"""Of one batch as it travels, beside what the broker adds to each message."""
BUFFERED_BYTES_MAX = 16 * 1024 * 1024
MESSAGE_OVERHEAD_BYTES = 256
"""What a broker's record may have beside body, topic and properties, and the batch's frame."""

hashed = lru_cache(maxsize=65_536)(java_string_hash)


def write_rows(
    batches: Iterable[pa.RecordBatch], options: WriteOptions, ids: RowIds | None
) -> Written:
    """Send every row and wait for every acknowledgement.

    Raises DeliveryError, RowError, or what the client raises; what was sent by then stays sent.
    """
    with options.connection.client() as client:
        task = _Task(client, options, ids)
        for batch in batches:
            task.add(batch)
        return task.finish()


class _Buffer:
    """Messages for one fixed queue that are no parcel yet."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.size_bytes = 0


class _Task:
    def __init__(self, client: Client, options: WriteOptions, ids: RowIds | None) -> None:
        self._client = client
        self._options = options
        self._ids = ids
        self._written = Written()
        self._deliveries = Deliveries(client, options.delivery_timeout_ms, self._sent)
        self._queues: dict[str, Sequence[MessageQueue]] = {}
        """By topic, as they were when its first row came: a key keeps its queue to the end."""
        self._buffers: dict[MessageQueue, _Buffer] = {}
        self._buffered_bytes = 0
        limit = client.instance.config.max_message_bytes
        self._parcel_bytes_max = min(PARCEL_BYTES_MAX, limit)

    def add(self, batch: pa.RecordBatch) -> None:
        """Send the rows of a batch, or keep them until a parcel is full."""
        anywhere: dict[str, list[Message]] = {}
        for row in outgoing_rows(batch, self._options, self._ids):
            topic = row.message.topic
            queues = self._queues_of(topic)
            queue = _fixed_queue(row, queues)
            if row.is_delayed or topic.startswith(RETRY_PREFIX):
                self._alone(row, queue)
            elif queue is None:
                anywhere.setdefault(topic, []).append(row.message)
            else:
                self._buffer(queue, row.message)
        for topic, messages in anywhere.items():
            self._spread(topic, messages)

    def finish(self) -> Written:
        """Send what was kept and wait for every acknowledgement."""
        for queue in list(self._buffers):
            self._empty(queue)
        self._deliveries.flush()
        return self._written

    # -- rows to parcels ----------------------------------------------------------------------

    def _alone(self, row: OutgoingRow, queue: MessageQueue | None) -> None:
        """What no batch may carry."""
        if queue is not None:
            self._empty(queue)
        self._deliveries.put(Parcel(row.message.topic, [row.message], queue))

    def _spread(self, topic: str, messages: list[Message]) -> None:
        """To all queues evenly, and each batch to the next queue."""
        queues = len(self._queues_of(topic))
        most = min(self._options.batch_size, -(-len(messages) // queues))
        parcel: list[Message] = []
        size_bytes = 0
        for message in messages:
            message_bytes = _travelling_bytes(message)
            if parcel and (
                len(parcel) == most or size_bytes + message_bytes > self._parcel_bytes_max
            ):
                self._deliveries.put(Parcel(topic, parcel, None))
                parcel, size_bytes = [], 0
            parcel.append(message)
            size_bytes += message_bytes
        self._deliveries.put(Parcel(topic, parcel, None))

    def _buffer(self, queue: MessageQueue, message: Message) -> None:
        size_bytes = _travelling_bytes(message)
        buffer = self._buffers.setdefault(queue, _Buffer())
        if buffer.size_bytes + size_bytes > self._parcel_bytes_max:
            self._empty(queue)
        buffer.messages.append(message)
        buffer.size_bytes += size_bytes
        self._buffered_bytes += size_bytes
        if len(buffer.messages) >= self._options.batch_size:
            self._empty(queue)
        elif self._buffered_bytes > BUFFERED_BYTES_MAX:
            for one in list(self._buffers):
                self._empty(one)

    def _empty(self, queue: MessageQueue) -> None:
        buffer = self._buffers.get(queue)
        if buffer is None or not buffer.messages:
            return
        parcel = Parcel(queue.topic or "", buffer.messages, queue)
        self._buffered_bytes -= buffer.size_bytes
        buffer.messages, buffer.size_bytes = [], 0
        self._deliveries.put(parcel)

    # -- what came of them --------------------------------------------------------------------

    def _sent(self, parcel: Parcel, result: SendResult) -> None:
        if result.status not in self._options.accept_statuses:
            accepted = ", ".join(sorted(one.name for one in self._options.accept_statuses))
            raise DeliveryError(
                f"rocketmq: {parcel} were stored with {result.status.name},"
                f" where the option acceptStatuses wants {accepted}"
            )
        self._written.add(parcel.messages, result)

    def _queues_of(self, topic: str) -> Sequence[MessageQueue]:
        queues = self._queues.get(topic)
        if queues is None:
            queues = self._queues[topic] = _queues_with_patience(
                self._client, topic, self._options.delivery_timeout_ms
            )
        return queues


def _travelling_bytes(message: Message) -> int:
    properties = sum(len(name) + len(value) + 2 for name, value in message.properties.items())
    # Four bytes are the most that a character takes.
    return len(message.body) + 4 * properties + MESSAGE_OVERHEAD_BYTES


def _fixed_queue(row: OutgoingRow, queues: Sequence[MessageQueue]) -> MessageQueue | None:
    """The one queue that a row may go to; None if any will do. RowError if there is none such.

    Source: client/producer/selector/SelectMessageQueueByHash.java (4.9.7)
    """
    if row.queue_id is not None:
        for queue in queues:
            if queue.queue_id == row.queue_id and row.broker in (None, queue.broker_name):
                return queue
        known = ", ".join(f"{one.broker_name}:{one.queue_id}" for one in queues[:20])
        more = " …" if len(queues) > 20 else ""
        at = f" of broker {row.broker}" if row.broker is not None else ""
        raise RowError(
            f"rocketmq: a row for topic {row.message.topic} is for queue {row.queue_id}{at}, which"
            f" is none that can be written; those are {known}{more}"
        )
    if row.sharding_key is None:
        return None
    # Java's remainder has the sign of the hash, which abs takes off: no hash is too negative.
    return queues[abs(hashed(row.sharding_key)) % len(queues)]


def _queues_with_patience(client: Client, topic: str, patience_ms: int) -> Sequence[MessageQueue]:
    """The queues to send to; waits for a cluster that has no broker just now.

    DeliveryError for a topic that is not there while brokers are, or that may not be written.
    """
    until_ms = real_elapsed_ms() + patience_ms
    pause_ms = 100
    while True:
        try:
            return client.run(client.instance.route_to_send(topic)).publish_queues
        except (MQClientError, MQBrokerError, RemotingError) as error:
            if not _may_come(client, topic, error) or real_elapsed_ms() >= until_ms:
                raise DeliveryError(
                    f"rocketmq: no queue of topic {topic} to write to: {in_full(error)}"
                ) from error
        time.sleep(pause_ms / 1000)
        pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)


def _may_come(client: Client, topic: str, error: Exception) -> bool:
    """Whether a topic without a route may have one soon: its brokers are away, not its queues."""
    if isinstance(error, RemotingError):
        return True
    if not isinstance(error, MQClientError) or error.code != NOT_FOUND_TOPIC_EXCEPTION:
        return False
    route = client.instance.routes.routes.get(topic)
    if route is not None:
        return any(one.perm & PermName.WRITE for one in route.data.queue_datas)
    try:
        return not client.cluster_info().broker_addr_table
    except (RemotingError, MQBrokerError):
        return True
