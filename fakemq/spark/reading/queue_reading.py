"""The work of a Spark worker: pull a range of one queue, complete and in order.

The next pulls are under way while a response is converted. If a broker fails, the reader asks it
or a replica again, from the offset that it has reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from fakemq.client.blocking import Client
from fakemq.client.carriers.pipeline import Pipeline
from fakemq.client.errors import MQBrokerError, RemotingError
from fakemq.client.messages import PullStatus
from fakemq.client.routes import MASTER_ID
from fakemq.clock.machine_time import real_wait_ms
from fakemq.errors import FakemqError
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError, RemoteProtocolError
from fakemq.protocol.header import parse_long
from fakemq.protocol.headers.pull import PullMessageResponseHeader
from fakemq.protocol.subscription import build_subscription, is_tag_type
from fakemq.spark.reading.bound_offsets import Wait, report_data_loss
from fakemq.spark.reading.offsets import queue_text
from fakemq.spark.reading.options import RETRIES, ReadOptions, WorkerPulls
from fakemq.spark.reading.planning import QueueRange
from fakemq.spark.records.message_columns import message_batch
from fakemq.spark.records.record_table import RecordTable, unpacked
from fakemq.spark.records.record_walk import positions_of

BATCH_ROWS = 10_000
BATCH_BYTES = 16 * 1024 * 1024
"""The largest size of the bodies in an Arrow batch, except for the last response."""

FIRST_PULLS_AHEAD, PULLS_AHEAD = 8, 32
"""This number of pulls are under way once a response has as many messages as the one before, and
twice as many with each further such response: pulls from wrong offsets are wasted.

