"""What a test places faults with: `mq.faults`, and the handle that each placing returns."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar, overload

from fakemq.errors import did_you_mean
from fakemq.handles.faults.calls import CallFaults
from fakemq.handles.faults.controllers import ControllerFaults
from fakemq.handles.faults.grpc import GrpcFaults
from fakemq.handles.faults.leases import LeaseFaults
from fakemq.handles.faults.links import LinkFaults
from fakemq.handles.faults.name_servers import NameServerFaults
from fakemq.handles.faults.nodes import NodeFaults
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, when
from fakemq.handles.faults.replication import ReplicationFaults
from fakemq.handles.faults.requests import RequestFaults
from fakemq.handles.running import Handle, Running

__all__ = ["Fault", "Faults", "Often", "when"]

FamilyT = TypeVar("FamilyT", bound=FaultPlacing)
P = ParamSpec("P")
R = TypeVar("R")


class Placing(Generic[FamilyT, P, R]):
    """A method of `Faults` that calls the method of the same name of one fault family.

    Example: ``mq.faults.park(...)`` calls ``RequestFaults(running).park(...)``.
    """

    def __init__(
        self, family: Callable[[Running], FamilyT], method: Callable[Concatenate[FamilyT, P], R]
    ) -> None:
        self.family = family
        self.method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, faults: None, owner: type) -> Callable[Concatenate[FamilyT, P], R]: ...

    @overload
    def __get__(self, faults: Faults, owner: type) -> Callable[P, R]: ...

    def __get__(self, faults: Faults | None, owner: type) -> object:
        # help(Faults) reads the attribute from the class: it shows the family's own signature.
        if faults is None:
            return self.method
        return MethodType(self.method, self.family(faults._running))


class Faults(Handle):
    """`mq.faults`: one method per kind of fault, and the faults that were placed.

    A fault placed here acts until it is used up or removed; each method returns its `Fault`. The
    table below names the family that implements each method; the family's docstring has the rules
    that its methods share.
    """

    # requests
    error = Placing(RequestFaults, RequestFaults.error)
    reply = Placing(RequestFaults, RequestFaults.reply)
    delay = Placing(RequestFaults, RequestFaults.delay)
    drop = Placing(RequestFaults, RequestFaults.drop)
    duplicate = Placing(RequestFaults, RequestFaults.duplicate)
    close = Placing(RequestFaults, RequestFaults.close)
    park = Placing(RequestFaults, RequestFaults.park)
    kill = Placing(RequestFaults, RequestFaults.kill)
    pause = Placing(RequestFaults, RequestFaults.pause)

    # flow control
    busy = Placing(NodeFaults, NodeFaults.busy)
    page_cache_busy = Placing(NodeFaults, NodeFaults.page_cache_busy)

    # calls
    drop_call = Placing(CallFaults, CallFaults.drop_call)
    delay_call = Placing(CallFaults, CallFaults.delay_call)
    duplicate_call = Placing(CallFaults, CallFaults.duplicate_call)
    reorder_calls = Placing(CallFaults, CallFaults.reorder_calls)

    # leases
    consumer_list = Placing(LeaseFaults, LeaseFaults.consumer_list)
    expire_locks = Placing(LeaseFaults, LeaseFaults.expire_locks)
    expire_client = Placing(LeaseFaults, LeaseFaults.expire_client)
    expire_broker = Placing(LeaseFaults, LeaseFaults.expire_broker)

    # RPCs of the gRPC front
    grpc = Placing(GrpcFaults, GrpcFaults.grpc)
    grpc_delay = Placing(GrpcFaults, GrpcFaults.grpc_delay)
    grpc_drop = Placing(GrpcFaults, GrpcFaults.grpc_drop)
    grpc_reset = Placing(GrpcFaults, GrpcFaults.grpc_reset)
    grpc_leave_open = Placing(GrpcFaults, GrpcFaults.grpc_leave_open)
    grpc_goaway = Placing(GrpcFaults, GrpcFaults.grpc_goaway)
    grpc_disconnect = Placing(GrpcFaults, GrpcFaults.grpc_disconnect)

    # links
    partition = Placing(LinkFaults, LinkFaults.partition)
    heal = Placing(LinkFaults, LinkFaults.heal)
    hold = Placing(LinkFaults, LinkFaults.hold)
    latency = Placing(LinkFaults, LinkFaults.latency)
    bandwidth = Placing(LinkFaults, LinkFaults.bandwidth)
    slice = Placing(LinkFaults, LinkFaults.slice)
    cut = Placing(LinkFaults, LinkFaults.cut)
    reset = Placing(LinkFaults, LinkFaults.reset)

    # replication
    hold_slave = Placing(ReplicationFaults, ReplicationFaults.hold_slave)
    withhold_acks = Placing(ReplicationFaults, ReplicationFaults.withhold_acks)
    tear_transfer = Placing(ReplicationFaults, ReplicationFaults.tear_transfer)
    reorder_metadata = Placing(ReplicationFaults, ReplicationFaults.reorder_metadata)
    truncate_slave = Placing(ReplicationFaults, ReplicationFaults.truncate_slave)
    believe_reports = Placing(ReplicationFaults, ReplicationFaults.believe_reports)

    # controllers
    depose_leader = Placing(ControllerFaults, ControllerFaults.depose_leader)
    forget_groups = Placing(ControllerFaults, ControllerFaults.forget_groups)

    # nodes
    disk_full = Placing(NodeFaults, NodeFaults.disk_full)
    tear_last_write = Placing(NodeFaults, NodeFaults.tear_last_write)
    lose_flush = Placing(NodeFaults, NodeFaults.lose_flush)
    fail_flush = Placing(NodeFaults, NodeFaults.fail_flush)
    slow_flush = Placing(NodeFaults, NodeFaults.slow_flush)
    flip_byte = Placing(NodeFaults, NodeFaults.flip_byte)

    # name servers
    silence = Placing(NameServerFaults, NameServerFaults.silence)
    lag_registrations = Placing(NameServerFaults, NameServerFaults.lag_registrations)
    stale_routes = Placing(NameServerFaults, NameServerFaults.stale_routes)
    hide_broker = Placing(NameServerFaults, NameServerFaults.hide_broker)
    hide_topic = Placing(NameServerFaults, NameServerFaults.hide_topic)
    show_queues = Placing(NameServerFaults, NameServerFaults.show_queues)
    show_addr = Placing(NameServerFaults, NameServerFaults.show_addr)

    def all(self) -> list[Fault]:
        """Return every fault placed since the start or the last reset, oldest first."""
        return [Fault(self._running, placed) for placed in self._core.faults.all()]

    def placed(self) -> list[Fault]:
        """Return the faults that have not been removed."""
        return [fault for fault in self.all() if fault.placed]

    def pending(self) -> list[Fault]:
        """Return the faults that may still have an effect."""
        return [fault for fault in self.all() if fault.pending]

    def unused(self) -> list[Fault]:
        """Return the faults that had to have an effect (``must_fire``) and never had one."""
        return [fault for fault in self.all() if fault._placed.unused]

    def clear(self) -> None:
        """Remove every fault. One that had to have an effect and had none stays in `unused`."""
        self._call(self._core.faults.clear)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            known = [one for one in dir(self) if not one.startswith("_")]
            hint = did_you_mean(name, known)
            raise AttributeError(f"no fault {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<faults {self.placed()}>"
