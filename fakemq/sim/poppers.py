"""Clients that pop: members of a group whose broker says which queues they pop, in order or not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.client.consuming.pop_operations import FROM_FIRST, PopOperations
from fakemq.client.consuming.received import DEAD_LETTER
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.handlers.notify_consumer_ids_changed import notify_consumer_ids_changed
from fakemq.client.operation import ask_ok
from fakemq.client.tasks import Sleep, Task
from fakemq.protocol.bodies.heartbeat import ConsumerData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.subscription import build_subscription
from fakemq.sim.consumers import AFTER_ERROR_MS, Consumer

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from fakemq.client.consuming.popped import PoppedMessage, PopResult
    from fakemq.client.operation import Operation
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.bodies.queue import MessageQueue
    from fakemq.sim.plan import ConsumerPlan

NOTHING_NEW_MS = 4_000
"""The least pause after a pop that found nothing, as its broker may refuse to hold it."""
ATTEMPTS = 3
"""How often an acknowledgement is sent, a second apart."""
RETRY_MS = 1_000
SOONER_MS = (1_000, 3_000, 6_000)
"""When a message that failed is to be visible again."""

_ERRORS = (MQBrokerError, MQClientError, RemotingError)


class Popper(Consumer):
    """Pops the queues that brokers assign to it, and processes what it gets in any order."""

    def __init__(self, core: ClusterCore, plan: ConsumerPlan, draw: random.Random) -> None:
        super().__init__(core, plan, draw)
        assert plan.pop is not None
        self.group = plan.group
        self._pop_plan = plan.pop
        self._pops = PopOperations(self.instance, plan.group)
        self._assigned: dict[MessageQueue, None] = {}
        self._popping: dict[MessageQueue, None] = {}
        self._attempts = 0

    # -- a member, as the services of its client see it ---------------------------------------

    def topics(self) -> Iterable[str]:
        return self.plan.topics

    def consumer_data(self) -> ConsumerData:
        subscriptions = [build_subscription(topic, "*", "TAG") for topic in self.topics()]
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_PASSIVELY",
            message_model="CLUSTERING",
            consume_from_where="CONSUME_FROM_FIRST_OFFSET",
            subscription_data_set=subscriptions,
        )

    def persist_offsets(self) -> Task[None]:
        """Do nothing: brokers keep the offsets of a group that pops."""
        yield from ()

    def rebalance(self) -> Task[None]:
        """Pop what is assigned from now on, and nothing else; where it is to pull, change that."""
        for topic in self.topics():
            assigned = yield from self._pops.assignment(topic)
            if assigned is None:
                continue
            if any(one.mode != "POP" for one in assigned):
                yield from self._pops.set_mode(topic, "POP", share_queue_num=self._pop_plan.share)
                continue
            others = [queue for queue in self._assigned if queue.topic != topic]
            self._assigned = dict.fromkeys([*others, *(one.message_queue for one in assigned)])
            for queue in self._assigned:
                if queue not in self._popping:
                    self._popping[queue] = None
                    self.run(self._popping_queue(queue))

    def tasks(self) -> list[Task[None]]:
        return [self._starting()]

    def _starting(self) -> Task[None]:
        self.services.instance.task_handlers[RequestCode.NOTIFY_CONSUMER_IDS_CHANGED] = partial(
            notify_consumer_ids_changed, self.services
        )
        self.services.register_consumer(self)
        self.services.start()
        while True:
            try:
                yield from self.services.first_routes(self.topics())
                yield from self.services.heartbeat()
                for topic in self.topics():
                    yield from self._pops.set_mode(
                        topic, "POP", share_queue_num=self._pop_plan.share
                    )
                break
            except _ERRORS:
                yield Sleep(AFTER_ERROR_MS)
        self.services.rebalance_soon()

    # -- pops ---------------------------------------------------------------------------------

    def _popping_queue(self, queue: MessageQueue) -> Task[None]:
        """Pop a queue as long as it is assigned."""
        attempt_id: str | None = None
        while queue in self._assigned:
            if attempt_id is None:
                attempt_id = self._next_attempt()
            began_ms = self.clock.elapsed_ms()
            try:
                result = yield from self._pop(queue, attempt_id)
            except _ERRORS:
                yield Sleep(AFTER_ERROR_MS)
                continue  # with the same attempt: what its answer had comes again
            attempt_id = None
            if result is not None and result.messages:
                yield from self._processing(result.messages)
            elif self.clock.elapsed_ms() - began_ms < NOTHING_NEW_MS:
                yield Sleep(NOTHING_NEW_MS)
        del self._popping[queue]

    def _pop(self, queue: MessageQueue, attempt_id: str) -> Operation[PopResult | None]:
        plan, ordered = self._pop_plan, self.plan.ordered
        poll_ms = plan.poll_ms
        if plan.notified:
            has_message = yield from self._pops.notification(
                queue, poll_ms=poll_ms, order=ordered, attempt_id=attempt_id
            )
            if not has_message:
                return None
            poll_ms = 0
        return (
            yield from self._pops.pop(
                queue,
                invisible_ms=plan.invisible_ms,
                max_messages=self.plan.batch,
                poll_ms=poll_ms,
                init_mode=FROM_FIRST,
                order=ordered,
                attempt_id=attempt_id if ordered else None,
            )
        )

    def _next_attempt(self) -> str:
        self._attempts += 1
        return f"{self.name}/{self._attempts}"

    # -- messages -----------------------------------------------------------------------------

    def _processing(self, messages: Sequence[PoppedMessage]) -> Task[None]:
        """Process the messages of a pop: one after the other, or each by itself."""
        if self._pop_plan.batch_acks or self.plan.threads == 1:
            well = []
            for message in messages:
                if (yield from self._processed(message)):
                    well.append(message)
            if self._pop_plan.batch_acks:
                yield from self._surely(lambda: self._pops.ack_batch(well))
            else:
                for message in well:
                    yield from self._acknowledging(message)
        else:
            for message in messages:
                self.run(self._processing_one(message))

    def _processing_one(self, message: PoppedMessage) -> Task[None]:
        if (yield from self._processed(message)):
            yield from self._acknowledging(message)

    def _acknowledging(self, message: PoppedMessage) -> Task[bool]:
        return (yield from self._surely(lambda: self._pops.ack(message)))

    def _processed(self, message: PoppedMessage) -> Task[bool]:
        """Process a message; return whether it is to be acknowledged."""
        if message.reconsume_times > self.plan.tries:
            return (yield from self._surely(lambda: self._to_dead_letters(message)))
        plan = self._pop_plan
        if self.random.random() < plan.renewing:
            yield from self._changing(message, plan.invisible_ms)
        topic, _, _ = message.place(self.group)
        well = yield from self.process(
            message.stored, message.broker_name, topic, message.reconsume_times
        )
        if not well and self.random.random() >= plan.forgetting:
            yield from self._changing(message, self.random.choice(SOONER_MS))
        return well

    def _changing(self, message: PoppedMessage, invisible_ms: int) -> Task[None]:
        """Change the invisible time of a message, if its broker answers."""
        try:
            yield from self._pops.change_invisible_time(message, invisible_ms)
        except _ERRORS:
            return  # the message is visible again sooner or later

    def _to_dead_letters(self, message: PoppedMessage) -> Operation[None]:
        stored = message.stored
        header = ConsumerSendMsgBackRequestHeader(
            group=self.group,
            origin_topic=stored.topic,
            offset=stored.commit_log_offset,
            delay_level=DEAD_LETTER,
            origin_msg_id=stored.msg_id,
            max_reconsume_times=self.plan.tries,
            bname=message.broker_name,
        )
        addr = self.instance.routes.master_addr(message.broker_name)
        if addr is None:
            raise MQClientError(f"The broker[{message.broker_name}] not exist")
        command = self.instance.command(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        yield from ask_ok(addr, command, self.instance.config.api_timeout_ms)

    def _surely(self, operation: Callable[[], Operation[None]]) -> Task[bool]:
        """Try an operation a few times; return whether it succeeded."""
        for _ in range(ATTEMPTS):
            try:
                yield from operation()
            except _ERRORS:
                yield Sleep(RETRY_MS)
            else:
                return True
        return False


class OrderedPopper(Popper):
    """Processes what it pops in order: behind a message that failed it stops."""

    def _processing(self, messages: Sequence[PoppedMessage]) -> Task[None]:
        for number, message in enumerate(messages):
            if not (yield from self._processed(message)):
                if self.random.random() >= self._pop_plan.forgetting:
                    for later in messages[number + 1 :]:
                        yield from self._changing(later, SOONER_MS[0])
                return
            if not (yield from self._acknowledging(message)):
                return
