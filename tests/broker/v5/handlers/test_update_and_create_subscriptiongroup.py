"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200): retry policies, attributes and names."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from tests.support.peer import Peer


def create(peer: Peer, group: str = "G", **more: object) -> RemotingCommand:
    body = json.dumps({"groupName": group} | more).encode()
    return peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)


def test_group_has_the_new_fields_by_default(peer: Peer) -> None:
    assert create(peer).code == ResponseCode.SUCCESS
    shown = peer.ask(RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG, ext_fields={"group": "G"}).body
    config = json.loads(shown)
    assert config["attributes"] == {}
    assert config["consumeMessageOrderly"] is False
    assert config["consumeTimeoutMinute"] == 15
    assert config["groupRetryPolicy"] == {"type": "CUSTOMIZED"}
    assert config["groupSysFlag"] == 0


def test_retry_policy_and_attributes_are_kept(broker: Broker, peer: Peer) -> None:
    policy = {
        "type": "EXPONENTIAL",
        "exponentialRetryPolicy": {"initial": 1000, "max": 5000, "multiplier": 3},
    }
    create(peer, groupRetryPolicy=policy, attributes={"+priority.factor": "7"})
    config = broker.groups.snapshot()["G"]
    assert config.attributes == {"priority.factor": "7"}
    assert config.group_retry_policy is not None
    assert config.group_retry_policy.type == "EXPONENTIAL"
    assert config.group_retry_policy.exponential_retry_policy is not None
    assert config.group_retry_policy.exponential_retry_policy.multiplier == 3
    create(peer, attributes={"-priority.factor": ""})
    assert broker.groups.snapshot()["G"].attributes == {}


def test_wrong_names_and_attributes_are_refused(peer: Peer) -> None:
    for name, text in (
        (" ", "The specified group is blank."),
        ("g" * 121, f"The specified group: {'g' * 121}, is longer than group max length: 120"),
    ):
        answer = create(peer, name)
        assert (answer.code, answer.remark) == (ResponseCode5.INVALID_PARAMETER, text)
    answer = create(peer, attributes={"+priority.factor": "101"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert answer.remark.startswith("java.lang.RuntimeException: value is not in range(0, 100), ")
    answer = create(peer, attributes={"+lite.sub.reset.offset.exclusive": "yes"})
    assert "boolean attribute format is wrong." in (answer.remark or "")
