"""The way of a sent message through the broker: checks, properties, queue, store, reply.

Source: broker/processor/SendMessageProcessor.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.checks import check_send
from fakemq.broker.durable import when_durable
from fakemq.broker.retry import dead_lettered, retry_or_dead_letter
from fakemq.dispatch.answers import Parked, Refused, Reply
from fakemq.dispatch.java_errors import required
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.header import parse_bool
from fakemq.protocol.headers.send import SendMessageResponseHeader
from fakemq.protocol.hosts import record_host
from fakemq.protocol.properties import (
    CLUSTER,
    MSG_REGION,
    TRACE_SWITCH,
    TRANSACTION_PREPARED,
    WAIT_STORE_MSG_OK,
    decode_properties,
    encode_properties_as_java,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.table import ResponseHeader
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.store.inner_message import InnerMessage
from fakemq.store.results import PutMessageResult, PutMessageStatus

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.broker.checks import SendHeader
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.protocol.command import RemotingCommand

_STORED = {
    PutMessageStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
}
"""The message is in the log all the same, whatever the code says about its copies."""


def send(
    broker: Broker, session: Session, command: RemotingCommand, header: SendHeader
) -> Reply[SendMessageResponseHeader] | Parked[SendMessageResponseHeader]:
    """Store what was sent and answer; every answer carries MSG_REGION and TRACE_ON."""
    marks = answer_marks(broker)
    try:
        topic = check_send(broker, header, session)
        queue_id = header.queue_id
        if queue_id < 0:
            queue_id = random_queue_id(broker, topic.write_queue_nums)
        if header.batch:
            result = _put_batch(broker, session, command, header, topic, queue_id)
        else:
            result = _put_one(broker, session, command, header, topic, queue_id)
        reply = _reply(broker, result, queue_id)
    except Refused as refused:
        return Reply(code=refused.code, remark=refused.remark, ext_fields=marks)
    reply.ext_fields = marks
    return reply_when_durable(broker, result, reply)


def reply_when_durable(
    broker: Broker,
    result: PutMessageResult,
    reply: Reply[ResponseHeader],
    *,
    tells: bool = True,
) -> Reply[ResponseHeader] | Parked[ResponseHeader]:
    """The answer once the message is as safe as the broker's roles ask: the place for SYNC waits.

    With ASYNC_MASTER that is at once, unless there is a disk to flush to with SYNC_FLUSH. Whether
    it was in time is the answer's code, if it ``tells``.
    """
    if result.flush_to is None and result.replicate_to is None:
        return reply
    parked = Parked[ResponseHeader]()

    def durable(status: PutMessageStatus) -> None:
        if tells and status is not PutMessageStatus.PUT_OK:
            reply.code = _STORED[status]
        parked.resolve(reply)

    when_durable(broker, result, durable)
    return parked


def _put_one(
    broker: Broker,
    session: Session,
    command: RemotingCommand,
    header: SendHeader,
    topic: TopicConfig,
    queue_id: int,
) -> PutMessageResult:
    name, topic, queue_id = retry_or_dead_letter(broker, command, header, topic, queue_id)
    message = _message(broker, session, command, header, name, topic, queue_id)
    # A waiting client says so with every message; the log goes without, in the order with it.
    properties = message.properties
    message.properties_string = encode_properties_as_java(properties, without=WAIT_STORE_MSG_OK)
    if WAIT_STORE_MSG_OK in properties:  # Java has taken it out for that, and puts it back
        properties[WAIT_STORE_MSG_OK] = properties.pop(WAIT_STORE_MSG_OK)
    if parse_bool(properties.get(TRANSACTION_PREPARED, "")):
        if broker.config.reject_transaction_message:
            raise Refused(
                ResponseCode.NO_PERMISSION,
                f"the broker[{broker.config.broker_ip1}] sending transaction message is forbidden",
            )
        return _counted(broker, message, broker.transactions.prepare_message(message))
    result = broker.store.put_message(message)
    if name != header.topic:
        dead_lettered(broker, header.topic.removeprefix(RETRY_PREFIX), message, result)
    return _counted(broker, message, result)


def _put_batch(
    broker: Broker,
    session: Session,
    command: RemotingCommand,
    header: SendHeader,
    topic: TopicConfig,
    queue_id: int,
) -> PutMessageResult:
    required(command.body or None, "MessageExtBatch", "body")
    message = _message(broker, session, command, header, header.topic, topic, queue_id)
    message.properties_string = encode_properties_as_java(message.properties)
    return _counted(broker, message, broker.store.put_messages(message))


def _counted(broker: Broker, message: InnerMessage, result: PutMessageResult) -> PutMessageResult:
    appended = result.append_result
    if appended is not None:
        broker.stats.sent(message.topic, message.queue_id, appended.msg_num, appended.wrote_bytes)
    return result


def _message(
    broker: Broker,
    session: Session,
    command: RemotingCommand,
    header: SendHeader,
    name: str,
    topic: TopicConfig,
    queue_id: int,
) -> InnerMessage:
    sys_flag = header.sys_flag
    if topic.topic_filter_type == "MULTI_TAG":
        sys_flag |= MessageSysFlag.MULTI_TAGS
    properties = decode_properties(header.properties or "")
    properties[CLUSTER] = broker.config.broker_cluster_name
    wait = properties.get(WAIT_STORE_MSG_OK)
    return InnerMessage(
        name,
        queue_id,
        command.body,
        properties=properties,
        flag=header.flag,
        sys_flag=sys_flag,
        born_timestamp_ms=header.born_timestamp,
        born_host=record_host(session.remote_addr),
        store_host=broker.store_host,
        reconsume_times=header.reconsume_times or 0,
        wait_store_msg_ok=not wait or parse_bool(wait),
    )


def answer_marks(broker: Broker) -> dict[str, str]:
    """What every answer to a send carries: clients read it without a look whether it is there."""
    return {
        MSG_REGION: broker.config.region_id,
        TRACE_SWITCH: "true" if broker.config.trace_on else "false",
    }


def random_queue_id(broker: Broker, write_queue_nums: int) -> int:
    """A queue for who does not care; Refused, as Java divides by their number, if there is none."""
    if write_queue_nums <= 0:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            "java.lang.ArithmeticException: / by zero,"
            " org.apache.rocketmq.broker.processor.SendMessageProcessor"
            ".randomQueueId(SendMessageProcessor.java:689)",
        )
    return broker.randomness.randrange(write_queue_nums)


def _reply(
    broker: Broker, result: PutMessageResult, queue_id: int
) -> Reply[SendMessageResponseHeader]:
    status = result.status
    code = ResponseCode.SUCCESS if status is PutMessageStatus.PUT_OK else _STORED.get(status)
    appended = result.append_result
    if code is None or appended is None:
        raise refusal(broker, result)
    return Reply(
        SendMessageResponseHeader(
            msg_id=appended.msg_id, queue_id=queue_id, queue_offset=appended.logics_offset
        ),
        code=code,
    )


def refusal(broker: Broker, result: PutMessageResult) -> Refused:
    """Why the store did not take it, in Java's words, and after them a reason that only we have.

    Source: SendMessageProcessor.java#handlePutMessageResult (4.9.7)
    """
    status = result.status
    reason = f" Here {result.reason}." if result.reason else ""
    if status is PutMessageStatus.CREATE_MAPEDFILE_FAILED:
        return Refused(
            ResponseCode.SYSTEM_ERROR,
            f"create mapped file failed, server is busy or broken.{reason}",
        )
    if status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
        return Refused(
            ResponseCode.MESSAGE_ILLEGAL,
            "the message is illegal, maybe msg body or properties length not matched."
            f" msg body length limit {broker.config.max_message_size}B,"
            " msg properties length limit 32KB.",
        )
    if status is PutMessageStatus.SERVICE_NOT_AVAILABLE:
        full = broker.store.retention.rounded_ratio()
        return Refused(
            ResponseCode.SERVICE_NOT_AVAILABLE,
            "service not available now. It may be caused by one of the following reasons: "
            f"the broker's disk is full [CL: {full:5.2f} CQ: {full:5.2f} INDEX: {full:5.2f}],"
            f" messages are put to the slave, message store has been shut down, etc.{reason}",
        )
    if status is PutMessageStatus.OS_PAGECACHE_BUSY:
        return Refused(
            ResponseCode.SYSTEM_ERROR,
            "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
        )
    if status is PutMessageStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED:
        return Refused(
            ResponseCode.SYSTEM_ERROR,
            "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch,"
            " lmq consumeQueue num exceed maxLmqConsumeQueueNum config num, default limit 2w.",
        )
    if status is PutMessageStatus.UNKNOWN_ERROR:
        return Refused(ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR")
    return Refused(ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT")
