"""A controller of the test's own, and a broker under it, on a frozen clock and memory links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from fakemq.broker.v5.broker import Broker5
from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.header import Header
from fakemq.protocol.v5.bodies.controller import ElectMasterResponseBody, SyncStateSet
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from fakemq.protocol.v5.headers import controller as headers
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.namesrv_double import NameServerDouble

ADDR, OTHER_ADDR = "127.0.0.1:9870", "127.0.0.1:9871"
NAME_SERVER = "127.0.0.1:9876"
ELSEWHERE = "10.0.0.9:10911"
"""A broker that the controller knows, and that does not run."""


def reply(header: Header | None = None, body: bytes = b"", code: int = 0) -> RemotingCommand:
    return RemotingCommand(code, ext_fields={} if header is None else header.encode(), body=body)


@dataclass
class Group:
    """What the controller knows of the only group."""

    next_id: int = 1
    codes: dict[int, str] = field(default_factory=dict)
    addrs: dict[int, str] = field(default_factory=dict)
    master: int | None = None
    epoch: int = 0
    members: tuple[int, ...] = ()
    set_epoch: int = 0


class PlayedController(NameServerDouble):
    """Answers as a controller would; ``refuse`` has codes to answer with instead, by request.

    A request whose code is refused with None has no answer.
    """

    leader: str
    """Whom it calls the leader; "" for none."""

    def __init__(self, lab: BrokerLab, addr: str = ADDR, group: Group | None = None) -> None:
        super().__init__(lab.network, lab.clock, lab.journal, addr)
        self.up = True
        lab.network.listen(addr, self.accept, is_up=lambda: self.up)
        self.group = group or Group()
        self.refuse: dict[int, int | None] = {}
        self.leader = addr
        self.answer = self._answer
        self._answers: dict[int, Callable[[RemotingCommand], RemotingCommand]] = {
            RequestCode5.CONTROLLER_GET_METADATA_INFO: self._metadata,
            RequestCode5.CONTROLLER_GET_NEXT_BROKER_ID: self._next_id,
            RequestCode5.CONTROLLER_APPLY_BROKER_ID: self._apply,
            RequestCode5.CONTROLLER_REGISTER_BROKER: self._register,
            RequestCode5.CONTROLLER_ELECT_MASTER: self._elect,
            RequestCode5.CONTROLLER_GET_REPLICA_INFO: self._info,
            RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET: self._alter,
        }

    def go(self) -> None:
        """Answer no more, and close all connections."""
        self.up = False
        for session in list(self.sessions):
            session.close("gone")

    def of(self, code: int) -> list[RemotingCommand]:
        """The requests with a code."""
        return [one for one in self.requests if one.code == code]

    def elect(self, broker_id: int | None) -> None:
        """Have another master from now on, and notify no broker."""
        group = self.group
        group.master, group.epoch = broker_id, group.epoch + 1
        if broker_id is not None:
            group.members, group.set_epoch = (broker_id,), group.set_epoch + 1

    def notification(self) -> tuple[Header, bytes]:
        """What it pushes to brokers."""
        group = self.group
        header = headers.NotifyBrokerRoleChangedRequestHeader(
            master_broker_id=group.master,
            master_address=self._master_addr(),
            master_epoch=group.epoch,
            sync_state_set_epoch=group.set_epoch,
        )
        return header, self._set().encode()

    def _answer(self, request: RemotingCommand) -> RemotingCommand | None:
        if request.code in self.refuse:
            code = self.refuse[request.code]
            return None if code is None else reply(code=code)
        return self._answers[request.code](request)

    def _set(self) -> SyncStateSet:
        group = self.group
        return SyncStateSet(
            sync_state_set=list(group.members), sync_state_set_epoch=group.set_epoch
        )

    def _master_addr(self) -> str | None:
        group = self.group
        return None if group.master is None else group.addrs.get(group.master, ELSEWHERE)

    def _metadata(self, request: RemotingCommand) -> RemotingCommand:
        return reply(
            headers.GetMetaDataResponseHeader(
                group="g", controller_leader_address=self.leader or None, is_leader=True
            )
        )

    def _next_id(self, request: RemotingCommand) -> RemotingCommand:
        return reply(headers.GetNextBrokerIdResponseHeader(next_broker_id=self.group.next_id))

    def _apply(self, request: RemotingCommand) -> RemotingCommand:
        header = headers.ApplyBrokerIdRequestHeader.decode(request.ext_fields)
        broker_id, code = header.applied_broker_id, header.register_check_code
        assert broker_id is not None
        assert code is not None
        group = self.group
        if group.codes.setdefault(broker_id, code) != code:
            return reply(code=ResponseCode5.CONTROLLER_BROKER_ID_INVALID)
        group.next_id = max(group.next_id, broker_id + 1)
        return reply(headers.ApplyBrokerIdResponseHeader())

    def _register(self, request: RemotingCommand) -> RemotingCommand:
        header = headers.RegisterBrokerToControllerRequestHeader.decode(request.ext_fields)
        assert header.broker_id is not None
        assert header.broker_address is not None
        group = self.group
        group.addrs[header.broker_id] = header.broker_address
        answer = headers.RegisterBrokerToControllerResponseHeader()
        if group.master is not None:
            answer = headers.RegisterBrokerToControllerResponseHeader(
                master_broker_id=group.master,
                master_address=self._master_addr(),
                master_epoch=group.epoch,
                sync_state_set_epoch=group.set_epoch,
            )
        return reply(answer, self._set().encode())

    def _elect(self, request: RemotingCommand) -> RemotingCommand:
        header = headers.ElectMasterRequestHeader.decode(request.ext_fields)
        group = self.group
        code = ResponseCode5.CONTROLLER_MASTER_STILL_EXIST if group.master is not None else 0
        if group.master is None:
            self.elect(header.broker_id)
        answer = headers.ElectMasterResponseHeader(
            master_broker_id=group.master,
            master_address=self._master_addr(),
            master_epoch=group.epoch,
            sync_state_set_epoch=group.set_epoch,
        )
        return reply(
            answer, ElectMasterResponseBody(sync_state_set=list(group.members)).encode(), code
        )

    def _info(self, request: RemotingCommand) -> RemotingCommand:
        group = self.group
        header = headers.GetReplicaInfoResponseHeader(
            master_broker_id=group.master,
            master_address=self._master_addr(),
            master_epoch=group.epoch,
        )
        return reply(header, self._set().encode())

    def _alter(self, request: RemotingCommand) -> RemotingCommand:
        asked, group = SyncStateSet.decode(request.body), self.group
        if asked.sync_state_set_epoch != group.set_epoch:
            return reply(code=ResponseCode5.CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH)
        group.members = tuple(asked.sync_state_set or ())
        group.set_epoch += 1
        return reply(
            headers.AlterSyncStateSetResponseHeader(new_sync_state_set_epoch=group.set_epoch),
            self._set().encode(),
        )


class FakeEpochs:
    """The epochs of a log."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, int]] = []

    def last_epoch(self) -> int:
        return self.entries[-1][0] if self.entries else 0


