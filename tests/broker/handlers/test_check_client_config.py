"""CHECK_CLIENT_CONFIG: what a consumer asks before it starts with a filter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.broker_lab import BrokerLab
from tests.support.clients import subscription
from tests.support.peer import Peer


def check(peer: Peer, **fields: Any) -> RemotingCommand:
    body = {"clientId": "one", "group": "g", "subscriptionData": subscription(**fields)}
    return peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=json.dumps(body).encode())


@pytest.mark.parametrize("expression_type", ["TAG", "", None])
def test_tag_subscription_is_accepted(peer: Peer, expression_type: str | None) -> None:
    response = check(peer, expressionType=expression_type)
    assert (response.code, response.remark) == (0, None)


@pytest.mark.parametrize("expression_type", ["SQL92", "XPATH"])
@pytest.mark.parametrize("text", ["a > 1", "a >"])
def test_other_expression_is_refused_without_property_filters(
    peer: Peer, expression_type: str, text: str
) -> None:
    response = check(peer, expressionType=expression_type, subString=text)
    assert (response.code, response.remark) == (
        1,
        f"The broker does not support consumer to filter message by {expression_type}",
    )


@pytest.fixture
def filtering(lab: BrokerLab) -> Peer:
    """A client of a broker with enablePropertyFilter."""
    return lab.peer(lab.broker(BrokerConfig(enable_property_filter=True)).addr)


def test_expression_is_accepted(filtering: Peer) -> None:
    response = check(filtering, expressionType="SQL92", subString="a > 1 AND b IN ('x')")
    assert (response.code, response.remark) == (0, None)


IN_PARENTHESES = (
    'org.apache.rocketmq.filter.parser.ParseException: Encountered " <ID> "b "" at line 1, column'
    ' 8.\nWas expecting one of:\n    "NOT" ...\n    "AND" ...\n    "OR" ...\n    "BETWEEN" ...\n'
    '    "IN" ...\n    "IS" ...\n    "=" ...\n    "<>" ...\n    ">" ...\n    ">=" ...\n'
    '    "<" ...\n    "<=" ...\n    ")" ...\n    '
)
UNTERMINATED = (
    "org.apache.rocketmq.filter.parser.TokenMgrError: Lexical error at line 1, column 7."
    '  Encountered: <EOF> after : "\\\'x"'
)


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("(a = 5 b", IN_PARENTHESES),
        ("a = 'x", UNTERMINATED),
        ("a > 'x'", "java.lang.RuntimeException: Value ''x'' cannot be compared."),
        (None, None),
    ],
)
def test_invalid_expression_is_answered_with_javas_parser_error(
    filtering: Peer, text: str | None, remark: str | None
) -> None:
    response = check(filtering, expressionType="SQL92", subString=text)
    assert (response.code, response.remark) == (23, remark)


def test_unknown_expression_type_is_refused(filtering: Peer) -> None:
    response = check(filtering, expressionType="XPATH", subString="/a")
    assert response.code == 23
    assert (response.remark or "").endswith('FilterFactory.get(String)" is null')


@pytest.mark.parametrize("body", [b"{}", b'{"clientId":"one"}'])
def test_empty_check_is_accepted(peer: Peer, body: bytes) -> None:
    assert peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body).code == 0


@pytest.mark.parametrize("body", [b"", b"nonsense"])
def test_invalid_body_is_answered_with_code_1(peer: Peer, body: bytes) -> None:
    assert peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body).code == 1


@pytest.mark.parametrize("body", [b"null", b"[]"])
def test_null_subscription_is_accepted(peer: Peer, body: bytes) -> None:
    assert peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body).code == 0
