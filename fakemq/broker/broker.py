"""One broker: its parts, and its life from start to stop, kill or pause.

Source: broker/BrokerController.java (4.9.7)
"""

# Over 400 lines: start, stop, reset and restore each visit all parts, in an order of their own.

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, cast

from fakemq.broker import addresses
from fakemq.broker.clients.client_channel import ClientCalls
from fakemq.broker.clients.client_expiry import ClientExpiry
from fakemq.broker.clients.consumers import ConsumerManager
from fakemq.broker.clients.locks import RebalanceLockManager
from fakemq.broker.clients.producers import ProducerManager
from fakemq.broker.filters.manager import ConsumerFilterManager
from fakemq.broker.pulling.holds import PullRequestHoldService
from fakemq.broker.pulling.positions import PullPositions
from fakemq.broker.registration import Registration
from fakemq.broker.role import Role
from fakemq.broker.sending.delay import ScheduleMessageService
from fakemq.broker.sending.puts import DutyPuts
from fakemq.broker.sending.transactions import TransactionalMessageService
from fakemq.broker.tables.groups import SubscriptionGroupManager
from fakemq.broker.tables.offsets import ConsumerOffsetManager
from fakemq.broker.tables.persistence import Persistence
from fakemq.broker.tables.stats import BrokerStatsManager
from fakemq.broker.tables.topics import TopicConfigManager
from fakemq.clock.slices import in_one_step
from fakemq.dispatch.answers import Refused, Reply
from fakemq.dispatch.dispatcher import Dispatcher
from fakemq.dispatch.node import NodeState
from fakemq.dispatch.registry import Handlers
from fakemq.events.core import NodeStarted, NodeStopped
from fakemq.faults.points import BEFORE_REPLY
from fakemq.net.link import Link
from fakemq.net.session import Session
from fakemq.protocol.bodies.topic import DataVersion, TopicConfig
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.message_id import UniqueIdGenerator
from fakemq.protocol.properties import CLUSTER, WAIT_STORE_MSG_OK
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.table import NoHeader
from fakemq.protocol.topics import SCHEDULE_TOPIC, topic_name_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fakemq.broker.acl.access import AccessControl, BrokerDoor
    from fakemq.broker.image import NodeImage
    from fakemq.broker.popped import OutMessage
    from fakemq.broker.pulling.slow_consumers import SlowConsumers
    from fakemq.broker.sending.settings import SendSettings
    from fakemq.broker.sending.transactions import Round
    from fakemq.broker.thread_pools import ThreadPools
    from fakemq.broker.v5.attributes import Attribute
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig, Value
    from fakemq.dispatch.answers import Parked, Request
    from fakemq.dispatch.local import FromNode, LocalDispatcher, LocalLink, LocalSession
    from fakemq.dispatch.node import NodeContext
    from fakemq.ha.master_link import MasterEnd
    from fakemq.ha.service import HAService
    from fakemq.net.outbound import Outbound
    from fakemq.protocol.bodies.heartbeat import SubscriptionData
    from fakemq.protocol.bodies.offset import DelayOffsetSerializeWrapper
    from fakemq.protocol.command import RemotingCommand
    from fakemq.protocol.headers.send import (
        SendMessageRequestHeader,
        SendMessageRequestHeaderV2,
        SendMessageResponseHeader,
    )
    from fakemq.protocol.hosts import Host
    from fakemq.protocol.message import MessageExt
    from fakemq.protocol.plain_properties import PlainProperties, StoredForm
    from fakemq.protocol.send_answers import SendAnswer
    from fakemq.reference import Reference
    from fakemq.store.findings import Topics
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.results import LogRecord, PutMessageStatus
    from fakemq.store.store import MessageStore

    SendHeader: TypeAlias = SendMessageRequestHeader | SendMessageRequestHeaderV2
    SendRequest: TypeAlias = Request[SendMessageRequestHeader] | Request[SendMessageRequestHeaderV2]


