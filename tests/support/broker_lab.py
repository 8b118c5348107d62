"""A broker on a frozen clock, reached over a memory network by real bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fakemq.broker.broker import Broker, broker_class
from fakemq.broker.v5.broker import Broker5
from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.model import BrokerConfig
from fakemq.config.spec import config_classes
from fakemq.dispatch.node import NodeContext
from fakemq.faults.plan import FaultPlan
from fakemq.files.texts import DiskTextFile
from fakemq.journal.journal import Journal
from fakemq.net.memory import MemoryNetwork
from fakemq.net.outbound import Outbound
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.send import SendMessageRequestHeader, SendMessageRequestHeaderV2
from fakemq.randomness import Randomness
from fakemq.reference import V4_9_7, Reference
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.store import MessageStore
from tests.support.namesrv_double import NameServerDouble
from tests.support.peer import Peer
from tests.support.time import START_MS, ManualTime

MEMORY_LIMIT_BYTES = 64 * 1024 * 1024


class BrokerLab:
    """One clock, one network, one journal, and the brokers that a test starts there.

    Real time is the test's: `outside_time_passes` moves it. A clock that is not ``frozen`` follows
    it, so that the time of clients counts.
    """

    def __init__(self, *, frozen: bool = True) -> None:
        self.time = ManualTime()
        self.clock = Clock(
            frozen=frozen, start_at_ms=START_MS if frozen else None, source=self.time
        )
        self.journal = Journal(self.clock)
        self.network = MemoryNetwork()
        self.clock.settle = self.network.settle
        self._files: list[MemoryFiles] = []

    def free(self) -> None:
        """Give the memory of all stores back: parts of a broker know each other.

        Without it, the labs of a state machine keep a GiB of addresses each until the next garbage
        collection.
        """
        for files in self._files:
            files.clear()

    def broker(
        self,
        config: BrokerConfig | None = None,
        *,
        namesrv_addrs: tuple[str, ...] = (),
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
        config_folder: Path | None = None,
        reference: Reference = V4_9_7,
        store_class: type[MessageStore] = MessageStore,
    ) -> Broker:
        """A started broker that listens at its addresses."""
        config = config or config_classes(reference)[0]()
        name = config.node_name
        clock = NodeClock(self.clock, name)
        files = MemoryFiles(clock, memory_limit_bytes)
        self._files.append(files)
        store = store_class(config, files, clock, self.journal, name)
        randomness = Randomness(1).stream(f"broker {name}")
        faults = FaultPlan(self.journal)
        node = NodeContext(name, config, clock, self.journal, faults, randomness, reference)
        broker = broker_class(reference)(node, store)
        broker.outbound = Outbound(broker, self.network)
        if config_folder is not None:
            broker.persistence.keep_in(lambda name: DiskTextFile(str(config_folder / name)))
        self.network.listen(broker.addr, broker.accept)
        self.network.listen(broker.vip_addr, broker.accept_fast)
        broker.start(namesrv_addrs)
        self.network.settle()
        return broker

    def pass_time(self, ms: int) -> None:
        """Let the cluster's time pass."""
        if self.clock.frozen:
            self.clock.advance_ms(ms)
        else:
            self.outside_time_passes(ms)

    def outside_time_passes(self, ms: int) -> None:
        """Let real time pass: outside peers grow older, a frozen cluster does not."""
        self.time.passed_ms += ms
        self.clock.fire_due()
        self.network.settle()

    def peer(self, addr: str, name: str = "peer") -> Peer:
        return Peer(self.network, self.clock, self.journal, addr, name=name)

    def outside_peer(self, broker: Broker, name: str = "outside") -> Peer:
        """A client that lives in real time, as one behind a socket does."""
        return Peer(
            self.network,
            self.clock,
            self.journal,
            broker.addr,
            name=name,
            accept_outside=broker.accept,
        )

    def name_server(self, addr: str) -> NameServerDouble:
        return NameServerDouble(self.network, self.clock, self.journal, addr)


def broker5(broker: Broker) -> Broker5:
    """The same broker, which must be one of 5.5.0."""
    assert isinstance(broker, Broker5)
    return broker


def send_header(topic: str = "orders", **fields: str | int | bool) -> SendMessageRequestHeaderV2:
    """The header of an ordinary send: what a 4.9.7 producer fills in."""
    header = SendMessageRequestHeaderV2(
        producer_group="producers",
        topic=topic,
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=START_MS - 5,
        flag=0,
        properties="UNIQ_KEY\x017F0000010000000000000000000000\x02WAIT\x01true",
        reconsume_times=0,
    )
    vars(header).update(fields)
    return header


def v1(header: SendMessageRequestHeaderV2) -> SendMessageRequestHeader:
    """The same header with long names."""
    return SendMessageRequestHeader(**vars(header))


Send = Callable[..., RemotingCommand]
