"""PULL_MESSAGE (11): return messages of one queue from an offset on; at the main port only.

Behaviour: as in 4.9.7, but for the flags of topic and group in the answer, and for pending resets.

Source: broker/processor/PullMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker
from fakemq.broker.v5.handlers import handles
from fakemq.broker.v5.pull import pull_5
from fakemq.protocol import table

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Parked, Reply, Request
    from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader


@handles(table.PULL_MESSAGE)
def pull_message(
    broker: Broker, request: Request[PullMessageRequestHeader]
) -> Reply[PullMessageResponseHeader] | Parked[PullMessageResponseHeader]:
    return pull_5(broker, request)
