"""A broker of RocketMQ 5.3.2: what it does otherwise than one of 5.5.0.

Source: broker/BrokerController.java (5.3.2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from fakemq.broker.v5 import send
from fakemq.broker.v5.attributes import TOPIC_ATTRIBUTES, Attribute, one_of
from fakemq.broker.v5.broker import Broker5
from fakemq.broker.v5.transactions import TransactionalMessageService5
from fakemq.dispatch.registry import Handlers
from fakemq.protocol.message_types import MESSAGE_TYPE
from fakemq.protocol.topics import topic_name_error
from fakemq.protocol.v5.properties import encode_properties
from fakemq.reference.v5_3 import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.broker.sending.transactions import TransactionalMessageService
    from fakemq.net.session import Session
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.results import PutMessageStatus


class TransactionalMessageService53(TransactionalMessageService5):
    """As that of 5.5.0, but a committed message keeps the topic and queue of its half message."""

    cleared_from_commits = ()


class Broker53(Broker5):
    """A broker of 5.3.2."""

    handlers: ClassVar[Handlers[Any]] = Handlers(
        "fakemq.broker.v5_3.handlers", earlier=Broker5.handlers
    )
    topic_attributes: ClassVar[Mapping[str, Attribute]] = {
        name: attribute
        for name, attribute in TOPIC_ATTRIBUTES.items()
        if not name.startswith("lite.")
    } | {MESSAGE_TYPE: Attribute(one_of(*REFERENCE.message_types))}
    group_attributes: ClassVar[Mapping[str, Attribute]] = {}
    transactions_class: ClassVar[type[TransactionalMessageService]] = TransactionalMessageService53

    def prepare_batch(self, message: InnerMessage) -> PutMessageStatus | None:
        """Give each member the properties of its batch, too."""
        send.mark(self, message.properties)
        status = send.prepare_batch(self.store, message)
        message.properties_string = encode_properties(message.properties)
        return status

    def topic_error(self, topic: str) -> str | None:
        return topic_name_error(topic)

    def group_error(self, group: str) -> str | None:
        return None

    def check_puller(self, group: str, session: Session) -> None:
        """Accept every consumer: only heartbeats obey rejectPullConsumerEnable."""


handles: Final[Handlers[Broker53]] = Broker53.handlers
"""The decorator that registers a handler for brokers of 5.3.2."""

BROKER: Final = Broker53
