"""Half messages at a broker of 5.5.0, where it stores them otherwise than 4.9.7.

Source: broker/processor/EndTransactionProcessor.java#endMessageTransaction (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.transactions import TransactionalMessageService
from fakemq.protocol.properties import REAL_QUEUE_ID, REAL_TOPIC


class TransactionalMessageService5(TransactionalMessageService):
    """Stores half messages and ops, and starts the checks, as 5.5.0."""

    cleared_from_commits = (REAL_TOPIC, REAL_QUEUE_ID)
