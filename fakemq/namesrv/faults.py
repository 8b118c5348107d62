"""Effects of faults on the answers of a name server: it shows changed tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fakemq.clock.slices import Steps, finished
from fakemq.dispatch.answers import Reply
from fakemq.dispatch.dispatcher import response
from fakemq.dispatch.faults import Intercepted, RequestFault, defer
from fakemq.faults.points import VIEW
from fakemq.namesrv.namesrv import NameServer
from fakemq.namesrv.route_query import RouteQuery
from fakemq.namesrv.route_tables import RouteTables
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY
from fakemq.protocol.headers.namesrv import (
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
)

if TYPE_CHECKING:
    from fakemq.protocol.bodies.route import ClusterInfo, TopicList, TopicRouteData

T = TypeVar("T")


class RouteView:
    """The effect of a fault on the tables that are shown."""

    def show(self, tables: RouteTables) -> RouteTables:
        """Return the tables to show; ``tables`` is a copy that may be changed."""
        raise NotImplementedError


class Stale(RouteView):
    """Shows the tables of an earlier moment."""

    def __init__(self, tables: RouteTables) -> None:
        self._tables = copied(tables)

    def show(self, tables: RouteTables) -> RouteTables:
        return copied(self._tables)


class HiddenBroker(RouteView):
    """Hides a broker: one node, or all nodes of a broker name."""

    def __init__(self, broker_name: str, broker_id: int | None) -> None:
        self._broker_name, self._broker_id = broker_name, broker_id

    def show(self, tables: RouteTables) -> RouteTables:
        name = self._broker_name
        data = tables.broker_addr_table.get(name)
        if data is not None and self._broker_id is not None:
            data.broker_addrs.pop(self._broker_id, None)
        if data is None or self._broker_id is None or not data.broker_addrs:
            tables.broker_addr_table.pop(name, None)
            for names in tables.cluster_addr_table.values():
                names.pop(name, None)
            for topic, queues in list(tables.topic_queue_table.items()):
                queues.pop(name, None)
                if not queues:
                    del tables.topic_queue_table[topic]
        return tables


class OtherQueues(RouteView):
    """Shows another number of queues of a topic, at one broker or all; with 0 hides the topic."""

    def __init__(self, topic: str, queues: int, broker_name: str | None) -> None:
        self._topic, self._queues, self._broker_name = topic, queues, broker_name

    def show(self, tables: RouteTables) -> RouteTables:
        by_broker = tables.topic_queue_table.get(self._topic, {})
        for name, data in list(by_broker.items()):
            if self._broker_name not in (None, name):
                continue
            if self._queues:
                data.read_queue_nums = data.write_queue_nums = self._queues
            else:
                del by_broker[name]
        if not by_broker:
            tables.topic_queue_table.pop(self._topic, None)
        return tables


class OtherAddress(RouteView):
    """Shows another address of a broker."""

    def __init__(self, broker_name: str, broker_id: int, addr: str) -> None:
        self._broker_name, self._broker_id, self._addr = broker_name, broker_id, addr

    def show(self, tables: RouteTables) -> RouteTables:
        data = tables.broker_addr_table.get(self._broker_name)
        if data is not None and self._broker_id in data.broker_addrs:
            data.broker_addrs[self._broker_id] = self._addr
        return tables


def copied(tables: RouteTables) -> RouteTables:
    """Return a copy of the tables from which routes are made."""
    copy = RouteTables()
    for topic, queues in tables.topic_queue_table.items():
        copy.topic_queue_table[topic] = {
            name: msgspec.structs.replace(data) for name, data in queues.items()
        }
    for name, broker in tables.broker_addr_table.items():
        addrs = dict(broker.broker_addrs)
        copy.broker_addr_table[name] = msgspec.structs.replace(broker, broker_addrs=addrs)
    for cluster, names in tables.cluster_addr_table.items():
        copy.cluster_addr_table[cluster] = dict(names)
    copy.filter_server_table.update(tables.filter_server_table)
    return copy


class ViewedRoutes(RouteQuery):
    """Return the routes of a name server, changed by all its faults, one after the other."""

    def __init__(self, node: NameServer) -> None:
        super().__init__(node.tables)
        self._node = node

    def _see(self, what: str, ask: Callable[[RouteQuery], T]) -> T:
        node, tables = self._node, self._tables
        answer = ask(RouteQuery(tables))
        for placed in list(node.faults.at(VIEW)):
            if placed.scope.node not in (None, node.name):
                continue
            tables = placed.action.show(copied(tables))
            seen = ask(RouteQuery(tables))
            if seen != answer:
                # The fault is the cause of the request's answer, too.
                node.journal.continue_because(placed.hit(node.name, what))
            answer = seen
        return answer

    def topic_route(self, topic: str) -> TopicRouteData | None:
        return self._see(f"the route of {topic}", lambda routes: routes.topic_route(topic))

    def topic_route_steps(self, topic: str) -> Steps[TopicRouteData | None]:
        # At once, as lists: see `_see_list`.
        yield
        return self.topic_route(topic)

    def cluster_info(self) -> Steps[ClusterInfo]:
        yield
        return self._see("the cluster", lambda routes: finished(routes.cluster_info()))

    def all_topics(self) -> Steps[TopicList]:
        return self._see_list("all topics", lambda routes: routes.all_topics())

    def topics_by_cluster(self, cluster: str) -> Steps[TopicList]:
        return self._see_list(
            f"the topics of {cluster}", lambda routes: routes.topics_by_cluster(cluster)
        )

    def system_topics(self) -> Steps[TopicList]:
        return self._see_list("system topics", lambda routes: routes.system_topics())

    def unit_topics(self) -> Steps[TopicList]:
        return self._see_list("unit topics", lambda routes: routes.unit_topics())

    def has_unit_sub_topics(self) -> Steps[TopicList]:
        return self._see_list("unit topics", lambda routes: routes.has_unit_sub_topics())

    def has_unit_sub_un_unit_topics(self) -> Steps[TopicList]:
        return self._see_list("unit topics", lambda routes: routes.has_unit_sub_un_unit_topics())

    def _see_list(
        self, what: str, ask: Callable[[RouteQuery], Steps[TopicList]]
    ) -> Steps[TopicList]:
        # At once: a fault that changes the list becomes the cause of what the handler does next.
        seen = self._see(what, lambda routes: finished(ask(routes)))

        def steps() -> Steps[TopicList]:
            yield
            return seen

        return steps()


class RouteLag(RequestFault):
    """Answers a registration at once and applies it ``ms`` later, by the cluster's clock."""

    def __init__(self, ms: int) -> None:
        self._ms = ms

    def apply(self, intercepted: Intercepted) -> None:
        session, command = intercepted.session, intercepted.command
        if not command.flag & FLAG_ONEWAY:
            reply = _taken_for_granted(intercepted)
            session.send(response(command, reply), reply.body, answers=command.code)
            command.flag |= FLAG_ONEWAY  # it has its answer
        kept = defer(intercepted, answered=True)
        intercepted.node.clock.call_later(self._ms, kept, kind="late_by_fault")


def _taken_for_granted(intercepted: Intercepted) -> Reply[RegisterBrokerResponseHeader]:
    node, command = intercepted.node, intercepted.command
    if command.code != RequestCode.REGISTER_BROKER or not isinstance(node, NameServer):
        return Reply()
    header = RegisterBrokerRequestHeader.decode(command.ext_fields)
    result = node.registration.master_for(header.broker_name, header.broker_id)
    return Reply(
        RegisterBrokerResponseHeader(
            ha_server_addr=result.ha_server_addr, master_addr=result.master_addr
        )
    )


VIEW.intercept = ViewedRoutes
