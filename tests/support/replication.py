"""A master and its slaves on a frozen clock, over memory links, and what a test asks of them."""

from __future__ import annotations

from typing import Any, Final, Unpack

from fakemq.broker.broker import Broker
from fakemq.config.option_types import ClusterOptions
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.ha.service import HAService
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.header import Header
from fakemq.store.store import MessageStore
from tests.support.broker_lab import send_header
from tests.support.peer import Answer, Peer

SMALL = {"mappedFileSizeCommitLog": 4096, "mappedFileSizeConsumeQueue": 400}
PATIENT_MS = 60_000
SYNC: Final = "SYNC_MASTER"
ASYNC: Final = "ASYNC_MASTER"
NO_WAIT = "WAIT\x01false"
"""Properties of a message whose sender does not wait."""
OK = ResponseCode.SUCCESS
NO_SLAVE = ResponseCode.SLAVE_NOT_AVAILABLE
TIMEOUT = ResponseCode.FLUSH_SLAVE_TIMEOUT


class Replicated:
    """One brokerName of a cluster: ``master``, its ``slave`` and ``slaves``, and a producer."""

    def __init__(self, **options: Unpack[ClusterOptions]) -> None:
        given: ClusterOptions = {
            "clock": "frozen",
            "start_at": "2023-11-14T22:13:20Z",
            "seed": 1,
            "slaves": 1,
            "topics": {"orders": 2},
        }
        spec = cluster_spec(**(given | options))
        ports = [10911 + 20 * number for number in range(len(spec.broker_configs))]
        self.core = ClusterCore(spec, ["127.0.0.1:9876"], ports)
        self.core.start()
        self.master = self.core.broker("broker-a")
        self.slaves = [broker for broker in self.core.brokers.values() if broker.config.is_slave]
        self.slave = self.slaves[0] if self.slaves else self.master
        self.producer = self.peer(self.master)

    @property
    def ha(self) -> HAService:
        """The master's replication."""
        return self.master.replication()

    def peer(self, broker: Broker, name: str = "peer") -> Peer:
        core = self.core
        return Peer(core.network, core.clock, core.journal, broker.addr, name=name)

    def send(
        self, body: bytes = b"hello", code: int = RequestCode.SEND_MESSAGE_V2, **fields: Any
    ) -> Answer:
        """Send and do not wait."""
        header = send_header(**fields)
        return self.producer.send(code, header, body, timeout_ms=PATIENT_MS)

    def ask(self, broker: Broker, code: int, header: Header | None = None) -> RemotingCommand:
        return self.peer(broker).ask(code, header)

    def kill(self, broker: Broker) -> None:
        broker.kill()
        self.core.network.settle()

    def stop(self, broker: Broker) -> None:
        broker.stop()
        self.core.network.settle()

    def start(self, broker: Broker) -> None:
        """Start a broker that is down."""
        self.core.start_broker(broker)
        self.core.network.settle()
        if broker is self.master:
            self.producer = self.peer(broker)

    def offsets(self) -> list[int]:
        """Where the logs end: the master's, then the slaves'."""
        return [broker.store.max_phy_offset for broker in (self.master, *self.slaves)]

    def assert_same(self) -> None:
        """The slaves' stores are the master's, as far as they reach."""
        for slave in self.slaves:
            assert slave.store.max_phy_offset == self.master.store.max_phy_offset
            assert same_log(self.master.store, slave.store)


def log_bytes(store: MessageStore, start: int, end: int) -> bytes:
    """The bytes of a store's log in [start, end)."""
    log = store.log
    found = b""
    while start + len(found) < end:
        data = log.read_from(start + len(found))
        assert data is not None
        found += data
    return found[: end - start]


def same_log(master: MessageStore, slave: MessageStore) -> bool:
    """Whether a slave's log and queues are the master's, over all that the slave has."""
    start, end = max(0, slave.min_phy_offset), slave.max_phy_offset
    if log_bytes(master, start, end) != log_bytes(slave, start, end):
        return False
    for queue in slave.queues:
        for offset in range(queue.min_offset, queue.max_offset):
            unit = master.queue_unit(queue.topic, queue.queue_id, offset)
            if unit != queue.unit_at(offset):
                return False
    return True


def code(answer: Answer) -> ResponseCode | None:
    """The response code of an answer that has come."""
    return None if answer.response is None else ResponseCode(answer.response.code)
