"""Writes biographies on request: from any thread, after bringing the chronicle up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from fakemq.biographies import steps
from fakemq.biographies.biography import Biography
from fakemq.biographies.chronicle import Chronicle
from fakemq.biographies.nodes import LiveNodes
from fakemq.biographies.walk import Walk, message_name
from fakemq.errors import printable

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.core.views import Message

T = TypeVar("T")


class CallInThread(Protocol):
    """Call a function on the cluster's thread and return its result."""

    def __call__(self, function: Callable[[], T], /) -> T: ...


class Biographer:
    """Writes biographies of one core's messages; each call reads only the journal's new part."""

    def __init__(self, core: ClusterCore, call: CallInThread) -> None:
        self._core = core
        self._call = call
        self._chronicle = Chronicle(core.journal, self._names())

    def _names(self) -> dict[str, str]:
        return {name: broker.config.broker_name for name, broker in self._core.brokers.items()}

    def chronicle(self) -> Chronicle:
        """Return the journal's present entries by record. Only on the cluster's thread.

        Records are known by the present brokerNames: a peer can rename a running broker.
        """
        chronicle = self._present()
        chronicle.read()
        return chronicle

    def reading(self) -> Steps[None]:
        """Bring the chronicle up to date in steps, because it may take long at first."""
        yield from self._present().reading()

    def _present(self) -> Chronicle:
        names = self._names()
        if names != self._chronicle.broker_names:
            self._chronicle = Chronicle(self._core.journal, names)
        return self._chronicle

    def tell(self, message: Message, epoch: int | None = None) -> Biography:
        """Return the biography of a message. May be called on any thread.

        ``epoch`` is the journal's epoch in which the message was looked up; None if unknown. After
        a reset the biography has one step, `Forgotten`.
        """
        return self._call(lambda: self._tell(message, epoch))

    def tell_by_id(self, msg_id: str) -> Biography:
        """Return the biography of the first message with a unique id, which may be gone.

        May be called on any thread. Raise LookupError if the journal has no such message.
        """
        return self._call(lambda: self._tell_by_id(msg_id))

    def _tell_by_id(self, msg_id: str) -> Biography:
        chronicle = self.chronicle()
        appended = chronicle.stored(msg_id)
        if appended is None:
            raise LookupError(
                f"the journal has no message with the unique id {printable(msg_id)!r}"
            )
        return Walk(LiveNodes(self._core), chronicle).biography_since(appended)

    def _tell(self, message: Message, epoch: int | None) -> Biography:
        if epoch not in (None, self._core.journal.epoch):
            why = "the cluster was reset since: the journal begins after the message"
            return Biography(
                message_name(message),
                [
                    steps.Forgotten(
                        seq=0, at_ms=message.store_timestamp_ms, node=message.broker, why=why
                    )
                ],
            )
        return Walk(LiveNodes(self._core), self.chronicle()).biography(message)
