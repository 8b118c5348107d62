"""What faults and invariants use of a simulation; `fakemq.sim.run.SimulationRun` is the real one.

A Protocol, so that the table of faults and the checkers do not import the run that uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.faults.plan import ActiveFault
    from fakemq.sim.client import SimulatedClient
    from fakemq.sim.history import History, Violation
    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.pop_watch import PopWatch
    from fakemq.sim.replica_watch import ReplicaWatch


class Simulation(Protocol):
    """A running simulation: its cluster and clients, and what a fault can do to them."""

    plan: Plan
    core: ClusterCore
    history: History
    lost: set[str]
    """Nodes whose machines were lost for good."""
    placed: dict[PlannedFault, list[ActiveFault[Any]]]
    """Planned faults that are active in the cluster's own fault plan, with their parts there."""
    chosen: dict[PlannedFault, str]
    """The nodes that faults have whose targets are chosen when they begin."""
    pop_watch: PopWatch | None
    """Follows the pops; None if no group pops."""
    replica_watch: ReplicaWatch | None
    """Follows the replicas; None without controllers."""
    table_faults: list[Violation]
    """Disagreements between the tables of a name server, found during the run."""

    @property
    def clients(self) -> Mapping[str, SimulatedClient]:
        """Clients by their names in the plan."""

    def after(self, delay_ms: int, act: Callable[[], None]) -> None:
        """Call ``act`` after ``delay_ms`` of virtual time."""

    def lose_machine(self, node: str) -> None:
        """Kill a broker for good, with the bytes that its disk had not stored yet."""

    def stop_name_server(self, name: str) -> None:
        """Kill a name server; its tables are lost."""

    def start_name_server(self, name: str) -> None:
        """Start a stopped name server with empty tables."""

    def replace(self, name: str) -> None:
        """Start a new consumer in the place of a killed one."""
