"""What the config of a broker says about sends, worked out once for each change of the config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.addresses import store_host
from fakemq.protocol.send_answers import AnswerMarks
from fakemq.protocol.sysflag import PermName

if TYPE_CHECKING:
    from fakemq.config.model import BrokerConfig
    from fakemq.protocol.hosts import Host
    from fakemq.protocol.plain_properties import StoredForm
    from fakemq.reference import Reference

_TOPICS_MAX: Final = 4096


class SendSettings:
    """The keys of one moment that each send looks at."""

    __slots__ = (
        "accepts_from_ms",
        "form",
        "is_writable",
        "marks",
        "revision",
        "store_host",
        "topics",
    )

    def __init__(self, config: BrokerConfig, reference: Reference, form: StoredForm) -> None:
        self.revision: int = config.revision
        """That of the config; with another one, these settings are out of date."""
        self.accepts_from_ms: int = config.start_accept_send_request_time_stamp
        self.is_writable: bool = config.broker_permission & PermName.WRITE != 0
        self.store_host: Host = store_host(config)
        self.form = form
        """How the properties of plain messages are stored."""
        self.marks = AnswerMarks(
            config.region_id,
            config.trace_on,
            reference.version,
            in_json=reference.answers_in_json,
        )
        """What all answers have."""
        self.topics: set[str] = set()
        """Names that topics may have, and to which clients may send, whether they exist or not."""

    def take(self, topic: str) -> None:
        """Remember that a topic has such a name, unless many are known."""
        if len(self.topics) < _TOPICS_MAX:
            self.topics.add(topic)
