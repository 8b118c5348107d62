"""CHECK_CLIENT_CONFIG: what a consumer asks before it starts with a filter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.clients import subscription
from tests.support.peer import Peer


def check(peer: Peer, **fields: Any) -> RemotingCommand:
    body = {"clientId": "one", "group": "g", "subscriptionData": subscription(**fields)}
    return peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=json.dumps(body).encode())


@pytest.mark.parametrize("expression_type", ["TAG", "", None])
def test_tags_are_understood(peer: Peer, expression_type: str | None) -> None:
    response = check(peer, expressionType=expression_type)
    assert (response.code, response.remark) == (0, None)


@pytest.mark.parametrize("expression_type", ["SQL92", "XPATH"])
def test_anything_else_is_refused(peer: Peer, expression_type: str) -> None:
    response = check(peer, expressionType=expression_type, subString="a > 1")
    assert (response.code, response.remark) == (
        1,
        f"The broker does not support consumer to filter message by {expression_type}",
    )


@pytest.mark.parametrize("body", [b"{}", b'{"clientId":"one"}'])
def test_nothing_to_check_is_fine(peer: Peer, body: bytes) -> None:
    assert peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body).code == 0


@pytest.mark.parametrize("body", [b"", b"nonsense"])
def test_a_body_that_is_none_is_answered_with_code_1(peer: Peer, body: bytes) -> None:
    assert peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body).code == 1
