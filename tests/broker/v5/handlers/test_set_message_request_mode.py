"""SET_MESSAGE_REQUEST_MODE: what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.broker.broker import Broker
from tests.support.peer import Peer
from tests.support.pops import TOPIC, set_mode


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"topic": "%RETRY%g"}, 16, "retry topic is not allowed to set mode"),
        ({"topic": "no"}, 17, "topic[no] not exist"),
    ],
)
def test_mode_of_what_is_not_there_is_refused(
    peer: Peer, fields: dict[str, Any], code: int, remark: str
) -> None:
    answer = set_mode(peer, **fields)
    assert (answer.code, answer.remark) == (code, remark)


def test_mode_of_an_unknown_group_is_refused(broker: Broker, peer: Peer) -> None:
    broker.config.auto_create_subscription_group = False
    answer = set_mode(peer)
    assert (answer.code, answer.remark) == (26, "subscription group does not exist")
