"""Half messages and what becomes of them.

Source: broker/transaction/queue/TransactionalMessageServiceImpl.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.dispatch import Refused
from fakemq.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.results import PutMessageResult


class TransactionalMessageService:
    """Prepares, commits, rolls back, and asks producers about what they have forgotten."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def start(self) -> None:
        """Begin to check half messages."""

    def reset(self) -> None:
        """No transaction is under way any more."""

    def prepare_message(self, message: InnerMessage) -> PutMessageResult:
        """Store a message as a half message."""
        raise Refused(ResponseCode.SYSTEM_ERROR, "fakemq: transactional messages are not there yet")
