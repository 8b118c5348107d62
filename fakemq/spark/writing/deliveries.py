"""Sends parcels of messages: several at once, each queue's in order, with retries.

A parcel for a fixed queue waits until the earlier ones for that queue are sent, however many
retries they need. Other parcels are sent as the client sends: to the queues in turn, and after a
failure to another broker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from fakemq.client.blocking import Client
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.messages import Message, SendResult
from fakemq.client.operation import Operation
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode

IN_FLIGHT_MAX = 8
"""Parcels that wait for their responses at once."""
QUEUED_MAX = 64
"""Parcels that were put and are not done; `put` waits at this number."""

FIRST_PAUSE_MS = 50
LONGEST_PAUSE_MS = 2_000

PASSING_CODES = frozenset((ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE))
"""Response codes that may change soon, from the same broker."""


class DeliveryError(FakemqError):
    """Messages could not be sent."""


class Parcel:
    """The content of one send request: a message, or a batch of messages; and its state."""

    def __init__(
        self, message: Message, queue: MessageQueue | None, batch_rows: int | None = None
    ) -> None:
        self.message = message
        self.queue = queue
        """The queue that it must go to; None for any queue."""
        self.batch_rows = batch_rows
        """How many messages the body holds; None for a single message."""
        self.tries = 0
        self.until_ms = 0
        """When retries end, in elapsed time; 0 before the first try."""
        self.not_before_ms = 0

    @property
    def rows(self) -> int:
        return 1 if self.batch_rows is None else self.batch_rows

    def __repr__(self) -> str:
        where = ""
        if self.queue is not None:
            where = f" queue {self.queue.queue_id} of {self.queue.broker_name}"
        messages = "message" if self.rows == 1 else "messages"
        return f"{self.rows} {messages} to topic {self.message.topic}{where}"


class Deliveries:
    """Sends parcels over one client; calls ``sent`` for each parcel that was acknowledged."""

    def __init__(
        self, client: Client, patience_ms: int, sent: Callable[[Parcel, SendResult], None]
    ) -> None:
        self._client = client
        self._patience_ms = patience_ms
        self._sent = sent
        self._parallel = client.parallel()
        self._lanes: dict[MessageQueue, deque[Parcel]] = {}
        """Fixed queue → parcels to be sent there; the first may be under way."""
        self._ready: deque[Parcel] = deque()
        self._pausing: list[Parcel] = []
        self._open = 0
        self._failure: FakemqError | None = None

    def put(self, parcel: Parcel) -> None:
        """Add a parcel; wait while there are too many. Raise DeliveryError if one failed."""
        while self._open >= QUEUED_MAX:
            self._run(LONGEST_PAUSE_MS)
        self._open += 1
        if parcel.queue is None:
            self._ready.append(parcel)
        else:
            lane = self._lanes.setdefault(parcel.queue, deque())
            lane.append(parcel)
            if len(lane) == 1:
                self._ready.append(parcel)
        self._run(0)

    def flush(self) -> None:
        """Wait until every parcel is acknowledged. Raise DeliveryError if one cannot be sent."""
        while self._open:
            self._run(LONGEST_PAUSE_MS)

    def _run(self, timeout_ms: int) -> None:
        now_ms = real_elapsed_ms()
        due = [one for one in self._pausing if one.not_before_ms <= now_ms]
        self._pausing = [one for one in self._pausing if one.not_before_ms > now_ms]
        self._ready.extend(due)
        while self._ready and len(self._parallel) < IN_FLIGHT_MAX:
            parcel = self._ready.popleft()
            parcel.until_ms = parcel.until_ms or now_ms + self._patience_ms
            parcel.tries += 1
            self._parallel.start(self._attempt(parcel), partial(self._done, parcel))
        if self._failure is None:
            self._wait(timeout_ms)
        if self._failure is not None:
            raise self._failure

    def _wait(self, timeout_ms: int) -> None:
        """Wait for a response or the end of a pause, at most ``timeout_ms``."""
        now_ms = real_elapsed_ms()
        until_ms = min((one.not_before_ms for one in self._pausing), default=now_ms + timeout_ms)
        self._parallel.wait(max(0, min(timeout_ms, until_ms - now_ms)))

    def _attempt(self, parcel: Parcel) -> Operation[SendResult]:
        producer, queue = self._client.producer, parcel.queue
        if queue is not None and parcel.tries > 1:
            # The broker may have come back at another address.
            with suppress(RemotingError, MQBrokerError):  # the known route still serves
                yield from self._client.instance.update_route(parcel.message.topic)
        if parcel.batch_rows is None:
            return (yield from producer.send(parcel.message, queue=queue))
        return (yield from producer.send_encoded_batch(parcel.message, queue=queue))

    def _done(self, parcel: Parcel, outcome: SendResult | FakemqError) -> None:
        if isinstance(outcome, FakemqError):
            self._failed(parcel, outcome)
            return
        self._open -= 1
        if parcel.queue is not None:
            lane = self._lanes[parcel.queue]
            lane.popleft()
            if lane:
                self._ready.append(lane[0])
        self._sent(parcel, outcome)

    def _failed(self, parcel: Parcel, error: FakemqError) -> None:
        now_ms = real_elapsed_ms()
        if is_passing(error) and now_ms < parcel.until_ms:
            pause_ms = min(FIRST_PAUSE_MS << min(parcel.tries, 10), LONGEST_PAUSE_MS)
            parcel.not_before_ms = min(now_ms + pause_ms, parcel.until_ms)
            self._pausing.append(parcel)
            return
        tries = f" in {parcel.tries} tries" if parcel.tries > 1 else ""
        failure = DeliveryError(f"rocketmq: could not send {parcel}{tries}: {in_full(error)}")
        failure.__cause__ = error
        self._failure = self._failure or failure


def is_passing(error: FakemqError) -> bool:
    """Return True if the same request may succeed a little later."""
    if isinstance(error, MQBrokerError):
        return error.code in PASSING_CODES
    if not isinstance(error, MQClientError):
        return isinstance(error, RemotingError)
    if isinstance(error.__cause__, FakemqError):
        return is_passing(error.__cause__)
    # Otherwise the error is about the route; the topic had one when the task began.
    return error.code != ResponseCode.MESSAGE_ILLEGAL


def in_full(error: BaseException) -> str:
    """Return the text of an error and of its causes."""
    if error.__cause__ is None or not isinstance(error, FakemqError):
        return str(error)
    return f"{error}; {in_full(error.__cause__)}"
