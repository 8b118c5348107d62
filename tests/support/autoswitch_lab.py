"""A group of brokers under a controller that the test plays, on a frozen clock and memory links."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
from fakemq.ha.autoswitch.service import AutoSwitchHAService
from fakemq.protocol.codes import RequestCode
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.peer import Answer

PATIENT_MS = 60_000


class AutoSwitched:
    """Brokers with the ids 1, 2, …; the test says which is the master, and which set is in sync.

    As a controller does, it accepts each set that is proposed, unless ``accepts`` is False. The
    master gets the answer unless ``is_answered`` is False.
    """

    def __init__(self, brokers: int = 2, **config: object) -> None:
        self.lab = BrokerLab()
        self.network, self.journal = self.lab.network, self.lab.journal
        self.brokers: dict[int, Broker] = {}
        self.accepts = self.is_answered = True
        self.proposed: list[frozenset[int]] = []
        """The sets for which the controller was asked."""
        self.accepted: frozenset[int] = frozenset()
        """The set that the controller has."""
        self.master_id = self.epoch = self.set_epoch = 0
        for broker_id in range(1, brokers + 1):
            self.add(broker_id, **config)

    def add(self, broker_id: int, **config: object) -> Broker:
        """Start another broker, without a role."""
        broker = self.lab.broker(
            controlled_config(broker_id, **config),
            reference=REFERENCE,
            store_class=ConfirmedStore,
        )
        self.network.listen(broker.ha_addr, broker.accept_ha)
        self.brokers[broker_id] = broker
        self.ha(broker_id).own_id = broker_id
        return broker

    def ha(self, broker_id: int) -> AutoSwitchHAService:
        ha = self.brokers[broker_id].replication()
        assert isinstance(ha, AutoSwitchHAService)
        return ha

    def store(self, broker_id: int) -> ConfirmedStore:
        store = self.brokers[broker_id].store
        assert isinstance(store, ConfirmedStore)
        return store

    @property
    def master(self) -> AutoSwitchHAService:
        return self.ha(self.master_id)

    # -- the controller -----------------------------------------------------------------------

    def elect(self, broker_id: int, slaves: Iterable[int] | None = None) -> None:
        """Make a broker the master of the next epoch, and the ``slaves`` its slaves: all others."""
        self.epoch += 1
        self.master_id = broker_id
        self.set_epoch += 1
        broker, ha = self.brokers[broker_id], self.ha(broker_id)
        broker.store.role.take("SYNC_MASTER")
        ha.on_set_should_change = partial(self._asked, broker_id, self.epoch)
        self.accepted = frozenset({broker_id})
        ha.take_set(frozenset({broker_id}), self.set_epoch)
        assert ha.change_to_master(self.epoch)
        for slave in self.brokers if slaves is None else slaves:
            if slave != broker_id:
                self.follow(slave)

    def follow(self, slave: int) -> None:
        """Make a broker a slave of the present master, whose address a name server has said."""
        self.brokers[slave].store.role.take("SLAVE")
        assert self.ha(slave).change_to_slave(self.epoch, self.master_id, slave)
        self.tell(slave)

    def tell(self, slave: int) -> None:
        """Let a name server say where the master is."""
        master = self.brokers[self.master_id]
        self.ha(slave).master_is(None, master.ha_addr)
        self.network.settle()

    def restart(self, number: int) -> None:
        """Start a broker that is down, without a role."""
        self.brokers[number].start()
        self.ha(number).own_id = number
        self.network.settle()

    def _asked(self, master_id: int, epoch: int, members: frozenset[int]) -> None:
        self.proposed.append(members)

        def answer() -> None:
            if (master_id, epoch) != (self.master_id, self.epoch):
                return  # it is a master no more
            self.accepted = members
            if self.is_answered and self.brokers[master_id].running:
                self.take(members)

        if self.accepts:
            self.network.post_later(answer)

    def take(self, members: Iterable[int]) -> None:
        """Let the master take a set of the controller."""
        self.set_epoch += 1
        self.accepted = frozenset(members)
        self.master.take_set(self.accepted, self.set_epoch)

    def agree(self) -> None:
        """Let the first reports of slaves come, 5 s after their handshakes."""
        self.lab.pass_time(6_000)
        self.network.settle()

    # -- sends --------------------------------------------------------------------------------

    def send(self, body: bytes = b"hello", **fields: Any) -> Answer:
        """Send to the master and do not wait."""
        peer = self.lab.peer(self.brokers[self.master_id].addr)
        header = send_header(**{"topic": "orders", **fields})
        return peer.send(RequestCode.SEND_MESSAGE_V2, header, body, timeout_ms=PATIENT_MS)

    def ends(self) -> dict[int, int]:
        """Where the log of each broker ends."""
        return {number: one.store.max_phy_offset for number, one in self.brokers.items()}

    def queued(self, broker_id: int) -> int:
        """How many messages of the queue 0 can be read."""
        return self.brokers[broker_id].store.max_offset_in_queue("orders", 0)

    def starts(self, broker_id: int) -> list[tuple[int, int]]:
        """Epoch and start of each epoch of a broker."""
        return [(entry.epoch, entry.start_offset) for entry in self.ha(broker_id).epochs]


def controlled_config(broker_id: int, **config: object) -> BrokerConfig5:
    """The config of a broker under a controller, as the controller's side makes it."""
    made = BrokerConfig5()
    made.listen_port, made.broker_id = 10911 + 20 * broker_id, broker_id
    made.enable_controller_mode = True
    made.mapped_file_size_commit_log = 1 << 16
    for name, value in config.items():
        assert hasattr(made, name), name
        setattr(made, name, value)
    return made
