"""The ACL requests: changes fail and reads get no answer, as at a broker without ACLs."""

from __future__ import annotations

import pytest

from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer


@pytest.mark.parametrize(
    ("code", "expected", "method"),
    [
        (
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
            ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED,
            "updateAccessConfig(org.apache.rocketmq.common.PlainAccessConfig)",
        ),
        (
            RequestCode.DELETE_ACL_CONFIG,
            ResponseCode.DELETE_ACL_CONFIG_FAILED,
            "deleteAccessConfig(String)",
        ),
        (
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
            ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED,
            "updateGlobalWhiteAddrsConfig(java.util.List, String)",
        ),
    ],
)
def test_acl_changes_fail(code: int, expected: int, method: str, peer: Peer) -> None:
    response = peer.ask(code)
    assert response.code == expected
    assert response.remark == (
        f'Cannot invoke "org.apache.rocketmq.acl.AccessValidator.{method}" because'
        ' "accessValidator" is null'
    )


@pytest.mark.parametrize(
    "code",
    [RequestCode.GET_BROKER_CLUSTER_ACL_INFO, RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG],
)
def test_acl_queries_get_no_answer(code: int, lab: BrokerLab, peer: Peer) -> None:
    answer = peer.send(code)
    lab.clock.advance("60s")
    assert answer.over
    assert answer.response is None
    assert not peer.closed
