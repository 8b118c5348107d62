"""Users at the front: what the recordings do not show."""

from __future__ import annotations

import hmac
from collections.abc import Iterator

import pytest

from fakemq.events import AccessRefused
from fakemq.protocol.grpc import messages as m
from fakemq.proxy.auth import RPCS
from fakemq.proxy.registry import find
from tests.support.proxy_lab import FrontClient, ProxyLab, message

WHEN = "20260101T000000Z"
SECRET = "12345678"
RULES = {
    "users": [
        {"username": "boss", "password": SECRET, "userType": "Super"},
        {"username": "shop", "password": SECRET},
    ],
}


@pytest.fixture
def lab() -> Iterator[ProxyLab]:
    lab = ProxyLab(acl=RULES)
    yield lab
    lab.free()


def signed(lab: ProxyLab, user: str, secret: str = SECRET) -> FrontClient:
    signature = hmac.digest(secret.encode(), WHEN.encode(), "sha1").hex()
    authorization = f"MQv2-HMAC-SHA1 Credential={user}, SignedHeaders=x, Signature={signature}"
    return lab.client(authorization=authorization, date_time=WHEN)


def test_rules_are_about_rpcs_that_there_are() -> None:
    assert {name for name in RPCS if find(name) is None} <= {"SyncLiteSubscription"}


def test_user_with_rights_is_answered(lab: ProxyLab) -> None:
    assert signed(lab, "boss").send(message()).code == 20000


def test_user_without_rights_is_refused(lab: ProxyLab) -> None:
    asked = signed(lab, "shop").send(message())
    assert asked.code == 40100
    assert asked.message.startswith("User:shop has no permission to access Topic:normal from ")
    (refused,) = (one.event for one in lab.core.journal if isinstance(one.event, AccessRefused))
    assert (refused.user, refused.resource, refused.actions) == ("shop", "Topic:normal", ("Pub",))


def test_change_holds_at_once(lab: ProxyLab) -> None:
    client = signed(lab, "boss")
    assert client.send(message()).code == 20000
    lab.broker.users.delete_user("boss")
    assert client.send(message()).message == "User:boss is not found."


def test_settings_of_very_many_topics_are_refused(lab: ProxyLab) -> None:
    asked = signed(lab, "boss").produce(*("normal" for _ in range(10_001)))
    assert asked.code == 40000
    assert asked.message == "fakemq takes no more than 10000 parts of a message at once"


@pytest.mark.parametrize("topics", [None, 10_001])
def test_wrong_key_counts_before_what_settings_lack(lab: ProxyLab, topics: int | None) -> None:
    client = signed(lab, "boss", "87654321")
    if topics is None:
        asked = client.settings(m.TelemetryCommand(settings=m.Settings()))
    else:
        asked = client.produce(*("normal" for _ in range(topics)))
    assert asked.message == "check signature failed."
    assert any(isinstance(one.event, AccessRefused) for one in lab.core.journal)
