"""What a broker says of its replication."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long


class HAConnectionRuntimeInfo(Body):
    """One slave, at its master; ``diff`` is how many bytes it is behind.

    Source: remoting/protocol/body/HARuntimeInfo.java#HAConnectionRuntimeInfo (5.5.0)
    """

    addr: str | None = None
    slave_ack_offset: Long = 0
    diff: Long = 0
    in_sync: bool = False
    transferred_byte_in_second: Long = 0
    transfer_from_where: Long = 0


class HAClientRuntimeInfo(Body):
    """A slave's way to its master; times are in ms since the epoch.

    Source: remoting/protocol/body/HARuntimeInfo.java#HAClientRuntimeInfo (5.5.0)
    """

    master_addr: str | None = None
    transferred_byte_in_second: Long = 0
    max_offset: Long = 0
    last_read_timestamp: Long = 0
    last_write_timestamp: Long = 0
    master_flush_offset: Long = 0


class HARuntimeInfo(Body):
    """Source: remoting/protocol/body/HARuntimeInfo.java (5.5.0)"""

    master: bool = False
    master_commit_log_max_offset: Long = 0
    in_sync_slave_nums: Int = 0
    ha_connection_info: list[HAConnectionRuntimeInfo] = field(default_factory=list)
    ha_client_runtime_info: HAClientRuntimeInfo = field(default_factory=HAClientRuntimeInfo)


class EpochOfLog(Body):
    """The records of one master, from ``start_offset`` on; the last one ends at `LONG_MAX`.

    Source: remoting/protocol/EpochEntry.java (5.5.0)
    """

    epoch: Int = 0
    start_offset: Long = 0
    end_offset: Long = 0


class EpochEntryCache(Body):
    """The epochs of a broker's log, and where the log ends.

    Source: remoting/protocol/body/EpochEntryCache.java (5.5.0)
    """

    cluster_name: str | None = None
    broker_name: str | None = None
    broker_id: Long = 0
    epoch_list: list[EpochOfLog] = field(default_factory=list)
    max_offset: Long = 0
