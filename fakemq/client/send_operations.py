"""Sending, with the checks and retries of a 4.9.7 producer."""

# Over 400 lines: one send, from its checks to its last attempt.

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakemq.client.addresses import vip_addr
from fakemq.client.arguments import require_int, require_wait
from fakemq.client.errors import (
    MQBrokerError,
    MQClientError,
    RemotingCommandError,
    RemotingConnectError,
    RemotingError,
    RemotingTimeoutError,
    RemotingTooMuchRequestError,
)
from fakemq.client.instance import ClientInstance
from fakemq.client.messages import Message, SendResult, SendStatus, batch_body, require_message
from fakemq.client.operation import Call, Operation, tell
from fakemq.client.producing import namespace
from fakemq.client.producing.send_commands import SendCommands, broker_topic
from fakemq.client.producing.settings import RETRY_RESPONSE_CODES as RETRY_RESPONSE_CODES
from fakemq.client.producing.settings import ProducerSettings
from fakemq.client.queue_choice import InTurn, QueueChooser
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import LocalProtocolError, ProtocolError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.headers.send import SendMessageResponseHeader
from fakemq.protocol.topics import FAQ, RETRY_PREFIX, without_faq

_log = logging.getLogger("fakemq.client")

# Source: client/common/ClientErrorCode.java (4.9.7)
CONNECT_BROKER_EXCEPTION = 10001
ACCESS_BROKER_TIMEOUT = 10002
BROKER_NOT_EXIST_EXCEPTION = 10003

_MESSAGE_ILLEGAL = int(ResponseCode.MESSAGE_ILLEGAL)
_SEND_OK = SendStatus.SEND_OK
_STATUS_OF = {
    int(ResponseCode.SUCCESS): _SEND_OK,
    int(ResponseCode.FLUSH_DISK_TIMEOUT): SendStatus.FLUSH_DISK_TIMEOUT,
    int(ResponseCode.FLUSH_SLAVE_TIMEOUT): SendStatus.FLUSH_SLAVE_TIMEOUT,
    int(ResponseCode.SLAVE_NOT_AVAILABLE): SendStatus.SLAVE_NOT_AVAILABLE,
}


class Sent(NamedTuple):
    """A send that a broker answered with a result."""

    message: Message
    """Of a batch, the batch."""
    result: SendResult
    addr: str
    body_bytes: int
    """As sent, compressed perhaps."""
    begin_ms: int
    """Wall time when the request was built."""


