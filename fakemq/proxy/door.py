"""The other door of the front: its port for clients that speak remoting, as Java's proxy has one.

It answers routes, heartbeats and lists of members itself; what clients ask of a broker it passes
on, without bytes. Members of groups are known here alone: brokers do not know them, and no member
is notified of a change.

Source: proxy/remoting/RemotingProtocolServer.java, MultiProtocolRemotingServer.java,
activity/AbstractRemotingActivity.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import msgspec

from fakemq.broker.clients.client_expiry import ClientExpiry
from fakemq.broker.clients.consumers import ConsumerManager
from fakemq.broker.clients.producers import ProducerManager
from fakemq.dispatch.answers import Refused, Reply, not_supported
from fakemq.dispatch.dispatcher import VersionedDispatcher
from fakemq.dispatch.node import NodeContext
from fakemq.dispatch.registry import Handlers
from fakemq.later import Later
from fakemq.net.link import Link
from fakemq.net.session import Session
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import HeaderError
from fakemq.protocol.properties import MSG_REGION, TRACE_SWITCH
from fakemq.proxy.status import PROXY_EXCEPTION, Code, RpcError

if TYPE_CHECKING:
    import random
    from collections.abc import Collection

    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.answers import Outcome, Parked, Request
    from fakemq.net.link import Endpoint
    from fakemq.net.session import Dispatch
    from fakemq.protocol.bodies.heartbeat import SubscriptionData
    from fakemq.proxy.broker_calls import Asked
    from fakemq.proxy.proxy import Proxy

_HTTP2: Final = b"PRI "
"""How a connection of HTTP/2 begins."""
_ADDED: Final = {MSG_REGION: "", TRACE_SWITCH: "false"}
"""The regionId and traceOn of a proxy's config, which every answer has."""
_CODES: Final = {
    Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE: ResponseCode.MESSAGE_ILLEGAL,
    Code.TOPIC_NOT_FOUND: ResponseCode.TOPIC_NOT_EXIST,
}

handles: Final[Handlers[RemotingDoor]] = Handlers("fakemq.proxy.remoting")
"""What the door answers, by request code."""


class RemotingDoor:
    """The remoting port of one front; it starts, pauses and stops with the front."""

    replicates_later = False
    """See `fakemq.dispatch.node.Node`: it stores nothing."""

    def __init__(
        self, proxy: Proxy, addr: str, config: BrokerConfig, randomness: random.Random
    ) -> None:
        """``config`` has the defaults of what a member's table asks for."""
        self.proxy = proxy
        self.name, self.clock, self.journal = proxy.name, proxy.clock, proxy.journal
        self.faults, self.reference = proxy.faults, proxy.reference
        self.addr = addr
        """``host:port`` that routes name."""
        self.node = NodeContext(
            *(self.name, config, self.clock, self.journal, self.faults, randomness, self.reference)
        )
        self.producers = ProducerManager(self.node)
        self.consumers = ConsumerManager(
            self.node,
            _NoFilters(),
            send_oneway=lambda session, command: session.invoke_oneway(command),
            find_read=lambda group, topic: None,
        )
        self.client_expiry = ClientExpiry(self.node, self.producers, self.consumers)
        self._dispatcher = _Dispatcher(self, handles, on_unknown=not_supported)
        proxy.door = proxy.transactions.others = self

    def start(self) -> None:
        """Let the grid of scans for silent clients begin now."""
        self.client_expiry.start()

    def accept(self, link: Link) -> Session:
        """Take a connection; it may turn out to be one of gRPC."""
        session = _DoorSession(link, self.proxy, self._dispatch())
        self.proxy.join(session)
        return session

    def _dispatch(self) -> Dispatch:
        guard = self.proxy.guard
        return self._dispatcher.dispatch if guard is None else guard.door(self._dispatcher)

    def client_ids(self, session: Session) -> set[str]:
        """Return the ids of the clients that registered on a connection by heartbeats."""
        return {
            channel.client_id
            for members in (self.producers, self.consumers)
            for channel in members.channels_of(session)
        }

    def session_closed(self, session: Session) -> None:
        """Remove the members of a closed connection."""
        self.producers.session_closed(session)
        self.consumers.session_closed(session)
        self.client_expiry.session_closed(session)

    def members(self, group: str) -> list[tuple[str, str]]:
        """Return the client id and the address of each member of a consumer group."""
        members = self.consumers.members(group)
        return [(one.client_id, one.session.remote_addr) for one in members]

    def reset(self) -> None:
        """Forget the members whose connections are closed."""
        self.producers.reset()
        self.consumers.reset()

    def has_producers(self, group: str) -> bool:
        """Return whether a group has any producer here."""
        return bool(self.producers.channels(group))

    def producer(self, group: str, topic: str) -> Session | None:
        """Return the connection of a producer that may be asked about a half message of a topic."""
        guard = self.proxy.guard
        return self.producers.available_channel(
            group, lambda one: guard is None or guard.may_publish(one, topic)
        )

    # -- passing on ---------------------------------------------------------------------------

    def ask(
        self, request: Request[Any], broker_name: str | None, timeout_ms: int
    ) -> Parked[Any] | None:
        """Ask a broker what a client asks of it; raise Refused.

        There is no answer if the broker does not exist, is down or is too slow. Java's proxy writes
        one then with another opaque than that of the request, which no client can use: it numbers
        the request anew, and restores the number only if the broker answers.

        Source: AbstractRemotingActivity.java#request, DefaultMessagingProcessor.java#request
        """
        if broker_name is None:
            raise Refused(ResponseCode.VERSION_NOT_SUPPORTED, "Request doesn't have field bname")
        addr = self.proxy.routes.master_addr(broker_name)
        if addr is None:
            return None
        command = _copied(request.command)
        try:
            if request.command.is_oneway:
                self.proxy.calls.tell(request.session, addr, command)
                return None
            asked = self.proxy.calls.ask(request.session, addr, command, timeout_ms)
        except RpcError:
            return None
        answer: Parked[Any] = Later()
        answer.on_abandoned = asked.abandon
        asked.when_done(lambda: answer.resolve(_answer_in(asked)))
        return answer


