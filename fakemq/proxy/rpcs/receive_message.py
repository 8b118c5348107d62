"""ReceiveMessage: take messages, which other members of the group do not see for a while.

Behaviour: without a message the broker holds the request. The answer is a stream: a status, the
messages, and the time. Messages that were tried too often go to the DLQ instead. A caller that goes
away drops what the broker holds for it; messages that come nevertheless, and those that it does not
read any more, become visible after a second, and this does not count as an attempt. With
``auto_renew`` the front prolongs the invisible time until the message is acknowledged, from the
answer of the broker on: Java's proxy writes all messages at once, whether the peer reads or not.
A message whose handle cannot be read is delivered, and not prolonged.
Refused: a client without settings; a call without a deadline, or with less than 5 s; names, times
and filters that are not allowed; a topic that cannot be read.

Source: proxy/grpc/v2/consumer/ReceiveMessageActivity.java, ReceiveMessageResponseStreamWriter.java,
proxy/processor/ConsumerProcessor.java#popMessage (5.5.0)
"""

# Over 400 lines: one call, from its request to what its client does not read.

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakemq.dispatch.answers import Reply
from fakemq.later import drive
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.grpc.messages import ReceiveMessageResponse
from fakemq.protocol.properties import LITE_TOPIC
from fakemq.protocol.subscription import SubscriptionError, build_subscription_data
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from fakemq.proxy import dispatcher
from fakemq.proxy.checks import (
    RECEIVE_INVISIBLE_MIN_MS,
    check_attempt_id,
    check_expressions,
    check_invisible_time,
    checked_group,
    checked_topic,
)
from fakemq.proxy.clients import LITE_PUSH_CONSUMER_TYPE
from fakemq.proxy.consuming import (
    PopHeader,
    PopLiteHeader,
    acknowledge,
    bury,
    handle_of,
    popped_lite_messages,
    popped_messages,
    return_message,
)
from fakemq.proxy.messages import received_message
from fakemq.proxy.receipts import AUTO_INVISIBLE_MS
from fakemq.proxy.registry import handles
from fakemq.proxy.settings import LONG_POLLING_MAX_MS, LONG_POLLING_MIN_MS
from fakemq.proxy.status import OK, Code, RpcError, broker_error, java_error, proxy_error, status
from fakemq.proxy.times import duration_ms, timestamp_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.later import Waits
    from fakemq.protocol.grpc.messages import ReceiveMessageRequest, Settings
    from fakemq.protocol.message import MessageExt
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy
    from fakemq.proxy.receipts import ReceiptHandle
    from fakemq.proxy.routes import RouteQueue

MOST_MESSAGES: Final = 32
LITE_RENEWED_MAX: Final = 100
"""maxLiteRenewNumPerChannel. Source: proxy/config/ProxyConfig.java (5.5.0)"""
UNREAD_MAX_BYTES: Final = 64 * 1024 * 1024
"""The bodies that all callers together do not read: beyond that, the rest is given back."""
_FROM_MAX: Final = 1
"""ConsumeInitMode.MAX"""
_SQL: Final = 2
_ILLEGAL_POLLING_TIME_SINCE: Final = "5.0.3"
_PLACE: Final = (
    "org.apache.rocketmq.proxy.grpc.v2.consumer.ReceiveMessageActivity"
    ".receiveMessage(ReceiveMessageActivity.java:{})"
)
_OK_RESPONSE: Final = ReceiveMessageResponse(status=OK)
_NO_NEW_MESSAGE: Final = status(Code.MESSAGE_NOT_FOUND, "no new message")
_NO_MATCH: Final = status(Code.MESSAGE_NOT_FOUND, "no match message")
_POLLING_FULL: Final = status(Code.TOO_MANY_REQUESTS, "polling full")


@handles("ReceiveMessage")
def receive_message(proxy: Proxy, context: Context, request: ReceiveMessageRequest) -> None:
    receiving = _Receiving(proxy, context)
    try:
        wanted = receiving.take(request)
    except Exception as error:
        receiving.refuse(error)
    else:
        receiving.begin(wanted)


class _Wanted(NamedTuple):
    """What a request asks for."""

    queue: RouteQueue
    code: RequestCode5
    header: PopHeader | PopLiteHeader
    tags: frozenset[str]
    """What the client filters by; the broker knows their hashes only."""
    max_attempts: int


