"""The writing of one task: rows to parcels, parcels to queues, and the results."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

from fakemq.client.blocking import Client
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.instance import NOT_FOUND_TOPIC_EXCEPTION
from fakemq.client.messages import Message, SendResult, SendStatus
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import java_string_hash
from fakemq.protocol.layout.codecs import build_batch_member
from fakemq.protocol.properties import DELAY_TIME_LEVEL, decode_properties
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.spark.writing.deliveries import (
    LONGEST_PAUSE_MS,
    Deliveries,
    DeliveryError,
    Parcel,
    in_full,
)
from fakemq.spark.writing.options import WriteOptions
from fakemq.spark.writing.row_ids import RowIds
from fakemq.spark.writing.rows import OutgoingRow, RowEncoder, RowError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

PARCEL_BYTES_MAX = 1024 * 1024
"""The size of one batch on the wire; a larger row is sent alone."""
BATCHED_PROPERTIES_MAX = 30_000
"""Rows with more bytes of properties are sent alone.

4.9.7 adds the batch's own properties to each message's. If both exceed 32,767 bytes, it writes
records that no client can read; for a single message it refuses them.
"""
BUFFERED_BYTES_MAX = 16 * 1024 * 1024
_FIRST_PAUSE_MS = 100

_log = logging.getLogger("fakemq.spark")

hashed = lru_cache(maxsize=65_536)(java_string_hash)


def write_rows(batches: Iterable[pa.RecordBatch], options: WriteOptions, ids: RowIds) -> Written:
    """Send every row and wait for every acknowledgement.

    Raise DeliveryError, RowError, or an error of the client; what was sent before stays sent.
    """
    with options.connection.client() as client:
        task = _Task(client, options, ids)
        for batch in batches:
            task.add(batch)
        return task.finish()


class _Buffer:
    """The rows of a batch for one topic, perhaps for one queue of it, that are not sent yet."""

    def __init__(self, topic: str, queue: MessageQueue | None) -> None:
        self.topic = topic
        self.queue = queue
        self.members: list[bytes] = []
        self.size_bytes = 0

    def parcel(self) -> Parcel:
        """Return the parcel to send, and empty the buffer."""
        message = Message(self.topic, b"".join(self.members))
        parcel = Parcel(message, self.queue, len(self.members))
        self.members, self.size_bytes = [], 0
        return parcel


class _Task:
    def __init__(self, client: Client, options: WriteOptions, ids: RowIds) -> None:
        self._client = client
        self._options = options
        instance = client.instance
        self._encoder = RowEncoder(
            options, ids, lambda: instance.unique_ids.create(instance.time.wall_ms())
        )
        self._written = Written()
        self._deliveries = Deliveries(client, options.delivery_timeout_ms, self._sent)
        self._queues: dict[str, Sequence[MessageQueue]] = {}
        """Topic → its queues at its first row: a key keeps its queue to the end of the task."""
        self._buffers: dict[MessageQueue, _Buffer] = {}
        self._buffered_bytes = 0
        self._parcel_bytes_max = min(PARCEL_BYTES_MAX, instance.config.max_message_bytes)

    def add(self, batch: pa.RecordBatch) -> None:
        """Send the rows of a batch, or keep them until a parcel is full."""
        anywhere: dict[str, list[bytes]] = {}
        for row in self._encoder.rows(batch):
            topic, body = row.topic, row.body
            self._written.body_bytes += len(body)
            queue = _fixed_queue(row, self._queues_of(topic))
            member = build_batch_member(0, 0, 0, body, row.properties)
            if (
                row.is_delayed
                or len(member) > self._parcel_bytes_max
                or len(row.properties) > BATCHED_PROPERTIES_MAX
                or topic.startswith(RETRY_PREFIX)
            ):
                self._send_alone(row, queue)
            elif queue is None:
                anywhere.setdefault(topic, []).append(member)
            else:
                self._buffer(queue, member)
        for topic, members in anywhere.items():
            self._spread(topic, members)

    def finish(self) -> Written:
        """Send the buffered rows and wait for every acknowledgement."""
        self._empty_all()
        self._deliveries.flush()
        return self._written

    # -- rows to parcels ----------------------------------------------------------------------

    def _send_alone(self, row: OutgoingRow, queue: MessageQueue | None) -> None:
        """Send a row that cannot be in a batch."""
        if queue in self._buffers:
            self._empty(self._buffers[queue])
        properties = decode_properties(row.properties.decode())
        self._deliveries.put(Parcel(Message(row.topic, row.body, properties=properties), queue))

    def _spread(self, topic: str, members: list[bytes]) -> None:
        """Distribute rows evenly: each batch goes to the next queue."""
        most = min(self._options.batch_size, -(-len(members) // len(self._queues_of(topic))))
        buffer = _Buffer(topic, None)
        for member in members:
            if (
                len(buffer.members) == most
                or buffer.size_bytes + len(member) > self._parcel_bytes_max
            ):
                self._deliveries.put(buffer.parcel())
            buffer.members.append(member)
            buffer.size_bytes += len(member)
        self._deliveries.put(buffer.parcel())

    def _buffer(self, queue: MessageQueue, member: bytes) -> None:
        buffer = self._buffers.get(queue)
        if buffer is None:
            buffer = self._buffers[queue] = _Buffer(queue.topic or "", queue)
        if buffer.size_bytes + len(member) > self._parcel_bytes_max:
            self._empty(buffer)
        buffer.members.append(member)
        buffer.size_bytes += len(member)
        self._buffered_bytes += len(member)
        if len(buffer.members) >= self._options.batch_size:
            self._empty(buffer)
        elif self._buffered_bytes > BUFFERED_BYTES_MAX:
            self._empty_all()

    def _empty(self, buffer: _Buffer) -> None:
        if buffer.members:
            self._buffered_bytes -= buffer.size_bytes
            self._deliveries.put(buffer.parcel())

    def _empty_all(self) -> None:
        for buffer in self._buffers.values():
            self._empty(buffer)

    # -- results ---------- --------------------------------------------------------------------

    def _sent(self, parcel: Parcel, result: SendResult) -> None:
        if result.status not in self._options.accept_statuses:
            accepted = ", ".join(sorted(one.name for one in self._options.accept_statuses))
            raise DeliveryError(
                f"rocketmq: {parcel}: stored with {result.status.name},"
                f" but the option acceptStatuses allows {accepted}"
            )
        is_delayed = DELAY_TIME_LEVEL in parcel.message.properties
        self._written.add(parcel.rows, result, is_delayed=is_delayed)

    def _queues_of(self, topic: str) -> Sequence[MessageQueue]:
        queues = self._queues.get(topic)
        if queues is None:
            queues = self._queues[topic] = _queues_with_patience(
                self._client, topic, self._options.delivery_timeout_ms
            )
        return queues


def _fixed_queue(row: OutgoingRow, queues: Sequence[MessageQueue]) -> MessageQueue | None:
    """Return the only queue that a row may go to; None if any queue will do.

    Raise RowError if the queue does not exist.

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
            f"rocketmq: a row for topic {row.topic} is for queue {row.queue_id}{at}, which"
            f" cannot be written; writable are {known}{more}"
        )
    if row.sharding_key is None:
        return None
    # Java's remainder has the sign of the hash; abs removes it, also for the smallest integer.
    return queues[abs(hashed(row.sharding_key)) % len(queues)]


