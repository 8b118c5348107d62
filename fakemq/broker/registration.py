"""Registration of a broker with all name servers, at its start and then periodically.

A name server that does not answer delays neither the other name servers nor the broker. Name
servers outside the cluster get registrations in real time, because their expiry runs in it.

Source: broker/BrokerController.java#registerBrokerAll, broker/out/BrokerOuterAPI.java (4.9.7)
"""

# Over 400 lines: one protocol, from one state.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.addresses import client_addr, ha_addr, namesrv_addrs
from fakemq.clock.timers import is_regular, notes_nothing
from fakemq.config.model import text_of
from fakemq.dispatch.answers import Parked, Reply
from fakemq.events.core import Warned
from fakemq.faults.plan import Scope
from fakemq.faults.points import SILENCE
from fakemq.later import Later, all_of
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.bodies.topic import (
    DataVersion,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigSerializeWrapper,
    register_broker_json,
)
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.headers.namesrv import (
    QueryDataVersionRequestHeader,
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    UnRegisterBrokerRequestHeader,
)
from fakemq.protocol.java import crc32
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.address_server import AddressServer
    from fakemq.broker.tables.topics import TopicConfigManager
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.outbound import Outbound


FIRST_PERIODIC_MS = 10_000
MIN_PERIOD_MS, MAX_PERIOD_MS = 10_000, 60_000
UNREGISTER_TIMEOUT_MS = 3_000


Round: TypeAlias = Later[None]
"""One registration with all name servers; done when each has replied or timed out."""


def when_registered(turn: Round, reply: Reply[NoHeader]) -> Reply[NoHeader] | Parked[NoHeader]:
    """Return an answer that waits until the name servers have replied or timed out."""
    if turn.done:
        return reply
    parked: Parked[NoHeader] = Later()
    turn.when_done(lambda: parked.resolve(reply))
    return parked


