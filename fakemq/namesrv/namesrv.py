"""One name server: its tables, its KV config, the connections it has, and its life.

Name servers know nothing of each other.

Source: namesrv/NamesrvController.java (4.9.7)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from fakemq.dispatch.answers import Reply, not_supported
from fakemq.dispatch.dispatcher import Dispatcher
from fakemq.dispatch.node import NodeState
from fakemq.dispatch.registry import Handlers
from fakemq.errors import ConfigError, NotYetSupported
from fakemq.events.core import NodeStarted, NodeStopped, Warned
from fakemq.faults.plan import FaultPlan
from fakemq.faults.points import VIEW
from fakemq.namesrv.kv import NAMESPACE_ORDER_TOPIC_CONFIG, KvConfig
from fakemq.namesrv.registration import BrokerRegistration
from fakemq.namesrv.route_query import RouteQuery
from fakemq.namesrv.route_tables import RouteTables
from fakemq.net.session import Session
from fakemq.protocol.codes import code_name
from fakemq.protocol.table import NoHeader
from fakemq.reference import V4_9_7, Reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.config.model import NamesrvConfig
    from fakemq.files.texts import TextFile
    from fakemq.journal.journal import Journal
    from fakemq.net.link import Link
    from fakemq.net.outbound import Outbound
    from fakemq.protocol.bodies.route import TopicRouteData


UNKNOWN_CODES_WARNED = 20
"""How many unknown codes get a warning, each once: a peer could send four billion."""


class NameServer:
    """A name server; ``kv_file`` keeps its KV config, None for memory only.

    It can be started again after a stop. Like a new process it then knows only what that file
    contains. Another release of RocketMQ is a subclass, see `name_server_class`.
    """

    handlers: ClassVar[Handlers[Any]] = Handlers("fakemq.namesrv.handlers")
    """What it answers, by request code."""
    dispatcher_class: ClassVar[type[Dispatcher[Any]]] = Dispatcher
    registration_class: ClassVar[type[BrokerRegistration]] = BrokerRegistration
    make_outbound: Callable[[], Outbound]
    """Called when it first sends requests itself; the owner of the name server sets it."""

    def __init__(
        self,
        name: str,
        config: NamesrvConfig,
        clock: NodeClock,
        journal: Journal,
        *,
        kv_file: TextFile | None = None,
        faults: FaultPlan | None = None,
        reference: Reference = V4_9_7,
    ) -> None:
        self.name = name
        self.config = config.copy()  # changed at run time, and name servers are independent
        self.clock = clock
        self.journal = journal
        self.faults = FaultPlan(journal) if faults is None else faults
        self.addr = ""
        self.started_ms = 0
        """When it was started, by its own clock."""
        self.state = NodeState.STOPPED
        self.sessions: dict[Session, None] = {}
        self.tables = RouteTables()
        self.registration = self.registration_class(self.tables, clock, journal)
        self._routes = RouteQuery(self.tables)
        self._views = self.faults.at(VIEW)
        self.kv = KvConfig(clock, journal, kv_file)
        self.reference = reference
        self.dispatcher = self.dispatcher_class(self, self.handlers, on_unknown=self._unknown)
        self._start_config = config
        self._unknown_codes: set[int] = set()
        self._resumed: Session | None = None
        """The connection whose bytes of a pause are being handled."""

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped since; a paused name server runs too."""
        return self.state.is_up

    # -- life ---------------------------------------------------------------------------------

    def start(self, addr: str) -> None:
        """Start at ``addr`` (``host:port``); the listener there calls `accept`.

        Raise NotYetSupported for ``clusterTest=true``, ConfigError for a KV file that is no JSON
        and for a config with which Java does not start.
        """
        if self.config.cluster_test:
            raise NotYetSupported(
                "clusterTest=true: fakemq's name server asks no product environment for routes;"
                " leave clusterTest out"
            )
        if self.config.scan_not_active_broker_interval < 1:
            raise ConfigError(
                f"scanNotActiveBrokerInterval={self.config.scan_not_active_broker_interval}:"
                " expected 1 or more; Java's name server does not start"
            )
        self.addr, self.started_ms = addr, self.clock.now_ms()
        self.kv.load()
        self.kv.start_printing()
        self.registration.expiry.start(self.config.scan_not_active_broker_interval)
        self.state = self.state.then(NodeState.RUNNING)
        self.journal.add(NodeStarted(node=self.name, addr=addr))

    def stop(self, how: str = "stop") -> None:
        """Stop: close connections, forget routes, cancel timers; ``how`` goes to the journal."""
        if not self.running:
            return
        self.state = self.state.then(NodeState.STOPPED)
        self._forget()
        for session in list(self.sessions):
            session.close(f"name server {how}")
        self.clock.cancel_all()
        self.journal.add(NodeStopped(node=self.name, how=how))

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
            for session in list(self.sessions):  # first, as those of brokers
                self._resumed = session
                session.resume()
                self._resumed = None
                if self.state is not NodeState.RUNNING:
                    return  # a request met a fault that pauses or kills the name server
            self.clock.resume()

    def reset(self) -> None:
        """Return to the state of the start: no broker, and the KV values and config of the start.

        Connections stay. Every broker has to register again; a cluster calls its own brokers.
        """
        self._forget()
        self.kv.load()

    def _forget(self) -> None:
        self.config = self._start_config.copy()
        self.tables.clear()
        self.registration.standing.clear()
        self.registration.expiry.clear()
        self._unknown_codes.clear()

    @property
    def routes(self) -> RouteQuery:
        """The tables that requests read, changed by faults."""
        if self._views:
            routes: RouteQuery = VIEW.intercept(self)
            return routes
        return self._routes

    def check_ready(self) -> None:
        """Raise Refused as long as routes are not answered after a start."""

    def complete_route(self, topic: str, route: TopicRouteData) -> Steps[None]:
        """Add to the route of a topic, which is a copy, what the config asks for."""
        if self.config.order_message_enable:
            route.order_topic_conf = self.kv.get(NAMESPACE_ORDER_TOPIC_CONFIG, topic)
        yield from ()  # steps of a later version walk the route

    def check_lists_topics(self, *, every: bool = False) -> None:
        """Raise Refused if the config forbids lists of topics, or that of ``every`` topic."""

    replicates_later = False
    """See `Node.replicates_later`: a name server has no slaves."""

    def client_ids(self, session: Session) -> set[str]:
        """Return nothing: no client registers at a name server."""
        return set()

    # -- connections --------------------------------------------------------------------------

    def accept(self, link: Link) -> Session:
        """Take a connection."""
        idle_ms = self.config.server_channel_max_idle_time_seconds * 1000
        session = Session(link, self, self.dispatcher.dispatch, idle_ms)
        self.sessions[session] = None
        if self.state is NodeState.PAUSED:
            session.pause()
        return session

    def session_closed(self, session: Session) -> None:
        """Remove, at once, the broker that registered over a closed connection, and its long work.

        A registration that a paused name server finds before the close counts: in Java the thread
        that removes the broker is faster than the one that registers it.
        Source: namesrv/routeinfo/BrokerHousekeepingService.java (4.9.7)
        """
        self.clock.drop_of(session)
        self.sessions.pop(session, None)
        if session is not self._resumed or not self.registration.renewed_now(session):
            self.registration.channel_destroyed(session.remote_addr, session)

    def _unknown(self, code: int) -> Reply[NoHeader] | None:
        if self.reference.refuses_unknown_codes:
            return not_supported(code)
        # No answer at all: DefaultRequestProcessor returns null and the client times out.
        if code not in self._unknown_codes and len(self._unknown_codes) < UNKNOWN_CODES_WARNED:
            self._unknown_codes.add(code)
            text = f"no answer to {code_name(code)} ({code}): a 4.9.7 name server has none"
            self.journal.add(Warned(node=self.name, text=text))
        return None

    def __repr__(self) -> str:
        brokers = len(self.tables.broker_live_table)
        return f"<name server {self.name} at {self.addr} {self.state}, {brokers} brokers>"


handles: Final[Handlers[NameServer]] = NameServer.handlers
"""The decorator that registers a handler for name servers."""


def name_server_class(reference: Reference) -> type[NameServer]:
    """Return the class of the name servers of a reference."""
    if not reference.folder:
        return NameServer
    module = import_module(f"fakemq.namesrv.{reference.folder}.namesrv")
    return cast("type[NameServer]", module.NAME_SERVER)
