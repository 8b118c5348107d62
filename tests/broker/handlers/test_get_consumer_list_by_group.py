"""GET_CONSUMER_LIST_BY_GROUP."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import GetConsumerListByGroupRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, consume

HEADER = GetConsumerListByGroupRequestHeader(consumer_group=GROUP)


def test_client_ids_are_listed(lab: BrokerLab, broker: Broker) -> None:
    first, second = lab.peer(broker.addr), lab.peer(broker.addr)
    consume(first, "one")
    consume(second, "two")
    response = first.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, HEADER)
    assert (response.code, response.remark) == (0, None)
    assert json.loads(response.body) == {"consumerIdList": ["one", "two"]}


def test_group_without_members_is_refused(lab: BrokerLab, broker: Broker) -> None:
    response = lab.peer(broker.addr).ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, HEADER)
    assert (response.code, response.remark) == (1, "no consumer for this group, billing")
    assert response.body == b""
