"""A broker of RocketMQ 5: what it has besides a broker of 4.9.7, and what it does otherwise.

Source: broker/BrokerController.java (5.5.0)
"""

# Over 400 lines: each method is one of `Broker`, with what is done besides or instead.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from fakemq.broker.broker import Broker
from fakemq.broker.sending.puts import DutyPuts
from fakemq.broker.sending.transactions import TransactionalMessageService
from fakemq.broker.tables.persistence import TIMER_METRICS
from fakemq.broker.v5 import pull_consumers, send, topic_changes
from fakemq.broker.v5.attributes import GROUP_ATTRIBUTES, TOPIC_ATTRIBUTES, Attribute
from fakemq.broker.v5.offsets import ForbiddenTopics, OffsetResets, PullOffsets
from fakemq.broker.v5.pop.service import PopService
from fakemq.broker.v5.read_subscriptions import ReadSubscriptions
from fakemq.broker.v5.slave_tables import SlaveTables, TableVersions
from fakemq.broker.v5.table_pages import LastPage
from fakemq.broker.v5.timers.service import TimerMessageService
from fakemq.broker.v5.topic_routes import TopicRouteInfoManager
from fakemq.broker.v5.transactions import TransactionalMessageService5
from fakemq.dispatch.answers import Forbidden, ForbiddenType, Reply
from fakemq.dispatch.dispatcher import Dispatcher, VersionedDispatcher
from fakemq.dispatch.registry import Handlers
from fakemq.errors import ConfigError
from fakemq.events.core import Warned
from fakemq.later import drive
from fakemq.protocol.plain_properties import StoredForm
from fakemq.protocol.properties import CLUSTER
from fakemq.protocol.send_answers import send_answer_fields
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import LMQ_PREFIX, SCHEDULE_TOPIC
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.properties import READ_BUCKETS, encode_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fakemq.broker.acl.access import BrokerDoor
    from fakemq.broker.acl.homes import AclHome
    from fakemq.broker.broker import SendHeader, SendRequest
    from fakemq.broker.image import NodeImage
    from fakemq.broker.popped import OutMessage
    from fakemq.broker.v5.acting.service import ActingMasterService
    from fakemq.broker.v5.auth.checks import AuthControl
    from fakemq.broker.v5.auth.migration import FirstUser
    from fakemq.broker.v5.auth.users import Users
    from fakemq.broker.v5.escape.bridge import EscapeBridge
    from fakemq.broker.v5.escape.reading import Take
    from fakemq.broker.v5.lite.service import LiteService
    from fakemq.broker.v5.replicas.manager import ReplicasManager
    from fakemq.broker.v5.replicas.node import Replication
    from fakemq.clock.slices import Steps
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.answers import Refused
    from fakemq.dispatch.node import NodeContext
    from fakemq.ha.service import HAService
    from fakemq.ha.v5.service import HAService5
    from fakemq.later import Later
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.heartbeat import SubscriptionData
    from fakemq.protocol.bodies.pop import PopCheckPoint
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.protocol.headers.send import SendMessageResponseHeader
    from fakemq.protocol.message import MessageExt
    from fakemq.protocol.plain_properties import PlainProperties
    from fakemq.protocol.send_answers import SendAnswer
    from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.results import LogRecord, PutMessageStatus
    from fakemq.store.store import MessageStore


