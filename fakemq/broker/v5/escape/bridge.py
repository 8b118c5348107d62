"""Puts of a broker that may act for its master: a master's go to its store, a slave's elsewhere.

A slave's store takes no messages. What it has to write while it acts as master, it sends as an
ordinary producer to another master that has the topic: deliveries of delayed and timer messages,
records of POP, messages that go to their retry topic, half messages that are due for a check.

Four traps of Java are here, too:
1. A message that the other broker stored without an answer in time is put again: it comes twice.
2. Only `put_message` passes over the broker's own name. The others may choose the dead master, as
   long as its name server lists it as writable.
3. `put_message` takes a time-out of the other broker's disk or slave for a failure.
4. A topic that no other master has stays here: nothing creates it elsewhere.

Source: broker/failover/EscapeBridge.java, broker/out/BrokerOuterAPI.java
#sendMessageToSpecificBroker, broker/topic/TopicRouteInfoManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.client.queue_choice import QueueChoice
from fakemq.client.routes import RouteTable
from fakemq.events.core import failure
from fakemq.events.escape import Escaped
from fakemq.journal.journal import shortened
from fakemq.later import drive
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode, ResponseCode, response_name
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.headers.send import SendMessageRequestHeaderV2, SendMessageResponseHeader
from fakemq.protocol.java import java_string_hash
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.properties import (
    PRODUCER_GROUP,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TRANSACTION_PREPARED,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    WAIT_STORE_MSG_OK,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import AUTO_CREATE_TOPIC_KEY_TOPIC, TRANS_HALF_TOPIC
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from fakemq.broker.sending.puts import Putting
    from fakemq.broker.v5.topic_routes import TopicRouteInfoManager
    from fakemq.client.routes import Route
    from fakemq.config.model import BrokerConfig
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits
    from fakemq.net.outbound import Outbound
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.store import StoreRole

    Choice: TypeAlias = Callable[[InnerMessage, Sequence[MessageQueue]], MessageQueue]

SEND_TIMEOUT_MS: Final = 3_000
MOST_MESSAGES: Final = 1_000
"""The most puts that wait for an answer; a further one fails at once."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of their bodies."""
NO_PLACE: Final = (-1, -1)
MOST_ROUTES: Final = 1_000
"""The most topics whose route is known; the one that was asked for first is forgotten."""
_STATUSES: Final[dict[int, PutMessageStatus]] = {
    ResponseCode.SUCCESS: PutMessageStatus.PUT_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: PutMessageStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: PutMessageStatus.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: PutMessageStatus.SLAVE_NOT_AVAILABLE,
}


class _Waiting:
    """The puts without an answer: their number, and the bytes of their bodies."""

    __slots__ = ("count", "size_bytes")

    def __init__(self) -> None:
        self.count = self.size_bytes = 0


