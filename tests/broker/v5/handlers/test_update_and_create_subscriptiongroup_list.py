"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST (225)."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from tests.support.peer import Peer


def create(peer: Peer, *groups: str) -> RemotingCommand:
    body = json.dumps({"groupConfigList": [{"groupName": name} for name in groups]}).encode()
    return peer.ask(RequestCode5.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body=body)


def test_groups_are_created_together(broker: Broker, peer: Peer) -> None:
    answer = create(peer, "one", "two")
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert {"one", "two"} <= broker.groups.snapshot().keys()


def test_one_wrong_name_refuses_all(broker: Broker, peer: Peer) -> None:
    assert create(peer, "one", "no blanks").code == ResponseCode5.INVALID_PARAMETER
    assert "one" not in broker.groups.snapshot()