def null_pointer(call: str, what: str) -> Refused:
    """Return the answer to a request on which Java finds that something is null."""
    return Refused(ResponseCode.SYSTEM_ERROR, f'Cannot invoke "{call}" because {what} is null')


def _answer_in(asked: Asked) -> Reply[Any] | BaseException | None:
    """Return what a broker has answered; None if it has not."""
    return None if isinstance(asked.value, RpcError) else asked.value


def _refused(error: RpcError) -> Refused:
    """Return the answer for what fails in parts that calls of gRPC use, too.

    Source: AbstractRemotingActivity.java#writeErrResponse
    """
    code = _CODES.get(error.code, ResponseCode.SYSTEM_ERROR)
    return Refused(code, error.message.removeprefix(PROXY_EXCEPTION))


def _copied(command: RemotingCommand) -> RemotingCommand:
    """Return a command for a broker, which numbers it by itself."""
    return msgspec.structs.replace(
        RemotingCommand(command.code),
        ext_fields=command.ext_fields,
        body=command.body,
        remark=command.remark,
        language=command.language,
        version=command.version,
        serialize_type=command.serialize_type,
        usual=command.usual,
        decoded=command.decoded,
    )


class _NoFilters:
    """A proxy makes no filters of the expressions of its consumers: brokers filter."""

    def register(self, group: str, subscriptions: Collection[SubscriptionData]) -> Steps[None]:
        yield from ()

    def unregister(self, group: str) -> None:
        pass


class _Dispatcher(VersionedDispatcher[RemotingDoor]):
    """Answers requests at the door. Faults of requests act at the broker that they come to."""

    def dispatch(self, session: Session, command: RemotingCommand) -> None:
        self.handle(session, command)

    def answer(
        self, session: Session, command: RemotingCommand, header: Any, outcome: Outcome
    ) -> None:
        self.send_answer(session, command, outcome)

    def answer_to(self, code: int, error: Exception) -> Outcome:
        """Source: AbstractRemotingActivity.java#writeErrResponse"""
        if isinstance(error, RpcError):
            return _refused(error)
        if isinstance(error, HeaderError):
            return Refused(ResponseCode.SYSTEM_ERROR, str(error))
        return super().answer_to(code, error)

    def send_answer(self, session: Session, command: RemotingCommand, outcome: Outcome) -> None:
        reply = outcome.reply_in(self._reference) if isinstance(outcome, Refused) else outcome
        if reply is not None and self._find(command.code) is not None:
            reply = reply.editable()
            reply.ext_fields = (reply.ext_fields or {}) | _ADDED
        super().send_answer(session, command, reply)


class _Movable(Link, Protocol):
    """A link whose endpoint another one may follow."""

    endpoint: Endpoint | None


class _DoorSession(Session):
    """A connection whose first bytes say which protocol it speaks.

    Source: proxy/remoting/protocol/http2proxy/Http2ProtocolProxyHandler.java (5.5.0), which passes
    the bytes on to the other port
    """

    _first: bytes | None = b""
    """The first bytes, as long as they are too few to say it."""

    def data_received(self, data: bytes) -> None:
        if self._first is not None:
            data = self._first + data
            if len(data) < len(_HTTP2) and not self.closed:
                self._first = data
                return
            self._first = None
            if data.startswith(_HTTP2) and not self.closed:
                self._end("it speaks gRPC")
                endpoint = cast("_Movable", self.link).endpoint = self._front.accept(self.link)
                endpoint.data_received(data)
                return
        super().data_received(data)

    @property
    def unfinished_bytes(self) -> int:
        return super().unfinished_bytes + len(self._first or b"")

    @property
    def _front(self) -> Proxy:
        return cast("Proxy", self._owner)
