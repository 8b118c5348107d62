"""The gRPC front of a cluster: a node of its own, as Java's proxy in cluster mode is.

Source: proxy/ProxyStartup.java, proxy/processor/DefaultMessagingProcessor.java,
proxy/service/ClusterServiceManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from fakemq.dispatch.node import NodeState
from fakemq.events.core import NodeStarted, NodeStopped
from fakemq.faults.points import BEFORE_RPC, BEFORE_RPC_REPLY
from fakemq.net.grpc_session import GrpcSession
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy.broker_calls import BrokerCalls
from fakemq.proxy.clients import Client, Clients
from fakemq.proxy.receipts import Renewals
from fakemq.proxy.relay import Relay
from fakemq.proxy.routes import Routes
from fakemq.proxy.settings import ClientSettings, retry_delay_ms
from fakemq.proxy.transactions import OtherProducers, Transactions

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from fakemq.broker.acl.access import BrokerDoor
    from fakemq.broker.acl.permission_manager import PlainPermissionManager
    from fakemq.broker.broker import Broker
    from fakemq.broker.v5.auth.checks import AuthControl
    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.node_clock import NodeClock
    from fakemq.dispatch.answers import Parked
    from fakemq.faults.plan import FaultPlan
    from fakemq.journal.journal import Journal
    from fakemq.later import Later
    from fakemq.namesrv.namesrv import NameServer
    from fakemq.net.grpc_call import RpcRoute
    from fakemq.net.link import Link
    from fakemq.net.session import OnReply, Session
    from fakemq.protocol.command import RemotingCommand
    from fakemq.protocol.table import NoHeader
    from fakemq.proxy.receipts import ReceiptHandle, Renewed
    from fakemq.reference import Reference

NAME: Final = "proxy-0"


class OtherDoor(OtherProducers, Protocol):
    """The port for remoting, as the front uses it: a `fakemq.proxy.door.RemotingDoor`."""

    def start(self) -> None:
        """The front starts."""

    def reset(self) -> None:
        """Forget what clients have sent; those that are connected stay known."""

    def session_closed(self, session: Session) -> None:
        """Remove the clients of a closed connection."""

    def members(self, group: str) -> list[tuple[str, str]]:
        """Return the client id and the address of each member of a consumer group."""


class Proxy:
    """The front of one cluster; ``brokers`` and ``name_servers`` return those of the cluster.

    It can be started again after a stop. Like a new process it then knows no clients: they say what
    they are when they connect again.
    """

    change_renewed: Callable[[Renewed, int, str], Later[ReceiptHandle]]
    """Sets the invisible time of a message that is renewed; set by the maker of the front."""
    replicates_later = False
    """See `fakemq.dispatch.node.Node`: it stores nothing."""

    def __init__(
        self,
        clock: NodeClock,
        journal: Journal,
        faults: FaultPlan,
        randomness: random.Random,
        reference: Reference,
        *,
        name_servers: Callable[[], Iterable[NameServer]],
        brokers: Callable[[], Iterable[Broker]],
    ) -> None:
        self.name = NAME
        self.clock = clock
        self.journal = journal
        self.faults = faults
        self.reference = reference
        self.before_rpc = faults.at(BEFORE_RPC)
        self.before_rpc_reply = faults.at(BEFORE_RPC_REPLY)
        self.state = NodeState.STOPPED
        self.addr = ""
        self.sessions: dict[GrpcSession | Session, None] = {}
        self.unwritten_bytes = 0
        """The size of the popped messages that their callers do not read yet."""
        self.paths: dict[str, RpcRoute] = {}
        """What is answered, by path; the maker of the front sets it before the start."""
        self.door: OtherDoor | None = None
        """Its port for remoting, which sets this; None without one."""
        self._brokers = brokers
        self.routes = Routes(clock, name_servers, brokers, randomness)
        self.calls = BrokerCalls(
            NAME, clock, self.routes, state=lambda: self.state, from_broker=self._asked
        )
        self.clients = Clients(NAME, clock, journal, self._left)
        self.settings = ClientSettings(clock, self.clients, self.routes.group_config)
        self.transactions = Transactions(
            *(NAME, clock, journal, self.clients, self.calls, brokers, reference.version),
            may_publish=self._may_publish,
        )
        self.relay = Relay(clock, self.clients)
        self.renewals = Renewals(
            clock,
            journal,
            self.clients,
            change=lambda renewed, ms, why: self.change_renewed(renewed, ms, why),
            retry_delay_ms=self._retry_delay_ms,
        )

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped since; a paused front runs, too."""
        return self.state.is_up

    @property
    def port(self) -> int:
        """Its own port, which routes name."""
        return int(self.addr.rpartition(":")[2] or 0)

    # -- life ---------------------------------------------------------------------------------

    def start(self, addr: str) -> None:
        """Start at ``addr`` (``host:port``)."""
        self.addr = self.calls.addr = addr
        self.clients.start()
        if self.door is not None:
            self.door.start()
        self.settings.start()
        self.renewals.start()
        for broker in self._brokers():
            broker.front = self._relay
        self.state = self.state.then(NodeState.RUNNING)
        self.journal.add(NodeStarted(node=self.name, addr=addr))

    def stop(self, how: str = "stop") -> None:
        """Stop: close connections and forget clients; ``how`` goes to the journal.

        A clean stop lets the messages become visible that it prolonged.
        """
        if not self.running:
            return
        if how == "stop":
            self.resume()
            for client_id in self.renewals.client_ids():
                self.renewals.client_left(client_id)
            self._close_sessions(how)  # what is not read is given back
            self.clock.end_all()
        self.state = self.state.then(NodeState.STOPPED)
        self.journal.add(NodeStopped(node=self.name, how=how))
        self._forget(f"proxy {how}")
        self._close_sessions(how)
        self.clock.end_all()
        self.clock.cancel_all()

    def _close_sessions(self, how: str) -> None:
        for session in list(self.sessions):
            session.close(f"proxy {how}")
        self.sessions.clear()

    def pause(self) -> None:
        """Pause as by SIGSTOP: sockets stay open, nothing is read and no timer fires."""
        if self.state is not NodeState.RUNNING:
            return
        self.state = self.state.then(NodeState.PAUSED)
        self.clock.pause()
        for session in self.sessions:
            session.pause()
        self.journal.add(NodeStopped(node=self.name, how="pause"))

    def resume(self) -> None:
        """Resume: handle, late, what arrived and what fell due during the pause."""
        if self.state is not NodeState.PAUSED:
            return
        self.state = self.state.then(NodeState.RUNNING)
        with self.journal.because(self.journal.add(NodeStopped(node=self.name, how="resume"))):
            self.calls.resume()
            for session in list(self.sessions):
                session.resume()
                if self.state is not NodeState.RUNNING:
                    return  # a request met a fault that pauses or kills it
            self.clock.resume()

    def reset(self) -> None:
        """Forget what clients have sent; connections stay, and clients that are there stay known.

        A client says what it is once for each stream, so without this it would have to notice.
        """
        self.resume()
        self.renewals.clear()
        self.transactions.clear_data()
        self.relay.clear()
        self.routes.clear()
        if self.door is not None:
            self.door.reset()

    def _forget(self, why: str) -> None:
        self.renewals.clear()
        self.transactions.clear()
        self.relay.clear()
        self.clients.clear()
        self.settings.clear()
        self.routes.clear()
        self.calls.close_all(why)

    # -- connections and calls ----------------------------------------------------------------

    def accept(self, link: Link) -> GrpcSession:
        """Take a connection."""
        session = GrpcSession(link, self, self.paths)
        self.join(session)
        return session

    def join(self, session: GrpcSession | Session) -> None:
        """Take note of a new connection."""
        self.sessions[session] = None
        if self.state is NodeState.PAUSED:
            session.pause()

    def session_closed(self, session: GrpcSession | Session) -> None:
        """Drop what brokers hold for a closed connection; its gRPC clients stay for a while."""
        self.clock.drop_of(session)
        self.sessions.pop(session, None)
        self.calls.connection_closed(session, "the client's connection was closed")
        if self.door is not None and not isinstance(session, GrpcSession):
            self.door.session_closed(session)

    def client_ids(self, session: Any) -> set[str]:
        """Return the ids of the clients whose last heartbeat came on a connection."""
        if self.door is not None and not isinstance(session, GrpcSession):
            return self.door.client_ids(session)
        return self.clients.ids_on(session)

    def members(self, group: str) -> list[tuple[str, str]]:
        """Return the client id and the address of each connection of a consumer group's members."""
        found = [
            (client.client_id, one.remote_addr)
            for client in self.clients.consumers(group)
            for one in client.used_connections()
        ]
        if self.door is not None:
            found += self.door.members(group)
        return found

    @property
    def guard(self) -> BrokerDoor | None:
        """What checks the requests of remoting: that of the brokers; None if they check nothing."""
        for broker in self._brokers():
            if broker.guard is not None:
                return broker.guard if self.auth is None else self.auth.at_front()
        return None

    @property
    def accounts(self) -> PlainPermissionManager | None:
        """Which callers are allowed: what the brokers know of accounts; None if everybody may."""
        for broker in self._brokers():
            if broker.acl is not None:
                return broker.acl.manager
        return None

    @property
    def auth(self) -> AuthControl | None:
        """The check by auth 2.0 that the brokers make; None if they make none.

        It is that of the first one that runs, or of the first one if none does.
        """
        found = None
        for broker in self._brokers():
            auth = cast("Broker5", broker).auth  # there is no front before those of 4.9.7
            if auth is not None and broker.running:
                return auth
            found = found or auth
        return found

    def owner_of(self, client_id: str) -> str | None:
        """Return the account to which a client id belongs; None if no account has it."""
        client = self.clients.find(client_id)
        return self.settings.account(client_id) if client is None else client.account

    def _may_publish(self, client: Client, topic: str) -> bool:
        manager = self.accounts
        return manager is None or manager.may_publish(client.account, topic)

    # -- what its parts cause -----------------------------------------------------------------

    def _left(self, client: Client) -> None:
        self.settings.client_left(client.client_id)
        self.renewals.client_left(client.client_id)

    def _retry_delay_ms(self, group: str, reconsume_times: int) -> int | None:
        config = self.routes.group_config(group)
        if config is None:
            return None
        return retry_delay_ms(config.group_retry_policy, reconsume_times)

    def _asked(self, broker: Broker, command: RemotingCommand, on_reply: OnReply | None) -> None:
        """Take what a broker asks of the front."""
        if self.state is NodeState.RUNNING:
            if command.code == RequestCode.CHECK_TRANSACTION_STATE:
                self.transactions.check(broker, command)
            elif command.code == RequestCode5.NOTIFY_UNSUBSCRIBE_LITE:
                from fakemq.proxy.lite_notices import unsubscribed  # few clients use lite topics

                unsubscribed(self.clients, command)
        if on_reply is not None:
            on_reply(None)

    def _relay(
        self, command: RemotingCommand, group: str, client_id: str | None
    ) -> Parked[NoHeader] | None:
        if self.state is not NodeState.RUNNING:
            return None
        return self.relay.relay(command, group, client_id)

    def __repr__(self) -> str:
        return f"<proxy {self.name} at {self.addr} {self.state}>"
