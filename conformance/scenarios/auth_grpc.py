"""Auth 2.0: calls of gRPC clients that are refused, by each RPC."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.auth_users import AUTH_RELEASES, auth_ask, encoded, entry, rights
from conformance.targets.accounts import AUTH, SECRET
from conformance.wire.pops import pop_fields
from conformance.wire.requests import heartbeat, pull_fields, queue_fields, send_v2_fields
from conformance.wire.rpcs import (
    MASTERS,
    acknowledging,
    assignment_of,
    burying,
    changing,
    consuming,
    ending,
    message,
    named,
    producing,
    receiving,
    route_of,
    sending,
)
from conformance.wire.signing import HIDDEN, signed
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

DATE = "20260101T000000Z"
HANDLE = "1 1100000000000 60000 0 0 broker-a 0 1"
GROUP, TOPIC = "GAuthFront", "SAuthFront"


def keys(account: str, secret: str = SECRET) -> dict[str, str]:
    """Return the metadata of a call that a user has signed."""
    digest = hmac.new(secret.encode(), DATE.encode(), hashlib.sha1).hexdigest().upper()
    return {
        "authorization": (
            f"MQv2-HMAC-SHA1 Credential={account}, SignedHeaders=x-mq-date-time, Signature={digest}"
        ),
        "x-mq-date-time": DATE,
    }


CALLS: Mapping[str, Mapping[str, Any]] = {
    "QueryRoute": route_of(TOPIC),
    "SendMessage": sending(message(TOPIC)),
    "Heartbeat": {"group": named(GROUP), "client_type": "SIMPLE_CONSUMER"},
    "QueryAssignment": assignment_of(TOPIC, GROUP),
    "ReceiveMessage": receiving(GROUP, TOPIC),
    "AckMessage": acknowledging(GROUP, TOPIC, HANDLE),
    "ChangeInvisibleDuration": changing(GROUP, TOPIC, HANDLE, 30),
    "ForwardMessageToDeadLetterQueue": burying(GROUP, TOPIC, HANDLE),
    "EndTransaction": ending(TOPIC, "t", "COMMIT"),
    "RecallMessage": {"topic": named(TOPIC), "recall_handle": "x"},
    "SyncLiteSubscription": {
        "action": "PARTIAL_ADD",
        "topic": named(TOPIC),
        "group": named(GROUP),
        "lite_topic_set": ["one"],
    },
    "NotifyClientTermination": {"group": named(GROUP)},
}
"""A call of each RPC that needs a right."""


def _every(run: Run, name: str, metadata: Mapping[str, str]) -> None:
    for rpc, fields in CALLS.items():
        run.grpc(name).ask(rpc, fields, metadata=metadata)
    for settings in (producing(TOPIC), consuming(GROUP, {TOPIC: "*"})):
        stream = run.grpc(name).telemetry(metadata=metadata)
        stream.send(settings=settings)
        stream.take()


def _user(run: Run, name: str, *policies: Mapping[str, object]) -> str:
    """Have a user at both brokers: a proxy asks any one of them."""
    for place in MASTERS:
        sent = encoded({"password": SECRET})
        auth_ask(run, RequestCode5.AUTH_CREATE_USER, {"username": name}, sent, place=place)
        if policies:
            body = encoded({"policies": list(policies)})
            subject = {"subject": f"User:{name}"}
            auth_ask(run, RequestCode5.AUTH_CREATE_ACL, subject, body, place=place)
    return name


@scenario(
    "auth 2.0 over gRPC: keys that are refused", config=AUTH, grpc=True, releases=AUTH_RELEASES
)
def auth_grpc_keys(run: Run) -> None:
    run.topic(TOPIC)
    name = _user(run, "GKeys", rights(entry("*", "All")))
    run.note("no key")
    _every(run, "client", {})
    run.note("another secret")
    _every(run, "client", keys(name, "87654321"))
    run.note("an unknown user, no date, odd headers")
    good = keys(name)
    bare = good["authorization"]
    for metadata in (
        keys("nobodynobody"),
        {"authorization": bare},
        good | {"authorization": "MQv2-HMAC-SHA1"},
        good | {"authorization": "MQv2-HMAC-SHA1 x"},
        good | {"authorization": f"MQv2-HMAC-SHA1 Credential={name}"},
        good | {"authorization": f"MQv2-HMAC-SHA1 Credential={name}, Signature=zz"},
        good | {"authorization": f"MQv2-HMAC-SHA1 Credential={name}, Signature=abc"},
        good | {"authorization": "MQv2-HMAC-SHA1 Signature=00"},
        good | {"authorization": "MQv2-HMAC-SHA1 Credential=/, Signature=00"},
        good | {"authorization": bare.replace(name, f"{name}/cluster/service")},
        good | {"x-mq-date-time": "20260101T000001Z"},
        good,
    ):
        run.grpc().ask("QueryRoute", route_of(TOPIC), metadata=metadata)


@scenario("auth 2.0 over gRPC: rights that lack", config=AUTH, grpc=True, releases=AUTH_RELEASES)
def auth_grpc_rights(run: Run) -> None:
    run.topic(TOPIC)
    run.note("none")
    _every(run, "none", keys(_user(run, "GNone")))
    run.note("to the topic alone, and to the group alone")
    topic = _user(run, "GTopic", rights(entry(f"Topic:{TOPIC}", "Sub")))
    _every(run, "topic", keys(topic))
    _every(run, "group", keys(_user(run, "GGroup", rights(entry(f"Group:{GROUP}", "Sub")))))
    run.note("what names nothing")
    sender = keys(_user(run, "GPub", rights(entry(f"Topic:{TOPIC}", "Pub"))))
    for rpc in CALLS:
        if rpc != "SyncLiteSubscription":  # let in without a lite topic
            run.grpc("sender").ask(rpc, {}, metadata=sender)
    run.note("two messages for two topics: the first one's right is asked for")
    two = sending(message(TOPIC), message("SAuthOther"))
    run.grpc("sender").ask("SendMessage", two, metadata=sender)
    two = sending(message("SAuthOther"), message(TOPIC))
    run.grpc("sender").ask("SendMessage", two, metadata=sender)
    run.note("heartbeats of kinds of clients")
    for kind in ("PRODUCER", "PUSH_CONSUMER", "PULL_CONSUMER", "LITE_PUSH_CONSUMER"):
        fields = {"group": named(GROUP), "client_type": kind}
        run.grpc("sender").ask("Heartbeat", fields, metadata=sender)
    run.note("a termination without a group, settings of no kind, and no settings")
    run.grpc("sender").ask("NotifyClientTermination", {}, metadata=sender)
    for settings in ({"client_type": "PRODUCER"}, producing(), consuming("", {})):
        stream = run.grpc("sender").telemetry(metadata=sender)
        stream.send(settings=settings)
        stream.take()


@scenario("auth 2.0 at a proxy's port for remoting", config=AUTH, grpc=True, releases=AUTH_RELEASES)
def auth_proxy_door(run: Run) -> None:
    topic = run.topic("SAuthProxy")
    name = _user(run, "PNone")
    broker = {"bname": "broker-a"}
    group = {"consumerGroup": "GAuthProxy"}
    requests: tuple[tuple[int, Mapping[str, object], bytes], ...] = (
        (RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, b""),
        (RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic, n="broker-a"), b"x"),
        (RequestCode.PULL_MESSAGE, pull_fields(topic) | group | broker, b""),
        (RequestCode5.POP_MESSAGE, pop_fields(topic, 0) | group | broker, b""),
        (RequestCode.HEART_BEAT, {}, encoded(heartbeat("C1", "GAuthProxy", topic))),
        (RequestCode.GET_CONSUMER_LIST_BY_GROUP, group, b""),
        (RequestCode.GET_MAX_OFFSET, queue_fields(topic) | broker, b""),
    )
    for what, secret in (("no key", ""), ("a wrong secret", "87654321"), ("no rights", SECRET)):
        run.note(what)
        for code, fields, body in requests:
            keyed = signed(fields, body, account=name, secret=secret) if secret else fields
            run.ask("proxy", code, keyed, body, hidden=HIDDEN)
