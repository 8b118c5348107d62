"""What a broker calls of the parts that only its reference has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.dispatch.answers import Refused, Request
    from fakemq.ha.service import HAService
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.protocol.headers.send import SendMessageRequestHeader, SendMessageRequestHeaderV2
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.results import LogRecord, PutMessageStatus

    SendRequest: TypeAlias = Request[SendMessageRequestHeader] | Request[SendMessageRequestHeaderV2]


class ReferenceParts(Protocol):
    """The parts of one broker that 4.9.7 does not have, as one object."""

    def start(self) -> None:
        """Begin: the tables are loaded, and the broker runs."""

    def stop(self, *, persist: bool) -> None:
        """End, before the store does; the broker's clock cancels the timers.

        After a kill, ``persist`` is False: nothing more is written.
        """

    def reset(self) -> None:
        """Return to the state of a first start; the store and the other parts have done so."""

    def restored(self) -> None:
        """Follow the store and the other parts, which have the state of an image now."""

    def follow_config(self) -> None:
        """Act on keys of the config that were set while the broker runs."""

    def settle(self) -> None:
        """Write what an image of the broker needs."""

    def replication(self) -> HAService:
        """Return the broker's side of replication, newly made."""

    def topic_error(self, topic: str) -> str | None:
        """Return Java's text for a name that no topic can have; None for a valid name."""

    def refuses_pulls(self) -> bool:
        """Return whether the broker refuses all pulls, because it is a slave."""

    def check_pull(self, group: str, topic: str, /) -> None:
        """Raise Refused for a pull of a topic that is forbidden to its group."""

    def check_puller(self, group: str, session: Session, /) -> None:
        """Raise Refused for a pull over this connection, whose other checks are done."""

    def check_sent(self, request: SendRequest) -> None:
        """Raise an error for a request to send that cannot be read; before all other checks."""

    def check_batch(self, request: SendRequest) -> None:
        """Raise an error for a batch that may not be stored; after all other checks."""

    def prepare_send(self, message: InnerMessage, config: TopicConfig) -> None:
        """Change a message that a producer sent, before it is put."""

    def prepare_reply(self, message: InnerMessage) -> None:
        """Change a reply to a request message, before it is pushed and put."""

    def prepare_batch(self, message: InnerMessage) -> PutMessageStatus | None:
        """Change a batch that a producer sent, before its members are encoded.

        Return why it is refused, if it is.
        """

    def send_answer(self, code: int, message: InnerMessage) -> dict[str, str]:
        """Return what the answer to a successful send by this code says besides."""

    def refusal(self, status: PutMessageStatus) -> Refused:
        """Return the refusal of a put with a status that 4.9.7 does not have."""

    def session_closed(self, session: Session) -> None:
        """Forget what a closed connection waits for."""

    def forget_closed(self) -> None:
        """Forget what connections waited for that are closed now."""

    def arrived(self, records: Sequence[LogRecord]) -> None:
        """Take note of the records of a put, which have just reached their queue."""
