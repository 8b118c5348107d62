"""Changes of the tables at 5.5.0, where a slave may act as master while its master is away.

The brokers of one name are a group. If their registrations say enableActingMaster, the perm of its
queues loses the write bit when the master leaves, until a master registers again.

Source: namesrv/routeinfo/RouteInfoManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.namesrv.registration import BrokerRegistration, RegisterBrokerResult
from fakemq.namesrv.route_tables import MASTER_ID
from fakemq.protocol.sysflag import PermName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemq.clock.slices import Steps


class BrokerRegistration5(BrokerRegistration):
    """The rules of the tables of one name server of 5.5.0."""

    on_lowest_changed: Callable[[Mapping[int, str], str | None, str | None], None] = staticmethod(
        lambda addrs, offline_addr, ha_addr: None
    )
    """Called when another id is the lowest of a group: with the addresses of the group by id, and
    with that of the broker that left, or the HA address of the one that came."""

    def register_broker(
        self, *, broker_name: str, broker_id: int, ha_server_addr: str, **said: Any
    ) -> RegisterBrokerResult:
        tables = self._tables
        before = tables.broker_addr_table.get(broker_name)
        lowest = min(before.broker_addrs, default=0) if before is not None else 0
        result = super().register_broker(
            broker_name=broker_name, broker_id=broker_id, ha_server_addr=ha_server_addr, **said
        )
        addrs = tables.broker_addr_table[broker_name].broker_addrs
        if self._has_acting_master(broker_name):
            self.standing.forget(broker_name)  # what is in the table is not what it said
        if broker_id < lowest and broker_id in addrs:
            self.on_lowest_changed(addrs, None, ha_server_addr)
        return result

    def _perms_of(self, broker_name: str) -> int:
        return ~PermName.WRITE if self._has_acting_master(broker_name) else -1

    def _has_acting_master(self, broker_name: str) -> bool:
        """Return whether a group has no master, and a slave that acts as one."""
        data = self._tables.broker_addr_table.get(broker_name)
        return (
            data is not None
            and bool(data.enable_acting_master)
            and MASTER_ID not in data.broker_addrs
        )

    def _reduced(self, broker_name: str, broker_id: int, broker_addr: str) -> None:
        """Source: RouteInfoManager#unRegisterBroker, #cleanTopicByUnRegisterRequests"""
        data = self._tables.broker_addr_table[broker_name]
        if not data.enable_acting_master:
            return
        if MASTER_ID not in data.broker_addrs:
            topics = len(self._tables.topics_of.get(broker_name, ()))
            self._clock.carry_out(self._wipe(broker_name), peer=self, count=topics)
        if broker_id < min(data.broker_addrs):
            self.on_lowest_changed(data.broker_addrs, broker_addr, None)

    def _wipe(self, broker_name: str) -> Steps[None]:
        for queues in self._queues_of(broker_name):
            if not self._has_acting_master(broker_name):
                return  # its master is back
            queues.perm &= ~PermName.WRITE
            yield
