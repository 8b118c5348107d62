"""GET_CONSUMER_CONNECTION_LIST."""

from __future__ import annotations

import json

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import GetConsumerConnectionListRequestHeader
from tests.support.clients import GROUP, consume, subscription
from tests.support.peer import Peer

HEADER = GetConsumerConnectionListRequestHeader(consumer_group=GROUP)


def test_members_and_subscriptions_are_listed(peer: Peer) -> None:
    consume(peer, "one")
    response = peer.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, HEADER)
    assert (response.code, response.remark) == (0, None)
    assert json.loads(response.body) == {
        "connectionSet": [
            {
                "clientAddr": peer.session.link.local_addr,
                "clientId": "one",
                "language": "JAVA",
                "version": 407,
            }
        ],
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "subscriptionTable": {"orders": subscription()},
    }


def test_group_without_members_is_not_online(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, HEADER)
    assert (response.code, response.remark) == (206, "the consumer group[billing] not online")
