"""Clients that receive over gRPC: simple consumers, push consumers, and those in order."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from fakemq.client.tasks import Sleep, Wait
from fakemq.protocol.grpc.messages import (
    AckMessageEntry,
    AckMessageRequest,
    ChangeInvisibleDurationRequest,
    ClientType,
    FilterExpression,
    FilterType,
    ForwardMessageToDeadLetterQueueRequest,
    QueryAssignmentRequest,
    ReceiveMessageRequest,
    Settings,
    SubscriptionEntry,
)
from fakemq.proxy.receipts import decode
from fakemq.proxy.status import Code
from fakemq.proxy.times import duration_of
from fakemq.sim.consumers import AFTER_ERROR_MS, Consumer
from fakemq.sim.events import Received
from fakemq.sim.front import Front, FrontError, queue_of, resource

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from fakemq.client.tasks import Task
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.grpc.messages import Message, MessageQueue
    from fakemq.sim.plan import ConsumerPlan

LOOK_MS = 5_000
"""How often a consumer asks what it receives from."""
MARGIN_MS = 3_000
"""How much longer it waits for an answer than the broker may hold the call."""
POLL_MIN_MS = 5_000
ATTEMPTS = 3
RETRY_MS = 1_000
SOONER_MS = (1_000, 3_000, 6_000)
"""When a message that failed is to be visible again."""

_Place = tuple[str, str, int]
"""Topic, broker and queue id that are received from."""


class FrontConsumer(Consumer):
    """Receives from every broker of its topics, and processes what it gets in any order."""

    client_type = ClientType.SIMPLE_CONSUMER
    renewed = False
    """Whether the front prolongs the invisible time of what it gets."""

    def __init__(self, core: ClusterCore, plan: ConsumerPlan, draw: random.Random) -> None:
        super().__init__(core, plan, draw)
        assert plan.pop is not None
        self._pop = plan.pop
        settings = Settings(client_type=self.client_type)
        settings.request_timeout.seconds = 3
        settings.subscription.group.name = plan.group
        everything = FilterExpression(type=FilterType.TAG, expression="*")
        for topic in plan.topics:
            settings.subscription.subscriptions.append(
                SubscriptionEntry(topic=resource(topic), expression=everything)
            )
        self.front = Front(self, settings)
        self._places: dict[_Place, None] = {}
        self._receiving: dict[_Place, None] = {}
        self._attempts = 0

    def tasks(self) -> list[Task[None]]:
        return [self.front.telemetry(), self.front.heartbeats(), self._looking()]

    def _end(self, how: str) -> None:
        self.front.end(how)
        super()._end(how)

    # -- receiving ----------------------------------------------------------------------------

    def _looking(self) -> Task[None]:
        """Find out again and again what to receive from."""
        while True:
            yield Wait(self.front.known)
            for topic in self.plan.topics:
                try:
                    places = yield from self._places_of(topic)
                except FrontError:
                    continue  # what was found before counts
                others = [place for place in self._places if place[0] != topic]
                self._places = dict.fromkeys([*others, *places])
            for place in self._places:
                if place not in self._receiving:
                    self._receiving[place] = None
                    self.run(self._receiving_from(place))
            yield Sleep(LOOK_MS)

    def _places_of(self, topic: str) -> Task[list[_Place]]:
        brokers = yield from self.front.brokers(topic)
        return [(topic, name, -1) for name in brokers]

    def _receiving_from(self, place: _Place) -> Task[None]:
        attempt_id: str | None = None
        while place in self._places:
            yield Wait(self.front.known)
            if attempt_id is None:
                self._attempts += 1
                attempt_id = f"{self.name}/{self._attempts}"
            try:
                messages = yield from self._received(place, attempt_id)
            except FrontError:
                yield Sleep(AFTER_ERROR_MS)
                continue  # with the same attempt
            attempt_id = None
            yield from self._processing(messages)
        del self._receiving[place]

    def _received(self, place: _Place, attempt_id: str) -> Task[list[Message]]:
        """Receive; return the messages. Raise FrontError for an answer that refuses."""
        topic, broker, queue_id = place
        poll_ms = max(POLL_MIN_MS, self._pop.poll_ms)
        request = ReceiveMessageRequest(
            group=resource(self.plan.group),
            message_queue=queue_of(topic, broker, queue_id),
            batch_size=self.plan.batch,
            auto_renew=self.renewed,
            long_polling_timeout=duration_of(poll_ms),
            attempt_id=attempt_id,
        )
        if not self.renewed:
            request.invisible_duration.CopyFrom(duration_of(self._pop.invisible_ms))
        answers = yield from self.front.ask("ReceiveMessage", request, poll_ms + MARGIN_MS)
        for answer in answers:
            status = answer.status
            if answer.WhichOneof("content") == "status" and status.code not in (
                Code.OK,
                Code.MESSAGE_NOT_FOUND,
            ):
                raise FrontError(Code(status.code).name, status.message)
        return [one.message for one in answers if one.WhichOneof("content") == "message"]

    # -- messages -----------------------------------------------------------------------------

    def _processing(self, messages: Sequence[Message]) -> Task[None]:
        """Process messages: one after the other, or each by itself."""
        if self._pop.batch_acks or self.plan.threads == 1:
            well = []
            for message in messages:
                if (yield from self._processed(message)):
                    well.append(message)
            if self._pop.batch_acks:
                by_topic: dict[str, list[Message]] = {}
                for message in well:
                    by_topic.setdefault(message.topic.name, []).append(message)
                for same in by_topic.values():
                    yield from self._acknowledging(*same)
            else:
                for message in well:
                    yield from self._acknowledging(message)
        else:
            for message in messages:
                self.run(self._processing_one(message))

    def _processing_one(self, message: Message) -> Task[None]:
        if (yield from self._processed(message)):
            yield from self._acknowledging(message)

    def _processed(self, message: Message) -> Task[bool]:
        """Process a message; return whether it is to be acknowledged."""
        if not self.renewed and self.random.random() < self._pop.renewing:
            yield from self._changing(message, self._pop.invisible_ms)
        well = yield from self._work(message)
        if not well and (self.renewed or self.random.random() >= self._pop.forgetting):
            yield from self._changing(message, self.random.choice(SOONER_MS))
        return well

    def _work(self, message: Message) -> Task[bool]:
        system = message.system_properties
        handle = decode(system.receipt_handle)
        place = Received(
            node=self.name,
            group=self.plan.group,
            topic=handle.topic_of(message.topic.name, self.plan.group),
            key=" ".join(system.keys),
            msg_id=system.message_id,
            broker=handle.broker_name,
            queue_id=handle.queue_id,
            queue_offset=handle.offset,
            times=system.delivery_attempt - 1,
        )
        return (yield from self.work(place))

    def _acknowledging(self, *messages: Message) -> Task[bool]:
        """Acknowledge messages of one topic; return whether the front says that all are."""
        entries = [
            AckMessageEntry(
                message_id=one.system_properties.message_id,
                receipt_handle=one.system_properties.receipt_handle,
            )
            for one in messages
        ]
        group, topic = resource(self.plan.group), messages[0].topic
        request = AckMessageRequest(group=group, topic=topic, entries=entries)
        return (yield from self._surely("AckMessage", request)) is not None

    def _changing(self, message: Message, ms: int) -> Task[None]:
        """Change the invisible time of a message, if the front can: its handle is another then."""
        system = message.system_properties
        request = ChangeInvisibleDurationRequest(
            group=resource(self.plan.group),
            topic=message.topic,
            receipt_handle=system.receipt_handle,
            invisible_duration=duration_of(ms),
            message_id=system.message_id,
        )
        answer = yield from self._surely("ChangeInvisibleDuration", request)
        if answer is not None:
            system.receipt_handle = answer.receipt_handle

    def _surely(self, rpc: str, request: Any) -> Task[Any]:
        """Call an RPC until it succeeds, or a few times; return the answer, or None.

        What the front renews is never visible again by itself, so a client does not give up.
        """
        for attempt in count(1):
            try:
                return (yield from self.front.ask_ok(rpc, request))
            except FrontError as error:
                is_over = error.status == Code.INVALID_RECEIPT_HANDLE.name
                if is_over or (attempt == ATTEMPTS and not self.renewed):
                    break
            yield Sleep(RETRY_MS)
        return None


class FrontPushConsumer(FrontConsumer):
    """Receives what the front assigns to it, which prolongs the invisible time by itself."""

    client_type = ClientType.PUSH_CONSUMER
    renewed = True

    def _places_of(self, topic: str) -> Task[list[_Place]]:
        request = QueryAssignmentRequest(topic=resource(topic), group=resource(self.plan.group))
        request.endpoints.CopyFrom(self.front.endpoints)
        answer = yield from self.front.ask_ok("QueryAssignment", request)
        queues: list[MessageQueue] = [one.message_queue for one in answer.assignments]
        return [(topic, queue.broker.name, queue.id) for queue in queues]


class FrontFifoConsumer(FrontPushConsumer):
    """Processes messages of a queue in order: it tries one again, then makes it a dead letter."""

    def _processing(self, messages: Sequence[Message]) -> Task[None]:
        for message in messages:
            for attempt in range(self.plan.tries + 1):
                if attempt:
                    yield Sleep(RETRY_MS)
                if (yield from self._work(message)):
                    done = yield from self._acknowledging(message)
                    break
            else:
                done = yield from self._burying(message)
            if not done:
                return  # it comes again, and what is behind it

    def _burying(self, message: Message) -> Task[bool]:
        system = message.system_properties
        request = ForwardMessageToDeadLetterQueueRequest(
            group=resource(self.plan.group),
            topic=message.topic,
            receipt_handle=system.receipt_handle,
            message_id=system.message_id,
            delivery_attempt=self.plan.tries + 1,
            max_delivery_attempts=self.plan.tries + 1,
        )
        answer = yield from self._surely("ForwardMessageToDeadLetterQueue", request)
        return answer is not None
