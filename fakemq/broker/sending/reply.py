"""Replies to request messages: they are pushed to the waiting client, then stored.

Source: broker/processor/ReplyMessageProcessor.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.sending.checks import check_send
from fakemq.broker.sending.send import answer_marks, random_queue_id, reply_when_durable
from fakemq.dispatch.answers import Parked, Refused, Reply
from fakemq.dispatch.outcomes import outcome_of
from fakemq.events.core import ReplyFailed
from fakemq.journal.journal import shortened
from fakemq.later import Later
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.header import parse_bool
from fakemq.protocol.headers.send import ReplyMessageRequestHeader, SendMessageResponseHeader
from fakemq.protocol.hosts import format_host, record_host
from fakemq.protocol.properties import (
    CORRELATION_ID,
    MESSAGE_REPLY_TO_CLIENT,
    PUSH_REPLY_TIME,
    WAIT_STORE_MSG_OK,
    decode_properties,
)
from fakemq.store.inner_message import InnerMessage, inner_message

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker, SendHeader, SendRequest

SendReply = Reply[SendMessageResponseHeader]


def reply(broker: Broker, request: SendRequest) -> SendReply | Parked[SendMessageResponseHeader]:
    """Push the reply and store it; answer when the client has answered or timed out.

    The code of the answer says whether the push succeeded. Its header says where the reply is
    stored, if it is. A reply that cannot be stored is no failure.
    """
    header = request.header
    broker.check_sent(request)
    marks = answer_marks(broker)
    try:
        topic = check_send(broker, broker.send_settings(), header, request.session)
        queue_id = header.queue_id
        if queue_id < 0:
            queue_id = random_queue_id(broker, topic.write_queue_nums)
    except Refused as refused:
        code = refused.code_in(broker.reference)
        return Reply(code=code, remark=refused.remark, ext_fields=marks)
    text = header.properties or ""
    properties = decode_properties(text)
    message = inner_message(
        header.topic,
        queue_id,
        request.body,
        properties=properties,
        properties_string=text,
        flag=header.flag,
        born_timestamp_ms=header.born_timestamp,
        born_host=record_host(request.session.remote_addr),
        store_host=broker.store_host,
        reconsume_times=header.reconsume_times or 0,
        wait_store_msg_ok=parse_bool(properties.get(WAIT_STORE_MSG_OK, "true")),
    )
    broker.prepare_reply(message)
    # There are three ways in which the push can fail. Each time the reply is stored, and the answer
    # says that no client has got it:
    # 1. The request message named no client, as it came from another kind of client.
    client_id = message.properties.get(MESSAGE_REPLY_TO_CLIENT)
    if client_id is None:
        why = f"reply message properties[{MESSAGE_REPLY_TO_CLIENT}] is null"
        return _stored(broker, request, message, why, marks)
    # 2. The client sends heartbeats to other brokers, or has gone.
    client = broker.producers.find_channel(client_id)
    if client is None:
        why = f"push reply message fail, channel of <{client_id}> not found."
        return _stored(broker, request, message, why, marks)
    parked: Parked[SendMessageResponseHeader] = Later()

    def answered(answer: RemotingCommand | None) -> None:
        # 3. It does not answer in time, or refuses, because its own wait is over.
        pushed = answer is not None and answer.code == ResponseCode.SUCCESS
        why = None if pushed else f"push reply message to {client_id}fail."
        act = lambda: _stored(broker, request, message, why, marks)  # noqa: E731
        parked.follow(outcome_of(broker, request.command.code, act))

    broker.calls.call(client, _push(broker, header, message), answered)
    return parked


def _push(broker: Broker, header: SendHeader, message: InnerMessage) -> RemotingCommand:
    """Return the push request; note its time in the properties of the message.

    The text to store stays as it came. Only a delayed reply is stored with that time, because its
    text is made again from its properties.
    """
    now_ms = broker.clock.now_ms()
    message.properties[PUSH_REPLY_TIME] = str(now_ms)
    push = ReplyMessageRequestHeader.__new__(ReplyMessageRequestHeader)
    vars(push).update(
        vars(header),  # all fields but the last three; a field that did not arrive stays absent
        properties=broker.reference.encode_properties(message.properties),
        born_host=format_host(message.born_host),
        store_host=format_host(message.store_host),
        store_timestamp=now_ms,
    )
    return RemotingCommand(
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, ext_fields=push.encode(), body=message.body
    )


def _stored(
    broker: Broker,
    request: SendRequest,
    message: InnerMessage,
    why_not_pushed: str | None,
    marks: dict[str, str],
) -> SendReply | Parked[SendMessageResponseHeader]:
    """Store the reply and return the answer: SUCCESS unless the push failed.

    It waits as the answer to a send does, but a slow disk or slave does not change its code.
    """
    header = result = None
    if why_not_pushed is not None:
        broker.journal.add(
            ReplyFailed(
                node=broker.name,
                peer=request.session.remote_addr,
                correlation_id=shortened(message.properties.get(CORRELATION_ID, "")),
                why=shortened(why_not_pushed),
            )
        )
    else:
        # Java's client cannot decode an answer without these.
        header = SendMessageResponseHeader(msg_id="0", queue_id=message.queue_id, queue_offset=0)
    if broker.config.store_reply_message_enable:
        queue_id = message.queue_id  # the store changes that of a delayed reply
        result = broker.put(message)
        appended = result.append_result
        if appended is not None:
            broker.stats.put(message.topic, appended.msg_num, appended.wrote_bytes)
            header = SendMessageResponseHeader(
                msg_id=appended.msg_id, queue_id=queue_id, queue_offset=appended.logics_offset
            )
    answer = Reply(
        header,
        code=ResponseCode.SUCCESS if why_not_pushed is None else ResponseCode.SYSTEM_ERROR,
        remark=why_not_pushed,
        ext_fields=marks,
    )
    if result is None:
        return answer
    return reply_when_durable(broker, result, answer, sets_code=False)
