"""The faults of `mq.faults` for controllers as a group: they change the leader, or lose the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import ConfigError
from fakemq.handles.faults.placing import AtOnce, Fault, FaultPlacing

if TYPE_CHECKING:
    from fakemq.controller.group import ControllerGroup


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

        def look() -> AtOnce:
            if group.leader is None:
                raise LookupError("no controller leads now: nothing to depose")
            name = group.leader.name
            return f"depose {name}", [(name, "", group.depose)]

        return self._at_once(DEPOSE, look)

    def forget_groups(self) -> Fault:
        """Let all controllers lose their log: they know no group of brokers any more.

        Masters and slaves keep their roles, and serve. They ask for their group, which is unknown
        (2008), register again, and are refused (2010), every 5 s. A broker that starts again stays
        fenced. They join again without ``brokerIdentity`` and ``epochFileCheckpoint``. StoreError
        if the log cannot be written: nothing is forgotten then, and no fault is placed.
        """
        from fakemq.faults.points import FORGET  # few tests do this

        group = self._group()
        return self._at_once(
            FORGET, lambda: ("forget all groups", [("controllers", "", group.forgetting())])
        )

    def _group(self) -> ControllerGroup:
        controllers = self._core.controllers
        if controllers is None:
            raise ConfigError("this cluster has no controllers: start it with controllers=1")
        return controllers.group
