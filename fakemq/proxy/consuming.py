"""What is done with popped messages: acknowledged, made visible at another time, or buried.

Source: proxy/processor/ConsumerProcessor.java, ProducerProcessor.java (5.5.0)
"""

# Over 400 lines: receipts, acknowledgements and retries share the same calls.

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fakemq.dispatch.answers import Reply
from fakemq.events.grpc import HandleRenewed
from fakemq.journal.journal import shortened
from fakemq.later import drive
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.pop import ChangeInvisibleTimeResponseHeader, PopMessageResponseHeader
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.message import decode_records
from fakemq.protocol.pop import extra_info
from fakemq.protocol.properties import INNER_MULTI_QUEUE_OFFSET, POP_CK
from fakemq.protocol.usual_headers import UsualHeader
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy.receipts import decode
from fakemq.proxy.status import Code, RpcError, broker_error, java_error, proxy_error

if TYPE_CHECKING:
    from fakemq.later import Later, Waits
    from fakemq.protocol.message import MessageExt
    from fakemq.proxy.broker_calls import Asked
    from fakemq.proxy.call import Connection
    from fakemq.proxy.proxy import Proxy
    from fakemq.proxy.receipts import ReceiptHandle, Renewed
    from fakemq.proxy.routes import RouteQueue

NACK_MS = 1_000


def acknowledge(
    proxy: Proxy,
    connection: Connection | None,
    handle: ReceiptHandle,
    group: str,
    topic: str,
    lite_topic: str | None = None,
) -> Asked:
    """Acknowledge a message; raise RpcError for a handle that is over."""
    _check_current(proxy, handle)
    real_topic = handle.topic_of(topic, group)
    header = AckHeader(group, real_topic, handle.queue_id, handle.text, handle.offset, lite_topic)
    command = RemotingCommand(RequestCode5.ACK_MESSAGE, usual=header)
    return proxy.calls.ask(connection, _addr(proxy, handle), command)


def change_invisible_time(
    proxy: Proxy,
    connection: Connection | None,
    handle: ReceiptHandle,
    group: str,
    topic: str,
    ms: int,
    *,
    suspend: bool,
    lite_topic: str | None = None,
) -> Waits[str | None]:
    """Let a message be visible ``ms`` from now; return its new handle, None if that failed.

    With ``suspend`` the present attempt does not count.
    """
    _check_current(proxy, handle)
    real_topic = handle.topic_of(topic, group)
    header = ChangeHeader(
        group, real_topic, handle.queue_id, handle.text, handle.offset, ms, suspend, lite_topic
    )
    command = RemotingCommand(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, usual=header)
    reply: Reply[Any] = yield proxy.calls.ask(connection, _addr(proxy, handle), command)
    if reply.code != ResponseCode.SUCCESS:
        return None
    changed: ChangeInvisibleTimeResponseHeader = answer_header(
        reply, ChangeInvisibleTimeResponseHeader
    )
    text = extra_info(
        start_offset=handle.offset,
        pop_time_ms=changed.pop_time,
        invisible_time_ms=changed.invisible_time,
        revive_queue_id=changed.revive_qid,
        topic=real_topic,
        broker_name=handle.broker_name,
        queue_id=handle.queue_id,
        queue_offset=handle.offset,
    )
    return f"{text} {handle.log_offset}"


def bury(
    proxy: Proxy,
    connection: Connection | None,
    handle: ReceiptHandle,
    message_id: str,
    group: str,
    topic: str,
    lite_topic: str | None = None,
) -> Waits[Reply[Any]]:
    """Put a message into the DLQ of its group, then acknowledge it; return the first answer."""
    if handle.log_offset < 0:
        raise proxy_error(Code.INVALID_RECEIPT_HANDLE, "commit log offset is empty")
    header = ConsumerSendMsgBackRequestHeader(
        offset=handle.log_offset,
        group=group,
        delay_level=-1,
        origin_msg_id=message_id,
        origin_topic=handle.topic_of(topic, group),
        max_reconsume_times=0,
    )
    command = RemotingCommand(RequestCode.CONSUMER_SEND_MSG_BACK, ext_fields=header.encode())
    reply: Reply[Any] = yield proxy.calls.ask(connection, _addr(proxy, handle), command)
    if reply.code == ResponseCode.SUCCESS:
        with suppress(RpcError):  # no caller waits for this answer
            acknowledge(proxy, connection, handle, group, topic, lite_topic)
    return reply


