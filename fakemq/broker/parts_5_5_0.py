"""The parts of a broker that only 5.5.0 has.

A part is made in `Parts5.__init__` from what it needs, as those of `Broker` are. The methods are
those of `ReferenceParts`: each calls the parts that have to do something at that moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.offset_resets import OffsetResets
from fakemq.broker.pop.service import PopService

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.broker.broker import Broker
    from fakemq.net.session import Session
    from fakemq.store.records import LogRecord


class Parts5:
    """The parts of one broker of 5.5.0."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.pop = PopService(broker)
        self.offset_resets = OffsetResets(broker.offsets)

    def start(self) -> None:
        self.pop.start()

    def stop(self) -> None:
        self.pop.stop()

    def reset(self) -> None:
        self.offset_resets.clear()
        self.pop.reset(running=self._broker.running)

    def restored(self) -> None:
        self.offset_resets.clear()
        self.pop.start()

    def session_closed(self, session: Session) -> None:
        self.pop.session_closed(session)

    def forget_closed(self) -> None:
        self.pop.forget_closed()

    def arrived(self, records: Sequence[LogRecord]) -> None:
        self.pop.arrived(records)


def make(broker: Broker) -> Parts5:
    """Return the parts of a broker that is being made."""
    return Parts5(broker)


def parts_of(broker: Broker) -> Parts5:
    """Return the parts of a broker, for a handler of 5.5.0; the broker must be one."""
    assert isinstance(broker.parts, Parts5), "a broker of another reference"
    return broker.parts