Half of them are sent in one piece: for single requests, broker and worker would wake each time.
"""

_NOTHING_MATCHED = "NO_MATCHED_MESSAGE"
"""Source: store/GetMessageStatus.java; a broker names it in its remark (4.9.7)"""

_ANSWERS = frozenset(int(status.value) for status in PullStatus)
_BUSY = frozenset((ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE))


class ReadError(FakemqError):
    """The range of a queue cannot be read to its end."""


class _UnavailableError(FakemqError):
    """This broker cannot return the messages now; it may later, or another broker may."""


class _Asked(NamedTuple):
    """A pull that waits for its response."""

    number: int
    offset: int


class _Replica(NamedTuple):
    addr: str
    is_slave: bool


class QueueReader:
    """Reads one range once. It calls ``wait`` with milliseconds between rounds of requests."""

    def __init__(self, client: Client, part: QueueRange, options: ReadOptions, wait: Wait) -> None:
        self._client = client
        self._part = part
        self._options = options
        self._pulling = options.pulling
        pulling = options.pulling
        # One request object for all pulls: building the header takes a third of the time of a pull.
        self._request = client.consumer.pull_request(
            part.queue,
            part.start,
            max_messages=pulling.batch_size,
            expression=pulling.expression,
            expression_type=pulling.expression_type,
        )
        self._wait = wait
        self._addrs: dict[int, str] = {}
        self.offset = part.start
        """The offset of the next message to read."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the range's messages, about 10,000 in a batch. Raise ReadError, DataLossError."""
        bodies: list[bytes] = []
        rows = size_bytes = 0
        first = self.offset
        for body, most_rows in self._answers():
            bodies.append(body)
            rows += most_rows
            size_bytes += len(body)
            # The next responses arrive while this one is converted.
            if rows >= BATCH_ROWS or size_bytes >= BATCH_BYTES:
                yield from self._rows(b"".join(bodies), first, rows)
                bodies.clear()
                rows = size_bytes = 0
                first = self.offset
        if bodies:
            yield from self._rows(b"".join(bodies), first, rows)

    def _rows(self, data: bytes, first: int, wanted: int) -> Iterator[pa.RecordBatch]:
        end = min(self.offset, self._part.end)
        rows = 0
        try:
            for batch in pulled_rows(data, self._part, self._options):
                rows += batch.num_rows
                yield batch
        except RemoteProtocolError as error:
            raise ReadError(
                f"rocketmq: {queue_text(self._part.queue)}, offsets {first} to {end - 1}:"
                f" a damaged message: {error}"
            ) from error
        if rows != wanted and not self._pulling.is_filtered:
            self._lost(f"offsets {first} to {end - 1} hold {rows} messages only", end)

    # -- replicas -----------------------------------------------------------------------------

    def _answers(self) -> Iterator[tuple[bytes, int]]:
        """Yield the bodies of responses, and how many messages each may have."""
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
            except (RemotingError, MQBrokerError) as failure:
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
        """Return the master, if it is known, and its slaves; a known broker is never forgotten."""
        queue = self._part.queue
        try:
            # Not update_route: it lists all queues of the topic, perhaps a thousand, each time.
            data = self._client.run(self._client.instance.fetch_route(queue.topic or ""))
        except (RemotingError, MQBrokerError):
            if not self._addrs:
                raise
        else:
            for broker in data.broker_datas if data is not None else ():
                if broker.broker_name == queue.broker_name:
                    self._addrs = broker.broker_addrs
        addrs = self._addrs
        return [_Replica(addrs[one], one != MASTER_ID) for one in sorted(addrs)]

    def _given_up(self, error: FakemqError | None) -> ReadError:
        queue = self._part.queue
        names = ";".join(self._client.instance.name_servers.addrs)
        return ReadError(
            f"rocketmq: {queue_text(queue)}: read up to offset {self.offset} of {self._part.end},"
            f" and no replica returned more after {self._pulling.retries} retries ({RETRIES}):"
            f" {error or f'name server {names} knows no broker {queue.broker_name}'}"
        )

    # -- pulling ------------------------------------------------------------------------------

    def _pulled_from(self, replica: _Replica) -> Iterator[tuple[bytes, int]]:
        """Yield one broker's messages up to the end of the range; raise if it returns no more."""
        channel = self._client.channel(replica.addr)
        asked: deque[_Asked] = deque()
        try:
            yield from self._answered(channel, asked, replica)
        finally:
            _forget(channel, asked)

    def _answered(
        self, channel: Pipeline, asked: deque[_Asked], replica: _Replica
    ) -> Iterator[tuple[bytes, int]]:
        count, depth = 0, 1
        self._ask(channel, asked, [self.offset])
        while asked:
            response = channel.receive(asked.popleft().number, self._pulling.timeout_ms)
            begin = self.offset
            try:
                body, self.offset = self._judged(response, replica)
            except ProtocolError as error:
                raise _UnavailableError(
                    f"{replica.addr} does not respond like a broker: {error}"
                ) from error
            if asked and asked[0].offset != self.offset:
                _forget(channel, asked)
            before, count = count, self.offset - begin
            depth = _more(depth) if before == count and not self._pulling.is_filtered else 1
            ahead = asked[-1].offset + count if asked else self.offset
            next_ones = range(ahead, self._part.end, max(count, 1))[: depth - len(asked)]
            if next_ones and len(asked) <= depth // 2:
                self._ask(channel, asked, next_ones)
            if body:
                rows = min(self.offset, self._part.end) - begin
                if self._pulling.is_filtered:
                    rows = min(rows, self._pulling.batch_size)
                yield body, rows

    def _ask(self, channel: Pipeline, asked: deque[_Asked], offsets: Sequence[int]) -> None:
        numbers = channel.send_all(self._requests(offsets), timeout_ms=self._pulling.timeout_ms)
        asked.extend(map(_Asked, numbers, offsets))

    def _requests(self, offsets: Iterable[int]) -> Iterator[RemotingCommand]:
        for offset in offsets:
            self._request.ext_fields["queueOffset"] = str(offset)
            yield self._request

    def _judged(self, response: RemotingCommand, replica: _Replica) -> tuple[bytes, int]:
        """Return a response's messages, and the offset of the next pull."""
        queue, offset, code = self._part.queue, self.offset, response.code
        if code == ResponseCode.SUCCESS:
            begin = parse_long(response.ext_fields.get("nextBeginOffset", ""))
            if begin > offset:
                return response.body, begin
        if code not in _ANSWERS:
            refusal = MQBrokerError(code, response.remark, replica.addr)
            unknown_yet = replica.is_slave and code == ResponseCode.TOPIC_NOT_EXIST
            if code in _BUSY or unknown_yet:
                raise _UnavailableError(str(refusal))
            raise ReadError(f"rocketmq: {queue_text(queue)}: {refusal}") from refusal
        header = PullMessageResponseHeader.decode(response.ext_fields)
        begin = header.next_begin_offset
        if code == ResponseCode.PULL_RETRY_IMMEDIATELY and begin > offset:
            if response.remark == _NOTHING_MATCHED and self._pulling.is_filtered:
                return b"", begin
            if not replica.is_slave:
                self._lost(f"offsets {offset} to {begin - 1} do not exist", begin)
                return b"", begin
        if replica.is_slave or header.min_offset <= offset < header.max_offset:
            # A slave may be behind, and uses one code for many cases; ask its master again.
            raise _UnavailableError(
                f"{replica.addr} does not return offset {offset}, although it has"
                f" {header.min_offset} to {header.max_offset - 1}: {response.remark}"
            )
        end = self._part.end
        next_offset = min(header.min_offset, end) if offset < header.min_offset else end
        self._lost(
            f"offsets {offset} to {end - 1} were requested, but the offsets are"
            f" {header.min_offset} to {header.max_offset - 1}",
            next_offset,
        )
        return b"", next_offset

    def _lost(self, what: str, next_offset: int) -> None:
        report_data_loss(
            f"{queue_text(self._part.queue)}: {what}",
            f"reading continues at {next_offset}",
            fail=self._options.fail_on_data_loss,
        )