_FOR_NAME_SERVERS: Final = frozenset(
    (
        *(RequestCode.REGISTER_BROKER, RequestCode.GET_ROUTEINFO_BY_TOPIC),
        *(RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER),
    )
)
"""What clients and brokers ask of every name server; Java's answer does not say so."""

# As a constant of this module: compiled code would look up an imported name in a dictionary.
_Reply: Final = Reply


class Broker:
    """A broker: it answers requests, keeps its tables, and registers with the name servers.

    A broker that was stopped or killed can be started again: it keeps its tables and its store, but
    not its connections. Another release of RocketMQ is a subclass, see `broker_class`.
    """

    handlers: ClassVar[Handlers[Any]] = Handlers("fakemq.broker.handlers")
    """What it answers, by request code."""
    dispatcher_class: ClassVar[type[Dispatcher[Any]]] = Dispatcher
    transactions_class: ClassVar[type[TransactionalMessageService]] = TransactionalMessageService
    topic_attributes: ClassVar[Mapping[str, Attribute]] = {}
    """The attributes that a topic may have, with their rules."""
    group_attributes: ClassVar[Mapping[str, Attribute]] = {}
    not_at_vip_port: ClassVar[frozenset[int]] = frozenset(
        (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)
    )
    """Codes that the VIP port does not answer. Source: broker/BrokerController.java (4.9.7)"""
    follows_puts: ClassVar[bool] = False
    """Whether it reads the records of each put, also if no pull waits for them."""
    knows_times: ClassVar[bool] = False
    """Whether it delivers messages at a time that their producer sets."""
    outbound: Outbound
    """Its connections to other nodes; the owner of the broker sets it before `start`."""
    make_acl: Callable[[], AccessControl]
    """Called with the first start with aclEnable=true; the owner of the broker sets it."""
    _send_settings: SendSettings | None = None
    _kept_acl: AccessControl | None = None
    """Access control, once there was one: it keeps the rules of a test while it is switched off."""
    _slow_consumers: SlowConsumers | None = None
    pools: ThreadPools | None = None
    """The queues of its thread pools, once a fault has kept one of these busy."""
    front: Callable[[RemotingCommand, str, str | None], Parked[NoHeader] | None] | None = None
    """Passes an admin's request on to a consumer behind the gRPC front; None if it has no such
    consumer. Set by the front of the cluster, if it has one."""
    _local_dispatcher: LocalDispatcher[Broker] | None = None
    started_ms = 0
    """The elapsed time of its last start or reset."""

    def __init__(self, node: NodeContext[BrokerConfig], store: MessageStore) -> None:
        # Over 70 lines: the parts, in the order in which they need each other.
        self.node = node
        self.name, self.config, self.clock = node.name, node.config, node.clock
        self.journal, self.faults, self.randomness = node.journal, node.faults, node.randomness
        self.reference, self.store = node.reference, store
        config, clock = self.config, self.clock
        store.on_late = self.arrived
        store.encode_properties = self.reference.encode_properties
        if self.reference.indexes_tags:
            store.index_tags()
        self.answer_faults = self.faults.at(BEFORE_REPLY)
        """The faults that a pull's answer may meet, see `FaultPlan.at`."""
        self.config_version = DataVersion(timestamp=clock.now_ms(), counter=0)
        self.state = NodeState.STOPPED
        self.role = Role(node, self)
        self.sessions: dict[Session, None] = {}  # a set that keeps its order
        self.unique_ids = self._new_unique_ids()
        """Makes the ids of messages that no producer sent."""
        # Each part gets the node and the parts made before it. There are three exceptions, where
        # two parts need each other; each is a callable that finds the later part when it is called:
        # 1. Topics are registered, and what is registered is the topics.
        # 2. Filters live as long as their group has members, and members bring the filters.
        # 3. The transaction check puts messages back by the service whose timer starts the check.
        # The config files come first, because tables write them, and are connected at the end.
        self.persistence = files = Persistence(node, is_running=lambda: self.running)
        self.stats = BrokerStatsManager(clock, config)
        self.topics = TopicConfigManager(
            node, files.topics, register_soon=lambda: self.registration.register_soon()
        )
        self.groups = SubscriptionGroupManager(node, files.groups, name_error=self.group_error)
        self.offsets = ConsumerOffsetManager(node, store, files.offsets)
        self.registration = Registration(
            node, self.topics, outbound=lambda: self.outbound, on_master=self._on_master
        )
        self.calls = ClientCalls(node, client_ids=self.client_ids)
        self.producers = ProducerManager(node)
        self.filters = ConsumerFilterManager(
            node, files.filters, subscriptions=lambda group: self.consumers.subscriptions(group)
        )
        store.queue_maker.filter_bits = self.filters.bit_map
        self.consumers = ConsumerManager(
            node, self.filters, send_oneway=self.calls.send_oneway, find_read=self.find_read
        )
        self.client_expiry = ClientExpiry(node, self.producers, self.consumers)
        self.locks = RebalanceLockManager(node, self.consumers)
        self.positions = PullPositions(clock)
        self.holds = PullRequestHoldService(node, store)
        self.puts = self._make_puts()
        self.delay = ScheduleMessageService(
            node, store, self.stats, files.delays, put=self.puts.async_put_message
        )
        self.transactions = self.transactions_class(
            node,
            store,
            self.topics,
            self.offsets,
            put=self.put,
            escape=self.puts.put_message,
            check=self.check_transactions,
        )
        files.topics.connect(self.topics, self.topics.reset, kept=self.topics.kept)
        offsets = self.offsets
        files.offsets.connect(offsets, offsets.reset, offsets.persisted_in_steps, offsets.captured)
        files.groups.connect(self.groups, self.groups.reset, kept=self.groups.kept)
        filters = self.filters
        files.filters.connect(filters, filters.reset, filters.persisted_in_steps, filters.captured)
        files.delays.connect(self.delay, self.delay.forget)
        self.acl: AccessControl | None = None
        """Access control, as aclEnable said at the start; None without it."""
        self.ha: HAService | None = None
        """Replication, from `start` to the end; None for a broker without slaves and masters."""
        self._start_config = config.copy()  # with what the parts have set
        self.main_dispatcher = self.dispatcher_class(self, self.handlers, on_unknown=self._unknown)
        self.fast_dispatcher = self.dispatcher_class(
            self, self.handlers, on_unknown=self._unknown, without=self.not_at_vip_port
        )

    # -- where it is --------------------------------------------------------------------------

    @property
    def addr(self) -> str:
        """``host:port`` that clients get from the route, and that message ids carry."""
        return addresses.client_addr(self.config)

    @property
    def store_host(self) -> Host:
        """`addr` as records keep it."""
        return addresses.store_host(self.config)

    @property
    def vip_addr(self) -> str:
        """The VIP port: it answers every code but `not_at_vip_port`."""
        return addresses.vip_addr(self.config)

    @property
    def ha_addr(self) -> str:
        """Where slaves connect: the next port, whatever haListenPort says."""
        return addresses.ha_addr(self.config)

    @property
    def replicates_later(self) -> bool:
        return self.role.name == "ASYNC_MASTER"

    # -- connections --------------------------------------------------------------------------

    def accept(self, link: Link) -> Session:
        """Take a connection to the main port."""
        return self._accept(link, self.main_dispatcher)

    def accept_fast(self, link: Link) -> Session:
        """Take a connection to the VIP port."""
        return self._accept(link, self.fast_dispatcher)

    def accept_local(self, link: LocalLink, from_node: FromNode) -> LocalSession:
        """Take a connection without bytes, from a node of 5.5.0 in this cluster."""
        from fakemq.dispatch.local import LocalDispatcher, LocalSession  # few clusters have a front

        if self._local_dispatcher is None:
            self._local_dispatcher = LocalDispatcher(self, self.handlers, on_unknown=self._unknown)
        session = LocalSession(link, self, self._local_dispatcher.dispatch, from_node)
        self.sessions[session] = None
        if self.state is NodeState.PAUSED:
            session.pause()
        return session

    def accept_ha(self, link: Link) -> MasterEnd:
        """Take a slave's connection to the HA port."""
        return self.replication().accept(link)

    def replication(self) -> HAService:
        """Return its side of replication; make it at the first call."""
        if self.ha is None:
            self.ha = self._make_replication()
        return self.ha

    def _make_replication(self) -> HAService:
        from fakemq.ha.service import HAService  # most brokers have no slave

        return HAService(self)

    def thread_pools(self) -> ThreadPools:
        """Return the queues of its thread pools; make them at the first call."""
        if self.pools is None:
            from fakemq.broker.thread_pools import ThreadPools  # only faults keep threads busy

            self.pools = ThreadPools(self.node, self.store, lambda: self.started_ms)
        return self.pools

    def _accept(self, link: Link, dispatcher: Dispatcher[Broker]) -> Session:
        guard = self.guard
        dispatch = dispatcher.dispatch if guard is None else guard.door(dispatcher)
        idle_ms = self.config.server_channel_max_idle_time_seconds * 1000
        session = Session(link, self, dispatch, idle_ms)
        self.sessions[session] = None
        if self.state is NodeState.PAUSED:
            session.pause()
        return session

    def client_ids(self, session: Session) -> set[str]:
        """Return the ids of the clients that registered on a connection by heartbeats."""
        return {
            channel.client_id
            for members in (self.producers, self.consumers)
            for channel in members.channels_of(session)
        }

    def session_closed(self, session: Session) -> None:
        """Remove the producers, consumers, held pulls and long work of a closed connection."""
        self.clock.drop_of(session)
        if session not in self.sessions:
            return
        del self.sessions[session]
        self._forget_session(session)

    def _forget_session(self, session: Session) -> None:
        self.producers.session_closed(session)
        self.consumers.session_closed(session)
        self.holds.session_closed(session)
        self.client_expiry.session_closed(session)
        self.positions.session_closed(session)

    # -- messages -----------------------------------------------------------------------------

    def put(self, message: InnerMessage) -> PutMessageResult:
        """Store a message, then wake the pulls that wait for it."""
        result = self.store.put_message(message)
        self.arrived(result)
        return result

    def _make_puts(self) -> DutyPuts:
        """Return where it puts what its duties write."""
        return DutyPuts(self.put, self.put, self.put)

    def arrived(self, result: PutMessageResult) -> None:
        """Notify delay levels and held pulls of the records of a finished put.

        Call this last: a woken pull is answered inside, as a whole request of its own.
        """
        # Most puts wake nothing, and to make the records of a batch takes as long as a send.
        appended, wanted = result.append_result, self.follows_puts or self.holds.by_queue
        if not wanted and appended is not None and appended.topic != SCHEDULE_TOPIC:
            return
        records = result.records
        if records:
            self._notify(records, result.light)

    def _notify(self, records: Sequence[LogRecord], light: Sequence[LogRecord]) -> None:
        if records[0].topic == SCHEDULE_TOPIC:
            for record in records:
                self.delay.scheduled(record)
        if self.holds.by_queue:
            self.holds.arrived(records)
            for record in light:
                self.holds.arrived((record,))

    def slow_consumers(self) -> SlowConsumers:
        """Return what disableConsumeIfConsumerReadSlowly does; make it at the first call."""
        if self._slow_consumers is None:
            from fakemq.broker.pulling.slow_consumers import SlowConsumers  # few brokers need it

            self._slow_consumers = SlowConsumers(
                self.node, self.topics, self.groups, self.started_ms
            )
        return self._slow_consumers

    def _forget_slow_consumers(self) -> None:
        slow_ones, self._slow_consumers = self._slow_consumers, None
        self.started_ms = self.clock.elapsed_ms()
        if slow_ones is not None:
            slow_ones.stop()

    # -- life ---------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped or killed since; a paused broker runs, too."""
        return self.state.is_up

    def start(self, namesrv_addrs: Sequence[str] = ()) -> None:
        """Start every part, and register with all name servers at once."""
        if self.state is NodeState.STOPPING:
            self._end("stop")  # a new start does not wait for slow name servers
        self.role.follow_config()
        self._obey_acl_enable()
        if self.acl is not None:
            self.acl.start()
        disk = self.store.disk
        if disk is None:
            self.persistence.load()
        else:
            disk.start(self._load_tables)
        self.state = self.state.then(NodeState.RUNNING)
        with self.journal.because(self.journal.add(NodeStarted(node=self.name, addr=self.addr))):
            self._start_parts()
            self.start_replication()
            self.registration.start(namesrv_addrs)
            self.find_role()

    def find_role(self) -> None:
        """Ask for a role, if it is not the config that says it; called at a start."""

    def _start_parts(self) -> None:
        """Begin: the tables are loaded, and the broker runs."""
        self.stats.start()
        self.store.stats.start()
        self._forget_slow_consumers()
        self.client_expiry.start()
        self.holds.start()
        self.filters.start()
        self.persistence.start()
        self.store.retention.start()
        self.begin_duties()

    @property
    def guard(self) -> BrokerDoor | None:
        """What checks the requests of new connections; None lets every one in."""
        return self.acl

    def _obey_acl_enable(self) -> None:
        """Switch access control on or off, as a start does; that ends the connections."""
        enabled = self.config.acl_enable and self.reference.reads_acl_enable
        if enabled and self._kept_acl is None:
            self._kept_acl = self.make_acl()
        acl = self._kept_acl if enabled else None
        if acl is self.acl:
            return
        if self.acl is not None:
            self.acl.stop()
        self.acl = acl
        self._close_sessions("access control was switched on or off")

    def rules(self) -> Mapping[str, object] | None:
        """Return the rules of access control; None if there are none, or files keep them."""
        return None if self._kept_acl is None else self._kept_acl.rules()

    def _load_tables(self, stopped: bool) -> Topics:
        from fakemq.store.findings import Topics  # only brokers with a directory check it

        with self.offsets.losing():
            self.persistence.load(stopped=stopped)
        return Topics(self.topics.snapshot().keys(), self.topics.data_version.timestamp)

    def start_replication(self) -> None:
        """Follow a master, or let slaves follow; an ASYNC_MASTER begins with the first slave."""
        if self.role.is_slave:
            self.replication().start_slave()
        elif self.role.is_sync_master:
            self.replication()

    def keep_delays(self, wrapper: DelayOffsetSerializeWrapper, text: str) -> None:
        """Keep the master's delay offsets, for the day when this broker is a master."""
        self.delay.load(wrapper)
        self.persistence.delays.write(text)

    def stop_replication(self, why: str) -> None:
        """Disconnect from masters and slaves."""
        ha, self.ha = self.ha, None
        if ha is not None:
            ha.stop(why)

    def stop(self, on_stopped: Callable[[], None] = lambda: None) -> None:
        """Disconnect the clients, unregister from all name servers, then stop every part.

        ``on_stopped`` is called when every name server has replied or timed out (3 s).
        """
        # A request that waited in a paused broker may meet a fault that pauses or kills the broker.
        while self.state is NodeState.PAUSED:
            self.resume()
        if not self.running:
            on_stopped()
            return
        self.state = self.state.then(NodeState.STOPPING)
        self._close_sessions("broker stopped")

        def end() -> None:
            try:
                if self.state is NodeState.STOPPING:  # it was not killed meanwhile
                    if self.ha is not None:
                        self.ha.send_rest()
                    self._end("stop")
            finally:
                on_stopped()

        self.registration.unregister_all().when_done(end)

    def kill(self, *, lose_unsynced: bool = False) -> None:
        """End at once, like a killed process: no request is answered, no name server is notified.

        With ``lose_unsynced`` the machine crashes, too: its disk keeps what was flushed, and of the
        rest some pages that the cluster's seed chooses.
        """
        if self.state is not NodeState.STOPPED:
            with self.journal.because(self.journal.add(NodeStopped(node=self.name, how="kill"))):
                self._close_sessions("broker killed")
                self._end("kill", lose_unsynced)

    def _close_sessions(self, why: str) -> None:
        # Emptied first, so that no member is notified that the other members leave.
        sessions, self.sessions = self.sessions, {}
        for session in sessions:
            session.close(why)
        self._forget_clients()

    def _end(self, how: str, lose_unsynced: bool = False) -> None:
        self.state = self.state.then(NodeState.STOPPED)
        self.stop_replication(f"broker {how}")
        try:
            self.store.finish_work()
            # After a kill nothing more is written; the broker's clock cancels the timers.
            self.end_duties(persist=how == "stop")
            self.registration.stop()
            self.outbound.close(f"broker {how}")
            if how == "stop":
                self.persistence.stop()
            else:
                with self.offsets.losing():
                    self.persistence.take_back()
        finally:
            try:
                if self.faults.all() or self.store.files.damaged:
                    from fakemq.store.faults import StoreEnd  # few clusters have faults

                    StoreEnd(self.store, self.faults, self.clock, self.name).damage(how)
                disk = self.store.disk
                if disk is not None:
                    disk.stop() if how == "stop" else disk.kill(lose_unsynced=lose_unsynced)
            finally:
                self.clock.cancel_all()
                if how != "kill":  # a kill was noted before anything else
                    self.journal.add(NodeStopped(node=self.name, how=how))

    def begin_duties(self) -> None:
        """Begin what the role asks for: a master delivers what is delayed, and checks transactions.

        See `fakemq.broker.role`.
        """
        self.delay.start()
        self.transactions.start()

    def end_duties(self, *, persist: bool) -> None:
        """End what the role asked for, and write how far it came if ``persist``."""
        self.delay.stop(persist=persist)
        self.transactions.stop()

    def pause(self) -> None:
        """Pause like a process after SIGSTOP: sockets stay open, but nothing is read or fired."""
        if self.state is not NodeState.RUNNING:
            return
        self.state = self.state.then(NodeState.PAUSED)
        self.clock.pause()
        for session in self.sessions:
            session.pause()
        self.outbound.pause()
        if self.ha is not None:
            self.ha.pause()
        self.journal.add(NodeStopped(node=self.name, how="pause"))

    def resume(self) -> None:
        """Continue: handle what arrived and what fell due during the pause, late."""
        if self.state is not NodeState.PAUSED:
            return
        self.state = self.state.then(NodeState.RUNNING)
        with self.journal.because(self.journal.add(NodeStopped(node=self.name, how="resume"))):
            # Handle what arrived before what fell due: a late timer must see the heartbeats,
            # answers and closings of the pause, or it would remove live clients.
            for session in list(self.sessions):
                session.resume()
                if self.state is not NodeState.RUNNING:
                    return  # a request met a fault that pauses or kills the broker
            self.outbound.resume()
            if self.ha is not None:
                self.ha.resume()
            self.clock.resume()

    def reset(self) -> None:
        """Return topics, groups, offsets and messages to the first start; connections stay.

        Name servers are not notified: call `register_all` when they have been reset, too.
        """
        self.stop_replication("reset")
        self._reset_parts()
        if self.running:
            self.start_replication()

    def _reset_parts(self) -> None:
        self.config.restore(self._start_config)
        self.role.follow_config()
        self.config_version = DataVersion(timestamp=self.clock.now_ms(), counter=0)
        self.registration.follow_config_now()
        self._obey_acl_enable()
        self.topics.reset()
        self.groups.reset()
        self.offsets.reset()
        self.store.reset()
        self.stats.start()
        self._forget_slow_consumers()
        self.delay.reset(running=self.running)
        self.transactions.reset(running=self.running)
        self.positions.reset()  # before the held pulls, whose answers depend on it
        self.unique_ids = self._new_unique_ids()
        self._forget_clients()
        self.filters.reset()  # after the members, because the filters of members stay
        self.persistence.reset()
        if self.acl is not None:
            self.acl.reset(running=self.running)

    def changed_config(self) -> dict[str, Value]:
        """Return the settings that were changed since the start, by attribute."""
        return self.config.changed_from(self._start_config)

    def restore(self, image: NodeImage) -> None:
        """Take over the state of an image; connections stay, name servers are not notified."""
        self.stop_replication("restore")
        self._restore_parts(image)
        self.persistence.persist_all()
        self.start_replication()

    def _restore_parts(self, image: NodeImage) -> None:
        from fakemq.store import image as images  # few tests do this

        self.config.restore(self._start_config)
        self.config.assign({**image.config, **image.store.sizes})
        self.role.follow_config()
        self.config_version = self.config_version.next(self.clock.now_ms())
        self.registration.follow_config_now()
        self._obey_acl_enable()
        if self._kept_acl is not None:
            self._kept_acl.restore(image.rules, enabled=self.acl is not None)
        self.delay.stop(persist=False)
        images.restore(self.store, image.store, self.clock.now_ms())
        self.persistence.load_texts(dict(image.texts))
        self.stats.start()
        self.delay.start()
        self.transactions.reset(running=self.running)
        self.positions.reset(lambda key: max(0, self.offsets.query(*key)))  # before the held pulls
        self._forget_clients()
        self.filters.start()

    def follow_config(self) -> None:
        """Act on keys of the config that were set while the broker runs."""
        self.role.follow_config()
        if self.pools is not None:
            self.pools.plan()

    def settle(self) -> None:
        """Write what an image of the broker needs."""

    # -- what another release does otherwise --------------------------------------------------

    def check_sent(self, request: SendRequest) -> None:
        """Raise an error for a request to send that cannot be read; before all other checks."""

    def check_batch(self, request: SendRequest) -> None:
        """Raise an error for a batch that may not be stored; after all other checks."""

    def plain_properties(self, header: SendHeader, form: StoredForm) -> PlainProperties | None:
        """Return what the store wants of the properties of a message; None if it is not plain."""
        return form.of(header.properties or "")

    def send_settings(self) -> SendSettings:
        """Return what the config says about sends now."""
        settings, config = self._send_settings, self.config
        if settings is None or settings.revision != config.revision:
            from fakemq.broker.sending.settings import SendSettings  # a start sends nothing

            settings = SendSettings(config, self.reference, self._stored_form())
            self._send_settings = settings
        return settings

    def _stored_form(self) -> StoredForm:
        from fakemq.protocol.plain_properties import StoredForm

        added = {CLUSTER: self.config.broker_cluster_name}
        encode = self.reference.encode_properties
        return StoredForm(added, WAIT_STORE_MSG_OK, encode, buckets=16, ends=False)

    def prepare_send(self, message: InnerMessage, config: TopicConfig) -> None:
        """Change a message that a producer sent, before it is put."""
        # Java takes WAIT out to make the text, and puts it back at the end: later texts have that
        # order.
        properties = message.properties
        if WAIT_STORE_MSG_OK in properties:
            properties[WAIT_STORE_MSG_OK] = properties.pop(WAIT_STORE_MSG_OK)

    def prepare_reply(self, message: InnerMessage) -> None:
        """Change a reply to a request message, before it is pushed and put."""

    def prepare_batch(self, message: InnerMessage) -> PutMessageStatus | None:
        """Change a batch that a producer sent, before its members are encoded.

        Return why it is refused, if it is.
        """
        return None

    def send_reply(
        self, code: int, answered: SendAnswer, request: SendRequest, message: InnerMessage
    ) -> Reply[SendMessageResponseHeader]:
        """Return the answer to a successful send."""
        return _Reply(None, b"", code, None, None, answered)

    def refusal(self, status: PutMessageStatus) -> Refused:
        """Return the refusal of a put with a status that 4.9.7 does not have."""
        return Refused(ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT")

    def topic_error(self, topic: str) -> str | None:
        """Return Java's text for a name that no topic can have; None for a valid name."""
        return topic_name_error(topic)

    def group_error(self, group: str) -> str | None:
        """Return why no group of this name is created by asking for it; None if one may be."""
        return None

    def find_read(self, group: str, topic: str) -> SubscriptionData | None:
        """Return what a group reads of a topic without a heartbeat."""
        return None

    def refuses_pulls(self) -> bool:
        """Return whether the broker refuses all pulls, because it is a slave."""
        return False

    def check_pull(self, group: str, topic: str) -> None:
        """Raise Refused for a pull of a topic that is forbidden to its group."""

    def check_puller(self, group: str, session: Session) -> None:
        """Raise Refused for a pull over this connection, whose other checks are done."""

    def timer_messages(self) -> Steps[list[tuple[MessageExt, int]]]:
        """Return the messages that wait for a time of their own, each with that time in ms."""
        return in_one_step([])

    def popped(self, group: str | None) -> Iterator[OutMessage]:
        """Yield the messages that are out, of one group or of all."""
        yield from ()

    def out_in_order(self, topic: str, group: str, queue_id: int) -> Iterable[tuple[int, int, int]]:
        """Return the messages of a queue that are out in order.

        For each: its offset, when it becomes visible, and how often it was out before.
        """
        return ()

    def has_lite_subscriber(self, group: str, topic: str, queue: str) -> bool:
        """Return whether a client of a group subscribes to the lite topic of a light queue."""
        return False

    # -- what a test does by hand -------------------------------------------------------------

    def register_all(self) -> None:
        """Register with every name server now."""
        self.registration.register_all()

    def create_topic(
        self,
        topic: str,
        queues: int,
        *,
        perm: int = PermName.READ_WRITE,
        attributes: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Create a topic or change its number of queues and these attributes, and register it."""
        self.registration.register_topic(self.topics.create(topic, queues, perm, attributes))

    def put_topic(self, config: TopicConfig) -> None:
        """Create or replace a topic, and register it."""
        self.topics.update(config)
        self.registration.register_topic(config)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, if it exists, and its queues.

        Name servers are not notified, as in Java.
        """
        self.topics.delete(topic)
        self.store.clean_unused_topic(self.topics.snapshot().keys())
        if self.config.auto_delete_unused_stats:
            self.stats.on_topic_deleted(topic)

    def _unknown(self, code: int) -> Reply[NoHeader]:
        remark = f" request type {code} not supported"
        feature = self.reference.out_of_scope.get(code)
        if feature is not None:
            remark += f": {feature} are out of fakemq's scope"
            self.journal.peer_warnings.warn(self.name, feature, remark.lstrip())
        elif code in _FOR_NAME_SERVERS:
            text = (
                f"{code_name(code)} ({code}) is for a name server, and this is a broker: a client"
            )
            text += f" takes {self.addr} for the address of a name server"
            self.journal.peer_warnings.warn(self.name, "requests for a name server", text)
        return Reply(code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark)

    def _new_unique_ids(self) -> UniqueIdGenerator:
        return UniqueIdGenerator("127.0.0.1", 0, zlib.crc32(self.name.encode()))

    def _on_master(self, addr: str | None, ha_addr: str | None) -> None:
        if self.ha is not None:
            self.ha.master_is(addr, ha_addr)

    def check_transactions(self) -> Round:
        """Check all half messages once."""
        from fakemq.broker.sending.transaction_asking import (
            CheckParts,  # no broker needs these to start
        )
        from fakemq.broker.sending.transaction_check import check

        return check(
            CheckParts(
                node=self.node,
                store=self.store,
                topics=self.topics,
                offsets=self.offsets,
                producers=self.producers,
                stats=self.stats,
                calls=self.calls,
                transactions=self.transactions,
                may_publish=self._may_publish,
            )
        )

    def _may_publish(self, session: Session, topic: str) -> bool:
        return self.guard is None or self.guard.may_publish(session, topic)

    def _forget_clients(self) -> None:
        self.producers.reset()
        self.consumers.reset()
        self.positions.forget_closed()
        self.holds.reset()
        self.locks.reset()  # after the members, because the locks of members stay
        self.client_expiry.reset()

    def __repr__(self) -> str:
        return f"<broker {self.name} at {self.addr} {self.state}>"


handles: Final[Handlers[Broker]] = Broker.handlers
"""The decorator that registers a handler for brokers."""


def broker_class(reference: Reference) -> type[Broker]:
    """Return the class of the brokers of a reference."""
    if not reference.folder:
        return Broker
    return cast("type[Broker]", import_module(f"fakemq.broker.{reference.folder}.broker").BROKER)