class Registration:
    """A broker's side of the registration protocol."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        topics: TopicConfigManager,
        *,
        outbound: Callable[[], Outbound],
        on_master: Callable[[str | None, str | None], None],
    ) -> None:
        self._node = node
        self._topics = topics
        self._outbound = outbound
        """Returns the broker's connections to others, which it gets after it was made."""
        self._on_master = on_master
        """Called with a slave's master and the master's HA address, as a name server knows them."""
        self._namesrv_addrs: tuple[str, ...] = ()
        self._outside: set[str] = set()
        self._began_ms = self._look_ms = self._fetch_ms = 0
        self._following: Timer | None = None
        self._address_server: AddressServer | None = None
        """What names the name servers, if the config names none."""
        self._silences = node.faults.at(SILENCE)
        self.isolated = False
        """Whether it registers nowhere: a broker without a role is in no route."""
        self._soon = False
        self._last_body: tuple[TopicConfigSerializeWrapper, bool, bytes] | None = None
        self.first_round = all_of(())
        """The registration that `start` began."""
        self.master_addr: str | None = None
        """A slave's master, as the last name server to answer knew it."""
        self.master_ha_addr: str | None = None

    @property
    def namesrv_addrs(self) -> tuple[str, ...]:
        return self._namesrv_addrs

    # -- life ---------------------------------------------------------------------------------

    def start(self, namesrv_addrs: Sequence[str]) -> None:
        """Register with all at once, then after 10 s, then every registerNameServerPeriod."""
        self._namesrv_addrs = tuple(namesrv_addrs)
        self._outside = set()
        self._began_ms = self._node.clock.elapsed_ms()
        self._look_ms = max(1, self._node.config.update_name_server_addr_period)
        self._fetch_ms = max(1, self._node.config.fetch_namesrv_addr_interval)
        self._following = None
        if not namesrv_addrs and self._node.config.fetch_namesrv_addr_by_address_server:
            from fakemq.broker.address_server import AddressServer  # few brokers have one

            self._address_server = AddressServer(self._node, self._outbound)
            self._fetch_after(FIRST_PERIODIC_MS)
        self.master_addr = self.master_ha_addr = None
        self.first_round = self.register_all()
        self._schedule(FIRST_PERIODIC_MS, outside=False)

    def follow_config(self) -> None:
        """Follow a changed namesrvAddr as soon as Java looks at it again: after 2 minutes at most,
        or updateNameServerAddrPeriod.

        Without one at the start Java never looks.
        Source: broker/BrokerController.java#initialize (4.9.7), #initialize (5.5.0)
        """
        if self._namesrv_addrs and self._following is None and self._address_server is None:
            clock = self._node.clock
            past_ms = clock.elapsed_ms() - self._began_ms - FIRST_PERIODIC_MS
            self._following = clock.call_later(
                -past_ms if past_ms < 0 else self._look_ms - past_ms % self._look_ms,
                self.follow_config_now,
                kind="update_namesrv_addr",
            )

    def follow_config_now(self) -> None:
        """Register at the name servers of the config from now on; with none at the old ones."""
        if self._address_server is not None:
            return
        self._node.clock.cancel(self._following)
        self._following = None
        addrs = namesrv_addrs(self._node.config)
        if addrs and self._namesrv_addrs:
            self._namesrv_addrs = tuple(addrs)

    def _fetch_after(self, delay_ms: int) -> None:
        clock = self._node.clock
        self._following = clock.call_later(delay_ms, self._fetch, kind="update_namesrv_addr")

    def _fetch(self) -> None:
        if self._address_server is not None:
            self._fetch_after(self._fetch_ms)
            self._address_server.fetch(self._fetched)

    def _fetched(self, addrs: tuple[str, ...]) -> None:
        """Register with the name servers at once; Java does with its next registration."""
        if addrs != self._namesrv_addrs:
            self._namesrv_addrs = addrs
            self.register_all()

    def stop(self) -> None:
        """Register no more; the broker's clock cancels the timers."""
        self._namesrv_addrs = ()
        if self._address_server is not None:
            self._address_server.stop()
            self._address_server = None

    def unregister_all(self) -> Round:
        """Unregister from every name server; each has 3 s to reply."""
        config = self._node.config
        header = UnRegisterBrokerRequestHeader(
            broker_name=config.broker_name,
            broker_addr=client_addr(config),
            cluster_name=config.broker_cluster_name,
            broker_id=config.broker_id,
        )
        answers = []
        for addr in self._addrs(self._namesrv_addrs):
            command = RemotingCommand(RequestCode.UNREGISTER_BROKER, ext_fields=header.encode())
            answers.append(self._outbound().ask(addr, command, UNREGISTER_TIMEOUT_MS))
        return all_of(answers)

    def _schedule(self, delay_ms: int, *, outside: bool) -> None:
        def tick() -> None:
            self._schedule(self._period_ms(), outside=outside)
            addrs = [addr for addr in self._namesrv_addrs if (addr in self._outside) is outside]
            if self._node.config.force_register:
                self._register(addrs, self._everything())
            else:
                self._register_if_changed(addrs)

        self._node.clock.call_later(
            delay_ms,
            tick,
            kind="register_broker",
            outside=outside,
            routine=notes_nothing if is_regular(self._period_ms()) else None,
        )

    def _period_ms(self) -> int:
        period_ms = self._node.config.register_name_server_period
        return max(MIN_PERIOD_MS, min(period_ms, MAX_PERIOD_MS))

    # -- registering --------------------------------------------------------------------------

    def register_all(self, *, check_order: bool = True, oneway: bool = False) -> Round:
        """Register everything with every name server."""
        return self._register(
            self._namesrv_addrs, self._everything(), check_order=check_order, oneway=oneway
        )

    def register_soon(self) -> None:
        """Register everything, one-way, after the current request.

        One request may create thousands of topics, and Java registers all topics after each.
        """
        if not self._soon:
            self._soon = True
            self._outbound().soon(self._register_now)

    def _register_now(self) -> None:
        self._soon = False
        self.register_all(check_order=False, oneway=True)

    def register_topic(self, config: TopicConfig) -> Round:
        """Register one new or changed topic with every name server.

        Source: broker/BrokerController.java#registerIncrementBrokerData (4.9.7)
        """
        return self.register_topics((config,))

    def register_topics(self, configs: Iterable[TopicConfig]) -> Round:
        """Register several new or changed topics with every name server."""
        wrapper = TopicConfigSerializeWrapper(
            topic_config_table={config.topic_name or "": config for config in configs},
            data_version=self._topics.data_version,
        )
        return self._register(self._namesrv_addrs, self._body(self._masked(wrapper)))

    def _register(
        self,
        addrs: Iterable[str],
        body: bytes,
        *,
        check_order: bool = True,
        oneway: bool = False,
    ) -> Round:
        addrs = self._addrs(addrs)
        if not addrs:
            return all_of(())
        config, outbound = self._node.config, self._outbound()
        fields = RegisterBrokerRequestHeader(
            broker_name=config.broker_name,
            broker_addr=client_addr(config),
            cluster_name=config.broker_cluster_name,
            ha_server_addr=ha_addr(config),
            broker_id=config.broker_id,
            compressed=config.compressed_register,
            body_crc32=crc32(body),
        ).encode()
        if config.enable_acting_master is not None:  # in no header of 4.9.7
            acts = config.has_acting_master
            fields["enableActingMaster"] = text_of(config.enable_acting_master or acts)
            if acts:
                fields["heartbeatTimeoutMillis"] = str(config.broker_not_active_timeout_millis)
        answers: list[Round] = []
        first = True

        def answered(answer: Round, response: RemotingCommand | None) -> None:
            nonlocal first
            self._note_outside()
            if response is not None and response.code == ResponseCode.SUCCESS and first:
                first = False  # Java looks at the first result only
                self._take(response, check_order)
            answer.resolve(None)

        for addr in addrs:
            command = RemotingCommand(
                RequestCode.REGISTER_BROKER, ext_fields=dict(fields), body=body
            )
            if oneway:
                outbound.invoke_oneway(addr, command)
            else:
                answers.append(Later())
                on_answer = partial(answered, answers[-1])
                outbound.invoke(addr, command, config.register_broker_timeout_mills, on_answer)
        return all_of(answers)

    def _register_if_changed(self, addrs: list[str]) -> None:
        """With forceRegister=false: ask first, and register if one name server is behind.

        Source: broker/out/BrokerOuterAPI.java#needRegister (4.9.7)
        """
        config = self._node.config
        fields = QueryDataVersionRequestHeader(
            broker_name=config.broker_name,
            broker_addr=client_addr(config),
            cluster_name=config.broker_cluster_name,
            broker_id=config.broker_id,
        ).encode()
        version = self._topics.data_version
        registered = False

        def answered(response: RemotingCommand | None) -> None:
            nonlocal registered
            if registered or not _is_behind(response, version):
                return
            registered = True
            self._register(addrs, self._everything())

        for addr in self._addrs(addrs):
            self._outbound().invoke(
                addr,
                RemotingCommand(
                    RequestCode.QUERY_DATA_VERSION, ext_fields=dict(fields), body=version.encode()
                ),
                config.register_broker_timeout_mills,
                answered,
            )

    # -- inside -------------------------------------------------------------------------------

    def send_to_all(self, command: RemotingCommand) -> None:
        """Send a request to every name server, one-way."""
        for addr in self._addrs(self._namesrv_addrs):
            self._outbound().invoke_oneway(
                addr,
                RemotingCommand(
                    command.code, ext_fields=dict(command.ext_fields), body=command.body
                ),
            )

    def _addrs(self, addrs: Iterable[str]) -> list[str]:
        """Return the name servers to which no fault silences the broker; none if `isolated`."""
        if self.isolated:
            return []
        if not self._silences:
            return list(addrs)
        return [addr for addr in addrs if not self._silenced(addr)]

    def _silenced(self, addr: str) -> bool:
        node, faults = self._node.name, self._node.faults
        placed = faults.choose(SILENCE, Scope(node=node, peer=addr))
        if placed is not None:
            placed.hit(node, f"registration with {addr}")
        return placed is not None

    def _everything(self) -> bytes:
        """Return the body with all topics; the cached JSON of the topics is used if possible."""
        topics = self._topics
        if self._is_read_write and not self._node.config.compressed_register:
            return register_broker_json(topics.encoded())
        return self._body(self._masked(topics.wrapper()))

    def _body(self, wrapper: TopicConfigSerializeWrapper) -> bytes:
        """Return the body for these topics; the last one is cached, as most are equal."""
        compressed = self._node.config.compressed_register
        if self._last_body is None or self._last_body[:2] != (wrapper, compressed):
            body = RegisterBrokerBody(topic_config_serialize_wrapper=wrapper)
            self._last_body = wrapper, compressed, body.encode(compressed=compressed)
        return self._last_body[2]

    @property
    def _is_read_write(self) -> bool:
        return self._node.config.broker_permission & PermName.READ_WRITE == PermName.READ_WRITE

    def _masked(self, wrapper: TopicConfigSerializeWrapper) -> TopicConfigSerializeWrapper:
        """Return the topics to register: a broker that is not RW sets its own perm in each."""
        if self._is_read_write:
            return wrapper
        perm = self._node.config.broker_permission
        return TopicConfigSerializeWrapper(
            topic_config_table={
                topic: TopicConfig(
                    topic_name=topic,
                    read_queue_nums=config.read_queue_nums,
                    write_queue_nums=config.write_queue_nums,
                    perm=perm,
                )
                for topic, config in wrapper.topic_config_table.items()
            },
            data_version=wrapper.data_version,
        )

    def _take(self, response: RemotingCommand, check_order: bool) -> None:
        header = RegisterBrokerResponseHeader.decode(response.ext_fields)
        self.master_addr = header.master_addr
        if header.ha_server_addr is not None:
            self.master_ha_addr = header.ha_server_addr
        self._on_master(header.master_addr, header.ha_server_addr)
        if not (check_order and response.body):
            return
        try:
            order_topics = KVTable.decode(response.body).table
        except ProtocolError as error:  # Java logs it; the broker is registered nevertheless
            text = f"a name server's order topics cannot be read: {error}"
            self._node.journal.add(Warned(node=self._node.name, text=text))
        else:
            self._topics.update_order_topics(order_topics)

    def _note_outside(self) -> None:
        """Begin to register in real time when the first name server outside is found."""
        first = not self._outside
        for addr in self._namesrv_addrs:
            session = self._outbound().session(addr)
            if session is not None and session.outside:
                self._outside.add(addr)
        if first and self._outside:
            self._schedule(FIRST_PERIODIC_MS, outside=True)


def _is_behind(response: RemotingCommand | None, version: DataVersion) -> bool:
    if response is None:
        return True
    if response.code != ResponseCode.SUCCESS:
        return False
    if response.ext_fields.get("changed") != "false":
        return True
    try:
        return bool(response.body) and DataVersion.decode(response.body) != version
    except ProtocolError:
        return True
