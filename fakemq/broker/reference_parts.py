"""What a broker calls of the parts that only its reference has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.net.session import Session
    from fakemq.store.records import LogRecord


class ReferenceParts(Protocol):
    """The parts of one broker that 4.9.7 does not have, as one object."""

    def start(self) -> None:
        """Begin: the tables are loaded, and the broker runs."""

    def stop(self) -> None:
        """End, before the store does; the broker's clock cancels the timers."""

    def reset(self) -> None:
        """Return to the state of a first start; the store and the other parts have done so."""

    def restored(self) -> None:
        """Follow the store and the other parts, which have the state of an image now."""

    def session_closed(self, session: Session) -> None:
        """Forget what a closed connection waits for."""

    def forget_closed(self) -> None:
        """Forget what connections waited for that are closed now."""

    def arrived(self, records: Sequence[LogRecord]) -> None:
        """Take note of the records of a put, which have just reached their queue."""
