"""A table of strings, for name server KV config and broker runtime info."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body


class KVTable(Body):
    """Source: common/protocol/body/KVTable.java (4.9.7)"""

    table: dict[str, str] = field(default_factory=dict)