class _Receiving:
    """One call, from its checks to the end of its stream.

    It may be held for long, so it keeps nothing of its request but what it needs.
    """

    def __init__(self, proxy: Proxy, context: Context) -> None:
        self._proxy = proxy
        self._context = context
        self._call = context.call
        self._auto_renew = False
        self._within = proxy.journal.resume()
        self._group = self._topic = ""
        self._shown_topic: str | None = None
        """The topic of its messages; None for that of each record."""
        self._unwritten: list[MessageExt] = []
        """Messages of this call that are not written yet, the next one at the end."""
        self._unwritten_bytes = 0
        self._renews = False
        """Whether the time of its messages is prolonged."""

    def take(self, request: ReceiveMessageRequest) -> _Wanted:
        """Return what is to be asked of a broker; raise RpcError for what no client may ask."""
        proxy = self._proxy
        settings = proxy.settings.raw(self._context.client_id)
        if settings is None:
            raise java_error(
                'Cannot invoke "apache.rocketmq.v2.Settings.getClientType()" because'
                ' "settings" is null',
                "NullPointerException",
                _PLACE.format(68),
            )
        in_order, max_attempts = proxy.settings.consumption(settings)
        poll_ms = self._poll_ms(request, settings)
        self._topic = topic = checked_topic(request.message_queue.topic)
        self._group = group = checked_group(request.group)
        self._auto_renew = request.auto_renew
        if request.auto_renew:
            invisible_ms = AUTO_INVISIBLE_MS
        else:
            invisible_ms = duration_ms(request.invisible_duration)
            check_invisible_time(invisible_ms, RECEIVE_INVISIBLE_MIN_MS)
        kind, expression, tags = _filter(topic, request)
        if settings.client_type == LITE_PUSH_CONSUMER_TYPE:
            self._check_lite(group)
        route = proxy.routes.route(topic)
        queue = proxy.routes.broker_to_read(route, request.message_queue.broker.name)
        if queue is None:
            raise proxy_error(Code.FORBIDDEN, "no readable queue")
        check_attempt_id(request.attempt_id)
        most = min(request.batch_size, MOST_MESSAGES)
        attempt_id = request.attempt_id if request.HasField("attempt_id") else None
        if settings.client_type == LITE_PUSH_CONSUMER_TYPE:
            client_id = self._context.client_id
            lite_header = PopLiteHeader(
                client_id, group, topic, most, invisible_ms, poll_ms, attempt_id
            )
            return _Wanted(queue, RequestCode5.POP_LITE_MESSAGE, lite_header, tags, max_attempts)
        header = PopHeader(
            group,
            topic,
            queue.queue_id,
            most,
            invisible_ms,
            poll_ms,
            _FROM_MAX,
            kind,
            expression,
            in_order,
            attempt_id,
        )
        return _Wanted(queue, RequestCode5.POP_MESSAGE, header, tags, max_attempts)

    def begin(self, wanted: _Wanted) -> None:
        """Ask for the messages; what comes is written, an error too."""
        outcome = drive(self._steps(wanted))

        def refuse() -> None:
            if isinstance(outcome.value, Exception):
                self.refuse(outcome.value)

        outcome.when_done(refuse)

    def _steps(self, wanted: _Wanted) -> Waits[None]:
        proxy, queue, header = self._proxy, wanted.queue, wanted.header
        command = RemotingCommand(wanted.code, usual=header)
        # The caller's deadline ends the call, so no time-out of the front's own is needed.
        pending = proxy.calls.ask(self._context.session, queue.broker_addr, command, None)
        if not pending.done:
            self._call.on_closed = pending.abandon
        reply: Reply[Any] = yield pending
        if reply.code == ResponseCode.SUCCESS:
            if isinstance(header, PopHeader):
                self._shown_topic = self._topic
                popped = popped_messages(reply, queue, self._topic, header.order)
            else:
                popped = popped_lite_messages(reply, queue, self._topic)
            yield from self._deliver(popped, wanted.tags, wanted.max_attempts)
        elif reply.code == ResponseCode5.POLLING_FULL:
            self._finish(_POLLING_FULL)
        elif reply.code in (ResponseCode5.POLLING_TIMEOUT, ResponseCode.PULL_NOT_FOUND):
            self._finish(_NO_NEW_MESSAGE)
        else:
            raise broker_error(reply, queue.broker_addr)

    def _check_lite(self, group: str) -> None:
        """Raise RpcError for a lite consumer without a stream, or with too much that is out."""
        client_id, proxy = self._context.client_id, self._proxy
        if not self._is_known():
            raise RpcError(Code.BAD_REQUEST, f"The client [{client_id}] is disconnected.")
        unacked = proxy.renewals.count(client_id, group)
        if unacked > LITE_RENEWED_MAX:
            raise RpcError(
                Code.FORBIDDEN,
                f"The client [{client_id}] has too many unacked messages. Unacked count: {unacked}",
            )

    def _poll_ms(self, request: ReceiveMessageRequest, settings: Settings) -> int:
        """Return how long the broker may hold the request; raise RpcError if that is too short."""
        left_ms = self._call.remaining_ms()
        if request.HasField("long_polling_timeout"):
            poll_ms = duration_ms(request.long_polling_timeout)
        elif left_ms is None:
            raise _no_deadline(80)
        else:
            poll_ms = left_ms - duration_ms(settings.request_timeout) // 2
        poll_ms = max(LONG_POLLING_MIN_MS, min(poll_ms, LONG_POLLING_MAX_MS))
        if left_ms is None:
            raise _no_deadline(89)
        if poll_ms <= left_ms:
            return poll_ms
        if left_ms >= LONG_POLLING_MIN_MS:
            return left_ms
        is_old = self._context.client_version < _ILLEGAL_POLLING_TIME_SINCE
        raise RpcError(
            Code.BAD_REQUEST if is_old else Code.ILLEGAL_POLLING_TIME,
            "The deadline time remaining is not enough for polling, please check network condition",
        )

    # -- what was popped ----------------------------------------------------------------------

    def _deliver(
        self, popped: list[MessageExt], tags: frozenset[str], max_attempts: int
    ) -> Waits[None]:
        """Write the messages that are for the client, and do with others what is due."""
        if self._call.closed:
            self._return(popped)
            return
        wanted = []
        for message in popped:
            has_other_tag = tags and (message.tags is None or message.tags not in tags)
            is_for_client = not has_other_tag and message.reconsume_times < max_attempts
            handle = None if is_for_client else handle_of(message)
            if handle is None:  # the client gets also what cannot be acknowledged, as at Java's
                wanted.append(message)
            elif has_other_tag:
                self._drop(handle, message)
            else:
                self._bury(handle, message)
        # Renewals end when their client leaves: this one has left already.
        if self._auto_renew and not self._is_known():
            self._return(wanted)
            raise RpcError(
                Code.MESSAGE_NOT_FOUND,
                f"The client [{self._context.client_id}] is disconnected.",
            )
        if not wanted:
            self._finish(_NO_MATCH)
            return
        if self._auto_renew:
            self._renew(wanted)
        self._unwritten = wanted[::-1]
        self._call.on_closed = self._closed
        self._call.on_drained = self._write
        self._call.send(_OK_RESPONSE)
        self._write()
        yield from ()

    def _is_known(self) -> bool:
        return self._proxy.clients.find(self._context.client_id) is not None

    def _renew(self, messages: list[MessageExt]) -> None:
        """Prolong the time of messages from now on, also while the peer has not read them."""
        self._renews = True
        for message in messages:
            handle = handle_of(message)
            if handle is not None:
                self._proxy.renewals.add(
                    self._context.client_id,
                    self._group,
                    self._topic,
                    message.msg_id,
                    handle,
                    message.reconsume_times,
                    message.properties.get(LITE_TOPIC),
                )

    def _write(self) -> None:
        """Write messages until the peer does not read any more."""
        call, unwritten = self._call, self._unwritten
        if not unwritten:
            return
        now_ms = self._proxy.clock.now_ms()
        while unwritten and not call.write_blocked and not call.closed:
            message = unwritten.pop()
            call.send(
                ReceiveMessageResponse(message=received_message(message, now_ms, self._shown_topic))
            )
        # 1. The peer reads slowly, and all callers together keep too much: give the rest back.
        if unwritten and not call.closed and not self._may_keep():
            self._closed()
        # 2. Nothing is left, written or given back. Otherwise `on_drained` calls again.
        if not self._unwritten and not call.closed:
            if self._unwritten_bytes:
                self._may_keep()
            with self._within():
                self._end(Code.OK.name)

    def _may_keep(self) -> bool:
        """Note how many bytes wait for the peer to read; return False if that is too much."""
        proxy, before_bytes = self._proxy, self._unwritten_bytes
        self._unwritten_bytes = sum(len(message.body) for message in self._unwritten)
        proxy.unwritten_bytes += self._unwritten_bytes - before_bytes
        return proxy.unwritten_bytes <= UNREAD_MAX_BYTES

    def _closed(self) -> None:
        """The caller has gone, or does not read: give back what it has not got."""
        unwritten, self._unwritten = self._unwritten, []
        self._may_keep()
        if unwritten:
            with self._within():
                self._return(reversed(unwritten))

    def _return(self, messages: Iterable[MessageExt]) -> None:
        if not self._proxy.running:
            return  # a killed front says nothing to brokers
        for message in messages:
            handle = handle_of(message)
            if handle is not None:
                drive(self._return_one(message, handle))

    def _return_one(self, message: MessageExt, handle: ReceiptHandle) -> Waits[None]:
        newest: ReceiptHandle | None = handle
        if self._renews:
            newest = yield from self._proxy.renewals.remove(
                self._context.client_id, self._group, message.msg_id, handle
            )
        if newest is not None:  # else it was given back when the client left
            session, lite_topic = self._context.session, message.properties.get(LITE_TOPIC)
            return_message(self._proxy, session, newest, self._group, self._topic, lite_topic)

    def _drop(self, handle: ReceiptHandle, message: MessageExt) -> None:
        """Acknowledge a message whose tag has the hash of another tag."""
        session, lite_topic = self._context.session, message.properties.get(LITE_TOPIC)
        with suppress(RpcError):  # then it comes again
            acknowledge(self._proxy, session, handle, self._group, self._topic, lite_topic)

    def _bury(self, handle: ReceiptHandle, message: MessageExt) -> None:
        """Let a message that was tried too often go to the DLQ."""
        session, group, topic = self._context.session, self._group, self._topic
        lite_topic = message.properties.get(LITE_TOPIC)
        steps = bury(self._proxy, session, handle, message.msg_id, group, topic, lite_topic)
        drive(steps)  # if that fails, it comes again

    # -- the end ------------------------------------------------------------------------------

    def refuse(self, error: Exception) -> None:
        """Answer with an error."""
        with self._within():
            self._finish(dispatcher.as_rpc_error(self._proxy, error).status)

    def _finish(self, found: Any) -> None:
        self._call.send(ReceiveMessageResponse(status=found))
        self._end(dispatcher.code_name(found.code))

    def _end(self, name: str) -> None:
        dispatcher.note(self._proxy, self._context, name)
        now = timestamp_of(self._proxy.clock.now_ms())
        self._call.send(ReceiveMessageResponse(delivery_timestamp=now))
        self._call.end()


def _no_deadline(line: int) -> RpcError:
    return java_error(
        'Cannot invoke "java.lang.Long.longValue()" because "timeRemaining" is null',
        "NullPointerException",
        _PLACE.format(line),
    )


def _filter(topic: str, request: ReceiveMessageRequest) -> tuple[str, str, frozenset[str]]:
    """Return kind and text of the filter, and its tags, if it is one by tags.

    Source: common/filter/FilterAPI.java#build (5.5.0)
    """
    given = request.filter_expression
    check_expressions((given,))
    if given.type == _SQL:
        if not given.expression:
            raise RpcError(Code.ILLEGAL_FILTER_EXPRESSION, "Expression can't be null! SQL92")
        return "SQL92", given.expression, frozenset()
    try:
        data = build_subscription_data(topic, given.expression)
    except SubscriptionError as error:
        raise RpcError(Code.ILLEGAL_FILTER_EXPRESSION, str(error)) from None
    return "TAG", data.sub_string or "", frozenset(data.tags_set)
