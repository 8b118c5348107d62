"""What faults have to know of the requests that only 5.5.0 has.

It is loaded with the first fault of such a request, or with the first such request under a fault.
"""

from __future__ import annotations

from typing import TypeAlias

from fakemq.protocol.bodies import pop
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5

Said: TypeAlias = "list[tuple[str, str | int | None]]"
"""Fields of a scope with what a request says of them."""

IN_BODIES: dict[int, tuple[str, ...]] = {
    RequestCode5.BATCH_ACK_MESSAGE: ("topic", "queue", "group"),
    RequestCode5.QUERY_ASSIGNMENT: ("topic", "group"),
    RequestCode5.SET_MESSAGE_REQUEST_MODE: ("topic", "group"),
}
"""Code → the fields of a scope that its body sets, because its header does not."""

OF_BROKERS = frozenset(RequestCode5) - {
    *(RequestCode5.REGISTER_TOPIC_IN_NAMESRV, RequestCode5.BROKER_HEARTBEAT),
    RequestCode5.GET_BROKER_MEMBER_GROUP,
}
"""The codes that a name server is not sent."""

OF_CONTROLLERS = frozenset(range(1001, 1014)) - {
    *(RequestCode5.GET_BROKER_EPOCH_CACHE, RequestCode5.NOTIFY_BROKER_ROLE_CHANGED)
}
"""The codes that only a controller is sent."""

WITH_HEADERS: dict[int, tuple[int, ...]] = {
    RequestCode5.POP_MESSAGE: (
        *(ResponseCode5.POLLING_FULL, ResponseCode5.POLLING_TIMEOUT),
        ResponseCode.PULL_NOT_FOUND,
    )
}
"""Code → the answers besides SUCCESS whose header clients read.

Source: client/impl/MQClientAPIImpl.java#processPopResponse (5.5.0)
"""


def in_body(code: int, body: bytes) -> Said:
    """Return what the body of a code in `IN_BODIES` says; raise ProtocolError if it is broken."""
    if code == RequestCode5.BATCH_ACK_MESSAGE:
        said: Said = []
        for batch in pop.BatchAckMessageRequestBody.decode(body).acks or ():
            said += [("topic", batch.topic), ("queue", batch.queue_id), ("group", batch.group)]
        return said
    if code == RequestCode5.QUERY_ASSIGNMENT:
        query = pop.QueryAssignmentRequestBody.decode(body)
        client = ("client", query.client_id)
        return [client, ("group", query.consumer_group), ("topic", query.topic)]
    mode = pop.SetMessageRequestModeRequestBody.decode(body)
    return [("group", mode.consumer_group), ("topic", mode.topic)]
