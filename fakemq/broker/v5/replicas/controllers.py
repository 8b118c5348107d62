"""The controllers, as one broker sees them: which can be reached, which one leads, what they say.

Source: broker/controller/ReplicasManager.java, broker/out/BrokerOuterAPI.java (5.5.0)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from fakemq.broker.addresses import client_addr
from fakemq.later import Later, all_of
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import BodyError, ProtocolError
from fakemq.protocol.limits import MOST_REPLICAS
from fakemq.protocol.v5.bodies.controller import ElectMasterResponseBody, SyncStateSet
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from fakemq.protocol.v5.headers import controller as headers
from fakemq.protocol.v5.headers.namesrv import BrokerHeartbeatRequestHeader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits
    from fakemq.net.outbound import Outbound
    from fakemq.net.session import Session
    from fakemq.protocol.header import Header

H = TypeVar("H", bound="Header")

TIMEOUT_MS = 3_000
MOST_CONTROLLERS = 64
"""The most addresses of ``controllerAddr`` that are asked; the others are ignored."""


class GroupInfo(msgspec.Struct, frozen=True):
    """What a controller says of the group; a master of None: it has none, or says none."""

    master_id: int | None
    master_addr: str | None
    master_epoch: int
    set_epoch: int
    members: frozenset[int]

    @property
    def has_master(self) -> bool:
        return self.master_id is not None and bool(self.master_addr)


class BrokerStanding(Protocol):
    """How far a broker is, as its heartbeats say."""

    @property
    def own_id(self) -> int | None: ...
    @property
    def last_epoch(self) -> int: ...
    @property
    def max_offset(self) -> int: ...
    @property
    def confirm_offset(self) -> int: ...


class NoAnswer(msgspec.Struct, frozen=True):
    """Why a request has no answer that helps: the code is None without an answer."""

    code: int | None = None


class KnownControllers:
    """The controllers of ``controllerAddr``.

    What Java asks of the leader this asks of it, too. It differs in one point: a controller that
    says it does not lead is a reason to ask at once which one does, instead of at the next refresh.
    """

    def __init__(self, node: NodeContext[BrokerConfig5], outbound: Callable[[], Outbound]) -> None:
        self._node = node
        self._outbound = outbound
        self.addrs: tuple[str, ...] = ()
        self.reachable: dict[str, None] = {}  # a set that keeps its order
        self.leader = ""
        """The address of the leader, as a controller said last; "" before the first."""
        self._said: dict[str, Any] = {}
        """What the last heartbeat said."""
        self._beat: dict[str, str] = {}
        """The same as fields of a command."""
        self._life = 0
        """Counts the starts: what was asked before the last one is over."""

    def start(self) -> None:
        """Begin with the addresses of the config, of which none has been reached."""
        self._life += 1
        self.reachable = {}
        self.leader = ""
        self.follow_config()

    def stop(self) -> None:
        """Take no more answers."""
        self._life += 1

    def follow_config(self) -> None:
        """Take the addresses of the config."""
        named = self._node.config.controller_addr.split(";")
        self.addrs = tuple(dict.fromkeys(filter(None, map(str.strip, named))))[:MOST_CONTROLLERS]

    @property
    def outside(self) -> bool:
        """Whether one of them is outside the cluster, so that real time counts for it."""
        return not all(map(self._outbound().is_inside, self.addrs))

    # -- which there are -------------------------------------------------------------------------

    def scan(self) -> Later[None]:
        """Find out which can be reached; only these are asked for the leader, and get heartbeats.

        Source: ReplicasManager.java#scanAvailableControllerAddresses
        """
        for gone in [addr for addr in self.reachable if addr not in self.addrs]:
            del self.reachable[gone]
        looks: list[Later[None]] = []
        for addr in self.addrs:
            looks.append(Later())
            self._outbound().connect(addr, partial(self._looked, self._life, addr, looks[-1]))
        return all_of(looks)

    def _looked(self, life: int, addr: str, look: Later[None], session: Session | None) -> None:
        if life != self._life:
            return
        if session is None:
            self.reachable.pop(addr, None)
        else:
            self.reachable[addr] = None
        look.resolve(None)

    def find_leader(self) -> Waits[bool]:
        """Ask for the leader, one after the other; return whether one of them named it.

        Source: ReplicasManager.java#updateControllerMetadata
        """
        for addr in list(self.reachable):
            command = RemotingCommand(RequestCode5.CONTROLLER_GET_METADATA_INFO)
            answer = yield self._invoke(addr, command)
            if answer is None or answer.code != ResponseCode.SUCCESS:
                continue
            header = self._read(answer, headers.GetMetaDataResponseHeader)
            if header is not None and header.controller_leader_address:
                self.leader = header.controller_leader_address
                return True
        return False

    # -- what is asked of the leader ----------------------------------------------------------

    def next_broker_id(self) -> Waits[int | None]:
        """Return the id for which to apply; None without an answer (1012)."""
        config = self._node.config
        request = headers.GetNextBrokerIdRequestHeader(
            cluster_name=config.broker_cluster_name, broker_name=config.broker_name
        )
        answer = yield from self._ask(RequestCode5.CONTROLLER_GET_NEXT_BROKER_ID, request)
        if isinstance(answer, NoAnswer):
            return None
        header = self._read(answer, headers.GetNextBrokerIdResponseHeader)
        found = None if header is None else header.next_broker_id
        return found if found is not None and found > 0 else None

    def apply_broker_id(self, broker_id: int, check_code: str) -> Waits[bool]:
        """Apply for an id; return whether the broker has it now (1013)."""
        config = self._node.config
        request = headers.ApplyBrokerIdRequestHeader(
            cluster_name=config.broker_cluster_name,
            broker_name=config.broker_name,
            applied_broker_id=broker_id,
            register_check_code=check_code,
        )
        answer = yield from self._ask(RequestCode5.CONTROLLER_APPLY_BROKER_ID, request)
        return not isinstance(answer, NoAnswer)

    def register_broker(self, broker_id: int) -> Waits[GroupInfo | NoAnswer]:
        """Say where the broker is; return what the controller says of its group (1003)."""
        config = self._node.config
        request = headers.RegisterBrokerToControllerRequestHeader(
            cluster_name=config.broker_cluster_name,
            broker_name=config.broker_name,
            broker_id=broker_id,
            broker_address=client_addr(config),
            invoke_time=self._node.clock.now_ms(),
        )
        answer = yield from self._ask(RequestCode5.CONTROLLER_REGISTER_BROKER, request)
        if isinstance(answer, NoAnswer):
            return answer
        header = self._read(answer, headers.RegisterBrokerToControllerResponseHeader)
        members = self._members(answer)
        if header is None or members is None:
            return NoAnswer()
        return _group(header, header.sync_state_set_epoch, members[0])

    def elect_master(self, broker_id: int) -> Waits[GroupInfo | NoAnswer]:
        """Ask to be elected; the master that lives instead is an answer, too (1002)."""
        config = self._node.config
        request = headers.ElectMasterRequestHeader(
            cluster_name=config.broker_cluster_name,
            broker_name=config.broker_name,
            broker_id=broker_id,
            designate_elect=False,
            invoke_time=self._node.clock.now_ms(),
        )
        answer = yield from self._ask(
            RequestCode5.CONTROLLER_ELECT_MASTER,
            request,
            ResponseCode5.CONTROLLER_MASTER_STILL_EXIST,
        )
        if isinstance(answer, NoAnswer):
            return answer
        header = self._read(answer, headers.ElectMasterResponseHeader)
        try:
            body = ElectMasterResponseBody.decode(answer.body)
            members = set_of(body.sync_state_set)
        except ProtocolError as error:
            self._warn(answer, error)
            return NoAnswer()
        if header is None:
            return NoAnswer()
        return _group(header, header.sync_state_set_epoch, members)

    def replica_info(self) -> Waits[GroupInfo | NoAnswer]:
        """Return the group's master and set (1004)."""
        request = headers.GetReplicaInfoRequestHeader(broker_name=self._node.config.broker_name)
        answer = yield from self._ask(RequestCode5.CONTROLLER_GET_REPLICA_INFO, request)
        if isinstance(answer, NoAnswer):
            return answer
        header = self._read(answer, headers.GetReplicaInfoResponseHeader)
        found = self._members(answer)
        if header is None or found is None:
            return NoAnswer()
        members, set_epoch = found
        return _group(header, set_epoch, members)

    def alter_sync_state_set(
        self, own_id: int, master_epoch: int, members: frozenset[int], set_epoch: int
    ) -> Waits[tuple[frozenset[int], int] | NoAnswer]:
        """Ask for another set; return the controller's, with its epoch (1001)."""
        request = headers.AlterSyncStateSetRequestHeader(
            broker_name=self._node.config.broker_name,
            master_broker_id=own_id,
            master_epoch=master_epoch,
            invoke_time=self._node.clock.now_ms(),
        )
        body = SyncStateSet(sync_state_set=sorted(members), sync_state_set_epoch=set_epoch)
        answer = yield from self._ask(
            RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET, request, body=body.encode()
        )
        if isinstance(answer, NoAnswer):
            return answer
        return self._members(answer) or NoAnswer()

    def beat(self, standing: BrokerStanding) -> None:
        """Send a heartbeat to each controller that can be reached (904)."""
        config = self._node.config
        said: dict[str, Any] = {
            "cluster_name": config.broker_cluster_name,
            "broker_addr": client_addr(config),
            "broker_name": config.broker_name,
            "broker_id": standing.own_id,
            "epoch": standing.last_epoch,
            "max_offset": standing.max_offset,
            "confirm_offset": standing.confirm_offset,
            "heartbeat_timeout_mills": config.controller_heart_beat_timeout_mills,
            "election_priority": config.broker_election_priority,
        }
        if said != self._said:  # mostly it is the same every second
            self._said, self._beat = said, BrokerHeartbeatRequestHeader(**said).encode()
        for addr in self.reachable:
            command = RemotingCommand(RequestCode5.BROKER_HEARTBEAT, ext_fields=dict(self._beat))
            self._outbound().invoke_oneway(addr, command)

    # -- inside -------------------------------------------------------------------------------

    def _ask(
        self, code: int, header: Header, *taken: int, body: bytes = b""
    ) -> Waits[RemotingCommand | NoAnswer]:
        """Ask the leader; return its answer if the code is SUCCESS or one of ``taken``."""
        if not self.leader:
            return NoAnswer()
        command = RemotingCommand(code, ext_fields=header.encode(), body=body)
        answer = yield self._invoke(self.leader, command)
        if answer is None:
            return NoAnswer()
        if answer.code in (ResponseCode.SUCCESS, *taken):
            found: RemotingCommand = answer
            return found
        if answer.code == ResponseCode5.CONTROLLER_NOT_LEADER:
            yield from self.find_leader()
        return NoAnswer(answer.code)

    def _invoke(self, addr: str, command: RemotingCommand) -> Later[RemotingCommand | None]:
        life = self._life
        return self._outbound().ask(addr, command, TIMEOUT_MS, lambda: life == self._life)

    def _read(self, answer: RemotingCommand, kind: type[H]) -> H | None:
        try:
            return kind.decode(answer.ext_fields)
        except ProtocolError as error:
            self._warn(answer, error)
            return None

    def _members(self, answer: RemotingCommand) -> tuple[frozenset[int], int] | None:
        try:
            body = SyncStateSet.decode(answer.body)
            return set_of(body.sync_state_set), body.sync_state_set_epoch
        except ProtocolError as error:
            self._warn(answer, error)
            return None

    def _warn(self, answer: RemotingCommand, error: ProtocolError) -> None:
        text = f"a controller's answer cannot be read: {error}"
        self._node.journal.peer_warnings.warn(self._node.name, "answers of controllers", text)


def _group(
    header: headers.RegisterBrokerToControllerResponseHeader
    | headers.ElectMasterResponseHeader
    | headers.GetReplicaInfoResponseHeader,
    set_epoch: int | None,
    members: frozenset[int],
) -> GroupInfo:
    """Return what an answer says; an epoch that it leaves out is 0."""
    return GroupInfo(
        master_id=header.master_broker_id,
        master_addr=header.master_address,
        master_epoch=header.master_epoch or 0,
        set_epoch=set_epoch or 0,
        members=members,
    )


def set_of(ids: Collection[int] | None) -> frozenset[int]:
    """Return the members of a set; raise BodyError for too many."""
    if ids is not None and len(ids) > MOST_REPLICAS:
        raise BodyError(f"{len(ids)} replicas in sync: expected {MOST_REPLICAS} at most")
    return frozenset(ids or ())
