"""Replication of one broker of 5.5.0.

Source: store/ha/DefaultHAService.java, store/ha/GroupTransferService.java,
store/CommitLog.java#handleHA (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.config.v5.model import config5
from fakemq.ha.service import HAService
from fakemq.ha.v5.client import HAClient5, SlaveEnd5
from fakemq.protocol.v5.bodies.ha import (
    HAClientRuntimeInfo,
    HAConnectionRuntimeInfo,
    HARuntimeInfo,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.ha.client import HAClient
    from fakemq.ha.master_link import MasterEnd
    from fakemq.ha.metadata_sync import SlaveSynchronize
    from fakemq.ha.node import ReplicatedBroker
    from fakemq.ha.v5.node import Tables5
    from fakemq.store.puts import PutMessageResult


class HAService5(HAService):
    """The replication of a broker, from its start to its stop.

    A send to a SYNC_MASTER waits for ``inSyncReplicas - 1`` slaves, if that is at least one:
    however many there are, and however far they are behind.
    """

    def __init__(self, broker: ReplicatedBroker, tables: Tables5) -> None:
        super().__init__(broker)
        self._tables = tables
        self._config = config5(broker.config)
        self.master_flushed_offset = 0
        """Where its master's log ended at the start of that, as a slave knows it."""
        self._group_transfer.look_ms = None

    def _make_slave(self) -> tuple[HAClient, SlaveSynchronize]:
        from fakemq.ha.v5.metadata_sync import SlaveSynchronize5  # no master needs it

        broker = self._broker
        return HAClient5(broker, self._appended), SlaveSynchronize5(broker, self._tables)

    # -- the slave's side ---------------------------------------------------------------------

    def learn_master(self, ha_addr: str | None, flushed_offset: int | None) -> None:
        """Follow a master at ``ha_addr``, and show where its log ended at its start.

        The latter only with ``syncMasterFlushOffsetWhenStartup``, and if it is still unknown.
        """
        if self._config.sync_master_flush_offset_when_startup and not self.master_flushed_offset:
            self.master_flushed_offset = flushed_offset or 0
        if ha_addr is not None:
            self.follow(ha_addr)

    # -- the master's side --------------------------------------------------------------------

    @property
    def _needed(self) -> int:
        """How many brokers must have a send, the master included."""
        return self._config.in_sync_replicas

    def _replicate(self, next_offset: int, result: PutMessageResult) -> None:
        if self._needed > 1:
            result.replicate_to = next_offset

    def when_transferred(self, next_offset: int, done: Callable[[bool], None]) -> None:
        self._count()
        super().when_transferred(next_offset, done)

    def notify_transfer_some(self, offset: int) -> None:
        self.push2_slave_max_offset = max(self.push2_slave_max_offset, offset)
        self._count()

    def connection_closed(self, end: MasterEnd) -> None:
        super().connection_closed(end)
        self._count()

    def runtime_info(self) -> HARuntimeInfo:
        """Return the state of replication, as code 907 answers it.

        Differs: the bytes of the last second are always 0; Java counts headers of transfers.
        Source: DefaultHAService.java#getRuntimeInfo (5.5.0)
        """
        broker = self._broker
        end_offset = broker.store.log.max_offset
        if broker.store.role.is_slave:
            return HARuntimeInfo(ha_client_runtime_info=self._client_info(end_offset))
        slaves = []
        for end in self.connections:
            acked = end.connection.slave_ack_offset
            slaves.append(
                HAConnectionRuntimeInfo(
                    addr=end.remote_addr,
                    slave_ack_offset=acked,
                    diff=end_offset - acked,
                    in_sync=end_offset - acked < broker.config.ha_slave_fallbehind_max,
                    transfer_from_where=end.connection.next_transfer_from_where,
                )
            )
        return HARuntimeInfo(
            master=True,
            master_commit_log_max_offset=end_offset,
            in_sync_slave_nums=sum(slave.in_sync for slave in slaves),
            ha_connection_info=slaves,
        )

    def _client_info(self, end_offset: int) -> HAClientRuntimeInfo:
        client, clock = self.client, self._broker.clock
        info = HAClientRuntimeInfo(
            max_offset=end_offset, master_flush_offset=self.master_flushed_offset
        )
        if client is not None:
            info.master_addr = client.master_address
            end = client.end
            if isinstance(end, SlaveEnd5):
                to_wall_ms = clock.now_ms() - clock.elapsed_ms(outside=end.outside)
                info.last_read_timestamp = end.last_read_ms + to_wall_ms
                info.last_write_timestamp = end.last_write_ms + to_wall_ms
        return info

    def _count(self) -> None:
        """Find out up to which offset enough slaves have the log."""
        needed = max(1, self._needed - 1)
        offsets = sorted((end.acknowledged_offset for end in self.connections), reverse=True)
        acked = offsets[needed - 1] if needed <= len(offsets) else 0
        self._group_transfer.notify_transfer_some(acked)
