"""GET_ALL_SUBSCRIPTIONGROUP_CONFIG: every group with its config, and the data version."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.group import SubscriptionGroupWrapper
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.peer import Peer


def test_all_groups_are_listed_with_their_version(broker: Broker, peer: Peer) -> None:
    broker.groups.find("billing")
    response = peer.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    wrapper = SubscriptionGroupWrapper.decode(response.body)
    assert wrapper.subscription_group_table == broker.groups.snapshot()
    assert "billing" in wrapper.subscription_group_table
    assert wrapper.data_version == broker.groups.data_version
