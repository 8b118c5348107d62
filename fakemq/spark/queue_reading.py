"""What a worker does: pull a range of one queue, whole and in order, whichever broker goes away.

The next pull is on its way while the last answer is looked at. A broker that fails is asked again,
or a replica of it, from the offset reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from fakemq.client.blocking import Client
from fakemq.client.errors import MQBrokerError, RemotingError
from fakemq.client.messages import PullStatus
from fakemq.client.pull_consumer import PullConsumer
from fakemq.client.remoting import BlockingChannel
from fakemq.client.routes import MASTER_ID
from fakemq.errors import FakemqError
from fakemq.machine_time import real_wait_ms
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.headers.pull import PullMessageResponseHeader
from fakemq.spark.bound_offsets import Wait
from fakemq.spark.data_loss import report_data_loss
from fakemq.spark.offsets import queue_text
from fakemq.spark.planning import QueueRange
from fakemq.spark.pulled_rows import pulled_rows
from fakemq.spark.read_options import RETRIES, ReadOptions

BATCH_ROWS = 10_000
BATCH_BYTES = 16 * 1024 * 1024
"""What an Arrow batch is made of at most, but for the last answer."""

_ANSWERS = frozenset(int(status.value) for status in PullStatus)
_BUSY = frozenset((ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE))


class ReadError(FakemqError):
    """A queue cannot be read to the end of its range."""


class _UnavailableError(FakemqError):
    """This broker cannot give it now; itself later, or another, may."""


class _Replica(NamedTuple):
    addr: str
    is_slave: bool


class QueueReader:
    """Reads one range once. ``wait`` is given milliseconds between rounds of asking."""

    def __init__(self, client: Client, part: QueueRange, options: ReadOptions, wait: Wait) -> None:
        self._client = client
        self._part = part
        self._options = options
        self._pulling = options.pulling
        self._consumer = PullConsumer(client.instance, options.pulling.group)
        self._wait = wait
        self.offset = part.start
        """Of the next message to read."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The range's messages, about 10,000 to a batch. ReadError, DataLossError."""
        bodies: list[bytes] = []
        rows = size_bytes = 0
        first = self.offset
        for body, most_rows in self._answers():
            bodies.append(body)
            rows += most_rows
            size_bytes += len(body)
            if rows >= BATCH_ROWS or size_bytes >= BATCH_BYTES:
                yield self._batch(b"".join(bodies), first, rows)
                bodies.clear()
                rows = size_bytes = 0
                first = self.offset
        if bodies:
            yield self._batch(b"".join(bodies), first, rows)

    def _batch(self, data: bytes, first: int, rows: int) -> pa.RecordBatch:
        end = min(self.offset, self._part.end)
        try:
            batch = pulled_rows(data, self._part, self._options)
        except RemoteProtocolError as error:
            raise ReadError(
                f"rocketmq: {queue_text(self._part.queue)}, offsets {first} to {end - 1}:"
                f" a damaged message: {error}"
            ) from error
        if batch.num_rows != rows and not self._pulling.is_filtered:
            self._lost(f"offsets {first} to {end - 1} hold {batch.num_rows} messages only", end)
        return batch

    # -- who is asked -------------------------------------------------------------------------

    def _answers(self) -> Iterator[tuple[bytes, int]]:
        """The bodies of answers, and how many messages each may have."""
        rounds = 0
        error: FakemqError | None = None
        while self.offset < self._part.end:
            if rounds > self._pulling.retries:
                raise self._given_up(error) from error
            if rounds:
                self._wait(self._pulling.retry_interval_ms)
            rounds += 1
            before = self.offset
            try:
                replicas = self._replicas()
            except RemotingError as failure:
                error = failure
                continue
            for replica in replicas:
                try:
                    yield from self._pulled_from(replica)
                except (RemotingError, _UnavailableError) as failure:
                    error = failure
                if self.offset > before:
                    rounds = 0
                    break

    def _replicas(self) -> list[_Replica]:
        """The master, if it is known, and its slaves; a broker once known stays so."""
        queue, routes = self._part.queue, self._client.instance.routes
        known = routes.brokers.get(queue.broker_name or "")
        try:
            self._client.update_route(queue.topic or "")
        except RemotingError:
            if not known:
                raise
        known = routes.brokers.get(queue.broker_name or "", {})
        return [_Replica(known[one], one != MASTER_ID) for one in sorted(known)]

    def _given_up(self, error: FakemqError | None) -> ReadError:
        queue = self._part.queue
        names = ";".join(self._client.instance.name_servers.addrs)
        return ReadError(
            f"rocketmq: {queue_text(queue)}: read up to offset {self.offset} of {self._part.end},"
            f" and no replica gives more after {self._pulling.retries} retries ({RETRIES}):"
            f" {error or f'name server {names} knows no broker {queue.broker_name}'}"
        )

    # -- pulling ------------------------------------------------------------------------------

    def _pulled_from(self, replica: _Replica) -> Iterator[tuple[bytes, int]]:
        """What one broker gives, to the end of the range; raises where it gives no more."""
        channel = self._client.channel(replica.addr)
        sent: int | None = self._send(channel)
        while sent is not None:
            response = self._receive(channel, sent)
            begin = self.offset
            body, self.offset = self._judged(response, replica)
            sent, lost = None, None
            if self.offset < self._part.end:
                try:
                    sent = self._send(channel)
                except RemotingError as error:
                    lost = error
            if body:
                rows = min(self.offset, self._part.end) - begin
                if self._pulling.is_filtered:
                    rows = min(rows, self._pulling.batch_size)
                yield body, rows
            if lost is not None:
                raise lost

    def _send(self, channel: BlockingChannel) -> int:
        pulling = self._pulling
        request = self._consumer.pull_request(
            self._part.queue,
            self.offset,
            max_messages=pulling.batch_size,
            expression=pulling.expression,
            expression_type=pulling.expression_type,
        )
        return channel.send(request, timeout_ms=pulling.timeout_ms)

    def _receive(self, channel: BlockingChannel, sent: int) -> RemotingCommand:
        try:
            return channel.receive(sent, self._pulling.timeout_ms)
        except RemotingError:
            channel.close()
            raise

    def _judged(self, response: RemotingCommand, replica: _Replica) -> tuple[bytes, int]:
        """An answer's messages, and where the next pull begins."""
        queue, offset, code = self._part.queue, self.offset, response.code
        if code not in _ANSWERS:
            refusal = MQBrokerError(code, response.remark, replica.addr)
            unknown_yet = replica.is_slave and code == ResponseCode.TOPIC_NOT_EXIST
            if code in _BUSY or unknown_yet:
                raise _UnavailableError(str(refusal))
            raise ReadError(f"rocketmq: {queue_text(queue)}: {refusal}") from refusal
        header = PullMessageResponseHeader.decode(response.ext_fields)
        begin = header.next_begin_offset
        if code == ResponseCode.SUCCESS and begin > offset:
            return response.body, begin
        if code == ResponseCode.PULL_RETRY_IMMEDIATELY and begin > offset:
            if not self._pulling.is_filtered:
                self._lost(f"offsets {offset} to {begin - 1} are wanted and not there", begin)
            return b"", begin
        if offset >= header.max_offset and not replica.is_slave:
            end = self._part.end
            what = f"offsets {offset} to {end - 1} are wanted and there are {header.min_offset}"
            self._lost(f"{what} to {header.max_offset - 1}", end)
            return b"", end
        if offset < header.min_offset and not replica.is_slave:
            first = min(header.min_offset, self._part.end)
            self._lost(f"offset {offset} is wanted and the first there is {first}", first)
            return b"", first
        raise _UnavailableError(
            f"{replica.addr} has offsets {header.min_offset} to {header.max_offset - 1},"
            f" {offset} is wanted"
        )

    def _lost(self, what: str, goes_on: int) -> None:
        report_data_loss(
            f"{queue_text(self._part.queue)}: {what}",
            f"reading goes on at {goes_on}",
            fail=self._options.fail_on_data_loss,
        )


def read_range(part: QueueRange, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The messages of a range, by a client of its own."""
    with options.connection.client() as client:
        yield from QueueReader(client, part, options, real_wait_ms).batches()
