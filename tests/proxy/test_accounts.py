"""Signatures of calls, once the cluster has accounts."""

from __future__ import annotations

import hmac
from collections.abc import Iterator

import pytest

from fakemq.protocol.grpc import messages as m
from tests.support.proxy_lab import FrontClient, ProxyLab, message, resource

WHEN = "20260101T000000Z"
RULES = {
    "accounts": [
        {"accessKey": "administrator", "secretKey": "12345678", "admin": True},
        {
            "accessKey": "publisher",
            "secretKey": "87654321",
            "defaultTopicPerm": "DENY",
            "defaultGroupPerm": "SUB",
            "topicPerms": ["normal=PUB"],
        },
        {"accessKey": "neighbour", "secretKey": "12345678", "whiteRemoteAddress": "10.0.0.*"},
    ]
}


@pytest.fixture
def lab() -> Iterator[ProxyLab]:
    lab = ProxyLab(acl=RULES)
    yield lab
    lab.free()


def signed(lab: ProxyLab, key: str, secret: str, when: str = WHEN) -> FrontClient:
    """A client that signs as the official ones do."""
    signature = hmac.digest(secret.encode(), WHEN.encode(), "sha1").hex()
    authorization = (
        f"MQv2-HMAC-SHA1 Credential={key}/region/RocketMQ, SignedHeaders=x-mq-date-time,"
        f" Signature={signature}"
    )
    return lab.client(authorization=authorization, date_time=when)


def test_signed_call_is_answered(lab: ProxyLab) -> None:
    assert signed(lab, "administrator", "12345678").send(message()).code == 20000


@pytest.mark.parametrize(
    ("key", "secret", "when", "text"),
    [
        ("", "", WHEN, "username cannot be null."),
        ("stranger", "12345678", WHEN, "User:stranger is not found."),
        ("administrator", "wrong", WHEN, "check signature failed."),
        ("administrator", "12345678", "", "datetime is null."),
    ],
)
def test_wrong_signatures_are_refused(
    lab: ProxyLab, key: str, secret: str, when: str, text: str
) -> None:
    asked = signed(lab, key, secret, when).send(message())
    assert (asked.code, asked.message) == (40100, text)


@pytest.mark.parametrize(
    ("authorization", "text"),
    [
        ("MQv2-HMAC-SHA1", "authentication header is incorrect."),
        ("x y", "authentication keyValues length is incorrect, actual length=1."),
        ("x Signature=zz", "create authentication context error."),
    ],
)
def test_headers_of_another_form_are_refused(lab: ProxyLab, authorization: str, text: str) -> None:
    asked = lab.client(authorization=authorization, date_time=WHEN).send(message())
    assert (asked.code, asked.message) == (40100, text)


def test_anonymous_call_is_refused(lab: ProxyLab) -> None:
    asked = lab.client().send(message())
    assert (asked.code, asked.message) == (40100, "username cannot be null.")


def test_telemetry_without_a_signature_is_refused_on_its_stream(lab: ProxyLab) -> None:
    assert lab.client().consume().code == 40100


def test_receiving_stream_is_refused_as_others_are(lab: ProxyLab) -> None:
    assert lab.client().receive().code == 40100


def test_account_does_what_its_permissions_allow(lab: ProxyLab) -> None:
    client = signed(lab, "publisher", "87654321")
    assert client.send(message()).code == 20000
    client.consume()
    refused = client.receive()
    assert (refused.code, refused.message) == (40100, "No default permission for topic:normal")
    endpoints = m.Endpoints()
    route = m.QueryRouteRequest(topic=resource("normal"), endpoints=endpoints)
    assert client.ask("QueryRoute", route).code == 20000


def test_address_of_an_account_needs_no_signature(lab: ProxyLab) -> None:
    assert signed(lab, "neighbour", "wrong").send(message()).code == 20000


def test_cluster_without_accounts_takes_every_signature() -> None:
    lab = ProxyLab()
    assert signed(lab, "", "").send(message()).code == 20000
    lab.free()
