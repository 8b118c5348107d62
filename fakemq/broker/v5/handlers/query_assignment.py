"""QUERY_ASSIGNMENT (400): return the queues of a client, and whether it pulls or pops them.

Source: broker/processor/QueryAssignmentProcessor.java#queryAssignment (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.assignment import query_assignment as query
from fakemq.dispatch.answers import Parked, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol.bodies.pop import QueryAssignmentRequestBody
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.QUERY_ASSIGNMENT)
def query_assignment(broker: Broker5, request: Request[NoHeader]) -> Parked[NoHeader]:
    return query(broker, QueryAssignmentRequestBody.decode(body_of(request)))
