"""What a test places faults with: `mq.faults`, and the `Fault` that each placing gives."""

from __future__ import annotations

from collections.abc import Callable

from fakemq.faults.handles_calls import CallFaults
from fakemq.faults.handles_leases import LeaseFaults
from fakemq.faults.handles_name_servers import NameServerFaults
from fakemq.faults.handles_requests import RequestFaults
from fakemq.faults.placing import Fault, Often, when
from fakemq.faults.plan import ALWAYS, Point, Scope
from fakemq.journal import Entry

__all__ = ["Fault", "Faults", "Often", "when"]


class Faults(
    RequestFaults,
    CallFaults,
    LeaseFaults,
    NameServerFaults,
):
    """Faults placed by name."""

    def believe_reports(self, broker: str) -> Fault:
        """The broker believes what slaves that connect from now on report first, as 4.9.7 does.

        One that reports an end beyond the master's own has senders told SEND_OK of what no slave
        has, until the broker's next restart, as there. The fault itself outlives restarts.
        """
        from fakemq.ha.events import ReportBelieved  # few tests have slaves that lie

        core = self._core
        node = core.broker(broker)

        def remove() -> None:
            node.believes_reports = False
            unlisten()

        fault = self._place(
            Point("believe_reports"),
            None,
            f"believe_reports {node.name}",
            Scope(node=node.name),
            ALWAYS,
            on_end=remove,
        )

        def hear(entry: Entry) -> None:
            if entry.event.node == node.name:
                fault._placed.hit(node.name, "a slave's first report")

        def begin() -> Callable[[], None]:
            node.believes_reports = True
            return core.journal.listen(hear, ReportBelieved)

        unlisten = self._call(begin)
        return fault

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
        """Remove every fault, and forget all that were."""
        self._call(self._core.faults.clear)

    def __repr__(self) -> str:
        return f"<faults {self.placed()}>"
