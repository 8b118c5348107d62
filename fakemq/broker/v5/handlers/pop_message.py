"""POP_MESSAGE (200050): take messages, which other pops of the group do not see for a while.

Behaviour: without a message the request is held for its poll time.

Source: broker/processor/PopMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.pop import pop
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.headers.pop import PopMessageRequestHeader, PopMessageResponseHeader
from fakemq.protocol.usual_headers import add_usual
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.usual_headers import UsualPopHeader

add_usual(RequestCode5.POP_MESSAGE, UsualPopHeader)


@handles(table.POP_MESSAGE)
def pop_message(
    broker: Broker5, request: Request[PopMessageRequestHeader]
) -> Reply[PopMessageResponseHeader] | Parked[PopMessageResponseHeader]:
    return pop(broker, request)