class Broker5(Broker):
    """A broker of 5.5.0. Each method is one of `Broker`, with what is done besides or instead."""

    config: BrokerConfig5
    transactions: TransactionalMessageService5
    handlers: ClassVar[Handlers[Any]] = Handlers(
        "fakemq.broker.v5.handlers", earlier=Broker.handlers
    )
    dispatcher_class: ClassVar[type[Dispatcher[Any]]] = VersionedDispatcher
    transactions_class: ClassVar[type[TransactionalMessageService]] = TransactionalMessageService5
    topic_attributes: ClassVar[Mapping[str, Attribute]] = TOPIC_ATTRIBUTES
    group_attributes: ClassVar[Mapping[str, Attribute]] = GROUP_ATTRIBUTES
    # 5.3.2 has the same, and no lite topics.
    not_at_vip_port: ClassVar[frozenset[int]] = Broker.not_at_vip_port | {
        *(RequestCode5.PEEK_MESSAGE, RequestCode5.POP_MESSAGE, RequestCode5.POP_LITE_MESSAGE),
        *(RequestCode5.NOTIFICATION, RequestCode5.POLLING_INFO),
    }
    follows_puts: ClassVar[bool] = True
    knows_times: ClassVar[bool] = True

    _lite: LiteService | None = None
    escape: EscapeBridge | None = None
    """How it writes while it acts for its master; None where no slave does."""

    def __init__(self, node: NodeContext[BrokerConfig5], store: MessageStore) -> None:
        self.routes = TopicRouteInfoManager(
            lambda: self.registration.namesrv_addrs, lambda: self.outbound
        )
        super().__init__(node, store)
        store.on_light = self._light_queue_grew
        self.topics.on_changed = self._topics_changed
        config = node.config
        metrics_file = self.persistence.add(
            TIMER_METRICS, _timer_metrics, field="timingCount", pretty=False, late=True
        )
        self.timers = TimerMessageService(
            node,
            config,
            store,
            self.stats,
            put=self.puts.put_message,
            keep=metrics_file.persist,
        )
        metrics_file.connect(self.timers.metrics, self.timers.metrics.clear)
        self.offset_resets = OffsetResets(self.offsets)
        self.pop = PopService(self, self.offset_resets, read=self._read_elsewhere)
        self.versions = TableVersions(self.clock.now_ms())
        self.pull_offsets = PullOffsets()
        self.read_subscriptions = ReadSubscriptions(self.clock, config)
        self.forbidden = ForbiddenTopics()
        self.topic_page, self.group_page = LastPage(), LastPage()
        self.fingerprints: dict[str, int] = {}
        """The fingerprint of each group's last heartbeat; 0 for one of the first form."""
        self.replicas: ReplicasManager | None = None
        """What a controller makes of it; None without one. A change of the key changes nothing."""
        if config.has_controller:
            from fakemq.broker.v5.replicas.manager import ReplicasManager  # few have a controller

            self.replicas = ReplicasManager(node, self)
        self.users_home: Callable[[], AclHome | None] = lambda: None
        """Return where users of a first start are, besides the config; set by the cluster."""
        self.has_rules = False
        """Whether these are a test's, and not those of RocketMQ's own home; set by the cluster."""
        self._first_users: list[FirstUser] = []
        """Each start adds these."""
        self._rules: list[FirstUser] = []
        """The first start adds these."""
        self.auth: AuthControl | None = None
        """The check of requests by auth 2.0, as the config said at the start; None without it."""
        self.users: Users | None = None
        """Users and their rights, of auth 2.0; None for a broker that keeps neither."""
        if config.names_users:
            from fakemq.broker.v5.auth.start import make_users  # few brokers keep users

            self.users = make_users(config, self.persistence)
        self.slave_tables = SlaveTables(self.versions, self.delay, self.pop, self.timers)
        self.acting: ActingMasterService | None = None
        """What it knows of the lowest of its group; None where no slave acts as master."""
        self.init_max_offset = 0
        """Where its log ended at the start."""
        if config.enable_slave_acting_master:
            from fakemq.broker.v5.acting.service import ActingMasterService  # few brokers have it

            self.acting = ActingMasterService(node, self)

    @property
    def lite(self) -> LiteService:
        """Its lite topics."""
        if self._lite is None:
            from fakemq.broker.v5.lite.service import LiteService  # few brokers have any

            self._lite = LiteService(self)
        return self._lite

    # -- life ---------------------------------------------------------------------------------

    def start(self, namesrv_addrs: Sequence[str] = ()) -> None:
        if self.replicas is not None:
            self.replicas.fence()
        if self.acting is not None:
            self.acting.hold_back()
        super().start(namesrv_addrs)

    @property
    def guard(self) -> BrokerDoor | None:
        return self.acl if self.auth is None else self.auth

    def _obey_acl_enable(self) -> None:
        super()._obey_acl_enable()
        if self.config.acl_enable and not self.reference.reads_acl_enable:
            name = self.reference.name
            text = f"aclEnable does nothing in RocketMQ {name}: see docs/auth.md"
            self.node.journal.add(Warned(node=self.node.name, text=text))
        config, was_checked = self.config, self.auth is not None
        checks = config.authentication_enabled or config.authorization_enabled
        if checks and config.acl_enable and self.reference.reads_acl_enable:
            raise ConfigError(
                f"{self.node.name}: aclEnable=true (or the option acl) and users of auth 2.0"
                " exclude each other here: leave one of them out"
            )
        if not checks:
            self.auth = None
        elif self.auth is None:
            from fakemq.broker.v5.auth.checks import AuthControl  # few brokers check
            from fakemq.broker.v5.auth.users import Users

            self.auth = AuthControl(self.node, self.config, self.users or Users())
        else:
            self.auth.begin()  # connections that stay are checked by it
        for missing in () if self.auth is None else self.auth.missing():
            self.node.journal.add(Warned(node=self.node.name, text=missing))
        if self.users is not None:
            from fakemq.broker.v5.auth.start import first_users, own_keys, users_of_home

            self._first_users = first_users(self.config, self.users)
            of_home = users_of_home(self.users_home())
            if self.has_rules:
                self._rules = of_home
            else:
                self._first_users += of_home
            self.outbound.keys = own_keys(self.config, self._rules)
        if was_checked != (self.auth is not None):
            self._close_sessions("auth 2.0 was switched on or off")

    def find_role(self) -> None:
        for part in (self.replicas, self.acting):
            if part is not None:
                part.start()

    def stop(self, on_stopped: Callable[[], None] = lambda: None) -> None:
        self._stop_groups()
        super().stop(on_stopped)

    def _end(self, how: str, lose_unsynced: bool = False) -> None:
        self._stop_groups()
        super()._end(how, lose_unsynced)

    def _stop_groups(self) -> None:
        for part in (self.replicas, self.acting):
            if part is not None:
                part.stop()

    def start_replication(self) -> None:
        if self.replicas is None:
            super().start_replication()
        else:
            self.replication()  # whom it follows, the controller says

    def _on_master(self, addr: str | None, ha_addr: str | None) -> None:
        """Pass over the master of a late answer: the controller has named another since."""
        named = "" if self.replicas is None else self.replicas.master_addr
        if not (named and addr and addr != named):
            super()._on_master(addr, ha_addr)

    @property
    def switching(self) -> Replication:
        """Its replication, which changes with its role under a controller."""
        return cast("Replication", self.replication())

    @property
    def counting(self) -> HAService5:
        """Its replication, as that of 5.5.0."""
        return cast("HAService5", self.replication())

    def _start_parts(self) -> None:
        self._add_first_users()
        self.init_max_offset = self.store.max_phy_offset
        self.versions.start(self.clock.now_ms())
        if self.escape is not None:
            self.escape.forget()
        super()._start_parts()

    def _add_first_users(self) -> None:
        if self.users is not None:
            from fakemq.broker.v5.auth.start import begin

            begin(self.users, self._first_users, self._rules)

    def begin_duties(self) -> None:
        super().begin_duties()
        self.timers.start()
        self.pop.start()
        self._find_lite_topics()

    def end_duties(self, *, persist: bool) -> None:
        self._end_lite()
        self.pop.stop()
        if persist:
            self.pop.persist()
        self.timers.stop(persist=persist)
        super().end_duties(persist=persist)

    def _reset_parts(self) -> None:
        if self.replicas is not None:
            self.replicas.forget()
        super()._reset_parts()
        if self.users is not None:
            self.users.reset()
            self._add_first_users()
        self.versions.start(self.clock.now_ms())
        self._forget_requests()
        self.timers.reset(running=self.running)
        self.pop.reset(running=self.running)
        self._end_lite()
        if self.acting is not None:
            self.acting.reset(running=self.running)

    def _restore_parts(self, image: NodeImage) -> None:
        super()._restore_parts(image)
        self._forget_requests()
        self.timers.stop(persist=False)
        self.timers.start()
        self.pop.start()
        self._end_lite()
        self._find_lite_topics()

    def takes_lite(self, name: str) -> bool:
        """Return whether a request that names this lite topic is about it.

        As for Java, a blank name is none. 5.3.2 does not read the field.
        """
        return self.reference.has_lite_topics and not name.isspace()

    def _find_lite_topics(self) -> None:
        """Let lite topics of the store expire."""
        has_any = self.config.enable_lmq and self.reference.has_lite_topics
        if has_any and self.store.queues.light_count:
            from fakemq.protocol.v5.lite import is_lite_queue

            if any(map(is_lite_queue, self.store.queues.topics())):
                self.lite.start()

    def _light_queue_grew(self, queue: str) -> None:
        """Let a lite topic expire at a slave, too, as Java's slaves do by themselves."""
        if self.reference.has_lite_topics:
            from fakemq.protocol.v5.lite import is_lite_queue

            if is_lite_queue(queue):
                self.lite.expiry.watch(queue)

    def _topics_changed(self) -> None:
        """Look which lite topics have expired: their parents may say another time now."""
        if self._lite is not None and self.running:
            self._lite.expiry.look_in(0)

    def _end_lite(self) -> None:
        if self._lite is not None:
            self._lite.stop()

    def _forget_requests(self) -> None:
        """Forget what is only in memory, and what requests have brought there."""
        self.offset_resets.clear()
        self.pull_offsets.clear()
        self.read_subscriptions.clear()
        self.forbidden.clear()
        self.fingerprints.clear()
        self.routes.forget()
        if self.escape is not None:
            self.escape.forget()

    def follow_config(self) -> None:
        super().follow_config()
        self.timers.follow_config()

    def settle(self) -> None:
        self.transactions.write_ended()
        self.timers.settle()

    def _make_puts(self) -> DutyPuts:
        if not self.config.enable_slave_acting_master:
            return super()._make_puts()
        from fakemq.broker.v5.escape.bridge import EscapeBridge  # few clusters have acting masters

        self.escape = bridge = EscapeBridge(
            self.node,
            self.config,
            self.store.role,
            self.routes,
            lambda: self.outbound,
            put=self.put,
        )
        return DutyPuts(
            bridge.put_message, bridge.async_put_message, bridge.put_message_to_specific_queue
        )

    def _read_elsewhere(self, ck: PopCheckPoint, take: Take) -> Later[None]:
        from fakemq.broker.v5.escape.reading import EscapeReads  # few clusters have such

        reads = EscapeReads(self.node, self.config, self.routes, lambda: self.outbound)
        return drive(reads.read(ck, take))

    def _make_replication(self) -> HAService:
        if self.replicas is not None:
            from fakemq.ha.autoswitch.service import make_service  # few brokers have a controller

            return make_service(self, self.slave_tables)
        acting = self.acting
        if acting is not None:
            from fakemq.ha.v5.acting import ActingHAService  # few brokers act as masters

            return ActingHAService(self, self.slave_tables, lambda: acting.alive_replicas)
        from fakemq.ha.v5.service import HAService5  # most brokers have no slave

        return HAService5(self, self.slave_tables)

    # -- connections --------------------------------------------------------------------------

    def _forget_session(self, session: Session) -> None:
        super()._forget_session(session)
        self.pop.session_closed(session)
        if self._lite is not None:
            self._lite.session_closed(session)

    def _forget_clients(self) -> None:
        super()._forget_clients()
        self.pop.forget_closed()
        if self._lite is not None:
            self._lite.forget_closed()

    # -- messages -----------------------------------------------------------------------------

    def arrived(self, result: PutMessageResult) -> None:
        appended = result.append_result
        if appended is None or result.reached is not None or self.holds.by_queue:
            super().arrived(result)
        elif appended.topic == self.pop.log.topic:
            self.pop.revive.arrived(appended.queue_id)
        elif appended.topic == SCHEDULE_TOPIC or self.pop.has_held or result.light:
            super().arrived(result)

    def _notify(self, records: Sequence[LogRecord], light: Sequence[LogRecord]) -> None:
        # Those of a light queue are confirmed after their put, or sent to it.
        in_light = records[0].topic.startswith(LMQ_PREFIX)
        if not ((light or in_light) and self.reference.has_lite_topics):
            super()._notify(records, light)
            self.pop.arrived(records)
            return
        from fakemq.protocol.v5.lite import is_lite_queue

        # Lite topics have subscribers; no pull is woken for them.
        if not is_lite_queue(records[0].topic):
            super()._notify(records, [one for one in light if not is_lite_queue(one.topic)])
            self.pop.arrived(records)
        for one in (*records, *light):
            if is_lite_queue(one.topic):
                self.lite.arrived(one.topic)

    def check_sent(self, request: SendRequest) -> None:
        send.check_sent(self, request)

    def check_batch(self, request: SendRequest) -> None:
        send.check_batch(self.config, request)

    def plain_properties(self, header: SendHeader, form: StoredForm) -> PlainProperties | None:
        # What the store wants of a message without a unique key is made with that key.
        if header.sys_flag & MessageSysFlag.INNER_BATCH:
            return None
        plain = super().plain_properties(header, form)
        return plain if plain is not None and plain[2] else None

    def _stored_form(self) -> StoredForm:
        added = dict[str, str]()
        send.mark(self, added)
        added[CLUSTER] = self.config.broker_cluster_name
        return StoredForm(added, "", encode_properties, buckets=READ_BUCKETS, ends=True)

    def prepare_send(self, message: InnerMessage, config: TopicConfig) -> None:
        send.prepare(self, message, config)

    def prepare_reply(self, message: InnerMessage) -> None:
        send.prepare_reply(self, message)

    def prepare_batch(self, message: InnerMessage) -> PutMessageStatus | None:
        status = send.prepare_batch(self.store, message)
        message.properties_string = ""  # its members keep their own, and no others
        return status

    def send_reply(
        self, code: int, answered: SendAnswer, request: SendRequest, message: InnerMessage
    ) -> Reply[SendMessageResponseHeader]:
        plain = message.plain
        if plain is not None:
            msg_id, queue_id, queue_offset, _, marks = answered
            answered = (msg_id, queue_id, queue_offset, plain[2], marks)
            return Reply(None, b"", code, None, None, answered)
        fields = send.answer_fields(self, request.command.code, message)
        return Reply(code=code, ext_fields=send_answer_fields(answered) | fields)

    def refusal(self, status: PutMessageStatus) -> Refused:
        return send.refusal(self.config, status)

    # -- topics, groups and pulls -------------------------------------------------------------

    def topic_error(self, topic: str) -> str | None:
        return topic_changes.topic_error(topic)

    def group_error(self, group: str) -> str | None:
        return topic_changes.group_error(group)

    def find_read(self, group: str, topic: str) -> SubscriptionData | None:
        return self.read_subscriptions.find(group, topic)

    def refuses_pulls(self) -> bool:
        role = self.role
        return role.is_slave and not (role.fenced or self.config.slave_read_enable)

    def check_pull(self, group: str, topic: str) -> None:
        if self.forbidden.is_forbidden(group, topic):
            raise Forbidden(
                ForbiddenType.SUBSCRIPTION_FORBIDDEN,
                f"the consumer group[{group}] is forbidden for topic[{topic}]",
            )

    def check_puller(self, group: str, session: Session) -> None:
        pull_consumers.check_puller(self, group, session)

    # -- what waits ---------------------------------------------------------------------------

    def timer_messages(self) -> Steps[list[tuple[MessageExt, int]]]:
        return self.timers.waiting()

    def popped(self, group: str | None) -> Iterator[OutMessage]:
        yield from self.pop.popped(group)
        if self._lite is not None:
            yield from self._lite.order.all_out(group)

    def out_in_order(self, topic: str, group: str, queue_id: int) -> Iterable[tuple[int, int, int]]:
        if self._lite is not None and topic.startswith(LMQ_PREFIX):
            tables = self._lite.order, self.pop.order
            return [one for table in tables for one in table.out(topic, group, queue_id)]
        return self.pop.order.out(topic, group, queue_id)

    def has_lite_subscriber(self, group: str, topic: str, queue: str) -> bool:
        lite = self._lite
        return lite is not None and group in lite.subscriptions.subscribers(topic, queue)


def _timer_metrics() -> type[TimerMetricsSerializeWrapper]:
    from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper

    return TimerMetricsSerializeWrapper


handles: Final[Handlers[Broker5]] = Broker5.handlers
"""The decorator that registers a handler for brokers of 5.5.0."""

BROKER: Final = Broker5
