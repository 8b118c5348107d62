"""Sending, with the checks and retries of a 4.9.7 producer."""

from __future__ import annotations

from collections.abc import Sequence

from fakemq.client.addresses import vip_addr
from fakemq.client.errors import (
    MQBrokerError,
    MQClientError,
    RemotingConnectError,
    RemotingError,
    RemotingTimeoutError,
    RemotingTooMuchRequestError,
)
from fakemq.client.instance import ClientInstance
from fakemq.client.messages import Message, SendResult, SendStatus, batch_body, compress
from fakemq.client.numbers import require_int
from fakemq.client.operation import Operation, Reading, ask, tell
from fakemq.client.queue_choice import QueueChoice
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import LocalProtocolError
from fakemq.protocol.headers.send import (
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    SendMessageResponseHeader,
)
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import FAQ, RETRY_PREFIX

RETRY_RESPONSE_CODES = frozenset(
    (
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
    )
)
"""Response codes after which the send is tried at another broker."""

# Source: client/common/ClientErrorCode.java (4.9.7)
CONNECT_BROKER_EXCEPTION = 10001
ACCESS_BROKER_TIMEOUT = 10002
BROKER_NOT_EXIST_EXCEPTION = 10003

_STATUS_OF = {int(status.value): status for status in SendStatus}


