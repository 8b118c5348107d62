"""The role of a broker: which one it has, and how a running broker gets another one.

A broker begins with the role of its config; under a controller it is fenced until it is given
one, see `fakemq.broker.v5.replicas`. Java's, and so this one, follows brokerRole also where
a request sets it: it then acts as its new role where it is asked, but begins and ends nothing.
`Role.become` is the whole change, as a controller asks for it.

Source: broker/controller/ReplicasManager.java#changeToMaster, #changeToSlave,
broker/BrokerController.java#changeSpecialServiceStatus (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.dispatch.node import NodeState
from fakemq.events.core import RoleChanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.config.keys import BrokerRole
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.store.store import MessageStore

MASTER_ID = 0


class Serving(Protocol):
    """A broker, as its role changes it."""

    @property
    def state(self) -> NodeState: ...
    @property
    def store(self) -> MessageStore: ...

    def begin_duties(self) -> None:
        """Begin what the role asks for besides answers to requests."""

    def end_duties(self, *, persist: bool) -> None:
        """End what the role asked for, and write how far it came if ``persist``."""

    def start_replication(self) -> None:
        """Follow a master, or let slaves follow."""

    def stop_replication(self, why: str) -> None:
        """Disconnect from masters and slaves."""

    def register_all(self) -> None:
        """Register with every name server now."""


class Role:
    """The role of one broker."""

    def __init__(self, node: NodeContext[BrokerConfig], broker: Serving) -> None:
        self._node = node
        self._broker = broker
        self._held = broker.store.role
        self.epoch = 0
        """The epoch of the master that a controller has named; 0 without a controller."""

    @property
    def name(self) -> BrokerRole:
        """ASYNC_MASTER, SYNC_MASTER or SLAVE."""
        return self._held.name

    @property
    def is_slave(self) -> bool:
        """Whether it takes no messages and has no duties; a fenced broker is such a one, too."""
        return self._held.is_slave

    @property
    def fenced(self) -> bool:
        """Whether it waits for a controller to give it a role: it takes no messages until then."""
        return self._held.fenced

    @property
    def is_sync_master(self) -> bool:
        return self._held.is_sync_master

    @property
    def has_duties(self) -> bool:
        """Whether it delivers what is delayed, checks transactions, and revives what was popped."""
        return self._held.has_duties

    @property
    def acts_as_master(self) -> bool:
        """Whether it is a slave with these duties: the lowest of its group, without its master.

        What the duties write, it cannot store: it takes no messages.
        """
        return self._held.acts_as_master

    def follow_config(self) -> None:
        """Have the role of the config: at a start, and where it was set."""
        self._held.take(self._node.config.broker_role, fenced=self._held.fenced)

    def fence(self) -> None:
        """Have no role until the next `become`: at the start of a broker under a controller.

        Until then both keys are what a file without them says.
        """
        config = self._node.config
        config.broker_role, config.broker_id = "ASYNC_MASTER", MASTER_ID
        self._held.take(config.broker_role, fenced=True)
        self.epoch = 0

    def be_lowest(self, lowest: bool) -> None:
        """Have the duties of its group or not, whatever the role is: where slaves act as masters.

        Source: broker/BrokerController.java#changeSpecialServiceStatus (5.5.0)
        """
        held, running = self._held, self._broker.state.is_up
        if running and lowest != held.has_duties:
            self._broker.end_duties(persist=True)
            held.be_lowest(lowest)
            self._broker.begin_duties()
        else:
            held.be_lowest(lowest)

    def become(
        self,
        role: BrokerRole,
        broker_id: int = MASTER_ID,
        replicate: Callable[[], object] | None = None,
    ) -> None:
        """Change the role of a running broker: a master has the id 0, each slave one of its own.

        Clients stay connected, slaves and master do not. What the old role did ends here, and what
        the new one does begins: replication, the delivery of delayed and timer messages, checks of
        transactions, the revival of popped messages. Then it registers. Nothing is cut from the
        log but a record that has not arrived completely. Replication that lasts from role to role
        changes by ``replicate``; without it, it ends and begins.

        Raise ValueError for a broker that does not run, and for an id that no such broker has.
        """
        node, broker = self._node, self._broker
        if broker.state is not NodeState.RUNNING:
            raise ValueError(f"{node.name} is {broker.state}: expected a running broker")
        if (role == "SLAVE") != (broker_id > MASTER_ID):
            raise ValueError(f"brokerId={broker_id}: a master has 0, a slave a positive one")
        event = RoleChanged(node=node.name, role=role, broker_id=broker_id, epoch=self.epoch)
        with node.journal.because(node.journal.add(event)):
            broker.store.finish_work()
            broker.end_duties(persist=True)
            if replicate is None:
                broker.stop_replication("role changed")
                broker.store.end_following()
            node.config.broker_role, node.config.broker_id = role, broker_id
            self._held.lowest = None  # another role, another rank
            self._held.take(role)
            if replicate is not None:
                replicate()
            broker.begin_duties()
            if replicate is None:
                broker.start_replication()
            broker.register_all()

    def __repr__(self) -> str:
        return f"<role {self.name} of {self._node.name}>"
