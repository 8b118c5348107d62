"""The controllers' machine with one group, and all that may be asked of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fakemq.controller import decide
from fakemq.controller.decide import Decision
from fakemq.controller.state import State, apply
from fakemq.protocol.v5.bodies.controller import SyncStateSet
from fakemq.protocol.v5.headers import controller as headers

GROUP = "broker-a"


@dataclass
class Said:
    epoch: int = 1
    max_offset: int = 0
    election_priority: int = 0


@dataclass
class Alive:
    """The living, in the cluster ``c``."""

    ids: dict[int, Said] = field(default_factory=dict)

    def is_alive(self, cluster: str | None, broker_name: str, broker_id: int) -> bool:
        return cluster == "c" and broker_name == GROUP and broker_id in self.ids

    def standing(self, cluster: str | None, broker_name: str, broker_id: int) -> Said | None:
        return self.ids.get(broker_id)


class ReplicasLab:
    """A state with one group, of which all live at first."""

    def __init__(self, replicas: int = 3) -> None:
        self.state = State()
        self.alive = Alive({number: Said() for number in range(1, replicas + 1)})
        self.unclean = False
        for number in range(1, replicas + 1):
            self.apply_id(number)

    def done(self, decision: Decision[Any]) -> Any:
        for event in decision.events:
            apply(self.state, event)
        return decision

    def apply_id(self, broker_id: int, check_code: str | None = None) -> Any:
        header = headers.ApplyBrokerIdRequestHeader(
            cluster_name="c",
            broker_name=GROUP,
            applied_broker_id=broker_id,
            register_check_code=check_code or f"h:{broker_id};7",
        )
        return self.done(decide.apply_broker_id(self.state, header))

    def elect(self, broker_id: int = -1, *, designate: bool = False) -> Any:
        header = headers.ElectMasterRequestHeader(
            broker_name=GROUP, broker_id=broker_id, designate_elect=designate
        )
        return self.done(decide.elect_master(self.state, header, self.alive, unclean=self.unclean))

    def alter(self, ids: list[int], epoch: int, *, master: int = 1, master_epoch: int = 1) -> Any:
        header = headers.AlterSyncStateSetRequestHeader(
            broker_name=GROUP, master_broker_id=master, master_epoch=master_epoch
        )
        asked = SyncStateSet(sync_state_set=ids, sync_state_set_epoch=epoch)
        return self.done(decide.alter_sync_state_set(self.state, header, asked, self.alive))

    def clean(self, ids: str | None = None, *, living: bool = False) -> Any:
        header = headers.CleanControllerBrokerDataRequestHeader(
            cluster_name="c",
            broker_name=GROUP,
            broker_controller_ids_to_clean=ids,
            is_clean_living_broker=living,
        )
        return self.done(decide.clean_broker_data(self.state, header, self.alive))

    @property
    def next_id(self) -> int | None:
        header = headers.GetNextBrokerIdRequestHeader(cluster_name="c", broker_name=GROUP)
        reply = decide.get_next_broker_id(self.state, header).reply
        assert reply.header is not None
        return reply.header.next_broker_id
