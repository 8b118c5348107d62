"""A name server of RocketMQ 5: what it does otherwise than one of 4.9.7.

Source: namesrv/NamesrvController.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from fakemq.dispatch.answers import Refused
from fakemq.dispatch.dispatcher import Dispatcher, VersionedDispatcher
from fakemq.dispatch.registry import Handlers
from fakemq.namesrv.namesrv import NameServer
from fakemq.namesrv.route_tables import MASTER_ID
from fakemq.namesrv.v5.registration import BrokerRegistration5
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.limits import MOST_REPLICAS
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.topics import SYNC_BROKER_MEMBER_PREFIX
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.acting import NotifyMinBrokerIdChangeRequestHeader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.clock.slices import Steps
    from fakemq.config.v5.model import NamesrvConfig5
    from fakemq.namesrv.registration import BrokerRegistration
    from fakemq.net.outbound import Outbound
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.route import TopicRouteData

TOO_MANY: Final = "brokers of one name"
"""The kind of the warnings about groups that are not notified."""


class NameServer5(NameServer):
    """A name server of 5.5.0; its config may forbid what 4.9.7 answers always."""

    config: NamesrvConfig5
    handlers: ClassVar[Handlers[Any]] = Handlers(
        "fakemq.namesrv.v5.handlers", earlier=NameServer.handlers
    )
    dispatcher_class: ClassVar[type[Dispatcher[Any]]] = VersionedDispatcher
    registration_class: ClassVar[type[BrokerRegistration]] = BrokerRegistration5
    registration: BrokerRegistration5
    _outbound: Outbound | None = None

    def start(self, addr: str) -> None:
        self.registration.on_lowest_changed = self._lowest_changed
        super().start(addr)

    def stop(self, how: str = "stop") -> None:
        outbound, self._outbound = self._outbound, None
        if outbound is not None:
            outbound.close(f"name server {how}")
        super().stop(how)

    def pause(self) -> None:
        super().pause()
        if self._outbound is not None:
            self._outbound.pause()

    def resume(self) -> None:
        if self._outbound is not None:
            self._outbound.resume()
        super().resume()

    def session_closed(self, session: Session) -> None:
        """Remove the broker of a closed connection, unless this end opened it."""
        if session in self.sessions:
            super().session_closed(session)
        else:
            self.clock.drop_of(session)

    # -- acting masters -----------------------------------------------------------------------

    def complete_route(self, topic: str, route: TopicRouteData) -> Steps[None]:
        """List the lowest slave of each group without a master as its master, if it acts as one.

        The route by which brokers learn of each other stays as it is.
        Source: namesrv/routeinfo/RouteInfoManager.java#pickupTopicRouteData (5.5.0)
        """
        yield from super().complete_route(topic, route)
        if not self.config.support_acting_master or topic.startswith(SYNC_BROKER_MEMBER_PREFIX):
            return
        readonly = set()
        for queues in route.queue_datas:
            if not queues.perm & PermName.WRITE:
                readonly.add(queues.broker_name)
            yield
        for data in route.broker_datas:
            addrs = data.broker_addrs
            has_no_master = addrs and MASTER_ID not in addrs
            if has_no_master and data.enable_acting_master and data.broker_name in readonly:
                acting = addrs.pop(min(addrs))
                data.broker_addrs = {MASTER_ID: acting, **addrs}
            yield

    def _lowest_changed(
        self, addrs: Mapping[int, str], offline_addr: str | None, ha_addr: str | None
    ) -> None:
        """Notify a group that another id is its lowest (905), if notifyMinBrokerIdChanged.

        Those that stay are notified of one that left, those that were there of one that came.
        Differs: of more than `MOST_REPLICAS` none is notified, as each is a connection.
        Source: namesrv/routeinfo/RouteInfoManager.java#notifyMinBrokerIdChanged (5.5.0)
        """
        if not self.config.notify_min_broker_id_changed:
            return
        lowest = min(addrs)
        if len(addrs) > MOST_REPLICAS:
            text = (
                f"not notified that {addrs[lowest]} is their lowest: {len(addrs)} brokers of one"
                f" name; expected {MOST_REPLICAS} at most"
            )
            self.journal.peer_warnings.warn(self.name, TOO_MANY, text)
            return
        if self._outbound is None:
            self._outbound = self.make_outbound()
        fields = NotifyMinBrokerIdChangeRequestHeader(
            min_broker_id=lowest,
            min_broker_addr=addrs[lowest],
            offline_broker_addr=offline_addr,
            ha_broker_addr=ha_addr,
        ).encode()
        for broker_id, addr in list(addrs.items()):
            if offline_addr is not None or len(addrs) == 1 or broker_id != lowest:
                command = RemotingCommand(
                    RequestCode5.NOTIFY_MIN_BROKER_ID_CHANGE, ext_fields=dict(fields)
                )
                self._outbound.invoke_oneway(addr, command)

    # -- what the config forbids --------------------------------------------------------------

    def check_ready(self) -> None:
        """Raise Refused, with needWaitForService, up to waitSecondsForService after the start.

        Source: namesrv/processor/ClientRequestProcessor.java#getRouteInfoByTopic (5.5.0)
        """
        config, up_ms = self.config, self.clock.now_ms() - self.started_ms
        if config.need_wait_for_service and up_ms < config.wait_seconds_for_service * 1000:
            raise Refused(ResponseCode.SYSTEM_ERROR, "name server not ready")

    def check_lists_topics(self, *, every: bool = False) -> None:
        """Raise Refused with enableTopicList=false, for ``every`` topic enableAllTopicList=false.

        Source: namesrv/processor/DefaultRequestProcessor.java#getAllTopicListFromNameserver,
        #getTopicsByCluster, #getUnitTopicList, #getHasUnitSubTopicList,
        #getHasUnitSubUnUnitTopicList (5.5.0)
        """
        config = self.config
        if not (config.enable_all_topic_list if every else config.enable_topic_list):
            raise Refused(ResponseCode.SYSTEM_ERROR, "disable")


handles: Final[Handlers[NameServer5]] = NameServer5.handlers
"""The decorator that registers a handler for name servers of 5.5.0."""

NAME_SERVER: Final = NameServer5