class SendOperations:
    """Sends messages of one group.

    Source: client/impl/producer/DefaultMQProducerImpl.java (4.9.7)
    """

    def __init__(self, instance: ClientInstance, group: str | None = None) -> None:
        self._instance = instance
        self.group = group or instance.config.producer_group
        self._choices: dict[str, QueueChoice] = {}

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
        self._check(message)
        if queue is None:
            return (yield from self._send_in_turn(message, None, timeout_ms))
        limit_ms = self._instance.config.send_timeout_ms if timeout_ms is None else timeout_ms
        return (yield from self._send_to(message, None, queue, limit_ms))

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
        return (
            yield from self.send_encoded_batch(
                batch, unique_ids, queue=queue, timeout_ms=timeout_ms
            )
        )

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
        self._check(batch)
        if queue is None:
            return (yield from self._send_in_turn(batch, unique_ids, timeout_ms))
        limit_ms = self._instance.config.send_timeout_ms if timeout_ms is None else timeout_ms
        return (yield from self._send_to(batch, unique_ids, queue, limit_ms))

    def send_oneway(
        self, message: Message, *, queue: MessageQueue | None = None
    ) -> Operation[None]:
        """Send a message without waiting for an answer; a lost message is not reported."""
        self._check(message)
        if queue is None:
            queue = yield from self._choose(message.topic, None)
        addr = yield from self._addr(queue)
        command = self._command(message, None, queue)
        yield from tell(addr, command, self._instance.config.send_timeout_ms)

    # -- attempts -----------------------------------------------------------------------------

    def _send_in_turn(
        self, message: Message, batch: Sequence[str] | None, timeout_ms: int | None
    ) -> Operation[SendResult]:
        """Send to one queue after another until one accepts, as `send`.

        ``batch`` holds the unique ids of a batch's messages; None for a single message.

        Source: DefaultMQProducerImpl.java#sendDefaultImpl (4.9.7)
        """
        config, clock = self._instance.config, self._instance.time
        begin_ms = clock.elapsed_ms()
        limit_ms = config.send_timeout_ms if timeout_ms is None else timeout_ms
        tried: list[str] = []
        failure: MQClientError | MQBrokerError | RemotingError | None = None
        for _ in range(1 + config.retry_times_when_send_failed):
            queue = yield from self._choose(message.topic, tried[-1] if tried else None)
            left_ms = begin_ms + limit_ms - clock.elapsed_ms()
            if left_ms < 0:
                raise RemotingTooMuchRequestError("sendDefaultImpl call timeout") from failure
            tried.append(queue.broker_name or "")
            try:
                return (yield from self._send_to(message, batch, queue, left_ms))
            except MQBrokerError as error:
                if error.code not in RETRY_RESPONSE_CODES:
                    raise
                failure = error
            except (MQClientError, RemotingError) as error:
                failure = error
        cost_ms = clock.elapsed_ms() - begin_ms
        raise MQClientError(
            f"Send [{len(tried)}] times, still failed, cost [{cost_ms}]ms,"
            f" Topic: {message.topic}, BrokersSent: [{', '.join(tried)}]{FAQ}",
            _client_code(failure),
        ) from failure

    def _send_to(
        self,
        message: Message,
        batch: Sequence[str] | None,
        queue: MessageQueue,
        timeout_ms: int,
    ) -> Operation[SendResult]:
        """Send to one queue; return the result or raise the broker's error.

        Source: DefaultMQProducerImpl.java#sendKernelImpl (4.9.7)
        """
        addr = yield from self._addr(queue)
        command = self._command(message, batch, queue)
        response = yield from ask(addr, command, timeout_ms)
        status = _STATUS_OF.get(response.code)
        if status is None:
            raise MQBrokerError(response.code, response.remark, addr)
        with Reading(addr):
            header = SendMessageResponseHeader.decode(response.ext_fields)
            return SendResult(
                status=status,
                msg_id=message.unique_id if batch is None else ",".join(batch),
                offset_msg_id=header.msg_id,
                queue=MessageQueue(
                    topic=message.topic, broker_name=queue.broker_name, queue_id=header.queue_id
                ),
                queue_offset=header.queue_offset,
                transaction_id=header.transaction_id,
                region_id=response.ext_fields.get(names.MSG_REGION, "") or "DefaultRegion",
            )

    def _choose(self, topic: str, failed_broker: str | None) -> Operation[MessageQueue]:
        route = yield from self._instance.route_to_send(topic)
        choice = self._choices.get(topic)
        if choice is None:
            choice = self._choices[topic] = QueueChoice(self._instance.random.getrandbits(31))
        return choice.select(route.publish_queues, failed_broker)

    def _addr(self, queue: MessageQueue) -> Operation[str]:
        self._instance.producer_groups[self.group] = None
        addr = yield from self._instance.master_addr(queue)
        return vip_addr(addr) if self._instance.config.vip_channel else addr

    # -- commands -----------------------------------------------------------------------------

    def _command(
        self, message: Message, batch: Sequence[str] | None, queue: MessageQueue
    ) -> RemotingCommand:
        config, clock = self._instance.config, self._instance.time
        if batch is None and not message.unique_id:
            message.properties[names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX] = (
                self._instance.unique_ids.create(clock.wall_ms())
            )
        properties, body, sys_flag = dict(message.properties), message.body, 0
        if batch is None and len(body) >= config.compress_over_bytes:
            body = compress(body)
            sys_flag = MessageSysFlag.COMPRESSED | MessageSysFlag.COMPRESSION_ZLIB_TYPE
        if properties.get(names.TRANSACTION_PREPARED, "").lower() == "true":
            sys_flag |= MessageSysFlag.TRANSACTION_PREPARED_TYPE
        reconsume_times, max_reconsume_times = "0", None
        if message.topic.startswith(RETRY_PREFIX):
            reconsume_times = properties.pop(names.RECONSUME_TIME, "0")
            max_reconsume_times = properties.pop(names.MAX_RECONSUME_TIMES, None)
        header = SendMessageRequestHeader(
            producer_group=self.group,
            topic=message.topic,
            default_topic=config.create_topic_key,
            default_topic_queue_nums=config.default_topic_queue_nums,
            queue_id=queue.queue_id,
            sys_flag=sys_flag,
            born_timestamp=clock.wall_ms(),
            flag=message.flag,
            properties=encode_properties_as_java(properties),
            reconsume_times=int(reconsume_times),
            max_reconsume_times=None if max_reconsume_times is None else int(max_reconsume_times),
            batch=batch is not None,
            bname=queue.broker_name,
        )
        if batch is None and not config.smart_send:
            return self._instance.command(RequestCode.SEND_MESSAGE, header, body)
        code = RequestCode.SEND_MESSAGE_V2 if batch is None else RequestCode.SEND_BATCH_MESSAGE
        return self._instance.command(code, SendMessageRequestHeaderV2.from_v1(header), body)

    def _batch(self, messages: Sequence[Message]) -> Message:
        """Return the batch message of several messages; raise MQClientError if they do not fit
        together.

        Source: common/message/MessageBatch.java#generateFromList (4.9.7)
        """
        if not messages:
            raise MQClientError("a batch of no messages; give one at least")
        first = messages[0]
        for message in messages:
            self._check(message)
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
            if not message.unique_id:
                now_ms = self._instance.time.wall_ms()
                message.properties[names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX] = (
                    self._instance.unique_ids.create(now_ms)
                )
        wait = {names.WAIT_STORE_MSG_OK: _waits(first)}
        try:
            body = batch_body(messages)
        except LocalProtocolError as error:
            raise MQClientError(str(error), ResponseCode.MESSAGE_ILLEGAL) from error
        return Message(first.topic, body, properties=wait)

    def _check(self, message: Message) -> None:
        """Raise MQClientError for a message that Java would not send, ConfigError for its flag.

        Names of topics are checked by the broker.

        Source: client/Validators.java#checkMessage (4.9.7)
        """
        require_int("flag", message.flag)
        if not message.topic.strip():
            raise MQClientError("The specified topic is blank")
        if not message.body:
            raise MQClientError("the message body length is zero", ResponseCode.MESSAGE_ILLEGAL)
        limit = self._instance.config.max_message_bytes
        if len(message.body) > limit:
            raise MQClientError(
                f"the message body size over max value, MAX: {limit}", ResponseCode.MESSAGE_ILLEGAL
            )


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
