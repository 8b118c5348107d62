"""Requests that would hold up all other peers are refused, and say why."""

from __future__ import annotations

import pytest

from conformance.wire import requests
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.store.writing import BATCH_MAX_MESSAGES
from tests.support.broker_lab import BrokerLab


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"clientID":"a","x":[' + b"1," * 100_000 + b"1]}", "JSON of about 100003 items"),
        (b"{clientID:'a',x:[" + b"1," * 20_000 + b"1]}", "JSON that no standard allows"),
    ],
    ids=["many items", "no standard JSON"],
)
def test_wide_json_is_refused(body: bytes, why: str) -> None:
    lab = BrokerLab()
    answer = lab.peer(lab.broker().addr).ask(RequestCode.HEART_BEAT, body=body)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert why in str(answer.remark)


def test_subscription_of_too_many_tags_is_refused() -> None:
    lab = BrokerLab()
    fields = requests.pull_fields("TBW102", subscription="||".join(map(str, range(20_000))))
    answer = lab.peer(lab.broker().addr).ask(
        RequestCode.PULL_MESSAGE, ext_fields=requests.texts(fields)
    )
    assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert "100000 characters" in str(answer.remark)


def test_batch_of_too_many_messages_is_refused_and_stores_none() -> None:
    lab = BrokerLab()
    broker = lab.broker()
    peer = lab.peer(broker.addr)
    fields = requests.texts(requests.send_v2_fields("orders", m=True))
    for number, code in (
        (BATCH_MAX_MESSAGES + 1, ResponseCode.MESSAGE_ILLEGAL),
        (10, ResponseCode.SUCCESS),
    ):
        body = requests.batch_item(b"") * number
        assert peer.ask(RequestCode.SEND_BATCH_MESSAGE, ext_fields=fields, body=body).code == code
    assert broker.store.max_offset_in_queue("orders", 0) == 10