class EscapeBridge:
    """The puts of one broker; a result that is a `Later` waits for another broker."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        config: BrokerConfig5,
        role: StoreRole,
        routes: TopicRouteInfoManager,
        outbound: Callable[[], Outbound],
        *,
        put: Callable[[InnerMessage], PutMessageResult],
    ) -> None:
        self._node = node
        self._config = config
        self._role = role
        self._routes = routes
        self._outbound = outbound
        self._put_here = put
        """Stores a message and wakes the pulls that wait for it."""
        self._group = f"InnerProducerGroup_{config.broker_name}_{config.broker_id}"
        self.forget()

    def forget(self) -> None:
        """Know no route, and wait for no answer."""
        self._known = RouteTable()
        self._turns: dict[str, QueueChoice] = {}
        self.waiting = _Waiting()

    # -- puts ---------------------------------------------------------------------------------

    def put_message(self, message: InnerMessage) -> Putting:
        """Put a message here, or into the next queue of another broker.

        Source: EscapeBridge.java#putMessage (5.5.0)
        """
        return self._put(message, self._next_of_another, strict=True)

    def async_put_message(self, message: InnerMessage) -> Putting:
        """Put a message here, or into the next queue of its topic.

        Source: EscapeBridge.java#asyncPutMessage (5.5.0)
        """
        return self._put(message, self._next)

    def put_message_to_specific_queue(self, message: InnerMessage) -> Putting:
        """Put a message here, or into the queue where all of this broker come together.

        Source: EscapeBridge.java#asyncRemotePutMessageToSpecificQueue (5.5.0)
        """
        return self._put(message, _of_store_host)

    def _put(self, message: InnerMessage, choose: Choice, *, strict: bool = False) -> Putting:
        if not self._role.is_slave:
            return self._put_here(message)
        if not self._config.enable_remote_escape:
            why = "enableRemoteEscape is off, and the store of a slave takes no messages"
            return put_ended(PutMessageStatus.SERVICE_NOT_AVAILABLE, reason=why)
        waiting, size_bytes = self.waiting, len(message.body)
        if waiting.count >= MOST_MESSAGES or waiting.size_bytes + size_bytes > MOST_BYTES:
            return _failed(f"{waiting.count} messages wait for answers of other brokers")
        ended = drive(self._escape(message, choose, strict=strict))
        return ended.result() if ended.done else ended

    def _escape(
        self, message: InnerMessage, choose: Choice, *, strict: bool
    ) -> Waits[PutMessageResult]:
        waiting, size_bytes = self.waiting, len(message.body)
        waiting.count += 1
        waiting.size_bytes += size_bytes
        try:
            if message.topic == TRANS_HALF_TOPIC:
                _make_prepared(message)
            queue, result, answer = yield from self._send(message, choose)
        except Exception as error:  # callers try again later, but not after an exception
            self._node.journal.add(failure(self._node.name, None, error))
            queue, result, answer = _nowhere(message), _failed(f"an error: {error!r}"), None
        finally:
            waiting.count -= 1
            waiting.size_bytes -= size_bytes
        queue_offset, phy_offset = _place(answer) if result.ok else NO_PLACE
        self._node.journal.add(
            Escaped(
                node=self._node.name,
                topic=message.topic,
                broker_name=queue.broker_name or "",
                queue_id=queue.queue_id,
                queue_offset=queue_offset,
                phy_offset=phy_offset,
                msg_id=message.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
                status=result.why,
            )
        )
        if strict and not result.ok:
            return _failed(result.why)
        return result

    def _send(
        self, message: InnerMessage, choose: Choice
    ) -> Waits[tuple[MessageQueue, PutMessageResult, RemotingCommand | None]]:
        """Return the chosen queue, how the put ended, and what its broker has answered."""
        nowhere = _nowhere(message)
        route = yield from self._find(message.topic)
        if isinstance(route, str):
            return nowhere, _failed(route), None
        if route is None or not route.publish_queues:
            return nowhere, _failed(f"no master has the topic {message.topic!r}"), None
        queue = choose(message, route.publish_queues)
        if queue.broker_name == self._config.broker_name and choose == self._next_of_another:
            return nowhere, _failed(f"no other master has the topic {message.topic!r}"), None
        addr = self._known.master_addr(queue.broker_name)
        if addr is None:
            why = f"the address of the master {queue.broker_name} is unknown"
            return queue, _failed(why), None
        command = self._command(message, queue.queue_id)
        response = yield self._outbound().ask(addr, command, SEND_TIMEOUT_MS)
        if response is None:
            return queue, _failed(f"no answer of {addr}"), None
        status = _STATUSES.get(response.code)
        if status is None:
            text = f"{addr} answered {response_name(response.code)}: {response.remark or ''}"
            return queue, _failed(shortened(text)), response
        return queue, put_ended(status), response

    def _command(self, message: InnerMessage, queue_id: int) -> RemotingCommand:
        """Return the request that sends a message to a queue; its sender waits for no disk.

        Source: broker/out/BrokerOuterAPI.java#buildSendMessageRequestHeaderV2 (5.5.0)
        """
        properties = message.properties
        properties[WAIT_STORE_MSG_OK] = "false"
        header = SendMessageRequestHeaderV2(
            producer_group=properties.get(PRODUCER_GROUP) or self._group,
            topic=message.topic,
            default_topic=AUTO_CREATE_TOPIC_KEY_TOPIC,
            default_topic_queue_nums=8,
            queue_id=queue_id,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_timestamp_ms,
            flag=message.flag,
            properties=self._node.reference.encode_properties(properties),
            reconsume_times=message.reconsume_times,
        )
        return RemotingCommand(
            RequestCode.SEND_MESSAGE_V2, ext_fields=header.encode(), body=message.body
        )

    # -- where to -----------------------------------------------------------------------------

    def _find(self, topic: str) -> Waits[Route | str | None]:
        """Return a topic's route, of the last 30 s if it has queues; None if there is none.

        Java asks for all known routes every 30 s; here each is asked for with its first put after
        that time. A topic that name servers know no more keeps its last route, as in Java. So does
        one with a malformed order conf; if it has none, what is wrong with that is returned.
        """
        known, now_ms = self._known, self._node.clock.elapsed_ms()
        route = known.routes.get(topic)
        period_ms = self._config.load_balance_poll_name_server_interval
        if route is not None and route.publish_queues and now_ms < route.fetched_at_ms + period_ms:
            return route
        data = yield self._routes.ask(topic)
        if data is None:
            return known.routes.get(topic)
        last = known.routes.pop(topic, None)
        if len(known.routes) >= MOST_ROUTES:
            gone = next(iter(known.routes))
            del known.routes[gone]
            self._turns.pop(gone, None)
            known.drop_offline()
        try:
            return known.put(topic, data, now_ms)
        except ProtocolError:
            if last is not None:
                known.routes[topic] = last
                return last
            conf = shortened(repr(data.order_topic_conf))
            return f"the order conf of topic {topic!r} is no list of <broker>:<queues>: {conf}"

    def _turn(self, topic: str) -> QueueChoice:
        turn = self._turns.get(topic)
        if turn is None:
            turn = self._turns[topic] = QueueChoice(self._node.randomness.getrandbits(31))
        return turn

    def _next(self, message: InnerMessage, queues: Sequence[MessageQueue]) -> MessageQueue:
        return self._turn(message.topic).select(queues, None)

    def _next_of_another(
        self, message: InnerMessage, queues: Sequence[MessageQueue]
    ) -> MessageQueue:
        return self._turn(message.topic).select(queues, self._config.broker_name)


def _nowhere(message: InnerMessage) -> MessageQueue:
    return MessageQueue(topic=message.topic, broker_name="", queue_id=message.queue_id)


def _of_store_host(message: InnerMessage, queues: Sequence[MessageQueue]) -> MessageQueue:
    ip, port = message.store_host
    text = f"{message.topic}/{f'[{ip}]' if ':' in ip else ip}:{port}"
    return queues[java_string_hash(text) % len(queues)]


def _make_prepared(half: InnerMessage) -> None:
    """Make a stored half message what a producer sends; how often it was checked stays there.

    Source: broker/transaction/queue/TransactionalMessageUtil.java
    #buildTransactionalMessageFromHalfMessage (5.5.0)
    """
    properties = half.properties
    half.topic = properties.get(REAL_TOPIC, "")
    properties[TRANSACTION_PREPARED] = "true"
    properties.pop(TRANSACTION_PREPARED_QUEUE_OFFSET, None)
    properties.pop(REAL_QUEUE_ID, None)
    half.sys_flag |= MessageSysFlag.TRANSACTION_PREPARED_TYPE


def _place(answer: RemotingCommand | None) -> tuple[int, int]:
    """Return queue offset and place in the log that an answer names; `NO_PLACE` if none."""
    if answer is None:
        return NO_PLACE
    try:
        header = SendMessageResponseHeader.decode(answer.ext_fields)
        return header.queue_offset, decode_offset_id(header.msg_id).physical_offset
    except (ProtocolError, ValueError):
        return NO_PLACE


def _failed(why: str) -> PutMessageResult:
    return put_ended(PutMessageStatus.PUT_TO_REMOTE_BROKER_FAIL, reason=why)
