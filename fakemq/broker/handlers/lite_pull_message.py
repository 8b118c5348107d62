"""LITE_PULL_MESSAGE (361): the PULL_MESSAGE of a DefaultLitePullConsumer of 5.x.

Behaviour: as PULL_MESSAGE. 4.9.7 does not have this code, but those consumers send no other.
Refused: litePullMessageEnable=false: NO_PERMISSION.

Source: broker/processor/PullMessageProcessor.java#processRequest (5.3.3)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.broker.pulling.pull import pull
from fakemq.protocol import table

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Parked, Reply, Request
    from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader


@handles(table.LITE_PULL_MESSAGE)
def lite_pull_message(
    broker: Broker, request: Request[PullMessageRequestHeader]
) -> Reply[PullMessageResponseHeader] | Parked[PullMessageResponseHeader]:
    return pull(broker, request)
