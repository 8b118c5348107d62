"""One client: its identity, its view of the cluster, and its heartbeats to all brokers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from fakemq.client.addresses import vip_addr
from fakemq.client.arguments import require_fit, require_queue
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.name_servers import NameServers
from fakemq.client.operation import Operation, Reading, ask, ask_ok
from fakemq.client.options import ClientConfig
from fakemq.client.routes import MASTER_ID, Route, RouteTable
from fakemq.clock.machine_time import MachineTime, TimeSource
from fakemq.protocol.bodies.heartbeat import (
    ConsumerData,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    ProducerData,
)
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.route import ClusterInfo, TopicList, TopicRouteData
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.header import Header
from fakemq.protocol.headers.client import (
    GetConsumerListByGroupRequestHeader,
    UnregisterClientRequestHeader,
)
from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader
from fakemq.protocol.message_id import UniqueIdGenerator
from fakemq.protocol.topics import FAQ
from fakemq.randomness import Randomness

if TYPE_CHECKING:
    from fakemq.client.producing.check_listener import CheckListener
    from fakemq.client.tasks import Task
    from fakemq.protocol.message import MessageExt

_log = logging.getLogger("fakemq.client")

NOT_FOUND_TOPIC_EXCEPTION = 10005  # client/common/ClientErrorCode.java (4.9.7)

MEMBERS_MAX = 65_536
"""The most members of a group. A list with more would hold up its readers; Java has no limit."""

Handler = Callable[[str, RemotingCommand], RemotingCommand | None]
"""Takes a broker's address and its request; returns the answer for the same connection. This is the
response, a one-way request of the client, or None."""

TaskHandler: TypeAlias = "Callable[[str, RemotingCommand], Task[RemotingCommand | None]]"
"""As a `Handler`, for an answer that takes time: its task returns it."""


class ClientInstance:
    """The state that producers, consumers and admin tools of one program share; sans-IO.

    ``handlers`` answer requests from brokers, by request code. ``time``, ``ip`` and ``pid`` are
    parts of ids; they are arguments so that a test can fix them. Unique ids count the time since
    the month began ``utc_offset_ms`` east of UTC: for a program that is its own time zone.

    Source: client/impl/factory/MQClientInstance.java (4.9.7)
    """

    def __init__(
        self,
        namesrv_addr: str,
        config: ClientConfig | None = None,
        *,
        time: TimeSource | None = None,
        ip: str = "127.0.0.1",
        pid: int = 0,
        utc_offset_ms: int = 0,
    ) -> None:
        self.config = config = config or ClientConfig()
        self.time = time or MachineTime()
        self.random = Randomness(config.seed).stream("client")
        addrs = [addr.strip() for addr in namesrv_addr.split(";") if addr.strip()]
        self.name_servers = NameServers(addrs, self.random)
        self.client_id = config.client_id or f"{ip}@{pid}#{self.random.getrandbits(48)}"
        self.unique_ids = UniqueIdGenerator(
            ip, pid, self.random.getrandbits(32), utc_offset_ms=utc_offset_ms
        )
        self.routes = RouteTable()
        self.producer_groups: dict[str, None] = {}
        self.consumers: dict[str, ConsumerData] = {}
        self.broker_versions: dict[str, int] = {}
        """Each address's answer to a heartbeat, as an MQVersion value."""
        self.handlers: dict[int, Handler] = {}
        self.task_handlers: dict[int, TaskHandler] = {}
        """By request code: they are asked before `handlers`."""
        self.check_listeners: dict[str, CheckListener] = {}
        """By producer group."""
        self.awaited_replies: dict[str, Callable[[MessageExt], None]] = {}
        """By correlation id: takes the reply to a request message."""

    # -- requests -----------------------------------------------------------------------------

    def command(
        self, code: int, header: Header | None = None, body: bytes = b""
    ) -> RemotingCommand:
        """Return a request in this client's language, version and serialisation.

        Raise ConfigError for a number of the header that does not fit its field.
        """
        if header is not None:
            require_fit(header)
        return RemotingCommand(
            code,
            ext_fields=header.encode() if header is not None else {},
            body=body,
            language=self.config.language,
            version=self.config.version,
            serialize_type=self.config.serialize_type,
        )

    def invoke(
        self, addr: str, command: RemotingCommand, timeout_ms: int | None = None
    ) -> Operation[RemotingCommand]:
        """Send any request to any address; return its response with any code."""
        return ask(addr, command, self.config.api_timeout_ms if timeout_ms is None else timeout_ms)

    def invoke_ok(self, addr: str, command: RemotingCommand) -> Operation[RemotingCommand]:
        """Send a request to a broker, see `asked_addr`; raise MQBrokerError unless it succeeds."""
        return ask_ok(self.asked_addr(addr), command, self.config.api_timeout_ms)

    def asked_addr(self, addr: str) -> str:
        """Return where a broker is asked: with ``vip_channel`` at its fast port.

        Pulls, heartbeats and the ends of transactions go to its usual port nevertheless.

        Source: client/impl/MQClientAPIImpl.java, common/MixAll.java#brokerVIPChannel (4.9.7)
        """
        return vip_addr(addr) if self.config.vip_channel else addr

    def ask_namesrv(self, command: RemotingCommand) -> Operation[RemotingCommand]:
        """Send a request to a name server that answers."""
        return self.name_servers.ask(command, self.config.api_timeout_ms)

    def handle(self, addr: str, request: RemotingCommand) -> RemotingCommand | None:
        """Return the answer to a broker's request, as a `Handler` does.

        A handler that fails is logged and answered with SYSTEM_ERROR, as in Java: its error does
        not end the operation that happened to read the request.

        Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand (4.9.7)
        """
        handler = self.handlers.get(request.code)
        if handler is not None:
            try:
                response: RemotingCommand | None = handler(addr, request)
            except Exception as error:
                _log.exception("the handler of %s from %s failed", code_name(request.code), addr)
                remark = f"{type(error).__name__}: {error}"
                response = RemotingCommand(ResponseCode.SYSTEM_ERROR, remark=remark)
        else:
            remark = f" request type {request.code} not supported"
            response = RemotingCommand(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark)
        return self.completed(request, response)

    def completed(
        self, request: RemotingCommand, response: RemotingCommand | None
    ) -> RemotingCommand | None:
        """Return what is sent for a handler's answer: a response gets the request's opaque.

        Return None if nothing is sent: a one-way request has no response.
        """
        if response is not None and response.is_oneway:
            return response
        if response is None or request.is_oneway:
            return None
        response.opaque = request.opaque
        response.flag |= FLAG_RESPONSE
        response.language = self.config.language
        response.version = self.config.version
        response.serialize_type = request.serialize_type
        return response

    # -- routes -------------------------------------------------------------------------------

    def fetch_route(self, topic: str) -> Operation[TopicRouteData | None]:
        """Ask a name server for the topic's present route; return None if it has none."""
        header = GetRouteInfoRequestHeader(topic=topic)
        command = self.command(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        response = yield from self.ask_namesrv(command)
        if response.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        with self._read_ok(response):
            return TopicRouteData.decode(response.body)

    def _read_ok(self, response: RemotingCommand) -> Reading:
        """Return the block in which to read a name server's response.

        Raise MQBrokerError unless it is a SUCCESS.
        """
        addr = self.name_servers.chosen or ""
        if response.code != ResponseCode.SUCCESS:
            # Every name server knows the requests that this client sends it.
            unknown = response.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
            detail = f": {addr} is a broker, give the name server's address" if unknown else ""
            raise MQBrokerError(response.code, response.remark, addr, detail)
        return Reading(addr)

    def update_route(self, topic: str) -> Operation[Route | None]:
        """Ask for the topic's route and store it; keep the known route if there is no new one."""
        data = yield from self.fetch_route(topic)
        return None if data is None else self._put(topic, data)

    def _put(self, topic: str, data: TopicRouteData) -> Route:
        with Reading(self.name_servers.chosen):
            return self.routes.put(topic, data, self.time.elapsed_ms())

    def known_route(self, topic: str, *, to_send: bool = False) -> Operation[Route | None]:
        """Return the topic's route; ask for it if it is unknown, too old, or of no use ``to_send``.

        An old route is still used if no name server answers, or none has the route any more.
        Differs: Java asks for all its routes every 30 s, whether it uses them or not.
        """
        route = self.routes.routes.get(topic)
        if route is None:
            return (yield from self.update_route(topic))
        age_ms = self.time.elapsed_ms() - route.fetched_at_ms
        if age_ms < self.config.route_interval_ms and (route.publish_queues or not to_send):
            return route
        try:
            return (yield from self.update_route(topic)) or route
        except RemotingError:
            return route

    def route_to_send(
        self,
        topic: str,
        *,
        create_topic_key: str | None = None,
        default_topic_queue_nums: int | None = None,
    ) -> Operation[Route]:
        """Return a route with queues to send to; the create-topic key's if the topic has none.

        The key, and the most queues of a new topic, are those of the config by default.

        Source: DefaultMQProducerImpl.java#tryToFindTopicPublishInfo (4.9.7)
        """
        config = self.config
        most = default_topic_queue_nums or config.default_topic_queue_nums
        route = yield from self.known_route(topic, to_send=True)
        if route is None:
            data = yield from self.fetch_route(create_topic_key or config.create_topic_key)
            if data is not None:
                for one in data.queue_datas:
                    count = min(most, one.read_queue_nums)
                    one.read_queue_nums = one.write_queue_nums = count
                route = self._put(topic, data)
        if route is None or not route.publish_queues:
            raise MQClientError(
                f"No route info of this topic: {topic}{FAQ}", NOT_FOUND_TOPIC_EXCEPTION
            )
        return route

    def publish_queues(self, topic: str) -> Operation[Sequence[MessageQueue]]:
        """Return the queues that an existing topic can be sent to.

        Raise MQClientError if there are none.
        """
        route = yield from self.known_route(topic, to_send=True)
        return self._some(topic, route.publish_queues if route else ())

    def subscribe_queues(self, topic: str) -> Operation[Sequence[MessageQueue]]:
        """Return the queues that a topic can be pulled from; raise MQClientError if none."""
        route = yield from self.known_route(topic)
        return self._some(topic, route.subscribe_queues if route else ())

    def _some(self, topic: str, queues: Sequence[MessageQueue]) -> Sequence[MessageQueue]:
        if not queues:
            raise MQClientError(f"Can not find Message Queue for this topic, {topic}{FAQ}")
        return queues

    def master_addr(self, queue: MessageQueue) -> Operation[str]:
        """Return the address of a queue's master; raise MQClientError if it is unknown."""
        require_queue(queue)
        addr = self.routes.master_addr(queue.broker_name)
        if addr is None:
            yield from self.update_route(queue.topic or "")
            addr = self.routes.master_addr(queue.broker_name)
        if addr is None:
            raise MQClientError(f"The broker[{queue.broker_name}] not exist")
        return addr

    def cluster_info(self) -> Operation[ClusterInfo]:
        """Return every cluster and broker that a name server knows."""
        response = yield from self.ask_namesrv(self.command(RequestCode.GET_BROKER_CLUSTER_INFO))
        with self._read_ok(response):
            return ClusterInfo.decode(response.body)

    def topic_names(self) -> Operation[list[str]]:
        """Return every topic that a name server knows, in no order."""
        command = self.command(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        response = yield from self.ask_namesrv(command)
        with self._read_ok(response):
            return TopicList.decode(response.body).topic_list

    # -- membership ---------------------------------------------------------------------------

    def heartbeat_data(self) -> HeartbeatData:
        """Return the heartbeat of this client."""
        return HeartbeatData(
            client_id=self.client_id,
            producer_data_set=[ProducerData(group_name=name) for name in self.producer_groups],
            consumer_data_set=list(self.consumers.values()),
        )

    def heartbeat(self) -> Operation[dict[str, int]]:
        """Send heartbeats to all known brokers; return the versions of those that answered.

        Brokers that no known route names any more are forgotten before. Without a consumer only
        masters get a heartbeat; without any group no broker does.

        Source: MQClientInstance.java#sendHeartbeatToAllBroker (4.9.7)
        """
        self._forget_offline_brokers()
        answered: dict[str, int] = {}
        for addr in self._broker_addrs(masters_only=not self.consumers):
            if not self.producer_groups and not self.consumers:
                break
            # For each broker anew: a group that was left meanwhile must not be entered again.
            body = self.heartbeat_data().encode()
            try:
                response = yield from ask_ok(
                    addr,
                    self.command(RequestCode.HEART_BEAT, body=body),
                    self.config.api_timeout_ms,
                )
            except (RemotingError, MQBrokerError):
                continue  # a broker that is down gets the next heartbeat
            answered[addr] = self.broker_versions[addr] = response.version
        return answered

    def _forget_offline_brokers(self) -> None:
        named = self.routes.drop_offline()
        for addr in self.broker_versions.keys() - named:
            del self.broker_versions[addr]

    def unregister(
        self, *, producer_group: str | None = None, consumer_group: str | None = None
    ) -> Operation[None]:
        """Leave a group of each kind at all known brokers; skip brokers that are down.

        Source: MQClientInstance.java#unregisterClient (4.9.7)
        """
        self.producer_groups.pop(producer_group or "", None)
        self.consumers.pop(consumer_group or "", None)
        for addr in self._broker_addrs(masters_only=False):
            header = UnregisterClientRequestHeader(
                client_id=self.client_id,
                producer_group=producer_group,
                consumer_group=consumer_group,
            )
            try:
                command = self.command(RequestCode.UNREGISTER_CLIENT, header)
                yield from ask_ok(addr, command, self.config.api_timeout_ms)
            except (RemotingError, MQBrokerError):
                continue

    def unregister_all(self) -> Operation[None]:
        """Leave every group, as a client does at its shutdown."""
        for group in list(self.consumers):
            yield from self.unregister(consumer_group=group)
        for group in list(self.producer_groups):
            yield from self.unregister(producer_group=group)

    def consumer_ids(self, topic: str, group: str) -> Operation[list[str]]:
        """Return the client ids of a group's members, as a broker of the topic knows them.

        Source: MQClientInstance.java#findConsumerIdList (4.9.7)
        """
        route = yield from self.known_route(topic)
        brokers = route.data.broker_datas if route else []
        if not brokers:
            raise MQClientError(f"No route info of this topic: {topic}{FAQ}")
        addr = self.routes.any_addr(self.random.choice(brokers).broker_name)
        if addr is None:
            raise MQClientError(f"no broker of {topic} has an address")
        header = GetConsumerListByGroupRequestHeader(consumer_group=group)
        command = self.command(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        response = yield from self.invoke_ok(addr.addr, command)
        with Reading(addr.addr):
            found = GetConsumerListByGroupResponseBody.decode(response.body).consumer_id_list or []
        if len(found) > MEMBERS_MAX:
            raise MQClientError(f"{addr.addr} names {len(found)} members of {group}")
        return found

    def _broker_addrs(self, *, masters_only: bool) -> list[str]:
        return [
            addr
            for addrs in self.routes.brokers.values()
            for broker_id, addr in addrs.items()
            if broker_id == MASTER_ID or not masters_only
        ]
