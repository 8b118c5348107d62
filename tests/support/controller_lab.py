"""Controllers on a memory network with a frozen clock, and brokers made of bare requests."""

from __future__ import annotations

import random

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.v5.controller.model import ControllerConfig
from fakemq.controller.controller import Controller
from fakemq.controller.group import NAME, ControllerGroup
from fakemq.controller.log import EventLog
from fakemq.faults.plan import FaultPlan
from fakemq.journal.journal import Journal
from fakemq.net.memory import MemoryNetwork
from fakemq.net.outbound import Outbound
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers import controller as headers
from fakemq.protocol.v5.headers.namesrv import BrokerHeartbeatRequestHeader
from fakemq.reference import find_reference
from tests.support.peer import Peer
from tests.support.time import ManualTime

REFERENCE = find_reference("5.5.0")
GROUP = "broker-a"


class ControllerLab:
    """A group of controllers, and nothing else; the first one leads."""

    def __init__(
        self, count: int = 1, config: ControllerConfig | None = None, folder: str | None = None
    ) -> None:
        self.time = ManualTime()
        self.clock = Clock(frozen=True, source=self.time)
        self.journal = Journal(self.clock)
        self.network = MemoryNetwork()
        self.clock.settle = self.network.settle
        config = config or ControllerConfig()
        config.controller_d_leger_group = "g"
        self.group = ControllerGroup(
            config,
            NodeClock(self.clock, NAME, self.journal),
            self.journal,
            random.Random(7),
            None if folder is None else EventLog(folder),
        )
        self.faults = FaultPlan(self.journal)
        self.controllers = [self._controller(number, config) for number in range(count)]
        self.group.open()
        for number, controller in enumerate(self.controllers):
            controller.start(f"127.0.0.1:{9800 + number}")
            self.network.listen(controller.addr, controller.accept)
        self.group.elect_first()

    def _controller(self, number: int, config: ControllerConfig) -> Controller:
        name = f"controller-{number}"
        controller = Controller(
            name,
            f"n{number}",
            config,
            NodeClock(self.clock, name, self.journal),
            self.journal,
            self.faults,
            REFERENCE,
            self.group,
        )
        controller.outbound = Outbound(controller, self.network)
        return controller

    def broker(self, broker_id: int, at: int = 0, *, outside: bool = False) -> PlayedReplica:
        """A replica of the group, at one of the controllers; it has done nothing yet."""
        return PlayedReplica(self, self.controllers[at], broker_id, outside=outside)


class PlayedReplica:
    """A broker with an id, which sends what a test says."""

    def __init__(
        self, lab: ControllerLab, controller: Controller, broker_id: int, *, outside: bool
    ) -> None:
        self.id = broker_id
        self.addr = f"10.0.0.{broker_id}:10911"
        self.peer = Peer(
            lab.network,
            lab.clock,
            lab.journal,
            controller.addr,
            name=f"replica-{broker_id}",
            accept_outside=controller.accept if outside else None,
        )

    def beat(
        self,
        *,
        epoch: int = 1,
        max_offset: int = 0,
        timeout_ms: int | None = None,
        name: str = GROUP,
    ) -> None:
        """Send a heartbeat."""
        header = BrokerHeartbeatRequestHeader(
            cluster_name="c",
            broker_addr=self.addr,
            broker_name=name,
            broker_id=self.id,
            epoch=epoch,
            max_offset=max_offset,
            heartbeat_timeout_mills=timeout_ms,
        )
        self.peer.oneway(RequestCode5.BROKER_HEARTBEAT, header)

    def apply(self) -> RemotingCommand:
        """Apply for the id."""
        header = headers.ApplyBrokerIdRequestHeader(
            cluster_name="c",
            broker_name=GROUP,
            applied_broker_id=self.id,
            register_check_code=f"{self.addr};7",
        )
        return self.peer.ask(RequestCode5.CONTROLLER_APPLY_BROKER_ID, header)

    def join(self) -> PlayedReplica:
        """Apply for the id, and live."""
        assert self.apply().code == 0
        self.beat()
        return self

    def elect(self, broker_id: int | None = None, *, designate: bool = False) -> RemotingCommand:
        """Ask for an election, by default of itself."""
        header = headers.ElectMasterRequestHeader(
            cluster_name="c",
            broker_name=GROUP,
            broker_id=self.id if broker_id is None else broker_id,
            designate_elect=designate,
        )
        return self.peer.ask(RequestCode5.CONTROLLER_ELECT_MASTER, header)

    def alter(self, ids: list[int], *, epoch: int, set_epoch: int) -> RemotingCommand:
        """Report another set, as its master."""
        header = headers.AlterSyncStateSetRequestHeader(
            broker_name=GROUP, master_broker_id=self.id, master_epoch=epoch
        )
        body = b'{"syncStateSet":%s,"syncStateSetEpoch":%d}' % (str(ids).encode(), set_epoch)
        return self.peer.ask(RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET, header, body)

    def info(self) -> RemotingCommand:
        """Ask which broker is the master."""
        header = headers.GetReplicaInfoRequestHeader(broker_name=GROUP)
        return self.peer.ask(RequestCode5.CONTROLLER_GET_REPLICA_INFO, header)

    @property
    def master(self) -> tuple[str | None, str]:
        """The id of the master, and the epoch."""
        fields = self.info().ext_fields
        return fields.get("masterBrokerId"), fields["masterEpoch"]
