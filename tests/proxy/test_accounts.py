"""Signatures of calls, once the cluster has accounts; `test_auth.py` is about users of 5.5.0."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from typing import Any

import pytest

from fakemq.broker.acl.accounts import PlainAccessConfig
from fakemq.broker.acl.rights import RPCS
from fakemq.events import AccessRefused
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.table import BY_NAME
from fakemq.proxy.status import Code
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
        {"accessKey": "powerless", "secretKey": "12345678"},
        {"accessKey": "transactional", "secretKey": "12345678", "topicPerms": ["tx=PUB"]},
        {"accessKey": "neighbour", "secretKey": "12345678", "whiteRemoteAddress": "10.0.0.*"},
    ]
}


@pytest.fixture
def lab() -> Iterator[ProxyLab]:
    lab = ProxyLab(acl=RULES, reference="5.3.2")
    yield lab
    lab.free()


def signed(
    lab: ProxyLab, key: str, secret: str, when: str = WHEN, *, client_id: str = "c1"
) -> FrontClient:
    """A client that signs as the official ones do."""
    signature = hmac.digest(secret.encode(), WHEN.encode(), "sha1").hex()
    authorization = (
        f"MQv2-HMAC-SHA1 Credential={key}/region/RocketMQ, SignedHeaders=x-mq-date-time,"
        f" Signature={signature}"
    )
    return lab.client(client_id, authorization=authorization, date_time=when)


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


def test_refused_calls_are_in_the_journal_with_their_groups_and_topics(lab: ProxyLab) -> None:
    lab.client().consume()
    lab.client().receive()
    signed(lab, "publisher", "wrong").send(message())
    telemetry, received, sent = (
        one.event for one in lab.core.journal if isinstance(one.event, AccessRefused)
    )
    assert telemetry.groups == received.groups == ("g",)
    assert telemetry.topics == received.topics == sent.topics == ("normal",)
    assert (received.why, sent.why) == ("username cannot be null.", "check signature failed.")
    assert sent.groups == ()


def test_account_does_what_its_permissions_allow(lab: ProxyLab) -> None:
    client = signed(lab, "publisher", "87654321")
    assert client.send(message()).code == 20000
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


# -- whose client it is ------------------------------------------------------------------------


def publisher(lab: ProxyLab, client_id: str = "victim") -> FrontClient:
    return signed(lab, "publisher", "87654321", client_id=client_id)


def stranger(lab: ProxyLab, client_id: str = "victim") -> FrontClient:
    return signed(lab, "powerless", "12345678", client_id=client_id)


OTHERS = (40100, "the client id victim belongs to another account.")
END = m.NotifyClientTerminationRequest()
BEAT = m.HeartbeatRequest(client_type=m.ClientType.PRODUCER)


def test_account_ends_only_its_own_clients(lab: ProxyLab) -> None:
    own = publisher(lab)
    assert own.produce("normal").code == 20000
    asked = stranger(lab).ask("NotifyClientTermination", END)
    assert (asked.code, asked.message) == OTHERS
    assert lab.proxy.clients.find("victim") is not None
    assert own.ask("NotifyClientTermination", END).code == 20000
    assert lab.proxy.clients.find("victim") is None


@pytest.mark.parametrize(
    ("rpc", "request_"), [("Heartbeat", BEAT), ("NotifyClientTermination", END)]
)
def test_client_id_of_settings_alone_has_an_owner(
    lab: ProxyLab, rpc: str, request_: object
) -> None:
    publisher(lab).produce()
    assert lab.proxy.clients.find("victim") is None, "a member of no group"
    asked = stranger(lab).ask(rpc, request_)
    assert (asked.code, asked.message) == OTHERS


def test_stream_of_another_account_does_not_take_a_client_over(lab: ProxyLab) -> None:
    own = publisher(lab).produce("normal")
    asked = stranger(lab).produce()
    assert (asked.code, asked.message) == OTHERS
    client = lab.proxy.clients.find("victim")
    assert client is not None
    assert client.stream is not None
    assert client.stream.context.call is own.call  # type: ignore[attr-defined]


def test_client_id_of_a_deleted_account_is_free(lab: ProxyLab) -> None:
    publisher(lab).produce("normal")
    manager = lab.proxy.accounts
    assert manager is not None
    manager.delete_access_config("publisher")
    manager.load()
    assert (
        signed(lab, "administrator", "12345678", client_id="victim").produce("normal").code == 20000
    )


def test_settings_ask_for_what_they_name(lab: ProxyLab) -> None:
    assert publisher(lab, "p1").produce("normal").code == 20000
    refused = publisher(lab, "p2").produce("normal", "tx")
    assert (refused.code, refused.message) == (40100, "No default permission for topic:tx")
    refused = publisher(lab, "p3").consume("g", "normal")
    assert (refused.code, refused.message) == (40100, "No default permission for topic:normal")
    refused = stranger(lab, "p4").consume("g", "normal")
    assert refused.code == 40100
    assert all(lab.proxy.clients.find(name) is None for name in ("p2", "p3", "p4"))


def test_half_message_is_checked_by_its_producer(lab: ProxyLab) -> None:
    admin = signed(lab, "administrator", "12345678", client_id="admin")
    stream = admin.produce("tx")
    half = message("tx", b"secret")
    half.system_properties.message_type = m.MessageType.TRANSACTION
    assert admin.send(half).code == 20000
    lab.core.clock.advance("2m")
    assert any(one.HasField("recover_orphaned_transaction_command") for one in stream.answers)


def test_check_goes_to_no_client_whose_account_may_not_send_any_more(lab: ProxyLab) -> None:
    admin = signed(lab, "administrator", "12345678", client_id="admin")
    transactional = signed(lab, "transactional", "12345678", client_id="member")
    stream = transactional.produce("tx")
    assert stream.code == 20000
    half = message("tx", b"secret")
    half.system_properties.message_type = m.MessageType.TRANSACTION
    assert admin.send(half).code == 20000
    manager = lab.proxy.accounts
    assert manager is not None
    manager.update_access_config(
        PlainAccessConfig(access_key="transactional", secret_key="12345678", topic_perms=["tx=SUB"])
    )
    lab.core.clock.advance("5m")
    assert not any(one.HasField("recover_orphaned_transaction_command") for one in stream.answers)


def test_forged_handle_does_not_bury_a_message_of_another_topic(lab: ProxyLab) -> None:
    admin = signed(lab, "administrator", "12345678", client_id="admin")
    assert admin.send(message("normal", b"mine")).code == 20000
    sent = admin.send(message("fifo", b"secret", message_group="one"))
    assert sent.code == 20000
    admin.consume("g", "normal")
    (received,) = admin.receive().received
    handle = received.system_properties.receipt_handle
    topic_of = {
        record.topic: record.commit_log_offset
        for topic in ("normal", "fifo")
        for queue in range(4)
        for record in lab.broker.store.messages_in_queue(topic, queue)
    }
    forged = f"{handle.rpartition(' ')[0]} {topic_of['fifo']}"

    def bury(handle: str) -> int:
        request = m.ForwardMessageToDeadLetterQueueRequest(
            group=resource("g"), topic=resource("normal"), receipt_handle=handle, message_id="m1"
        )
        return admin.ask("ForwardMessageToDeadLetterQueue", request).code

    assert bury(forged) == Code.INVALID_RECEIPT_HANDLE
    assert bury(handle) == 20000


def minimal(name: str) -> Any:
    """A request of an RPC that names a topic and a group in each field that it has."""
    request = BY_NAME[name].request()
    names = {field.name for field in request.DESCRIPTOR.fields}
    for field in names & {"topic", "group"}:
        getattr(request, field).name = "tx"
    if name == "SendMessage":
        request.messages.append(message("tx"))
    if "message_queue" in names:
        request.message_queue.topic.name = "tx"
    if name == "Telemetry":
        request.settings.publishing.topics.append(resource("tx"))
    return request


@pytest.mark.parametrize("name", [name for name, rule in RPCS.items() if rule.needs is not None])
def test_account_without_rights_is_refused_by_each_rpc(lab: ProxyLab, name: str) -> None:
    asked = stranger(lab).ask(name, minimal(name))
    assert asked.code == 40100
    assert asked.message.startswith("No default permission for")
