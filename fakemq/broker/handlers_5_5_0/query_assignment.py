"""QUERY_ASSIGNMENT (400): return the queues of a client, and whether it pulls or pops them.

Source: broker/processor/QueryAssignmentProcessor.java#queryAssignment (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.broker.pop.assignment import query_assignment as query
from fakemq.dispatch.answers import Parked, Request
from fakemq.dispatch.java_errors import body_of
from fakemq.protocol import table_5_5_0
from fakemq.protocol.bodies.pop import QueryAssignmentRequestBody
from fakemq.protocol.table import NoHeader


@handles(table_5_5_0.QUERY_ASSIGNMENT)
def query_assignment(broker: Broker, request: Request[NoHeader]) -> Parked[NoHeader]:
    return query(broker, QueryAssignmentRequestBody.decode(body_of(request)))