class FakeReplication:
    """Stands for the replication of a broker under a controller; ``calls`` has what was asked."""

    def __init__(self, broker: Broker5) -> None:
        self.broker = broker
        self.on_set_should_change: Callable[[frozenset[int]], None] = lambda members: None
        self.epochs = FakeEpochs()
        self.calls: list[tuple[object, ...]] = []

    @property
    def confirm_offset(self) -> int:
        return self.broker.store.max_phy_offset

    def change_to_master(self, epoch: int) -> bool:
        if epoch < self.epochs.last_epoch():
            return False
        self.epochs.entries.append((epoch, self.broker.store.max_phy_offset, (1 << 63) - 1))
        self.calls.append(("master", epoch))
        return True

    def change_to_slave(self, epoch: int, master_id: int, own_id: int) -> bool:
        if epoch < self.epochs.last_epoch():
            return False
        self.calls.append(("slave", epoch, master_id, own_id))
        return True

    def take_set(self, members: frozenset[int], set_epoch: int) -> None:
        self.calls.append(("set", sorted(members), set_epoch))

    def check_set(self) -> None:
        self.calls.append(("check",))

    def check_routine(self) -> None:
        """Let no check be skipped."""

    def master_is(self, addr: str | None, ha_addr: str | None) -> None:
        self.calls.append(("master_is", addr, ha_addr))

    def stop(self, why: str) -> None:
        self.calls.append(("stop",))

    def pause(self) -> None:
        """Do nothing."""

    def resume(self) -> None:
        """Do nothing."""


class ControlledBroker:
    """A controller, a name server, and a broker that is started by `start`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **config: str | int | bool) -> None:
        self.lab = BrokerLab()
        self.name_server = self.lab.name_server(NAME_SERVER)
        self.controller = PlayedController(self.lab)
        self.config = BrokerConfig5(
            enable_controller_mode=True,
            controller_addr=ADDR,
            broker_name="broker-a",
            broker_ip1="127.0.0.1",
            **config,
        )
        monkeypatch.setattr(Broker5, "_make_replication", lambda broker: FakeReplication(broker))
        self._broker: Broker5 | None = None

    @property
    def broker(self) -> Broker5:
        assert self._broker is not None
        return self._broker

    @property
    def replication(self) -> FakeReplication:
        found = self.broker.switching
        assert isinstance(found, FakeReplication)
        return found

    def start(self) -> Broker5:
        self._broker = broker5(
            self.lab.broker(self.config, namesrv_addrs=(NAME_SERVER,), reference=REFERENCE)
        )
        return self._broker

    def notify(self) -> None:
        """The controller pushes what it knows."""
        header, body = self.controller.notification()
        peer = self.lab.peer(self.broker.addr)
        peer.ask(RequestCode5.NOTIFY_BROKER_ROLE_CHANGED, header, body)

    def pass_time(self, ms: int) -> None:
        self.lab.pass_time(ms)
        self.lab.network.settle()
