"""Reads of messages of another broker, for checkpoints that name it.

Differs: Java decompresses the body and lets the sysFlag say that it is compressed,
so that no consumer can read it. Here the body stays as it is stored.

Source: broker/failover/EscapeBridge.java#getMessageFromRemoteAsync, broker/out/BrokerOuterAPI.java
#pullMessageFromSpecificBrokerAsync (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.client.routes import RouteTable
from fakemq.later import drive
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import HeaderError
from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.message import decode_good_records
from fakemq.protocol.properties import MAX_OFFSET, MIN_OFFSET
from fakemq.protocol.sysflag import PullSysFlag

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from fakemq.broker.v5.topic_routes import TopicRouteInfoManager
    from fakemq.config.model import BrokerConfig
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits
    from fakemq.net.outbound import Outbound
    from fakemq.protocol.bodies.pop import PopCheckPoint
    from fakemq.protocol.message import MessageExt

    Take: TypeAlias = Callable[[int, "RemoteRead"], None]
    """Takes what is found at an offset."""

PULL_TIMEOUT_MS: Final = 10_000
_NOTHING_THERE: Final = (
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
)


class RemoteRead(NamedTuple):
    """What a read has found; without a message, whether it may be there later."""

    message: MessageExt | None
    again: bool = False


class EscapeReads:
    """The reads of one broker: each checkpoint asks a name server where the other one is."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        config: BrokerConfig5,
        routes: TopicRouteInfoManager,
        outbound: Callable[[], Outbound],
    ) -> None:
        self._node = node
        self._routes = routes
        self._outbound = outbound
        self._group = f"InnerConsumerGroup_{config.broker_name}_{config.broker_id}"

    def read(self, ck: PopCheckPoint, take: Take) -> Waits[None]:
        """Read all messages of a checkpoint that are not acknowledged, together.

        ``take`` gets each as it comes: not all of them are in memory.
        """
        known, broker_name, topic = RouteTable(), ck.broker_name or "", ck.topic or ""
        offsets, route = ck.unacknowledged(), (yield self._routes.ask(topic))
        if route is not None:
            known.put_brokers(route)
        broker = known.any_addr(broker_name)
        if broker is None:
            for offset in offsets:
                take(offset, RemoteRead(None, again=True))
            return
        place = broker.addr, broker_name, topic, ck.queue_id
        reads = [drive(self._read_one(*place, offset, take)) for offset in offsets]
        while reads:
            yield reads.pop()

    def _read_one(
        self, addr: str, broker_name: str, topic: str, queue_id: int, offset: int, take: Take
    ) -> Waits[None]:
        take(offset, (yield from self._pull(addr, broker_name, topic, queue_id, offset)))

    def _pull(
        self, addr: str, broker_name: str, topic: str, queue_id: int, offset: int
    ) -> Waits[RemoteRead]:
        """Return the message at an offset of a queue of another broker."""
        header = PullMessageRequestHeader(
            consumer_group=self._group,
            topic=topic,
            queue_id=queue_id,
            queue_offset=offset,
            max_msg_nums=1,
            sys_flag=PullSysFlag.SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription="*",
            sub_version=self._node.clock.now_ms(),
            expression_type="TAG",
        )
        fields = header.encode() | {"maxMsgBytes": str(INT_MAX), "bname": broker_name}
        command = RemotingCommand(RequestCode.PULL_MESSAGE, ext_fields=fields)
        response = yield self._outbound().ask(addr, command, PULL_TIMEOUT_MS)
        if response is None or response.code not in (ResponseCode.SUCCESS, *_NOTHING_THERE):
            return RemoteRead(None, again=True)
        if response.code != ResponseCode.SUCCESS:
            return RemoteRead(None)
        found = decode_good_records(response.body)
        if not found:
            return RemoteRead(None)
        try:
            answered = PullMessageResponseHeader.decode(response.ext_fields)
        except HeaderError:
            return RemoteRead(None, again=True)
        message = found[0]
        if (message.topic, message.queue_id, message.queue_offset) != (topic, queue_id, offset):
            return RemoteRead(None, again=True)
        properties = message.properties
        properties[MIN_OFFSET], properties[MAX_OFFSET] = (
            str(answered.min_offset),
            str(answered.max_offset),
        )
        return RemoteRead(message)
