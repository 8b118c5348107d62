"""Versions of tables, as 5.5.0 writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.bodies.body import FrozenBody, Long

if TYPE_CHECKING:
    from fakemq.protocol.bodies.topic import DataVersion


class DataVersion5(FrozenBody, frozen=True):
    """Source: remoting/protocol/DataVersion.java (5.5.0)"""

    counter: Long = 0
    state_version: Long = 0
    timestamp: Long = 0

    @classmethod
    def of(cls, version: DataVersion) -> DataVersion5:
        """Return a version of 4.9.7 in this form; without a controller, its state is 0."""
        return cls(
            counter=version.counter,
            state_version=version.state_version or 0,
            timestamp=version.timestamp,
        )
