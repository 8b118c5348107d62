"""The path of a sent message through the broker: checks, properties, queue, store, answer.

Source: broker/processor/SendMessageProcessor.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.broker.sending.checks import check_send
from fakemq.broker.sending.durable import when_durable
from fakemq.broker.sending.retry import dead_letter_topic, dead_lettered
from fakemq.dispatch.answers import Parked, Refused, Reply, Thrown
from fakemq.dispatch.outcomes import required
from fakemq.later import Later
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.header import parse_bool
from fakemq.protocol.hosts import record_host
from fakemq.protocol.properties import (
    CLUSTER,
    DELAY_TIME_LEVEL,
    MSG_REGION,
    TRACE_SWITCH,
    TRANSACTION_PREPARED,
    WAIT_STORE_MSG_OK,
    decode_properties,
    encode_properties_as_java,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.table import ResponseHeader
from fakemq.protocol.topics import RETRY_PREFIX, SCHEDULE_TOPIC
from fakemq.store.inner_message import InnerMessage, RecordDraft, inner_message
from fakemq.store.puts import PutMessageResult
from fakemq.store.results import PutMessageStatus
from fakemq.store.writing import draft_batch

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker, SendHeader, SendRequest
    from fakemq.broker.sending.settings import SendSettings
    from fakemq.clock.slices import Steps
    from fakemq.dispatch.long_work import Answer
    from fakemq.protocol.headers.send import SendMessageResponseHeader
    from fakemq.protocol.plain_properties import PlainProperties

_STORED: Final = {
    PutMessageStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
}
"""The codes of messages that are in the log, but perhaps not on disk or at a slave."""
_PUT_OK: Final = PutMessageStatus.PUT_OK
_SUCCESS: Final = ResponseCode.SUCCESS
# To look a member up in its enum takes as long as three calls.
# As a constant of this module: compiled code would look up an imported name in a dictionary.
_record_host: Final = record_host

BATCH_AT_ONCE_BYTES: Final = 32 * 1024
"""A batch of more bytes, which may have over 1,400 messages, is stored in slices."""


def send(
    broker: Broker, request: SendRequest, drafted: Drafted | None = None
) -> Reply[SendMessageResponseHeader] | Parked[SendMessageResponseHeader] | None:
    """Store a sent message or batch and answer; every answer carries MSG_REGION and TRACE_ON.

    ``drafted`` are the records of a large batch: with these it is called again.
    """
    header = request.header
    broker.check_sent(request)
    batch = header.batch
    if batch and drafted is None and len(request.command.body) > BATCH_AT_ONCE_BYTES:
        from fakemq.dispatch.long_work import in_slices  # most runs have no such batch

        return in_slices(_send_in_slices)(broker, request)
    try:
        settings = broker.send_settings()
        config = check_send(broker, settings, header, request.session)
        queue_id = header.queue_id
        if queue_id < 0:
            queue_id = random_queue_id(broker, config.write_queue_nums)
        if batch:
            broker.check_batch(request)
            message, drafts = _batch(broker, settings, request, config, queue_id, drafted)
            result = broker.store.put_messages(message, drafts)
        else:
            message, result = _put_one(broker, settings, request, header, config, queue_id)
        status, appended = result.status, result.append_result
        code = _SUCCESS if status is _PUT_OK else _STORED.get(status)
        if appended is not None:
            # The store may have diverted the message: it is counted where it was stored.
            topic, count = message.topic, appended.msg_num
            broker.stats.put(topic, count, appended.wrote_bytes)
            if topic == SCHEDULE_TOPIC:
                broker.stats.scheduled(message.queue_id, count, appended.wrote_bytes)
            broker.arrived(result)
        if code is None or appended is None:
            raise refusal(broker, result)
    except Thrown:  # the answer to an exception has none of the fields
        raise
    except Refused as refused:
        why = refused.code_in(broker.reference)
        return Reply(code=why, remark=refused.remark, ext_fields=answer_marks(broker))
    answered = (
        appended.msg_id,
        queue_id,  # a dead letter, too, is answered with the one that the producer chose
        appended.logics_offset,
        "",
        settings.marks,
    )
    reply = broker.send_reply(code, answered, request, message)
    if result.flush_to is None and result.replicate_to is None and result.when_queued is None:
        return reply
    return reply_when_durable(broker, result, reply)


def reply_when_durable(
    broker: Broker,
    result: PutMessageResult,
    reply: Reply[ResponseHeader],
    *,
    sets_code: bool = True,
) -> Reply[ResponseHeader] | Parked[ResponseHeader]:
    """Return the answer, parked until the message is as safe as the broker's roles ask.

    There are three waits: for the disk with SYNC_FLUSH, for a slave with SYNC_MASTER, and for the
    queue behind a large batch. With ``sets_code`` a wait that timed out sets the answer's code.
    """
    if result.flush_to is None and result.replicate_to is None and result.when_queued is None:
        return reply
    parked: Parked[ResponseHeader] = Later()

    def durable(status: PutMessageStatus) -> None:
        if sets_code and status is not _PUT_OK:
            reply.code = _STORED[status]
        parked.resolve(reply)

    when_durable(broker, result, durable)
    return parked


def _put_one(
    broker: Broker,
    settings: SendSettings,
    request: SendRequest,
    header: SendHeader,
    config: TopicConfig,
    queue_id: int,
) -> tuple[InnerMessage, PutMessageResult]:
    topic = header.topic
    dead = None
    if topic.startswith(RETRY_PREFIX):
        dead = dead_letter_topic(broker, request)
        if dead is not None:
            (topic, config), queue_id = dead, 0
    else:
        plain = broker.plain_properties(header, settings.form)
        if plain is not None:
            message = _message(
                broker, settings, request, header, topic, config, queue_id, plain=plain
            )
            return message, broker.store.put_message(message)
    # A producer that waits sends WAIT with every message, and Java does not store it.
    message = _message(
        broker, settings, request, header, topic, config, queue_id, WAIT_STORE_MSG_OK
    )
    properties = message.properties
    # The producer's text has the level of the last try; 4.9.7 leaves it (`dead_letter_topic`).
    if dead is not None and broker.reference.v5_dead_letters:
        properties[DELAY_TIME_LEVEL] = "-1"
    broker.prepare_send(message, config)
    # A half message goes to another topic; its real one gets it when the transaction is committed.
    prepared = properties.get(TRANSACTION_PREPARED)
    if prepared and parse_bool(prepared):
        if broker.config.reject_transaction_message:
            raise Refused(
                ResponseCode.NO_PERMISSION,
                f"the broker[{broker.config.broker_ip1}] sending transaction message is forbidden",
            )
        return message, broker.transactions.prepare_message(message)
    result = broker.store.put_message(message)
    if dead is not None:
        dead_lettered(broker, header.topic.removeprefix(RETRY_PREFIX), message, result)
    return message, result


def _send_in_slices(broker: Broker, request: SendRequest) -> Steps[Answer]:
    # All checks come after the slices, in which everything may change. The drafts do not depend on
    # the topic's config.
    header, config = request.header, broker.config
    batch, drafts = _batch(
        broker, broker.send_settings(), request, TopicConfig(""), header.queue_id
    )
    if drafts is None:
        drafts = yield from draft_batch(
            *(batch, config.max_message_size, config.mapped_file_size_commit_log),
            multi_dispatch=config.enable_multi_dispatch,
        )
    diverted_to = None if batch.topic == header.topic else (batch.topic, batch.queue_id)
    return send(broker, request, Drafted(drafts, diverted_to))


class Drafted(NamedTuple):
    """The records of a large batch."""

    drafts: list[RecordDraft] | PutMessageStatus
    """In the last case the batch is refused."""
    diverted_to: tuple[str, int] | None
    """Topic and queue id, if the records are for others than those of the request."""


def _batch(
    broker: Broker,
    settings: SendSettings,
    request: SendRequest,
    config: TopicConfig,
    queue_id: int,
    drafted: Drafted | None = None,
) -> tuple[InnerMessage, list[RecordDraft] | PutMessageStatus | None]:
    """Return a batch, and its records if they are ``drafted``, or why it is refused."""
    required(request.body or None, "MessageExtBatch", "body")
    header = request.header
    message = _message(broker, settings, request, header, header.topic, config, queue_id)
    status = broker.prepare_batch(message)
    if drafted is None:
        return message, status
    message.topic, message.queue_id = drafted.diverted_to or (header.topic, queue_id)
    return message, drafted.drafts


def _message(
    broker: Broker,
    settings: SendSettings,
    request: SendRequest,
    header: SendHeader,
    topic: str,
    topic_config: TopicConfig,
    queue_id: int,
    without: str | None = None,
    plain: PlainProperties | None = None,
) -> InnerMessage:
    """Return the message to store; ``without`` is a property that is not stored."""
    sys_flag = header.sys_flag
    if topic_config.topic_filter_type == "MULTI_TAG":
        sys_flag |= MessageSysFlag.MULTI_TAGS
    properties, text = None, ""
    if plain is not None:
        waits = plain[-1]
    else:
        properties = decode_properties(header.properties or "")
        properties[CLUSTER] = broker.config.broker_cluster_name
        text = encode_properties_as_java(properties, without)
        wait = properties.get(WAIT_STORE_MSG_OK)
        # Most producers send the very text "true", which needs no call.
        waits = not wait or wait == "true" or parse_bool(wait)
    return inner_message(
        topic,
        queue_id,
        request.command.body,
        properties=properties,
        properties_string=text,
        flag=header.flag,
        sys_flag=sys_flag,
        born_timestamp_ms=header.born_timestamp,
        born_host=_record_host(request.session.remote_addr),
        store_host=settings.store_host,
        reconsume_times=header.reconsume_times or 0,
        wait_store_msg_ok=waits,
        plain=plain,
    )


def answer_marks(broker: Broker) -> dict[str, str]:
    """Return the fields of every answer to a send; clients read them without a check."""
    return {
        MSG_REGION: broker.config.region_id,
        TRACE_SWITCH: "true" if broker.config.trace_on else "false",
    }


def random_queue_id(broker: Broker, write_queue_nums: int) -> int:
    """Return a random queue id, for a producer that sent a negative one.

    Raise Refused for a topic without queues: Java divides by their number.
    """
    if write_queue_nums <= 0:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            "java.lang.ArithmeticException: / by zero,"
            " org.apache.rocketmq.broker.processor.SendMessageProcessor"
            ".randomQueueId(SendMessageProcessor.java:689)",
        )
    return broker.randomness.randrange(write_queue_nums)


def refusal(broker: Broker, result: PutMessageResult) -> Refused:
    """Return the refusal of a put in Java's words, followed by a reason that only fakemq has.

    Source: SendMessageProcessor.java#handlePutMessageResult (4.9.7)
    """
    status = result.status
    if status is PutMessageStatus.CREATE_MAPEDFILE_FAILED:
        return Refused(
            ResponseCode.SYSTEM_ERROR,
            f"create mapped file failed, server is busy or broken.{result.here}",
        )
    if status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
        return Refused(
            ResponseCode.MESSAGE_ILLEGAL,
            "the message is illegal, maybe msg body or properties length not matched."
            f" msg body length limit {broker.config.max_message_size}B,"
            f" msg properties length limit 32KB.{result.here}",
        )
    if status is PutMessageStatus.SERVICE_NOT_AVAILABLE:
        full = broker.store.disk_space.rounded_ratio()
        return Refused(
            ResponseCode.SERVICE_NOT_AVAILABLE,
            "service not available now. It may be caused by one of the following reasons: "
            f"the broker's disk is full [CL: {full:5.2f} CQ: {full:5.2f} INDEX: {full:5.2f}],"
            f" messages are put to the slave, message store has been shut down, etc.{result.here}",
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
    return broker.refusal(status)