def _more(depth: int) -> int:
    return FIRST_PULLS_AHEAD if depth == 1 else min(2 * depth, PULLS_AHEAD)


def _forget(channel: Pipeline, asked: deque[_Asked]) -> None:
    """Ignore responses to these pulls that arrive later."""
    while asked:
        channel.forget(asked.pop().number)


def read_ranges(parts: Sequence[QueueRange], options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the messages of one range after the other, with a client of their own."""
    if not parts:
        return
    with options.client() as client:
        for part in parts:
            yield from QueueReader(client, part, options, real_wait_ms).batches()


# The bodies of many pulls of one queue as rows: exactly the requested messages.


def pulled_rows(data: bytes, part: QueueRange, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the messages of joined response bodies that are in the range and have a requested tag.

    A broker compares only hashes of tags, and does not stop at the end of a range. Compressed
    bodies that are large make several batches.
    Raise RemoteProtocolError for a damaged record or compressed body.

    Source: client/impl/consumer/PullAPIWrapper.java#processPullResult (4.9.7)
    """
    table = RecordTable(data, positions_of(data))
    if not table.fitting.all():
        at = int(table.positions[~table.fitting][0])
        raise RemoteProtocolError(f"the record at {at} of {len(data)} bytes is inconsistent")
    inside = (table.queue_offset >= part.start) & (table.queue_offset < part.end)
    if not inside.all():
        table = table.some(inside)
    tags = pa.array(_tags(options.pulling), pa.string())
    while len(table):
        bodies, bad, count = unpacked(table)
        if bad:
            raise RemoteProtocolError(next(iter(bad.values())))
        batch = message_batch(
            table.some(range(count)),
            part.queue.broker_name or "",
            bodies,
            include_properties=options.include_properties,
        )
        yield batch.filter(pc.is_in(batch["tags"], tags)) if len(tags) else batch
        table = table.some(range(count, len(table)))


def _tags(pulling: WorkerPulls) -> list[str]:
    if not is_tag_type(pulling.expression_type):
        return []
    return list(build_subscription("", pulling.expression, pulling.expression_type).tags_set)
