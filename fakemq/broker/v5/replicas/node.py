"""What the parts of a broker under a controller see of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fakemq.broker.registration import Registration
    from fakemq.broker.role import Role
    from fakemq.broker.tables.topics import TopicConfigManager
    from fakemq.clock.timers import Routine
    from fakemq.dispatch.node import NodeState
    from fakemq.net.outbound import Outbound
    from fakemq.store.store import MessageStore


class Epochs(Protocol):
    """The epochs of a log."""

    @property
    def entries(self) -> Sequence[tuple[int, int, int]]:
        """Epoch, start and end offset of each; few, as the log has no more masters."""

    def last_epoch(self) -> int:
        """Return the last one; 0 for none."""


class Replication(Protocol):
    """The replication of a broker under a controller: `AutoSwitchHAService`, as it is used here."""

    on_set_should_change: Callable[[frozenset[int]], None]
    own_id: int | None
    """The id of this broker, as the sets have it; None before the first role."""

    @property
    def epochs(self) -> Epochs: ...
    @property
    def confirm_offset(self) -> int: ...

    def change_to_master(self, epoch: int) -> bool: ...
    def change_to_slave(self, epoch: int, master_id: int, own_id: int) -> bool: ...
    def take_set(self, members: frozenset[int], set_epoch: int) -> None: ...
    def check_set(self) -> None: ...
    def check_routine(self) -> Routine | None: ...


class ManagedBroker(Protocol):
    """A broker, as its controller changes it."""

    @property
    def state(self) -> NodeState: ...
    @property
    def addr(self) -> str: ...
    @property
    def role(self) -> Role: ...
    @property
    def store(self) -> MessageStore: ...
    @property
    def topics(self) -> TopicConfigManager: ...
    @property
    def registration(self) -> Registration: ...
    @property
    def outbound(self) -> Outbound: ...
    @property
    def switching(self) -> Replication:
        """Its replication."""

    def register_all(self) -> None: ...
