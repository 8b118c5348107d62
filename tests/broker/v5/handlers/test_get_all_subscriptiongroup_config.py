"""GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201): all groups, or a page, and what they are forbidden."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import broker5
from tests.support.peer import Peer

CODE = RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG


def test_all_groups_have_what_they_are_forbidden(broker: Broker, peer: Peer) -> None:
    broker.groups.find("zulu")
    broker5(broker).forbidden.update("zulu", "orders", readable=False)
    answer = peer.ask(CODE)
    body = fastjson.loads(answer.body)
    assert body["forbiddenTable"] == {"zulu": {"orders": 4}}
    assert body["subscriptionGroupTable"].keys() == broker.groups.snapshot().keys()
    assert answer.ext_fields["totalGroupNum"] == str(len(body["subscriptionGroupTable"]))


def test_page_has_what_its_groups_are_forbidden(broker: Broker, peer: Peer) -> None:
    broker.groups.find("zulu")
    broker5(broker).forbidden.update("zulu", "orders", readable=False)
    every = sorted(broker.groups.snapshot())
    fields = {"groupSeq": "0", "maxGroupNum": "2", "dataVersion": ""}
    body = fastjson.loads(peer.ask(CODE, ext_fields=fields).body)
    assert sorted(body["subscriptionGroupTable"]) == every[:2]
    assert body["forbiddenTable"] == {}
