"""SendMessage: store messages of one topic.

Behaviour: the front chooses the queue: by the hash of the message group, else each in turn. Several
messages are stored as one batch, and have one entry in the answer.
Refused: messages that `fakemq.proxy.sending` refuses, and those of another type than the topic has,
an unknown topic among them.

Source: proxy/grpc/v2/producer/SendMessageActivity.java,
proxy/processor/ProducerProcessor.java#sendMessage (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fakemq.dispatch.answers import Reply
from fakemq.dispatch.dispatcher import fields_of
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import LocalProtocolError, ProtocolError
from fakemq.protocol.grpc.messages import SendMessageResponse, SendResultEntry
from fakemq.protocol.java import consistent_hash, java_string_hash
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.properties import (
    MAX_RECONSUME_TIMES,
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
    RECONSUME_TIME,
    TIMER_DELIVER_MS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from fakemq.protocol.usual_headers import UsualBatchHeader, UsualSendHeader
from fakemq.proxy.checks import check_count, checked_topic, is_blank
from fakemq.proxy.messages import BORN_TIMESTAMP, check_type, message_type
from fakemq.proxy.registry import handles
from fakemq.proxy.sending import GZIP, TRANSACTION, check_body, properties_of
from fakemq.proxy.status import (
    OK,
    Code,
    RpcError,
    broker_error,
    java_error,
    proxy_error,
    status,
)

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.later import Waits
    from fakemq.protocol.grpc.messages import Message, SendMessageRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy
    from fakemq.proxy.routes import RouteQueue, TopicRoute

_UNSAFE: Final = {
    int(ResponseCode.FLUSH_DISK_TIMEOUT): (Code.MASTER_PERSISTENCE_TIMEOUT, "FLUSH_DISK_TIMEOUT"),
    int(ResponseCode.FLUSH_SLAVE_TIMEOUT): (Code.SLAVE_PERSISTENCE_TIMEOUT, "FLUSH_SLAVE_TIMEOUT"),
    int(ResponseCode.SLAVE_NOT_AVAILABLE): (Code.HA_NOT_AVAILABLE, "SLAVE_NOT_AVAILABLE"),
}
_DEFAULT_TOPIC: Final = "TBW102"
_DEFAULT_QUEUES: Final = 4


@handles("SendMessage")
def send_message(
    proxy: Proxy, context: Context, request: SendMessageRequest
) -> Waits[SendMessageResponse]:
    messages = request.messages
    if not messages:
        raise RpcError(Code.MESSAGE_CORRUPTED, "no message to send")
    first = messages[0]
    topic = checked_topic(first.topic)
    now_ms = proxy.clock.now_ms()
    check_count(len(messages), "messages")
    steps = _make_each(messages, topic, now_ms, context.remote_addr)
    made: list[dict[str, str]] = yield context.sliced(proxy.clock, steps, len(messages))
    properties = made[0]
    if not topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        check_type(proxy.routes.message_type(topic), message_type(properties))
    route = proxy.routes.route(topic)
    queue = _queue(proxy, route, first if len(messages) == 1 else None)
    if queue is None:
        raise proxy_error(Code.FORBIDDEN, "no writable queue")
    sys_flag = _sys_flag(first)
    command = _command(topic, queue, sys_flag, messages, made, now_ms)
    if len(made) > 1:
        _check_batch(topic, made)
        members = _batch(messages, made)
        command.body = yield context.sliced(proxy.clock, members, len(messages))
    reply: Reply[Any] = yield proxy.calls.ask(context.session, queue.broker_addr, command)
    if reply.code != ResponseCode.SUCCESS:
        return _unsafe(reply, queue)
    fields = fields_of(reply)
    ids = ",".join([one[UNIQ_CLIENT_MESSAGE_ID_KEYIDX] for one in made])
    transaction_id = fields.get("transactionId", "")
    offset = int(fields.get("queueOffset", "0"))
    if sys_flag & MessageSysFlag.TRANSACTION_PREPARED_TYPE and not is_blank(transaction_id):
        _remember(proxy, topic, transaction_id, queue, fields, offset)
    return SendMessageResponse(
        status=OK,
        entries=[
            SendResultEntry(
                status=OK,
                message_id=ids,
                transaction_id=transaction_id,
                offset=offset,
                recall_handle=fields.get("recallHandle", ""),
            )
        ],
    )


def _make_each(
    messages: Any, topic: str, now_ms: int, remote_addr: str
) -> Steps[list[dict[str, str]]]:
    made = []
    for message in messages:
        made.append(_made(message, messages[0], topic, now_ms, remote_addr))
        yield
    return made


def _made(
    message: Message, first: Message, topic: str, now_ms: int, remote_addr: str
) -> dict[str, str]:
    """Return the properties of one message; raise RpcError if it may not be sent."""
    if message is not first and message.topic != first.topic:
        raise RpcError(Code.MESSAGE_CORRUPTED, "topic in message is not same")
    check_body(message.body)
    return properties_of(message, topic, now_ms, remote_addr)


def _queue(proxy: Proxy, route: TopicRoute, alone: Message | None) -> RouteQueue | None:
    """Return the queue for a request; ``alone`` is its only message.

    Source: SendMessageActivity.java#select
    """
    if alone is not None:
        key = alone.system_properties.message_group
        if is_blank(key):
            key = alone.system_properties.lite_topic
        if key:
            queues = route.write_queues()
            if not queues:
                return None
            return queues[consistent_hash(java_string_hash(key), len(queues))]
    return proxy.routes.next_write_queue(route)


def _sys_flag(message: Message) -> int:
    flag = 0
    if message.system_properties.body_encoding == GZIP:
        flag |= MessageSysFlag.COMPRESSED
    if message.system_properties.message_type == TRANSACTION:
        flag |= MessageSysFlag.TRANSACTION_PREPARED_TYPE
    return flag


def _command(
    topic: str,
    queue: RouteQueue,
    sys_flag: int,
    messages: Any,
    made: list[dict[str, str]],
    now_ms: int,
) -> RemotingCommand:
    """Return the request to a broker; that of several messages has no body yet.

    Source: ProducerProcessor.java#buildSendMessageRequestHeader
    """
    properties = made[0]
    born_ms = int(properties.get(BORN_TIMESTAMP, now_ms))
    reconsume_times = 0
    if topic.startswith(RETRY_PREFIX):
        reconsume_times = int(properties.pop(RECONSUME_TIME, "0"))
        properties.pop(MAX_RECONSUME_TIMES, None)
    fields = (
        topic,
        topic,
        _DEFAULT_TOPIC,
        _DEFAULT_QUEUES,
        queue.queue_id,
        sys_flag,
        born_ms,
        0,
        _text(properties),
        reconsume_times,
    )
    if len(made) == 1:
        header = UsualSendHeader(*fields)
        return RemotingCommand(RequestCode.SEND_MESSAGE_V2, body=messages[0].body, usual=header)
    batch_header = UsualBatchHeader(*fields, in_batch="true")
    return RemotingCommand(RequestCode.SEND_BATCH_MESSAGE, usual=batch_header)


def _batch(messages: Any, made: list[dict[str, str]]) -> Steps[bytes]:
    """Return the body of a request with several messages."""
    members = bytearray()
    for message, one in zip(messages, made, strict=True):
        try:
            members += encode_batch(
                (BatchMember(message.body, _text(one).encode("utf-8", "replace")),)
            )
        except LocalProtocolError as error:
            raise RpcError(Code.MESSAGE_PROPERTIES_TOO_LARGE, str(error)) from None
        yield
    return bytes(members)


def _check_batch(topic: str, made: list[dict[str, str]]) -> None:
    """Raise RpcError for messages that Java makes no batch of.

    Source: common/message/MessageBatch.java#generateFromList
    """
    if any(int(properties.get(TIMER_DELIVER_MS, "0")) > 0 for properties in made):
        text, line = "Delayed messages are not supported for batching", 49
    elif topic.startswith(RETRY_PREFIX):
        text, line = "Retry Group is not supported for batching", 52
    else:
        return
    raise java_error(
        text,
        "UnsupportedOperationException",
        "org.apache.rocketmq.common.message.MessageBatch"
        f".generateFromList(MessageBatch.java:{line})",
    )


def _text(properties: dict[str, str]) -> str:
    return "".join(
        [
            f"{name}{NAME_VALUE_SEPARATOR}{value}{PROPERTY_SEPARATOR}"
            for name, value in properties.items()
        ]
    )


def _unsafe(reply: Reply[Any], queue: RouteQueue) -> SendMessageResponse:
    """Return the answer for messages that are stored, but perhaps not safe; else raise RpcError."""
    found = _UNSAFE.get(reply.code)
    if found is None:
        raise broker_error(reply, queue.broker_addr)
    code, send_status = found
    entry = status(code, f"send message failed, sendStatus={send_status}")
    return SendMessageResponse(status=status(code), entries=[SendResultEntry(status=entry)])


def _remember(
    proxy: Proxy,
    topic: str,
    transaction_id: str,
    queue: RouteQueue,
    fields: dict[str, str],
    half_offset: int,
) -> None:
    """Source: ProducerProcessor.java#fillTransactionData"""
    try:
        _, log_offset = decode_offset_id(fields.get("msgId", ""))
    except (ProtocolError, ValueError):
        return  # a fault has changed the answer
    proxy.transactions.add(topic, transaction_id, queue.broker_name, log_offset, half_offset)