def return_message(
    proxy: Proxy,
    connection: Connection | None,
    handle: ReceiptHandle,
    group: str,
    topic: str,
    lite_topic: str | None = None,
) -> None:
    """Let a message that no client got be visible in a second, as if it had not been popped."""
    _note(proxy, "", group, topic, handle, NACK_MS, "not delivered")
    drive(
        change_invisible_time(
            proxy,
            connection,
            handle,
            group,
            topic,
            NACK_MS,
            suspend=True,
            lite_topic=lite_topic,
        )
    )


def change_renewed(proxy: Proxy, renewed: Renewed, ms: int, why: str) -> Later[ReceiptHandle]:
    """Change the invisible time of a message that the front renews; its value is the new handle."""
    _note(proxy, renewed.client_id, renewed.group, renewed.topic, renewed.handle, ms, why)
    return drive(_renewed_handle(proxy, renewed, ms))


def _renewed_handle(proxy: Proxy, renewed: Renewed, ms: int) -> Waits[ReceiptHandle]:
    text = yield from change_invisible_time(
        proxy,
        None,
        renewed.handle,
        renewed.group,
        renewed.topic,
        ms,
        suspend=False,
        lite_topic=renewed.lite_topic,
    )
    if text is None:
        raise RpcError(Code.INVALID_RECEIPT_HANDLE, "the handle was refused")
    return decode(text)


def answer_header(reply: Reply[Any], kind: type[Any]) -> Any:
    """Return the header of an answer, with the fields that a fault has put there."""
    if not reply.ext_fields:
        return reply.header if reply.header is not None else kind()
    fields = {} if reply.header is None else reply.header.encode()
    return kind.decode(fields | reply.ext_fields)


def raise_unless_success(reply: Reply[Any], addr: str) -> None:
    """Raise RpcError for a broker's refusal."""
    if reply.code != ResponseCode.SUCCESS:
        raise broker_error(reply, addr)


def _check_current(proxy: Proxy, handle: ReceiptHandle) -> None:
    if handle.visible_at_ms <= proxy.clock.now_ms():
        raise proxy_error(Code.INVALID_RECEIPT_HANDLE, "receipt handle is expired")


def _addr(proxy: Proxy, handle: ReceiptHandle) -> str:
    addr = proxy.routes.master_addr(handle.broker_name)
    if addr is None:
        raise proxy_error(Code.INVALID_RECEIPT_HANDLE, f"cannot find broker {handle.broker_name}")
    return addr


def _note(
    proxy: Proxy,
    client_id: str,
    group: str,
    topic: str,
    handle: ReceiptHandle,
    ms: int,
    why: str,
) -> None:
    proxy.journal.add(
        HandleRenewed(
            node=proxy.name,
            group=shortened(group),
            topic=shortened(topic),
            queue_id=handle.queue_id,
            queue_offset=handle.offset,
            client_id=shortened(client_id),
            invisible_ms=ms,
            why=why,
        )
    )


def require_place(proxy: Proxy, handle: ReceiptHandle, topic: str) -> None:
    """Raise RpcError, if there are accounts, for a handle that names a place of another topic.

    No handle is signed: Java's proxy puts any message of the log into a group's DLQ.
    """
    broker = None if proxy.accounts is None else proxy.routes.at(_addr(proxy, handle))
    if broker is not None and handle.log_offset >= 0:
        from fakemq.broker.acl.stored import stored_topic  # few clusters have accounts

        if stored_topic(broker, handle.log_offset) not in (None, topic):
            raise proxy_error(Code.INVALID_RECEIPT_HANDLE, "the handle is of another topic")


def require_client(proxy: Proxy, client_id: str) -> None:
    """Raise RpcError for a client without a stream: Java's proxy fails to look its handles up.

    Source: proxy/common/ReceiptHandleGroupKey.java#getChannelId (5.5.0)
    """
    if proxy.clients.find(client_id) is None:
        raise java_error(
            'Cannot invoke "io.netty.channel.Channel.id()" because "this.channel" is null',
            "NullPointerException",
            "org.apache.rocketmq.proxy.common.ReceiptHandleGroupKey"
            ".getChannelId(ReceiptHandleGroupKey.java:34)",
        )


# The headers by which the front asks brokers most often, as quick values.
#
# Each has the fields of the `Header` of the same name, which a handler finds in a request.


class PopHeader(UsualHeader, gc=False):
    """`fakemq.protocol.headers.pop.PopMessageRequestHeader`"""

    consumer_group: str
    topic: str
    queue_id: int
    max_msg_nums: int
    invisible_time: int
    poll_time: int
    init_mode: int
    exp_type: str
    exp: str
    order: bool
    attempt_id: str | None
    born_time: int = 0


class AckHeader(UsualHeader, gc=False):
    """`fakemq.protocol.headers.pop.AckMessageRequestHeader`"""

    consumer_group: str
    topic: str
    queue_id: int
    extra_info: str
    offset: int
    lite_topic: str | None = None


