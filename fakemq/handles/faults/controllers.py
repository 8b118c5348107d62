"""The faults of `mq.faults` for controllers as a group: they change the leader, or lose the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import ConfigError
from fakemq.faults.plan import ONCE, Scope
from fakemq.handles.faults.placing import Fault, FaultPlacing

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.controller.group import ControllerGroup
    from fakemq.faults.plan import Point


class ControllerFaults(FaultPlacing):
    """Faults that happen at once, when they are placed; removing them changes nothing.

    Each method raises ConfigError for a cluster without controllers.
    """

    def depose_leader(self) -> Fault:
        """Let the leader of the controllers lead no more, though it runs.

        All of them answer 2007 to what needs a leader, until the deadline ``controller_election``.
        Then another one leads, if there is one. LookupError if none leads now.
        """
        from fakemq.faults.points import DEPOSE  # few tests do this

        group = self._group()
        if group.leader is None:
            raise LookupError("no controller leads now: nothing to depose")
        return self._at_once(DEPOSE, f"depose {group.leader.name}", group.leader.name, group.depose)

    def forget_groups(self) -> Fault:
        """Let all controllers lose their log: they know no group of brokers any more.

        Masters and slaves keep their roles, and serve. They ask for their group, which is unknown
        (2008), register again, and are refused (2010), every 5 s. A broker that starts again stays
        fenced. They join again without ``brokerIdentity`` and ``epochFileCheckpoint``.
        """
        from fakemq.faults.points import FORGET  # few tests do this

        group = self._group()
        return self._at_once(FORGET, "forget all groups", "controllers", group.forget)

    def _group(self) -> ControllerGroup:
        controllers = self._core.controllers
        if controllers is None:
            raise ConfigError("this cluster has no controllers: start it with controllers=1")
        return controllers.group

    def _at_once(self, point: Point[None], what: str, on: str, act: Callable[[], None]) -> Fault:
        fault = self._place(point, None, what, Scope(), ONCE)

        def happen() -> None:
            with self._core.journal.because(fault._placed.hit(on, "")):
                act()
            self._core.network.settle()

        self._call(happen)
        return fault
