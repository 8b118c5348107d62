"""Every shape of a body whose names are checked: an answer, with whatever key, and never a bug."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.v5.auth.asks import BROKER
from fakemq.config.v5.model import BrokerConfig5
from fakemq.events import AccessRefused, HandlerFailed
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.signature import Credentials
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab

_AUTH = "org.apache.rocketmq.auth"
BOSS, SHOP = Credentials("boss", "12345678"), Credentials("shop", "12345678")
KEYS = {"super": BOSS, "normal": SHOP, "wrong": Credentials("shop", "x"), "none": None}
VALUES: tuple[object, ...] = (
    None,
    "",
    "%RETRY%g",
    "orders",
    "\ud800",
    7,
    True,
    {},
    [],
    [None],
    [[]],
    [{}],
)
NAMES = ("topic", "groupName", "consumerGroup", "clientId", "queueId", "brokerName")
LISTS = {
    RequestCode.HEART_BEAT: ("consumerDataSet", "subscriptionDataSet"),
    RequestCode.LOCK_BATCH_MQ: ("mqSet", ""),
    RequestCode.UNLOCK_BATCH_MQ: ("mqSet", ""),
}
"""Of each body the list with names, and that within each of its items."""


def bodies(code: int) -> list[bytes]:
    """Return bodies with each value in each place: alone, in an item, in an item of that."""
    outer, inner = LISTS[RequestCode(code)]
    made: list[object] = list(VALUES)
    for value in VALUES:
        made += [dict.fromkeys((*NAMES, outer), value), {outer: value}, {outer: [value]}]
        made += [{outer: [{name: value}]} for name in (*NAMES, inner)]
        made += [{outer: [{inner: [value]}]}]
        made += [{outer: [{inner: [{name: value}]}]} for name in NAMES]
    texts = [json.dumps(one).encode() for one in made]
    return [b"", b'{"', b"\xff", *dict.fromkeys(texts)]


@pytest.fixture
def guarded(lab: BrokerLab) -> Broker:
    config = BrokerConfig5(
        authentication_enabled=True,
        authorization_enabled=True,
        authentication_metadata_provider=(
            f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider"
        ),
        authorization_metadata_provider=(
            f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider"
        ),
        init_authentication_user='{"username":"boss","password":"12345678"}',
    )
    broker = lab.broker(config, reference=REFERENCE)
    command = RemotingCommand(
        RequestCode5.AUTH_CREATE_USER,
        ext_fields={"username": "shop"},
        body=b'{"password":"12345678"}',
    )
    BOSS.sign(command)
    answer = lab.peer(broker.addr).send_command(command)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS
    return broker


def test_every_body_with_names_is_among_these() -> None:
    assert {code for code, rule in BROKER.items() if rule.of_body} == set(LISTS)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("code", LISTS, ids=lambda code: code.name)
def test_every_shape_of_a_body_is_answered(
    lab: BrokerLab, guarded: Broker, code: RequestCode, key: str
) -> None:
    peer = lab.peer(guarded.addr)
    for body in bodies(code):
        command = RemotingCommand(code, ext_fields={"a": "b"}, body=body)
        if (keys := KEYS[key]) is not None:
            keys.sign(command)
        answer = peer.send_command(command)
        lab.network.settle()
        assert answer.response is not None, body
        assert not peer.closed, body
        if key in ("wrong", "none"):
            assert answer.response.code == ResponseCode.NO_PERMISSION, body
    failed = lab.journal.find(HandlerFailed)
    assert not failed, failed[0].traceback


def test_name_that_is_not_there_is_asked_for_as_null(lab: BrokerLab, guarded: Broker) -> None:
    peer = lab.peer(guarded.addr)
    for code, body, resource in (
        (RequestCode.LOCK_BATCH_MQ, {"consumerGroup": "%RETRY%g", "mqSet": [{}]}, "Group:g"),
        (RequestCode.HEART_BEAT, {"consumerDataSet": [{}]}, "Group:null"),
    ):
        command = RemotingCommand(code, ext_fields={"a": "b"}, body=json.dumps(body).encode())
        SHOP.sign(command)
        peer.send_command(command)
        lab.network.settle()
        assert lab.journal.find(AccessRefused)[-1].resource == resource
