"""An id of a group stays with its broker while another one knows of an earlier master only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.sim.history import Violation

if TYPE_CHECKING:
    from fakemq.namesrv.route_tables import RouteTables

NAME = "a later master keeps its route"
MASTER_ID = 0


class MasterRoutes:
    """The last master of each group at each name server, and its epoch."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[str, int]] = {}

    def look(self, name_server: str, tables: RouteTables) -> Iterator[Violation]:
        """Yield masters that replaced one of a later epoch; call this often.

        A route has one address for each id. That of the later epoch is replaced if it is there
        still, by its last registration, and has no other id.
        """
        for name, data in tables.broker_addr_table.items():
            addr = data.broker_addrs.get(MASTER_ID)
            if addr is None:
                continue
            now = addr, _epoch_of(tables, addr)
            before, epoch = self._last.get((name_server, name), now)
            self._last[name_server, name] = now
            there = _epoch_of(tables, before) == epoch and not tables.places_of.get(before)
            if before != addr and there and now[1] < epoch:
                text = (
                    f"at {name_server} {addr}, which knows of epoch {now[1]}, is the master of"
                    f" {name} instead of {before}, of epoch {epoch}"
                )
                yield Violation(NAME, text, (name_server, name))


def _epoch_of(tables: RouteTables, addr: str) -> int:
    """Return the epoch that the last registration from an address names; -1 if there is none."""
    live = tables.broker_live_table.get(addr)
    version = None if live is None else live.data_version
    return -1 if live is None else (version and version.state_version) or 0