class PopLiteHeader(UsualHeader, gc=False):
    """`fakemq.protocol.v5.headers.lite.PopLiteMessageRequestHeader`"""

    client_id: str
    consumer_group: str
    topic: str
    max_msg_num: int
    invisible_time: int
    poll_time: int
    attempt_id: str | None
    born_time: int = 0


class ChangeHeader(UsualHeader, gc=False):
    """`fakemq.protocol.headers.pop.ChangeInvisibleTimeRequestHeader`"""

    consumer_group: str
    topic: str
    queue_id: int
    extra_info: str
    offset: int
    invisible_time: int
    suspend: bool
    lite_topic: str | None = None


# The answer of a broker to a pop: its messages, each with the handle that a client returns.
#
# Source: client/impl/MQClientAPIImpl.java#processPopResponse,
# proxy/processor/ConsumerProcessor.java#filterPopResult (5.5.0)
def popped_messages(
    reply: Reply[Any], queue: RouteQueue, topic: str, in_order: bool
) -> list[MessageExt]:
    """Return the messages of an answer, each with its handle as property POP_CK."""
    body = reply.body
    messages = decode_records(body if isinstance(body, bytes) else b"".join(body))
    header: PopMessageResponseHeader = answer_header(reply, PopMessageResponseHeader)
    starts = _numbers(header.start_offset_info)
    counts = _counts(header.order_count_info) if in_order else {}
    for message in messages:
        properties, queue_id = message.properties, message.queue_id
        handle = properties.get(POP_CK)
        if handle is None:
            handle = extra_info(
                start_offset=starts.get(queue_id, message.queue_offset),
                pop_time_ms=header.pop_time,
                invisible_time_ms=header.invisible_time,
                revive_queue_id=header.revive_qid,
                topic=topic,
                broker_name=queue.broker_name,
                queue_id=queue_id,
                queue_offset=message.queue_offset,
            )
            if counts:
                count = counts.get(f"qo{queue_id}%{message.queue_offset}")
                if count is None:
                    count = counts.get(str(queue_id), 0)
                if count > 0:
                    message.reconsume_times = count
        properties[POP_CK] = f"{handle} {message.commit_log_offset}"
    return messages


def popped_lite_messages(reply: Reply[Any], queue: RouteQueue, topic: str) -> list[MessageExt]:
    """Return the messages of lite topics of an answer, each with its handle as property POP_CK.

    Source: client/impl/MQClientAPIImpl.java#processPopLiteResponse (5.5.0)
    """
    from fakemq.protocol.v5.headers.lite import PopLiteMessageResponseHeader

    body = reply.body
    messages = decode_records(body if isinstance(body, bytes) else b"".join(body))
    header: PopLiteMessageResponseHeader = answer_header(reply, PopLiteMessageResponseHeader)
    counts = (header.order_count_info or "").split(";")
    if len(counts) != len(messages):
        counts = []
    for index, message in enumerate(messages):
        properties = message.properties
        offset = properties.get(INNER_MULTI_QUEUE_OFFSET, "")
        if not offset.isdecimal():
            continue  # it names several queues: nothing says which it is from
        message.queue_offset = int(offset)
        handle = extra_info(
            start_offset=0,
            pop_time_ms=header.pop_time,
            invisible_time_ms=header.invisible_time,
            revive_queue_id=header.revive_qid,
            topic=topic,
            broker_name=queue.broker_name,
            queue_id=0,
            queue_offset=message.queue_offset,
        )
        message.reconsume_times = _lite_count(counts[index]) if counts else 0
        properties[POP_CK] = f"{handle} {message.commit_log_offset}"
    return messages


def _lite_count(text: str) -> int:
    count = text.rpartition(" ")[2]
    return int(count) if count.isdecimal() else 0


def handle_of(message: MessageExt) -> ReceiptHandle | None:
    """Return the handle of a message, None if it cannot be read: a producer may have set it."""
    try:
        return decode(message.properties[POP_CK])
    except RpcError:
        return None


def _numbers(info: str | None) -> dict[int, int]:
    """Return queue id → number of the entries for the topic itself, in ``mark id number;…``."""
    found = {}
    for entry in (info or "").split(";"):
        mark, _, rest = entry.partition(" ")
        if mark == "0":
            queue_id, _, number = rest.partition(" ")
            found[int(queue_id)] = int(number)
    return found


def _counts(info: str | None) -> dict[str, int]:
    """Return key → count of the entries for the topic itself."""
    found = {}
    for entry in (info or "").split(";"):
        mark, _, rest = entry.partition(" ")
        if mark == "0":
            key, _, count = rest.partition(" ")
            found[key] = int(count)
    return found
