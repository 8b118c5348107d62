"""Pulling, offsets and queue locks of one group."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fakemq.client.arguments import require_int, require_queue
from fakemq.client.errors import MQBrokerError, MQClientError
from fakemq.client.instance import ClientInstance
from fakemq.client.messages import PullResult, PullStatus, pulled_messages
from fakemq.client.operation import Operation, Reading, ask, tell
from fakemq.client.routes import MASTER_ID, BrokerAddr
from fakemq.protocol.bodies.heartbeat import CheckClientRequestBody, ConsumerData, SubscriptionData
from fakemq.protocol.bodies.queue import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.offset import (
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
from fakemq.protocol.subscription import build_subscription, is_tag_type
from fakemq.protocol.sysflag import PullSysFlag

PULL_TIMEOUT_MS = 10_000
SUSPENDED_PULL_MARGIN_MS = 15_000
"""How much longer than the broker may suspend a pull the client waits for the answer."""

_STATUS_OF = {int(status.value): status for status in PullStatus}


class PullOperations:
    """Consumes for one group; pulling needs no registration.

    Source: client/impl/consumer/DefaultMQPullConsumerImpl.java, PullAPIWrapper.java,
    RebalanceImpl.java, client/consumer/store/RemoteBrokerOffsetStore.java (4.9.7)
    """

    def __init__(self, instance: ClientInstance, group: str | None = None) -> None:
        self._instance = instance
        self.group = group or instance.config.consumer_group
        self._pull_from: dict[MessageQueue, int] = {}
        self.elapsed_ms = instance.time.elapsed_ms

    # -- membership ---------------------------------------------------------------------------

    def subscribe(
        self,
        topic: str,
        expression: str = "*",
        *,
        expression_type: str = "TAG",
        consume_type: str = "CONSUME_PASSIVELY",
        message_model: str = "CLUSTERING",
        consume_from_where: str = "CONSUME_FROM_LAST_OFFSET",
    ) -> Operation[None]:
        """Subscribe to a topic with the next heartbeat, and fetch its route."""
        subscription = build_subscription(topic, expression, expression_type)
        subscription.sub_version = self._instance.time.wall_ms()
        data = self._instance.consumers.get(self.group)
        others = data.subscription_data_set if data else []
        self._instance.consumers[self.group] = ConsumerData(
            group_name=self.group,
            consume_type=consume_type,
            message_model=message_model,
            consume_from_where=consume_from_where,
            subscription_data_set=[
                *(one for one in others if one.topic != topic),
                subscription,
            ],
        )
        yield from self._instance.known_route(topic)

    def subscription(self, topic: str) -> SubscriptionData | None:
        """Return this consumer's subscription to a topic; None if it has none."""
        data = self._instance.consumers.get(self.group)
        found = data.subscription_data_set if data else []
        return next((one for one in found if one.topic == topic), None)

    # -- pulling ------------------------------------------------------------------------------

    def pull(
        self,
        queue: MessageQueue,
        offset: int,
        *,
        max_messages: int = 32,
        expression: str | None = "*",
        expression_type: str = "TAG",
        sub_version: int = 0,
        suspend_ms: int = 0,
        commit_offset: int | None = None,
        timeout_ms: int | None = None,
        lite: bool = False,
    ) -> Operation[PullResult]:
        """Pull messages of a queue from ``offset`` on.

        ``expression`` None means the expression of the heartbeat. ``suspend_ms`` is how long the
        broker may hold the pull until a message arrives. ``commit_offset`` is committed with the
        same request. ``lite`` marks the pull of a lite pull consumer.

        Raise MQBrokerError, MQClientError, RemotingError.
        """
        broker = yield from self._addr(queue)
        command = self.pull_request(
            queue,
            offset,
            max_messages=max_messages,
            expression=expression,
            expression_type=expression_type,
            sub_version=sub_version,
            suspend_ms=suspend_ms,
            commit_offset=None if broker.is_slave else commit_offset,
            lite=lite,
        )
        if timeout_ms is None:
            timeout_ms = suspend_ms + SUSPENDED_PULL_MARGIN_MS if suspend_ms else PULL_TIMEOUT_MS
        response = yield from ask(broker.addr, command, timeout_ms)
        status = _STATUS_OF.get(response.code)
        if status is None:
            raise MQBrokerError(response.code, response.remark, broker.addr)
        with Reading(broker.addr):
            result = _pull_result(queue, status, response.ext_fields, response.body)
        self._pull_from[queue] = result.suggest_which_broker_id
        return _filtered(result, queue, expression, expression_type)

    def forget(self, queue: MessageQueue) -> None:
        """Forget which broker a queue that is dropped was to be pulled from."""
        self._pull_from.pop(queue, None)

    def pull_request(
        self,
        queue: MessageQueue,
        offset: int,
        *,
        max_messages: int = 32,
        expression: str | None = "*",
        expression_type: str = "TAG",
        sub_version: int = 0,
        suspend_ms: int = 0,
        commit_offset: int | None = None,
        lite: bool = False,
    ) -> RemotingCommand:
        """Return the request of one `pull`, for callers that send it themselves."""
        flags = PullSysFlag.SUSPEND if suspend_ms else 0
        flags |= PullSysFlag.SUBSCRIPTION if expression is not None else 0
        flags |= PullSysFlag.COMMIT_OFFSET if commit_offset is not None else 0
        flags |= PullSysFlag.LITE_PULL_MESSAGE if lite else 0
        header = PullMessageRequestHeader(
            consumer_group=self.group,
            topic=queue.topic or "",
            queue_id=queue.queue_id,
            queue_offset=offset,
            max_msg_nums=max_messages,
            sys_flag=flags,
            commit_offset=commit_offset or 0,
            suspend_timeout_millis=suspend_ms,
            subscription=expression,
            sub_version=sub_version,
            expression_type=expression_type,
            bname=queue.broker_name,
        )
        return self._instance.command(RequestCode.PULL_MESSAGE, header)

    def check_expression(
        self, queue: MessageQueue, expression: str, expression_type: str
    ) -> Operation[None]:
        """Ask the queue's broker to check an expression; raise MQBrokerError if it is invalid.

        Without this check, a pull by an expression that 4.9.7 cannot read returns every message.

        Source: client/impl/factory/MQClientInstance.java#checkClientInBroker (4.9.7)
        """
        broker = yield from self._addr(queue)
        body = CheckClientRequestBody(
            client_id=self._instance.client_id,
            group=self.group,
            subscription_data=build_subscription(queue.topic or "", expression, expression_type),
        )
        command = self._instance.command(RequestCode.CHECK_CLIENT_CONFIG, body=body.encode())
        yield from self._instance.invoke_ok(broker.addr, command)

    def _addr(self, queue: MessageQueue) -> Operation[BrokerAddr]:
        require_queue(queue)
        routes = self._instance.routes
        wanted = self._pull_from.get(queue, MASTER_ID)
        found = routes.any_addr(queue.broker_name, wanted)
        if found is None:
            yield from self._instance.update_route(queue.topic or "")
            found = routes.any_addr(queue.broker_name, wanted)
        if found is None:
            raise MQClientError(f"The broker[{queue.broker_name}] not exist")
        return found

    # -- offsets ------------------------------------------------------------------------------

    def query_offset(self, queue: MessageQueue) -> Operation[int | None]:
        """Return the group's committed offset; None if it has none. Raise MQBrokerError.

        Differs: 4.9.7 treats any error as "none"; this follows 5.3.
        """
        broker = yield from self._addr(queue)
        header = QueryConsumerOffsetRequestHeader(
            consumer_group=self.group,
            topic=queue.topic or "",
            queue_id=queue.queue_id,
            bname=queue.broker_name,
        )
        command = self._instance.command(RequestCode.QUERY_CONSUMER_OFFSET, header)
        addr = self._instance.asked_addr(broker.addr)
        response = yield from self._instance.invoke(addr, command)
        if response.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        if response.code != ResponseCode.SUCCESS:
            raise MQBrokerError(response.code, response.remark, addr)
        with Reading(addr):
            return QueryConsumerOffsetResponseHeader.decode(response.ext_fields).offset

    def update_offset(
        self, queue: MessageQueue, offset: int, *, oneway: bool = True
    ) -> Operation[None]:
        """Commit an offset, higher or lower than before.

        With ``oneway``, as consumers do it, the broker sends no confirmation.
        """
        broker = yield from self._addr(queue)
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=self.group,
            topic=queue.topic or "",
            queue_id=queue.queue_id,
            commit_offset=offset,
            bname=queue.broker_name,
        )
        command = self._instance.command(RequestCode.UPDATE_CONSUMER_OFFSET, header)
        if oneway:
            addr = self._instance.asked_addr(broker.addr)
            yield from tell(addr, command, self._instance.config.api_timeout_ms)
        else:
            yield from self._instance.invoke_ok(broker.addr, command)

    # -- locks --------------------------------------------------------------------------------

    def lock(self, queues: Iterable[MessageQueue]) -> Operation[set[MessageQueue]]:
        """Lock queues for this client alone; return those that it holds now.

        Source: RebalanceImpl.java#lockAll (4.9.7)
        """
        locked: set[MessageQueue] = set()
        for addr, some in (yield from self._by_broker(queues)).items():
            body = LockBatchRequestBody(
                consumer_group=self.group, client_id=self._instance.client_id, mq_set=some
            )
            command = self._instance.command(RequestCode.LOCK_BATCH_MQ, body=body.encode())
            response = yield from self._instance.invoke_ok(addr, command)
            with Reading(addr):
                locked.update(LockBatchResponseBody.decode(response.body).lock_ok_mq_set)
        return locked

    def unlock(self, queues: Iterable[MessageQueue], *, oneway: bool = False) -> Operation[None]:
        """Unlock queues.

        Source: RebalanceImpl.java#unlockAll (4.9.7)
        """
        for addr, some in (yield from self._by_broker(queues)).items():
            body = UnlockBatchRequestBody(
                consumer_group=self.group, client_id=self._instance.client_id, mq_set=some
            )
            command = self._instance.command(RequestCode.UNLOCK_BATCH_MQ, body=body.encode())
            if oneway:
                yield from tell(addr, command, self._instance.config.api_timeout_ms)
            else:
                yield from self._instance.invoke_ok(addr, command)

    def _by_broker(
        self, queues: Iterable[MessageQueue]
    ) -> Operation[dict[str, list[MessageQueue]]]:
        found: dict[str, list[MessageQueue]] = {}
        for queue in queues:
            addr = yield from self._instance.master_addr(queue)
            require_int("queue_id", queue.queue_id)
            found.setdefault(addr, []).append(queue)
        return found


def _pull_result(
    queue: MessageQueue, status: PullStatus, ext_fields: dict[str, str], body: bytes
) -> PullResult:
    header = PullMessageResponseHeader.decode(ext_fields)
    found = pulled_messages(body, queue.broker_name or "") if status is PullStatus.FOUND else []
    return PullResult(
        queue=queue,
        status=status,
        next_begin_offset=header.next_begin_offset,
        min_offset=header.min_offset,
        max_offset=header.max_offset,
        messages=found,
        suggest_which_broker_id=header.suggest_which_broker_id,
    )


def _filtered(
    result: PullResult, queue: MessageQueue, expression: str | None, expression_type: str
) -> PullResult:
    """Drop messages whose tag has the hash of a wanted tag and is another one.

    Source: PullAPIWrapper.java#processPullResult (4.9.7)
    """
    if not result.messages or not expression or not is_tag_type(expression_type):
        return result
    tags = build_subscription(queue.topic or "", expression, expression_type).tags_set
    if not tags:
        return result
    return msgspec.structs.replace(
        result, messages=[one for one in result.messages if one.tags in tags]
    )
