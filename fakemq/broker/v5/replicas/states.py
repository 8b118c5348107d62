"""How far a broker under a controller is.

Source: broker/controller/ReplicasManager.java#State (5.5.0)
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class ReplicaState(Enum):
    """How far a broker is; the value is its public name."""

    INITIAL = "INITIAL"
    FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE = "FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE"
    """It knows which controller leads."""
    REGISTER_TO_CONTROLLER_DONE = "REGISTER_TO_CONTROLLER_DONE"
    """It has its id, and waits for a master."""
    RUNNING = "RUNNING"
    SHUTDOWN = "SHUTDOWN"


TRANSITIONS: Final = {
    ReplicaState.SHUTDOWN: (ReplicaState.INITIAL,),
    ReplicaState.INITIAL: (
        ReplicaState.FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE,
        ReplicaState.SHUTDOWN,
    ),
    ReplicaState.FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE: (
        ReplicaState.REGISTER_TO_CONTROLLER_DONE,
        ReplicaState.SHUTDOWN,
    ),
    ReplicaState.REGISTER_TO_CONTROLLER_DONE: (ReplicaState.RUNNING, ReplicaState.SHUTDOWN),
    ReplicaState.RUNNING: (ReplicaState.SHUTDOWN,),
}
"""State → the states that may follow: the next one, or the end."""


def waiting_text(state: ReplicaState, controller_addr: str, retry_ms: int) -> str:
    """Return what a user should know of a broker that cannot leave a state."""
    lack = {
        ReplicaState.INITIAL: "no controller there names a leader",
        ReplicaState.FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE: "the leader does not register it",
    }.get(state, "its group has no master, and the leader does not elect it")
    return (
        f"controllerAddr={controller_addr}: {lack}; until then this broker is in no route, and"
        f" refuses sends (code 14). It tries again every {retry_ms // 1000} s"
    )
