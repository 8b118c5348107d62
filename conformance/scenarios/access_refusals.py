"""Access control: requests that are refused, by every way into a broker."""

from __future__ import annotations

import json
from collections.abc import Mapping

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.access_control import ACL, ACL_RELEASES, ask_signed, commit_fields
from conformance.targets.accounts import ADMIN, CLIENT, USER
from conformance.wire.requests import (
    END_OF_NO_HALF,
    batch,
    group_config,
    heartbeat,
    offset_fields,
    pull_fields,
    queue_fields,
    send_back_fields,
    send_fields,
    send_v2_fields,
    topic_fields,
)
from conformance.wire.signing import HIDDEN, signed
from fakemq.protocol.codes import RequestCode


@scenario(
    "access control: wrong keys at every way into a broker", config=ACL, releases=ACL_RELEASES
)
def acl_wrong_keys(run: Run) -> None:
    topic = run.topic("SAclWrong")
    many = batch(b"one", b"two")
    offset = offset_fields(topic, "GAclDeny")
    lone = send_v2_fields(topic)
    for what, place, code, fields, body in (
        ("the fast port", "broker-a vip", RequestCode.SEND_MESSAGE_V2, lone, b"x"),
        ("a batch", "broker-a", RequestCode.SEND_BATCH_MESSAGE, lone | {"m": "true"}, many),
        ("a reply", "broker-a", RequestCode.SEND_REPLY_MESSAGE_V2, lone, b"x"),
        ("the end of a transaction", "broker-a", RequestCode.END_TRANSACTION, END_OF_NO_HALF, b""),
        ("by its place", "broker-a", RequestCode.VIEW_MESSAGE_BY_ID, {"offset": 0}, b""),
        ("a pull", "broker-a", RequestCode.PULL_MESSAGE, pull_fields(topic), b""),
        ("the offset of a group", "broker-a", RequestCode.QUERY_CONSUMER_OFFSET, offset, b""),
        ("an operator", "broker-a vip", RequestCode.UPDATE_BROKER_CONFIG, {}, b"traceOn=true"),
    ):
        run.note(f"{what}: an unknown key, another secret, the signature of another body")
        for wrong in _wrongly_signed(fields, body):
            run.ask(place, code, wrong, body, hidden=HIDDEN)
    run.note("one-way: refused in silence")
    for wrong in _wrongly_signed(lone, b"x"):
        run.send("broker-a", RequestCode.SEND_MESSAGE_V2, wrong, b"x", oneway=True, hidden=HIDDEN)
    for wrong in _wrongly_signed(END_OF_NO_HALF, b""):
        run.send("broker-a", RequestCode.END_TRANSACTION, wrong, oneway=True, hidden=HIDDEN)
    ask_signed(run, RequestCode.GET_MAX_OFFSET, queue_fields(topic), account=CLIENT)


def _wrongly_signed(fields: Mapping[str, object], body: bytes) -> list[dict[str, object]]:
    """Return fields with an unknown key, a wrong secret, and the signature of another body."""
    return [
        signed(fields, body, account="nobodynobody"),
        signed(fields, body, account=CLIENT, secret="87654321"),
        signed(fields, body + b"!", account=CLIENT),
    ]


@scenario(
    "access control: missing permissions at the fast port, and one-way",
    config=ACL,
    releases=ACL_RELEASES,
)
def acl_missing_permissions(run: Run) -> None:
    for topic in ("SAclSub", "SAclKept"):
        run.topic(topic)
    group_body = json.dumps(group_config("GAclNever")).encode()
    delete_group = {"groupName": "GAclSub", "cleanOffset": False}
    back = send_back_fields("GAclDeny", 0, originTopic="SAclSub")
    beat = json.dumps(heartbeat("C1", "GAclDeny", "SAclSub")).encode()
    requests: list[tuple[RequestCode, Mapping[str, object], bytes]] = [
        (RequestCode.SEND_MESSAGE, send_fields("SAclKept"), b"x"),
        (RequestCode.SEND_MESSAGE_V2, send_v2_fields("SAclKept"), b"x"),
        (RequestCode.PULL_MESSAGE, pull_fields("SAclSub", consumerGroup="GAclDeny"), b""),
        (RequestCode.PULL_MESSAGE, pull_fields("SAclKept", consumerGroup="GAclSub"), b""),
        (RequestCode.UPDATE_CONSUMER_OFFSET, commit_fields("GAclDeny", "SAclSub"), b""),
        (RequestCode.CONSUMER_SEND_MSG_BACK, back, b""),
        (RequestCode.HEART_BEAT, {}, beat),
        (RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("SAclNever"), b""),
        (RequestCode.UPDATE_BROKER_CONFIG, {}, b"traceOn=false"),
        (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, group_body),
        (RequestCode.DELETE_SUBSCRIPTIONGROUP, delete_group, b""),
        (RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "SAclKept"}, b""),
    ]
    run.note("the fast port")
    for code, fields, body in requests:
        ask_signed(run, code, fields, body, place="broker-a vip")
    run.note("one-way: refused in silence")
    for code, fields, body in requests:
        run.send(
            *("broker-a", code, signed(fields, body, account=USER), body),
            oneway=True,
            hidden=HIDDEN,
        )
    run.note("nothing has changed")
    ask_signed(run, RequestCode.GET_MAX_OFFSET, queue_fields("SAclKept"), account=ADMIN)
    offset = offset_fields("SAclSub", "GAclDeny")
    ask_signed(run, RequestCode.QUERY_CONSUMER_OFFSET, offset, account=ADMIN)
    members = {"consumerGroup": "GAclDeny"}
    ask_signed(run, RequestCode.GET_CONSUMER_LIST_BY_GROUP, members, account=ADMIN)
    for topic in ("SAclNever", "SAclKept"):
        run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
