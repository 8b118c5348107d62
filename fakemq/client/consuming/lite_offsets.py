"""Committing and seeking: the offsets of one lite pull consumer. Queues are in their namespace."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fakemq.client.admin import Admin
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.offsets import LocalOffsets, OffsetStore, RemoteOffsets
from fakemq.client.consuming.start_offset import start_offset
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.pull_operations import PullOperations
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.consuming.lite_queues import LiteQueues
    from fakemq.client.consuming.read_ahead import ReadAhead
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")
_ERRORS = (RemotingError, MQBrokerError, MQClientError)


def offset_store(
    services: ClientServices,
    operations: PullOperations,
    message_model: str,
    directory: str | None,
) -> OffsetStore:
    """Return where the offsets of a group are kept: at the brokers, or in a file."""
    if message_model == "BROADCASTING":
        return LocalOffsets(services.instance.client_id, operations.group, directory)
    return RemoteOffsets(operations)


class LiteOffsets:
    """What `LitePullConsumerCore` does with ``offsets``, its store."""

    def __init__(
        self, services: ClientServices, settings: LitePullSettings, operations: PullOperations
    ) -> None:
        self.services = services
        self.settings = settings
        self.started_ms = services.carrier.wall_ms()
        self._admin = Admin(services.instance)
        self.offsets = offset_store(
            services, operations, settings.message_model, settings.offsets_directory
        )

    def next_offset(self, queue: MessageQueue) -> Task[int]:
        """Return where reading a queue begins.

        Source: RebalanceLitePullImpl.java#computePullFromWhereWithException (4.9.7)
        """
        committed = self.offsets.in_memory(queue)
        if committed is not None:
            return committed
        return (yield from start_offset(self, queue, self.started_ms))

    # -- committing -----------------------------------------------------------

    def commit_polled(self, queues: LiteQueues, wanted: Iterable[MessageQueue]) -> None:
        """Remember what polls have returned of these queues."""
        for queue in wanted:
            assigned = queues.assigned.get(queue)
            if assigned is not None and assigned.consume_offset is not None:
                self.offsets.update(queue, assigned.consume_offset, increase_only=False)

    def commit_given(self, queues: LiteQueues, offsets: Mapping[MessageQueue, int]) -> None:
        """Remember offsets of the user's own. Differs: Java logs those below 0, and skips them."""
        for queue, offset in offsets.items():
            if queue in queues.assigned:
                self.offsets.update(queue, offset, increase_only=False)

    def persist(self, queues: LiteQueues, wanted: Iterable[MessageQueue]) -> Task[None]:
        """Store what is remembered of these queues."""
        for queue in wanted:
            yield from self.offsets.persist(queue)
        if self.settings.message_model == "BROADCASTING":  # one file for all queues
            yield from self.offsets.persist_all(queues.kept())

    def committed(self, queue: MessageQueue) -> Task[int | None]:
        """Return what is remembered or stored; None if neither. Raise MQClientError."""
        offset = self.offsets.in_memory(queue)
        if offset is not None:
            return offset
        try:
            return (yield from self.offsets.read(queue))
        except _ERRORS as error:
            raise MQClientError(
                f"Fetch consume offset from broker exception, {queue}: {error}"
            ) from error

    # -- seeking --------------------------------------------------------------

    def seek(
        self, queues: LiteQueues, reading: ReadAhead, queue: MessageQueue, offset: int
    ) -> Task[None]:
        """Read an assigned queue from ``offset`` on. Raise MQClientError outside its range."""
        min_offset = yield from self._admin.min_offset(queue)
        max_offset = yield from self._admin.max_offset(queue)
        if not min_offset <= offset <= max_offset:
            raise MQClientError(
                f"Seek offset illegal, seek offset = {offset}, min offset = {min_offset},"
                f" max offset = {max_offset}"
            )
        assigned = queues.assigned.get(queue)
        if assigned is not None:  # a rebalance may have dropped it meanwhile
            reading.end(assigned)
            reading.clear(assigned)
            assigned.pull_offset = assigned.consume_offset = offset
            reading.begin(assigned)

    def min_offset(self, queue: MessageQueue) -> Task[int]:
        return self._admin.min_offset(queue)

    def max_offset(self, queue: MessageQueue) -> Task[int]:
        return self._admin.max_offset(queue)

    def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> Task[int]:
        return self._admin.search_offset(queue, timestamp_ms)
