"""What a biography says of a cluster's nodes, beside the journal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fakemq.biographies.because import missing

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.journal import Journal


class Slave(NamedTuple):
    """A slave by its name, and where its log ends, in bytes."""

    name: str
    log_end: int


class Nodes(Protocol):
    """The nodes of a cluster that runs, or of one whose journal was recorded."""

    @property
    def journal(self) -> Journal: ...

    def now_ms(self) -> int:
        """Return the cluster's wall time."""

    def has_master(self, broker_name: str) -> bool: ...

    def is_slave(self, node: str) -> bool: ...

    def slaves(self, broker_name: str) -> Iterator[Slave]: ...

    def why_missing(self, slave: str) -> str:
        """Return why a slave lacks records; "" if it is only late, or the reason is unknown."""


class LiveNodes:
    """The nodes of a core. Only on the cluster's thread."""

    def __init__(self, core: ClusterCore) -> None:
        self._core = core

    @property
    def journal(self) -> Journal:
        return self._core.journal

    def now_ms(self) -> int:
        return self._core.clock.now_ms()

    def has_master(self, broker_name: str) -> bool:
        return self._core.master(broker_name) is not None

    def is_slave(self, node: str) -> bool:
        return self._core.brokers[node].role.is_slave

    def slaves(self, broker_name: str) -> Iterator[Slave]:
        for name, broker in self._core.brokers.items():
            if broker.role.is_slave and broker.config.broker_name == broker_name:
                yield Slave(name, broker.store.log.max_offset)

    def why_missing(self, slave: str) -> str:
        return missing(self._core, self._core.brokers[slave])
