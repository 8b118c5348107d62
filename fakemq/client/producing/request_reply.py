"""Requests and replies: a message whose consumer answers with a message to its producer.

Source: client/impl/producer/DefaultMQProducerImpl.java#request, client/utils/MessageUtil.java,
client/impl/ClientRemotingProcessor.java#receiveReplyMessage (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol, TypeAlias
from uuid import UUID

from fakemq.client.errors import (
    MQBrokerError,
    MQClientError,
    RemotingError,
    RequestTimeoutError,
)
from fakemq.client.instance import ClientInstance
from fakemq.client.messages import Message, SendResult
from fakemq.client.producing.send_commands import REPLY_MESSAGE_FLAG
from fakemq.client.tasks import Signal, Task, Wait
from fakemq.protocol import properties as names
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.headers.send import ReplyMessageRequestHeader
from fakemq.protocol.hosts import Host, pack_host, record_host
from fakemq.protocol.java import crc32
from fakemq.protocol.message import MessageExt, decompressed_body
from fakemq.protocol.properties import decode_properties, encode_properties_as_java
from fakemq.protocol.topics import REPLY_POSTFIX, without_faq

_log = logging.getLogger("fakemq.client")

# Source: client/common/ClientErrorCode.java (4.9.7)
REQUEST_TIMEOUT_EXCEPTION = 10006
CREATE_REPLY_MESSAGE_EXCEPTION = 10007

_NO_HOST: Host = ("0.0.0.0", 0)  # of a reply that says no host

Cancel: TypeAlias = Callable[[], None]


class RequestMessage(Protocol):
    """What a reply needs of the message that it answers."""

    @property
    def properties(self) -> Mapping[str, str]: ...


def create_reply_message(request: RequestMessage, body: bytes | str) -> Message:
    """Return the message that answers a received request; send it by any producer.

    Raise MQClientError for a message that no broker has passed on as a request.

    Source: client/utils/MessageUtil.java#createReplyMessage (4.9.7)
    """
    asked = request.properties
    cluster = asked.get(names.CLUSTER)
    if cluster is None:
        raise MQClientError(
            "create reply message fail, requestMessage error, property[CLUSTER] is null.",
            CREATE_REPLY_MESSAGE_EXCEPTION,
        )
    properties = {names.MESSAGE_TYPE: REPLY_MESSAGE_FLAG}
    for name in (names.CORRELATION_ID, names.MESSAGE_REPLY_TO_CLIENT, names.MESSAGE_TTL):
        if name in asked:
            properties[name] = asked[name]
    reply = Message(f"{cluster}_{REPLY_POSTFIX}", body, properties=properties)
    del reply.properties[names.WAIT_STORE_MSG_OK]  # which Java does not set here
    return reply


class Requests:
    """The requests of one producer.

    ``start`` starts a task beside the caller's; ``heartbeat`` makes this client known to all
    brokers, which send replies to clients by their ids.
    """

    def __init__(
        self,
        instance: ClientInstance,
        start: Callable[[Task[SendResult], Callable[[BaseException | None], None]], Cancel],
        heartbeat: Callable[[], Task[None]],
    ) -> None:
        self._instance = instance
        self._start = start
        self._heartbeat = heartbeat
        self._known_topics: set[str] = set()
        instance.handlers.setdefault(
            RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, partial(receive_reply, instance)
        )

    def request(
        self, message: Message, send: Callable[[int], Task[SendResult]], timeout_ms: int
    ) -> Task[MessageExt]:
        """Send a request by ``send``, which takes its time limit; return the reply to it.

        Raise MQClientError if it cannot be sent, RequestTimeoutError if no reply comes in time.

        Source: client/impl/producer/DefaultMQProducerImpl.java#request, #waitResponse (4.9.7)
        """
        instance = self._instance
        begin_ms = instance.time.elapsed_ms()
        correlation_id = str(UUID(int=instance.random.getrandbits(128), version=4))
        message.properties[names.CORRELATION_ID] = correlation_id
        message.properties[names.MESSAGE_REPLY_TO_CLIENT] = instance.client_id
        message.properties[names.MESSAGE_TTL] = str(timeout_ms)
        if message.topic not in self._known_topics:
            yield from self._become_known(message.topic)
        settled = Signal()
        replies: list[MessageExt] = []
        failures: list[BaseException] = []

        def replied(reply: MessageExt) -> None:
            replies.append(reply)
            settled.set()

        def sent(error: BaseException | None) -> None:
            if error is not None:
                failures.append(error)
                settled.set()

        left_ms = max(0, begin_ms + timeout_ms - instance.time.elapsed_ms())
        instance.awaited_replies[correlation_id] = replied
        # The reply may come before the broker's answer to the send.
        cancel = self._start(send(left_ms), sent)
        try:
            yield Wait(settled, left_ms, "client_request")
        finally:
            cancel()
            instance.awaited_replies.pop(correlation_id, None)
        if replies:
            return replies[0]
        if failures:
            raise _failed(message, failures[0])
        raise RequestTimeoutError(
            f"send request message to <{message.topic}> OK, but wait reply message timeout,"
            f" {timeout_ms} ms.",
            REQUEST_TIMEOUT_EXCEPTION,
        )

    def _become_known(self, topic: str) -> Task[None]:
        """Make this client known to the brokers of a topic before its first request.

        Differs: Java does so only for a topic without a known route.
        """
        try:
            yield from self._instance.known_route(topic)
        except (MQBrokerError, MQClientError, RemotingError) as error:
            _log.warning("no route of %s before a request: %s", topic, error)
            return
        yield from self._heartbeat()
        self._known_topics.add(topic)


def _failed(message: Message, error: BaseException) -> BaseException:
    if not isinstance(error, MQBrokerError | MQClientError | RemotingError):
        return error
    code = -1 if isinstance(error, RemotingError) else error.code
    failed = MQClientError(
        f"send request message to <{message.topic}> fail: {without_faq(error)}", code
    )
    failed.__cause__ = error
    return failed


def receive_reply(instance: ClientInstance, addr: str, request: RemotingCommand) -> RemotingCommand:
    """Handle PUSH_REPLY_MESSAGE_TO_CLIENT (326): pass the reply to the request that waits for it.

    Source: client/impl/ClientRemotingProcessor.java#receiveReplyMessage (4.9.7)
    """
    try:
        reply = _reply(request, instance.time.wall_ms())
    except (ProtocolError, ValueError) as error:
        _log.warning("a reply from %s cannot be read: %s", addr, error)
        return RemotingCommand(ResponseCode.SYSTEM_ERROR, remark="process reply message fail")
    correlation_id = reply.properties.get(names.CORRELATION_ID, "")
    take = instance.awaited_replies.pop(correlation_id, None)
    if take is None:
        _log.warning(
            "receive reply message, but not matched any request, CorrelationId: %s,"
            " reply from host: %s",
            correlation_id,
            reply.born_host,
        )
    else:
        take(reply)
    return RemotingCommand(ResponseCode.SUCCESS)


def _reply(request: RemotingCommand, now_ms: int) -> MessageExt:
    header = ReplyMessageRequestHeader.decode(request.ext_fields)
    properties = decode_properties(header.properties or "")
    properties[names.REPLY_MESSAGE_ARRIVE_TIME] = str(now_ms)
    reply = MessageExt(
        topic=header.topic,
        body=request.body,
        properties_string=encode_properties_as_java(properties),
        queue_id=header.queue_id,
        flag=header.get("flag", 0),
        queue_offset=0,
        commit_log_offset=0,
        sys_flag=header.get("sys_flag", 0),
        body_crc=crc32(request.body),
        born_timestamp_ms=header.get("born_timestamp", 0),
        born_host=_host(header.get("born_host", "")),
        store_timestamp_ms=header.store_timestamp,
        store_host=_host(header.get("store_host", "")),
        reconsume_times=header.reconsume_times or 0,
        prepared_transaction_offset=0,
        store_size_bytes=0,
    )
    try:
        reply.body = decompressed_body(reply)
    except ProtocolError as error:
        _log.warning("err when uncompress constant: %s", error)
    return reply


def _host(text: str) -> Host:
    host = record_host(text) if text else _NO_HOST
    pack_host(host)  # refuses a port that no host can have
    return host