def _queues_with_patience(client: Client, topic: str, patience_ms: int) -> Sequence[MessageQueue]:
    """Return the queues to send to.

    If the cluster has no broker at the moment, wait for one and log that once. Raise DeliveryError
    if brokers are there but the topic does not exist or cannot be written.
    """
    until_ms = real_elapsed_ms() + patience_ms
    pause_ms = _FIRST_PAUSE_MS
    while True:
        try:
            return client.run(client.instance.route_to_send(topic)).publish_queues
        except (MQClientError, MQBrokerError, RemotingError) as error:
            if not _may_come(client, topic, error) or real_elapsed_ms() >= until_ms:
                raise DeliveryError(
                    f"rocketmq: no queue of topic {topic} to write to: {in_full(error)}"
                ) from error
            if pause_ms == _FIRST_PAUSE_MS:
                _log.warning(
                    "rocketmq: no queue of topic %s to write to for now, which is tried again for"
                    " up to %d ms (deliveryTimeoutMs): %s",
                    *(topic, patience_ms, in_full(error)),
                )
        client.parallel().wait(pause_ms)
        pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)


def _may_come(client: Client, topic: str, error: Exception) -> bool:
    """Return True if the topic may get a route soon: its brokers are away, not its queues."""
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


# What a task reports to the driver when all its rows are written.

QueueName = tuple[str, str, int]
"""Topic, broker, queue id."""


class Written(WriterCommitMessage):
    """How much was written, to which queues, and with which send statuses."""

    def __init__(self) -> None:
        self.rows = 0
        self.body_bytes = 0
        """The size of the values; more bytes go over the network."""
        self.delayed = 0
        """Rows with a delay level: they have no offset in their queue yet."""
        self.offsets: dict[QueueName, tuple[int, int]] = {}
        """Queue → first and last offset; others may have written between them."""
        self.statuses: Counter[str] = Counter()
        """Number of rows by the status in the broker's response."""

    def add(self, rows: int, result: SendResult, *, is_delayed: bool) -> None:
        """Count the messages of one request."""
        self.rows += rows
        self.statuses[result.status.name] += rows
        if is_delayed:
            self.delayed += rows
            return
        queue = result.queue
        name = (queue.topic or "", queue.broker_name or "", queue.queue_id)
        self._reach(name, result.queue_offset, result.queue_offset + rows - 1)

    def _reach(self, name: QueueName, first: int, last: int) -> None:
        known_first, known_last = self.offsets.get(name, (first, last))
        self.offsets[name] = (min(first, known_first), max(last, known_last))

    @classmethod
    def total(cls, messages: Iterable[WriterCommitMessage | None]) -> Written:
        """Return the sum of several tasks; a failed task is None and is skipped."""
        total = cls()
        for one in messages:
            if not isinstance(one, Written):
                continue
            total.rows += one.rows
            total.body_bytes += one.body_bytes
            total.delayed += one.delayed
            total.statuses += one.statuses
            for name, (first, last) in one.offsets.items():
                total._reach(name, first, last)
        return total

    @property
    def doubted(self) -> dict[str, int]:
        """Return the rows that are stored less safely than the broker is configured, by status."""
        return {name: n for name, n in self.statuses.items() if name != SendStatus.SEND_OK.name}

    def __str__(self) -> str:
        parts = [f"{self.rows} rows, {self.body_bytes} bytes, {len(self.offsets)} queues"]
        parts += [f"{self.delayed} delayed"] if self.delayed else []
        parts += [f"{count} {name}" for name, count in sorted(self.doubted.items())]
        return ", ".join(parts)
