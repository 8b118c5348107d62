"""PULL_MESSAGE (11): return messages of one queue from an offset on; at the main port only.

Source: broker/processor/PullMessageProcessor.java#processRequest (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.broker.pulling.pull import pull
from fakemq.protocol import table

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Parked, Reply, Request
    from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader


@handles(table.PULL_MESSAGE)
def pull_message(
    broker: Broker, request: Request[PullMessageRequestHeader]
) -> Reply[PullMessageResponseHeader] | Parked[PullMessageResponseHeader]:
    return pull(broker, request)
