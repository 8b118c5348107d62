"""What a broker asks name servers and members of its group, where slaves may act as masters.

Source: broker/out/BrokerOuterAPI.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.addresses import client_addr
from fakemq.later import Later
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.headers.namesrv import (
    GetRouteInfoRequestHeader,
    QueryDataVersionRequestHeader,
)
from fakemq.protocol.limits import MOST_REPLICAS
from fakemq.protocol.topics import SYNC_BROKER_MEMBER_PREFIX
from fakemq.protocol.v5.bodies.route import GetBrokerMemberGroupResponseBody
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.acting import (
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
)
from fakemq.protocol.v5.headers.namesrv import (
    BrokerHeartbeatRequestHeader,
    GetBrokerMemberGroupRequestHeader,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.broker.v5.acting.node import ActingBroker
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits

TIMEOUT_MS = 3_000


class GroupRequests:
    """The requests of one broker; those that were under way at a `stop` get no answer."""

    def __init__(self, node: NodeContext[BrokerConfig5], broker: ActingBroker) -> None:
        self._node = node
        self._broker = broker
        self._life = 0

    def stop(self) -> None:
        """Take no more answers."""
        self._life += 1

    @property
    def outside(self) -> bool:
        """Whether a name server is outside the cluster, so that real time counts."""
        is_inside = self._broker.outbound.is_inside
        return any(not is_inside(addr) for addr in self._broker.registration.namesrv_addrs)

    def invoke(
        self, addr: str, code: int, fields: Mapping[str, str] | None = None
    ) -> Later[RemotingCommand | None]:
        """Ask a node; None without an answer."""
        life, outbound = self._life, self._broker.outbound
        command = RemotingCommand(code, ext_fields=dict(fields or {}))
        return outbound.ask(addr, command, TIMEOUT_MS, lambda: life == self._life)

    def beat(self) -> None:
        """Let every name server know that this broker lives: 904, or 322 for those of 4.9.7."""
        config = self._node.config
        if config.compatible_with_old_name_srv:
            header = QueryDataVersionRequestHeader(
                broker_name=config.broker_name,
                broker_addr=client_addr(config),
                cluster_name=config.broker_cluster_name,
                broker_id=config.broker_id,
            )
            code, body = RequestCode.QUERY_DATA_VERSION, self._broker.topics.data_version.encode()
            command = RemotingCommand(code, ext_fields=header.encode(), body=body)
        else:
            fields = BrokerHeartbeatRequestHeader(
                broker_name=config.broker_name,
                broker_addr=client_addr(config),
                cluster_name=config.broker_cluster_name,
            ).encode()
            command = RemotingCommand(RequestCode5.BROKER_HEARTBEAT, ext_fields=fields)
        self._broker.registration.send_to_all(command)

    def members(self) -> Waits[dict[int, str] | None]:
        """Ask the first name server that answers for the addresses of the group, by id.

        None without an answer. 901, or for those of 4.9.7 a route, see
        `SYNC_BROKER_MEMBER_PREFIX`.
        """
        config = self._node.config
        cluster, name = config.broker_cluster_name, config.broker_name
        code: int = RequestCode5.GET_BROKER_MEMBER_GROUP
        fields = GetBrokerMemberGroupRequestHeader(cluster_name=cluster, broker_name=name).encode()
        if config.compatible_with_old_name_srv:
            code = RequestCode.GET_ROUTEINFO_BY_TOPIC
            fields = GetRouteInfoRequestHeader(topic=SYNC_BROKER_MEMBER_PREFIX + name).encode()
        for addr in self._broker.registration.namesrv_addrs:
            answer = yield self.invoke(addr, code, fields)
            if answer is None:
                continue
            if answer.code != ResponseCode.SUCCESS:
                return {}
            try:
                found = _members(answer.body, code, cluster, name)
            except ProtocolError as error:
                self._warn(f"a name server's answer about the group cannot be read: {error}")
                return None
            if len(found) > MOST_REPLICAS:
                self._warn(f"{len(found)} brokers {name}: expected {MOST_REPLICAS} at most")
                return None
            return found
        return None

    def exchange_ha_info(
        self, addr: str, said: ExchangeHAInfoRequestHeader | None = None
    ) -> Waits[ExchangeHAInfoResponseHeader | None]:
        """Tell a member where the master is, or ask the master; None without an answer (906)."""
        header = said or ExchangeHAInfoRequestHeader()
        answer = yield self.invoke(addr, RequestCode5.EXCHANGE_BROKER_HA_INFO, header.encode())
        if answer is None or answer.code != ResponseCode.SUCCESS:
            return None
        try:
            return ExchangeHAInfoResponseHeader.decode(answer.ext_fields)
        except ProtocolError as error:
            self._warn(f"the answer of {addr} to EXCHANGE_BROKER_HA_INFO cannot be read: {error}")
            return None

    def _warn(self, text: str) -> None:
        self._node.journal.peer_warnings.warn(self._node.name, "groups of brokers", text)


def _members(body: bytes, code: int, cluster: str, name: str) -> dict[int, str]:
    if code == RequestCode5.GET_BROKER_MEMBER_GROUP:
        group = GetBrokerMemberGroupResponseBody.decode(body).broker_member_group
        return {} if group is None else dict(group.broker_addrs)
    for data in TopicRouteData.decode(body).broker_datas:
        if data.broker_name == name and data.cluster == cluster:
            return dict(data.broker_addrs)
    return {}
