"""Popping for one group, as clients of RocketMQ 5 do: pops, acknowledgements, assignments."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from fakemq.client.consuming.popped import STATUS_OF, PopResult, pop_result
from fakemq.client.errors import MQBrokerError, MQClientError
from fakemq.client.operation import Operation, Reading, ask, ask_ok
from fakemq.protocol.bodies.pop import (
    BatchAck,
    BatchAckMessageRequestBody,
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    NotificationRequestHeader,
    NotificationResponseHeader,
    PopMessageRequestHeader,
)
from fakemq.protocol.pop import extra_info
from fakemq.protocol.v5.codes import RequestCode5

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.client.consuming.popped import PoppedMessage
    from fakemq.client.instance import ClientInstance

ALL_QUEUES: Final = -1
"""The queue id that stands for all queues of a topic at one broker."""
FROM_FIRST, FROM_LAST = 0, 1
"""Where the first pop of a group begins in a queue.

Source: common/constant/ConsumeInitMode.java (5.5.0)
"""
POLL_MARGIN_MS: Final = 10_000
"""How much longer than the broker may hold a request the client waits for the answer."""
_MOST_BITS: Final = 1 << 20
"""A batch of acknowledgements names offsets of one pop, which lie close together."""


class PopOperations:
    """Pops for one group. Brokers know the group from the heartbeat or from the pop itself.

    Every operation raises MQBrokerError, MQClientError, RemotingError.

    Source: client/impl/consumer/PullAPIWrapper.java#popAsync, client/impl/MQClientAPIImpl.java
    (5.5.0)
    """

    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance = instance
        self.group = group

    # -- messages -----------------------------------------------------------------------------

    def pop(
        self,
        queue: MessageQueue,
        *,
        invisible_ms: int,
        max_messages: int = 32,
        poll_ms: int = 0,
        init_mode: int = FROM_LAST,
        expression: str = "*",
        expression_type: str = "TAG",
        order: bool = False,
        attempt_id: str | None = None,
    ) -> Operation[PopResult]:
        """Take messages of a queue, or of all queues of its broker (queue id `ALL_QUEUES`).

        Other pops of the group do not see them for ``invisible_ms``. ``poll_ms`` is how long the
        broker may hold the request until a message arrives. With ``order`` the queues that were
        popped give no more messages until these are acknowledged or visible again; another pop
        with the same ``attempt_id`` gets the same messages again.
        """
        header = PopMessageRequestHeader(
            consumer_group=self.group,
            topic=queue.topic or "",
            queue_id=queue.queue_id,
            max_msg_nums=max_messages,
            invisible_time=invisible_ms,
            poll_time=poll_ms,
            born_time=self._instance.time.wall_ms() if poll_ms else 0,
            init_mode=init_mode,
            exp_type=expression_type,
            exp=expression,
            order=order,
            attempt_id=attempt_id,
            bname=queue.broker_name,
        )
        addr = yield from self._instance.master_addr(queue)
        command = self._instance.command(RequestCode5.POP_MESSAGE, header)
        answer = yield from ask(addr, command, poll_ms + POLL_MARGIN_MS)
        status = STATUS_OF.get(answer.code)
        if status is None:
            raise MQBrokerError(answer.code, answer.remark, addr)
        with Reading(addr):
            return pop_result(answer, status, queue.broker_name or "", in_order=order)

    def notification(
        self,
        queue: MessageQueue,
        *,
        poll_ms: int,
        order: bool = False,
        attempt_id: str | None = None,
    ) -> Operation[bool]:
        """Return whether there is something to pop, as soon as there is, or after ``poll_ms``."""
        header = NotificationRequestHeader(
            consumer_group=self.group,
            topic=queue.topic or "",
            queue_id=queue.queue_id,
            poll_time=poll_ms,
            born_time=self._instance.time.wall_ms(),
            order=order,
            attempt_id=attempt_id,
            bname=queue.broker_name,
        )
        addr = yield from self._instance.master_addr(queue)
        command = self._instance.command(RequestCode5.NOTIFICATION, header)
        answer = yield from ask_ok(addr, command, poll_ms + POLL_MARGIN_MS)
        with Reading(addr):
            return NotificationResponseHeader.decode(answer.ext_fields).has_msg

    # -- receipts -----------------------------------------------------------------------------

    def ack(self, message: PoppedMessage) -> Operation[None]:
        """Acknowledge a message. A broker takes it also if it comes too late."""
        topic, queue_id, offset = message.place(self.group)
        header = AckMessageRequestHeader(
            consumer_group=self.group,
            topic=topic,
            queue_id=queue_id,
            extra_info=message.handle,
            offset=offset,
            bname=message.broker_name,
        )
        addr = yield from self._addr(message)
        command = self._instance.command(RequestCode5.ACK_MESSAGE, header)
        yield from ask_ok(addr, command, self._instance.config.api_timeout_ms)

    def ack_batch(self, messages: Iterable[PoppedMessage]) -> Operation[None]:
        """Acknowledge messages of one broker together.

        Differs: they may be of several topics; a Java client names one.

        Source: client/impl/MQClientAPIImpl.java#batchAckMessageAsync (5.5.0)
        """
        bits: dict[tuple[object, ...], int] = {}
        acks: dict[tuple[object, ...], BatchAck] = {}
        first: PoppedMessage | None = None
        for message in messages:
            first = first or message
            info = message.info()
            topic, start = message.stored.topic, info.start_offset
            key = topic, info.retry_mark, info.queue_id, start, info.pop_time_ms
            if key not in acks:
                acks[key] = BatchAck(
                    group=self.group,
                    topic=topic,
                    retry=info.retry_mark,
                    start_offset=start,
                    queue_id=info.queue_id,
                    revive_queue_id=info.revive_queue_id,
                    pop_time=info.pop_time_ms,
                    invisible_time=info.invisible_time_ms,
                )
            bit = info.queue_offset - start
            if not 0 <= bit < _MOST_BITS:
                raise MQClientError(f"{message.handle!r} is no receipt handle of a pop")
            bits[key] = bits.get(key, 0) | 1 << bit
        if first is None:
            return
        for of, batch in acks.items():
            size_bytes = (bits[of].bit_length() + 7) // 8
            batch.bit_set = base64.b64encode(bits[of].to_bytes(size_bytes, "little")).decode()
        body = BatchAckMessageRequestBody(broker_name=first.broker_name, acks=list(acks.values()))
        addr = yield from self._addr(first)
        command = self._instance.command(RequestCode5.BATCH_ACK_MESSAGE, body=body.encode())
        yield from ask_ok(addr, command, self._instance.config.api_timeout_ms)

    def change_invisible_time(
        self, message: PoppedMessage, invisible_ms: int, *, suspend: bool = False
    ) -> Operation[None]:
        """Let a message be visible ``invisible_ms`` from now, and replace its handle.

        With ``suspend`` its next delivery does not count as a further one.

        Source: client/impl/MQClientAPIImpl.java#changeInvisibleTimeAsync (5.5.0)
        """
        topic, queue_id, offset = message.place(self.group)
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=self.group,
            topic=topic,
            queue_id=queue_id,
            extra_info=message.handle,
            offset=offset,
            invisible_time=invisible_ms,
            suspend=suspend,
            bname=message.broker_name,
        )
        addr = yield from self._addr(message)
        command = self._instance.command(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, header)
        answer = yield from ask_ok(addr, command, self._instance.config.api_timeout_ms)
        with Reading(addr):
            changed = ChangeInvisibleTimeResponseHeader.decode(answer.ext_fields)
        message.handle = extra_info(
            start_offset=offset,
            pop_time_ms=changed.pop_time,
            invisible_time_ms=changed.invisible_time,
            revive_queue_id=changed.revive_qid,
            topic=topic,
            broker_name=message.broker_name,
            queue_id=queue_id,
            queue_offset=offset,
        )

    def _addr(self, message: PoppedMessage) -> Operation[str]:
        stored = message.stored
        queue = MessageQueue(
            topic=stored.topic, broker_name=message.broker_name, queue_id=stored.queue_id
        )
        return (yield from self._instance.master_addr(queue))

    # -- queues -------------------------------------------------------------------------------

    def assignment(
        self, topic: str, *, strategy: str = "AVG", message_model: str = "CLUSTERING"
    ) -> Operation[list[MessageQueueAssignment] | None]:
        """Ask a broker of a topic which queues this client consumes; None: keep what it has.

        Source: client/impl/factory/MQClientInstance.java#queryAssignment (5.5.0)
        """
        instance = self._instance
        route = yield from instance.known_route(topic)
        brokers = route.data.broker_datas if route else []
        found = [one for one in brokers if instance.routes.any_addr(one.broker_name) is not None]
        if not found:
            raise MQClientError(f"no broker of {topic} has an address")
        chosen = instance.routes.any_addr(instance.random.choice(found).broker_name)
        assert chosen is not None
        addr = instance.asked_addr(chosen.addr)
        body = QueryAssignmentRequestBody(
            topic=topic,
            consumer_group=self.group,
            client_id=instance.client_id,
            strategy_name=strategy,
            message_model=message_model,
        )
        command = instance.command(RequestCode5.QUERY_ASSIGNMENT, body=body.encode())
        answer = yield from ask_ok(addr, command, instance.config.api_timeout_ms)
        with Reading(addr):
            return QueryAssignmentResponseBody.decode(answer.body).message_queue_assignments

    def set_mode(self, topic: str, mode: str, *, share_queue_num: int = 0) -> Operation[None]:
        """Let clients of the group PULL or POP a topic, at all its masters."""
        instance = self._instance
        queues = yield from instance.subscribe_queues(topic)
        for name in dict.fromkeys(queue.broker_name for queue in queues):
            queue = MessageQueue(topic=topic, broker_name=name, queue_id=ALL_QUEUES)
            addr = yield from instance.master_addr(queue)
            body = SetMessageRequestModeRequestBody(
                topic=topic,
                consumer_group=self.group,
                mode=mode,
                pop_share_queue_num=share_queue_num,
            )
            command = instance.command(RequestCode5.SET_MESSAGE_REQUEST_MODE, body=body.encode())
            yield from instance.invoke_ok(addr, command)
