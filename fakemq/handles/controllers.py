"""Handles on controllers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.handles.clock import NodeClockHandle
from fakemq.handles.running import Handle, Running

if TYPE_CHECKING:
    from fakemq.controller.controller import Controller
    from fakemq.handles.faults import Fault, Faults


class ControllerHandle(Handle):
    """A controller; the same for synchronous and asynchronous tests, as nothing here waits."""

    def __init__(self, running: Running, controller: Controller) -> None:
        super().__init__(running)
        self.name = controller.name
        self.addr = controller.addr
        """``host:port`` for the brokers' controllerAddr."""

    @property
    def _controller(self) -> Controller:
        return self._core.controllers_called(self.name)[0]

    @property
    def metrics_addr(self) -> str:
        """``host:port`` at which Prometheus reads its metrics; FakemqError without such a port."""
        return self._metrics_addr(self.name)

    @property
    def clock(self) -> NodeClockHandle:
        """The clock as this controller sees it; `NodeClockHandle.skew` makes it wrong."""
        return NodeClockHandle(self._running, lambda: self._controller.clock)

    @property
    def state(self) -> str:
        """``running``, ``paused`` or ``stopped``."""
        return self._call(lambda: self._controller.state.value)

    @property
    def leads(self) -> bool:
        """Whether it is the leader, which alone answers for groups of brokers."""
        return self._call(lambda: self._controller.leads)

    def kill(self) -> None:
        """Kill the controller at once, as by kill -9; its port refuses connections.

        If it was the leader, another one takes over at the deadline ``controller_election``.
        """
        self._call(lambda: self._running().server.stop_controller(self._controller, "kill"))

    def stop(self) -> None:
        """Stop the controller; for the others this is like `kill`."""
        self._call(lambda: self._running().server.stop_controller(self._controller))

    def restart(self) -> None:
        """Start it again at the same address; it knows no living broker until one beats."""
        self._call(lambda: self._running().server.restart_controller(self._controller))

    def pause(self) -> None:
        """Pause, as by SIGSTOP: sockets stay open, nothing answers, no timer fires."""
        self._call(lambda: self._controller.pause())

    def resume(self) -> None:
        """Continue after `pause`; what arrived meanwhile is handled now.

        A leader that is resumed before the deadline ``controller_election`` still leads, a later
        one follows.
        """
        self._call(lambda: self._controller.resume())

    def __repr__(self) -> str:
        role = "leader" if self.leads else "follower"
        return f"<controller {self.name} at {self.addr}, {self.state}, {role}>"


class ControllersHandle(Handle):
    """All controllers of a cluster, in the order of their names; there may be none."""

    @property
    def addr(self) -> str:
        """What brokers get as controllerAddr: ``host:port``, joined by ``;``."""
        return ";".join(self._core.controller_addrs)

    @property
    def leader(self) -> ControllerHandle | None:
        """The controller that leads; None while there is none."""
        return next((one for one in self if one.leads), None)

    def partition(self, source: str, target: str | None = None) -> Fault:
        """Separate a broker or a controller from another controller, by default from all.

        It lasts until ``mq.heal()``, or until the fault is removed. A leader that reaches less than
        half of the others leads no more after the deadline ``controller_election``; a master goes
        on serving, though its group gets another one. Raise LookupError for an unknown node.
        """
        return self._faults.partition(source, "controllers" if target is None else target)

    def depose(self) -> Fault:
        """Let the leader lead no more; the same as ``faults.depose_leader``."""
        return self._faults.depose_leader()

    def forget(self) -> Fault:
        """Let all controllers lose their log; the same as ``faults.forget_groups``."""
        return self._faults.forget_groups()

    @property
    def _faults(self) -> Faults:
        from fakemq.handles.faults import Faults  # many tests place none

        return Faults(self._running)

    def __iter__(self) -> Iterator[ControllerHandle]:
        found = self._core.controllers_called(None)
        return iter([ControllerHandle(self._running, one) for one in found])

    def __len__(self) -> int:
        return len(self._core.controllers_called(None))

    def __getitem__(self, which: str | int) -> ControllerHandle:
        """Return a controller by number, name or address; raise LookupError if there is none."""
        return ControllerHandle(self._running, self._core.controllers_called(which)[0])

    def __repr__(self) -> str:
        return f"<{len(self)} controllers at {self.addr or 'no address'}>"