class SendOperations:
    """Sends messages of one group.

    Without ``settings`` they are those of the instance's config. ``chooser`` chooses queues, by
    default in turn. ``before`` is called with each message, and may raise; ``on_sent`` with each
    result. With ``kept_by_services``
    the group is registered there, and the loop for routes keeps them fresh, so that no send waits
    for a name server to confirm what is known.

    Source: client/impl/producer/DefaultMQProducerImpl.java (4.9.7)
    """

    def __init__(
        self,
        instance: ClientInstance,
        group: str | None = None,
        *,
        settings: ProducerSettings | None = None,
        chooser: QueueChooser | None = None,
        before: Callable[[Message], None] | None = None,
        on_sent: Callable[[Sent], None] | None = None,
        kept_by_services: bool = False,
    ) -> None:
        self._instance = instance
        if settings is None:
            settings = ProducerSettings.of_config(instance.config, group)
        self.settings = settings
        self.group = namespace.wrap(settings.namespace, settings.group)
        self.on_sent = on_sent
        self._before = before
        self._chooser: QueueChooser = InTurn(instance.random) if chooser is None else chooser
        self._commands = SendCommands(instance, settings, self.group)
        self._kept_by_services = kept_by_services

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> Operation[SendResult]:
        """Send a message and return where it was stored.

        With ``queue`` there is one attempt. Without it the producer takes the queues in turn, and
        tries another broker after a failure, all within ``timeout_ms``. Raise MQClientError,
        MQBrokerError, RemotingError.
        """
        if queue is None:
            return self._send_in_turn(message, None, timeout_ms)
        return self._send_to(message, None, queue, timeout_ms)

    def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> Operation[SendResult]:
        """Send messages of one topic as one batch: all go to one queue, in their order."""
        batch = self._batch(messages)
        unique_ids = [one.unique_id for one in messages]
        return self.send_encoded_batch(batch, unique_ids, queue=queue, timeout_ms=timeout_ms)

    def send_encoded_batch(
        self,
        batch: Message,
        unique_ids: Sequence[str] = (),
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> Operation[SendResult]:
        """Send a batch whose body is encoded already, for example by `fakemq.protocol.batch`.

        ``unique_ids`` are those of its messages, for the result. The body is not read.
        """
        if queue is None:
            return self._send_in_turn(batch, unique_ids, timeout_ms)
        return self._send_to(batch, unique_ids, queue, timeout_ms)

    def send_oneway(
        self, message: Message, *, queue: MessageQueue | None = None
    ) -> Operation[None]:
        """Send a message without waiting for an answer; a lost message is not reported."""
        self.check(message)
        topic = broker_topic(self.settings, message.topic)
        if queue is None:
            queues = self._kept_queues(topic) or (yield from self._fetched_queues(topic))
            queue = self._chooser.choose(topic, queues, None)
        else:
            self._require_queue(message, queue)
        instance = self._instance
        addr = instance.routes.master_addr(queue.broker_name) or (
            yield from self._unknown_addr(topic, queue)
        )
        if self.settings.vip_channel:
            addr = vip_addr(addr)
        if not self._kept_by_services:
            instance.producer_groups[self.group] = None
        command = self._commands.single(message, topic, queue, instance.time.wall_ms())
        yield from tell(addr, command, self.settings.send_timeout_ms)

    def fetched_queues(self, topic: str) -> Operation[Sequence[MessageQueue]]:
        """Ask a name server for the queues of a topic; raise MQClientError if there are none.

        Source: client/impl/MQAdminImpl.java#fetchPublishMessageQueues (4.9.7)
        """
        topic = broker_topic(self.settings, topic)
        route = yield from self._instance.update_route(topic)
        if route is None or not route.publish_queues:
            raise MQClientError(f"Can not find Message Queue for this topic, {topic}{FAQ}")
        return route.publish_queues

    def queues(self, topic: str) -> Operation[Sequence[MessageQueue]]:
        """Return the queues to send to, as they are known, or those of the create-topic key.

        Raise MQClientError if there are none.
        """
        topic = broker_topic(self.settings, topic)
        return self._kept_queues(topic) or (yield from self._fetched_queues(topic))

    def _kept_queues(self, topic: str) -> Sequence[MessageQueue]:
        """Return the queues that need no name server; none if one is to be asked."""
        route = self._instance.routes.routes.get(topic) if self._kept_by_services else None
        return () if route is None else route.publish_queues

    def _fetched_queues(self, topic: str) -> Operation[Sequence[MessageQueue]]:
        route = yield from self._instance.route_to_send(
            topic,
            create_topic_key=self.settings.create_topic_key,
            default_topic_queue_nums=self.settings.default_topic_queue_nums,
        )
        return route.publish_queues

    # -- attempts -----------------------------------------------------------------------------

    def _limit_ms(self, timeout_ms: int | None) -> int:
        """Return the time for all attempts; raise ConfigError for one that no socket can wait."""
        limit_ms = self.settings.send_timeout_ms if timeout_ms is None else timeout_ms
        require_wait(limit_ms)
        return limit_ms

    def _send_in_turn(
        self, message: Message, batch: Sequence[str] | None, timeout_ms: int | None
    ) -> Operation[SendResult]:
        """Send to one queue after another until one accepts, as `send`.

        ``batch`` holds the unique ids of a batch's messages; None for a single message.

        Source: DefaultMQProducerImpl.java#sendDefaultImpl (4.9.7)
        """
        self.check(message)
        limit_ms = self._limit_ms(timeout_ms)
        settings, clock, chooser = self.settings, self._instance.time, self._chooser
        begin_ms = clock.elapsed_ms()
        topic = broker_topic(settings, message.topic)
        tried: list[str] = []
        failure: MQClientError | MQBrokerError | RemotingError | None = None
        result: SendResult | None = None
        for _ in range(1 + settings.retry_times_when_send_failed):
            queues = self._kept_queues(topic) or (yield from self._fetched_queues(topic))
            queue = chooser.choose(topic, queues, tried[-1] if tried else None)
            started_ms = clock.elapsed_ms() if tried else begin_ms
            left_ms = begin_ms + limit_ms - started_ms
            if left_ms < 0:
                if result is not None:
                    return result
                why = f", the last failure: {without_faq(failure)}" if failure else ""
                raise RemotingTooMuchRequestError(f"sendDefaultImpl call timeout{why}") from failure
            broker_name = queue.broker_name or ""
            tried.append(broker_name)
            try:
                # As in `_send_to`: a generator in between would cost more than these lines.
                addr = self._known_addr(queue) or (yield from self._unknown_addr(topic, queue))
                now_ms = clock.wall_ms()
                call = self._call(message, batch, topic, queue, addr, left_ms, now_ms)
                result = self._result(message, batch, queue, call, now_ms, (yield call))
            except (MQBrokerError, MQClientError, RemotingError) as error:
                chooser.report(broker_name, started_ms, failed=True)
                failure = error
                if (
                    isinstance(error, MQBrokerError)
                    and error.code not in settings.retry_response_codes
                ):
                    if result is not None:
                        return result
                    raise
                _log.info("an attempt to send to %s failed: %s", broker_name, error)
                continue
            chooser.report(broker_name, started_ms, failed=False)
            if result.status is _SEND_OK or not settings.retry_another_broker_when_not_store_ok:
                return result
        if result is not None:
            return result
        cost_ms = clock.elapsed_ms() - begin_ms
        raise MQClientError(
            f"Send [{len(tried)}] times, still failed, cost [{cost_ms}]ms,"
            f" Topic: {message.topic}, BrokersSent: [{', '.join(tried)}],"
            f" the last failure: {without_faq(failure)}{FAQ}",
            _client_code(failure),
        ) from failure

    def _send_to(
        self,
        message: Message,
        batch: Sequence[str] | None,
        queue: MessageQueue,
        timeout_ms: int | None,
    ) -> Operation[SendResult]:
        """Send to one queue of the caller."""
        self.check(message)
        limit_ms = self._limit_ms(timeout_ms)
        self._require_queue(message, queue)
        topic = broker_topic(self.settings, message.topic)
        addr = self._known_addr(queue) or (yield from self._unknown_addr(topic, queue))
        now_ms = self._instance.time.wall_ms()
        call = self._call(message, batch, topic, queue, addr, limit_ms, now_ms)
        return self._result(message, batch, queue, call, now_ms, (yield call))

    def _call(
        self,
        message: Message,
        batch: Sequence[str] | None,
        topic: str,
        queue: MessageQueue,
        addr: str,
        timeout_ms: int,
        now_ms: int,
    ) -> Call:
        """Return the request of one attempt.

        Source: DefaultMQProducerImpl.java#sendKernelImpl (4.9.7)
        """
        if self.settings.vip_channel:
            addr = vip_addr(addr)
        if not self._kept_by_services:
            self._instance.producer_groups[self.group] = None
        build = self._commands.single if batch is None else self._commands.batch
        # Without `ask`, which would check again what `_limit_ms` has checked.
        return Call(addr, build(message, topic, queue, now_ms), timeout_ms)

    def _result(
        self,
        message: Message,
        batch: Sequence[str] | None,
        queue: MessageQueue,
        call: Call,
        now_ms: int,
        response: RemotingCommand | None,
    ) -> SendResult:
        """Return the result of an attempt, or raise the broker's error."""
        assert response is not None, "a transport answers every request or throws"
        if response.code == _MESSAGE_ILLEGAL:
            sizes = _sizes(message, call.command)
            raise MQBrokerError(response.code, response.remark, call.addr, sizes)
        result = _result(message, batch, queue, call.addr, response)
        if self.on_sent is not None:
            self.on_sent(Sent(message, result, call.addr, len(call.command.body), now_ms))
        return result

    def _known_addr(self, queue: MessageQueue) -> str | None:
        return self._instance.routes.master_addr(queue.broker_name)

    def _unknown_addr(self, topic: str, queue: MessageQueue) -> Operation[str]:
        """Return the address of a broker that no known route has."""
        return self._instance.master_addr(
            MessageQueue(topic=topic, broker_name=queue.broker_name, queue_id=queue.queue_id)
        )

    # -- checks -------------------------------------------------------------------------------

    def check(self, message: Message) -> None:
        """Raise MQClientError for a message that Java would not send, ConfigError for its flag,
        TypeError for what is no message any more.

        Names of topics are checked by the broker, and by `ProducerCore`.

        Source: client/Validators.java#checkMessage (4.9.7)
        """
        require_message(message)
        message.require_valid()
        if self._before is not None:
            self._before(message)
        if message.flag or type(message.flag) is not int:
            require_int("flag", message.flag)
        if not message.topic.strip():
            raise MQClientError("The specified topic is blank")
        if not message.body:
            raise MQClientError("the message body length is zero", ResponseCode.MESSAGE_ILLEGAL)
        limit = self.settings.max_message_bytes
        if len(message.body) > limit:
            raise MQClientError(
                f"the message body size over max value, MAX: {limit}", ResponseCode.MESSAGE_ILLEGAL
            )

    def _require_queue(self, message: Message, queue: MessageQueue) -> None:
        """Raise MQClientError for a queue of another topic, ConfigError for its number."""
        require_int("queue_id", queue.queue_id)
        space = self.settings.namespace
        if namespace.wrap(space, queue.topic or "") != namespace.wrap(space, message.topic):
            raise MQClientError("message's topic not equal mq's topic")

    def _batch(self, messages: Sequence[Message]) -> Message:
        """Return the batch message of several messages; raise MQClientError if they do not fit
        together.

        Source: common/message/MessageBatch.java#generateFromList (4.9.7)
        """
        if not messages:
            raise MQClientError("a batch of no messages; give one at least")
        first, now_ms = messages[0], self._instance.time.wall_ms()
        for message in messages:
            self.check(message)
            if message.properties.get(names.DELAY_TIME_LEVEL, "0") != "0":
                raise MQClientError("TimeDelayLevel is not supported for batching")
            if message.topic.startswith(RETRY_PREFIX):
                raise MQClientError("Retry Group is not supported for batching")
            if message.topic != first.topic:
                raise MQClientError("The topic of the messages in one batch should be the same")
            if _waits(message) != _waits(first):
                raise MQClientError(
                    "The waitStoreMsgOK of the messages in one batch should the same"
                )
            self._commands.set_unique_id(message, now_ms)
        wait = {names.WAIT_STORE_MSG_OK: _waits(first)}
        try:
            body = batch_body(messages)
        except LocalProtocolError as error:
            raise MQClientError(str(error), ResponseCode.MESSAGE_ILLEGAL) from error
        return Message(first.topic, body, properties=wait)


def _result(
    message: Message,
    batch: Sequence[str] | None,
    queue: MessageQueue,
    addr: str,
    response: RemotingCommand,
) -> SendResult:
    """Return the result in a response; raise MQBrokerError if it has none.

    Source: client/impl/MQClientAPIImpl.java#processSendResponse (4.9.7)
    """
    status = _STATUS_OF.get(response.code)
    if status is None:
        raise MQBrokerError(response.code, response.remark, addr)
    fields = response.ext_fields
    try:
        msg_id, queue_id, queue_offset = _place(fields)
    except ProtocolError as error:
        raise RemotingCommandError(addr, error) from error
    return SendResult(
        status=status,
        msg_id=message.unique_id if batch is None else ",".join(batch),
        offset_msg_id=msg_id,
        queue=MessageQueue(topic=message.topic, broker_name=queue.broker_name, queue_id=queue_id),
        queue_offset=queue_offset,
        transaction_id=fields.get("transactionId"),
        region_id=fields.get(names.MSG_REGION) or "DefaultRegion",
        trace_on=fields.get(names.TRACE_SWITCH) != "false",
        recall_handle=fields.get("recallHandle"),
    )


def _place(fields: dict[str, str]) -> tuple[str, int, int]:
    """Return the offset id, queue and offset that a SendMessageResponseHeader says.

    Without the header, whose object costs as much as the rest of a result; one is made for the
    error of a field that did not arrive.
    """
    try:
        return fields["msgId"], parse_int(fields["queueId"]), parse_long(fields["queueOffset"])
    except KeyError:
        header = SendMessageResponseHeader.decode(fields)
        return header.msg_id, header.queue_id, header.queue_offset


def _sizes(message: Message, command: RemotingCommand) -> str:
    """Return what is said of a body that grew when it was compressed, perhaps over a limit."""
    given, sent = len(message.body), len(command.body)
    return f" The body has {given} bytes, {sent} when compressed." if sent > given else ""


def _waits(message: Message) -> str:
    return message.properties.get(names.WAIT_STORE_MSG_OK, "true")


def _client_code(failure: BaseException | None) -> int:
    if isinstance(failure, MQBrokerError):
        return failure.code
    if isinstance(failure, RemotingConnectError):
        return CONNECT_BROKER_EXCEPTION
    if isinstance(failure, RemotingTimeoutError):
        return ACCESS_BROKER_TIMEOUT
    return BROKER_NOT_EXIST_EXCEPTION if isinstance(failure, MQClientError) else -1
