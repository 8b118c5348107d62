"""What the journal says of an entry of the controllers' log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.controller.events import (
    AlterSyncStateSetEvent,
    ApplyBrokerIdEvent,
    CleanBrokerDataEvent,
    ElectMasterEvent,
    UpdateBrokerAddressEvent,
)
from fakemq.events.controller import (
    MasterElected,
    ReplicaJoined,
    ReplicaMoved,
    ReplicasCleaned,
    SyncStateSetChanged,
)

if TYPE_CHECKING:
    from fakemq.controller.events import ControllerEvent
    from fakemq.controller.state import State
    from fakemq.events.core import Event


def event_of(node: str, state: State, event: ControllerEvent, why: str) -> Event | None:
    """Return what the journal says of an event that is about to be applied; None if nothing.

    ``why`` is that of an election.
    """
    name = event.broker_name
    sync = state.sync_state_infos.get(name)
    last_set = () if sync is None else tuple(sorted(sync.sync_state_set))
    match event:
        case ElectMasterEvent(new_master_broker_id=broker_id):
            return MasterElected(
                node=node,
                broker_name=name,
                broker_id=broker_id,
                master_epoch=1 + (0 if sync is None else sync.master_epoch),
                last_set=last_set,
                why=why,
            )
        case AlterSyncStateSetEvent(new_sync_state_set=members):
            return SyncStateSetChanged(
                node=node,
                broker_name=name,
                sync_state_set=members,
                sync_state_set_epoch=1 + (0 if sync is None else sync.sync_state_set_epoch),
                last_set=last_set,
            )
        case ApplyBrokerIdEvent(new_broker_id=broker_id, broker_address=addr):
            return ReplicaJoined(node=node, broker_name=name, broker_id=broker_id, broker_addr=addr)
        case UpdateBrokerAddressEvent(broker_id=broker_id, broker_address=addr):
            return ReplicaMoved(node=node, broker_name=name, broker_id=broker_id, broker_addr=addr)
        case CleanBrokerDataEvent(broker_id_set_to_clean=ids):
            return ReplicasCleaned(node=node, broker_name=name, broker_ids=ids)
    return None
