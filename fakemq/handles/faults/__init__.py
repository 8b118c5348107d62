"""What a test places faults with: `mq.faults`, and the `Fault` that each placing gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import did_you_mean
from fakemq.handles.faults.calls import CallFaults
from fakemq.handles.faults.leases import LeaseFaults
from fakemq.handles.faults.links import LinkFaults
from fakemq.handles.faults.name_servers import NameServerFaults
from fakemq.handles.faults.nodes import NodeFaults
from fakemq.handles.faults.placing import Fault, Often, when
from fakemq.handles.faults.replication import ReplicationFaults
from fakemq.handles.faults.requests import RequestFaults

__all__ = ["Fault", "Faults", "Often", "when"]


class Faults(
    RequestFaults,
    CallFaults,
    LeaseFaults,
    LinkFaults,
    ReplicationFaults,
    NodeFaults,
    NameServerFaults,
):
    """Faults placed by name."""

    def all(self) -> list[Fault]:
        """Every fault since the start or the last reset, oldest first."""
        return [Fault(self._running, placed) for placed in self._core.faults.all()]

    def placed(self) -> list[Fault]:
        """Every fault that has not been removed."""
        return [fault for fault in self.all() if fault.placed]

    def pending(self) -> list[Fault]:
        """Every fault that may still have an effect."""
        return [fault for fault in self.all() if fault.pending]

    def unused(self) -> list[Fault]:
        """Every fault that was to have an effect and never had."""
        return [fault for fault in self.all() if fault._placed.unused]

    def clear(self) -> None:
        """Remove every fault; those that were to have an effect and had none stay `unused`."""
        self._call(self._core.faults.clear)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            known = [one for one in dir(self) if not one.startswith("_")]
            hint = did_you_mean(name, known)
            raise AttributeError(f"no fault {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<faults {self.placed()}>"
