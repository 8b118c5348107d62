"""Where a queue begins that has just been taken."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from fakemq.client.admin import Admin
from fakemq.client.errors import MQClientError
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.topics import FAQ, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.client.consuming.offsets import OffsetStore
    from fakemq.client.consuming.settings import ConsumeFrom
    from fakemq.client.services import ClientServices

TIMESTAMP_FORMAT = "%Y%m%d%H%M%S"
TIMESTAMP_LENGTH = 14
DEFAULT_BACK_MS = 30 * 60_000
"""Source: DefaultMQPushConsumer.java#consumeTimestamp (4.9.7)"""


class StartSettings(Protocol):
    """The settings that say where a group begins."""

    @property
    def consume_from(self) -> ConsumeFrom: ...
    @property
    def consume_timestamp(self) -> str | datetime | None: ...


class Starting(Protocol):
    """What is needed of a consumer, push or lite pull."""

    @property
    def services(self) -> ClientServices: ...
    @property
    def settings(self) -> StartSettings: ...
    @property
    def offsets(self) -> OffsetStore: ...


def start_offset(context: Starting, queue: MessageQueue, started_ms: int) -> Task[int]:
    """Return the group's stored offset, or where the settings let a new group begin.

    ``started_ms`` is the wall time of the consumer's start. There is one case where ``last`` begins
    with the first message: a broker answers 0, as if 0 were committed, as long as it has stored the
    queue's first message and that is still in memory. Messages to be tried again are never
    skipped, except by ``timestamp``.

    Raise MQBrokerError, MQClientError, RemotingError if the offset cannot be had.

    Source: client/impl/consumer/RebalancePushImpl.java#computePullFromWhereWithException (4.9.7)
    """
    stored = yield from context.offsets.read(queue)
    if stored is not None and stored >= 0:
        return stored
    settings, admin = context.settings, Admin(context.services.instance)
    is_retry = (queue.topic or "").startswith(RETRY_PREFIX)
    if settings.consume_from == "first":
        return 0
    if settings.consume_from == "last":
        return 0 if is_retry else (yield from admin.max_offset(queue))
    if is_retry:
        return (yield from admin.max_offset(queue))
    wanted = settings.consume_timestamp
    begin_ms = started_ms - DEFAULT_BACK_MS if wanted is None else timestamp_ms(wanted)
    return (yield from admin.search_offset(queue, begin_ms))


def is_timestamp(text: str) -> bool:
    """Return whether a text is a consume timestamp, as `timestamp_ms` reads it."""
    try:
        timestamp_ms(text)
    except MQClientError:
        return False
    return True


def timestamp_ms(text: str | datetime) -> int:
    """Return a consume timestamp in milliseconds since the epoch; a text is local time.

    Raise MQClientError for any other text.
    """
    if isinstance(text, datetime):
        return int(text.timestamp() * 1000)
    try:
        if len(text) != TIMESTAMP_LENGTH:  # strptime takes one digit for two, too
            raise ValueError(text)
        return int(datetime.strptime(text, TIMESTAMP_FORMAT).timestamp() * 1000)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise MQClientError(
            "consumeTimestamp is invalid, the valid format is yyyyMMddHHmmss,but received"
            f" {text} {FAQ}"
        ) from error
