"""The table of rights: it has every code and RPC, and says what requests need."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fakemq.broker.acl.accounts import Account, PlainAccessConfig
from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.needs import Rule
from fakemq.broker.acl.permissions import Perm
from fakemq.broker.acl.rights import BROKER, NAMESRV, RPCS, Rights, RightsRow, merged
from fakemq.broker.broker import broker_class
from fakemq.namesrv.namesrv import name_server_class
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.grpc.table import RPCS as ALL_RPCS
from fakemq.protocol.message_id import create_offset_id
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy.registry import find
from fakemq.reference import NAMES, Reference, find_reference

PUB, SUB = Perm.PUB, Perm.SUB
NODES: dict[str, tuple[Callable[[Reference], Any], Any]] = {
    "broker": (broker_class, BROKER),
    "namesrv": (name_server_class, NAMESRV),
}


def rule_of(row: RightsRow, reference: Reference) -> Rule | None:
    return row.in_4_9_7 if reference.name == "4.9.7" else row.in_v5


@pytest.mark.parametrize("release", NAMES)
@pytest.mark.parametrize("node", NODES)
def test_table_has_each_code_that_a_node_answers(node: str, release: str) -> None:
    node_class, rows = NODES[node]
    reference = find_reference(release)
    answered = set(node_class(reference).handlers.load()) - reference.gone_codes
    has_rule = {code for code, row in rows.items() if rule_of(row, reference) is not None}
    assert has_rule - reference.gone_codes == answered


def test_table_has_each_rpc() -> None:
    assert set(RPCS) == {rpc.name for rpc in ALL_RPCS}


def test_rpc_without_needs_is_not_implemented() -> None:
    assert {name for name, rule in RPCS.items() if rule.needs is None} == {
        rpc.name for rpc in ALL_RPCS if find(rpc.name) is None
    }


def test_code_that_asks_for_nothing_says_why() -> None:
    rules = [rule for row in (*BROKER.values(), *NAMESRV.values()) for rule in row]
    for rule in filter(None, rules):
        assert (rule.needs is None and not rule.admin) == rule.asks.startswith("nothing: ")


def test_later_release_leaves_open_only_what_reads_nothing_stored() -> None:
    opened = {
        code
        for code, row in BROKER.items()
        if row.in_v5 is not None and row.in_v5.asks.startswith("nothing")
    }
    assert opened == {RequestCode.CHECK_CLIENT_CONFIG}


# -- what requests of 4.9.7 need ---------------------------------------------------------------


NEEDS = Rights()


def request(code: int, body: bytes = b"", **fields: str) -> RemotingCommand:
    return RemotingCommand(code, ext_fields=fields, body=body)


HEARTBEAT = json.dumps(
    {
        "clientID": "C",
        "consumerDataSet": [{"groupName": "G", "subscriptionDataSet": [{"topic": "T"}]}],
    }
).encode()


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (request(RequestCode.SEND_MESSAGE, topic="T", producerGroup="P"), {"T": PUB}),
        (request(RequestCode.SEND_MESSAGE, topic="%RETRY%G", producerGroup="G"), {}),
        (request(RequestCode.SEND_MESSAGE, topic="%RETRY%G", group="G"), {"%RETRY%G": SUB}),
        (request(RequestCode.SEND_MESSAGE_V2, b="T", a="P"), {"T": PUB}),
        (request(RequestCode.SEND_MESSAGE_V2, b="%RETRY%X", a="G"), {"%RETRY%G": SUB}),
        (request(RequestCode.SEND_MESSAGE_V2), {}),
        (request(RequestCode.SEND_BATCH_MESSAGE, b="T", a="P"), {}),
        (request(RequestCode.CONSUMER_SEND_MSG_BACK, group="G"), {"%RETRY%G": SUB}),
        (
            request(RequestCode.PULL_MESSAGE, topic="T", consumerGroup="G"),
            {"T": SUB, "%RETRY%G": SUB},
        ),
        (request(RequestCode.QUERY_MESSAGE, topic="T"), {"T": SUB}),
        (request(RequestCode.HEART_BEAT, HEARTBEAT), {"T": SUB, "%RETRY%G": SUB}),
        (request(RequestCode.UNREGISTER_CLIENT, consumerGroup="G"), {"%RETRY%G": SUB}),
        (request(RequestCode.UNREGISTER_CLIENT, producerGroup="P"), {}),
        (request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, consumerGroup="G"), {"%RETRY%G": SUB}),
        (
            request(RequestCode.UPDATE_CONSUMER_OFFSET, topic="T", consumerGroup="G"),
            {"T": SUB, "%RETRY%G": SUB},
        ),
        (request(RequestCode.QUERY_CONSUMER_OFFSET, topic="T", consumerGroup="G"), {}),
        (request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic="T"), {}),
    ],
)
def test_request_needs_permissions(command: RemotingCommand, needs: dict[str, Perm]) -> None:
    assert merged(NEEDS.needs(command)) == needs


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000], ids=["empty", "broken", "deep"])
def test_unreadable_heartbeat_is_refused(body: bytes) -> None:
    with pytest.raises(AclError):
        merged(NEEDS.needs(request(RequestCode.HEART_BEAT, body)))


# -- what requests of 5.5.0 need, and of codes that 4.9.7 does not have ------------------------

TOPICS = {0: "T", 7: "secret", 9: ""}
V5 = Rights(v5=True, stored=TOPICS.get)
QUEUE = {"topic": "T", "brokerName": "broker-a", "queueId": 0}


def with_body(code: int, body: object) -> RemotingCommand:
    return RemotingCommand(code, body=json.dumps(body).encode())


BOTH = {"T": SUB, "%RETRY%G": SUB}


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (request(RequestCode.LITE_PULL_MESSAGE, topic="T", consumerGroup="G"), BOTH),
        (request(RequestCode.SEND_MESSAGE_V2, b="%RETRY%X", a="G"), {"%RETRY%X": SUB}),
        (request(RequestCode.SEND_BATCH_MESSAGE, b="T", a="P"), {"T": PUB}),
        (request(RequestCode.SEND_REPLY_MESSAGE_V2, b="T"), {"T": PUB}),
        (request(RequestCode.SEND_REPLY_MESSAGE_V2, b="DefaultCluster_REPLY_TOPIC"), {}),
        (
            request(RequestCode.END_TRANSACTION, topic="T", commitLogOffset="7"),
            {"T": PUB, "secret": PUB},
        ),
        (request(RequestCode.END_TRANSACTION, commitLogOffset="x"), {}),
        (request(RequestCode5.RECALL_MESSAGE, topic="T"), {"T": PUB}),
        (request(RequestCode.VIEW_MESSAGE_BY_ID, offset="7"), {"secret": SUB}),
        (request(RequestCode.VIEW_MESSAGE_BY_ID, offset="8"), {}),
        (
            request(RequestCode.VIEW_MESSAGE_BY_ID, offset="9"),
            {"<no message begins at offset 9>": Perm.DENY},
        ),
        (
            request(RequestCode.CONSUMER_SEND_MSG_BACK, group="G", offset="7"),
            {"secret": SUB, "%RETRY%G": SUB},
        ),
        (
            request(
                RequestCode.CONSUME_MESSAGE_DIRECTLY,
                consumerGroup="G",
                msgId=create_offset_id(("127.0.0.1", 10911), 7),
            ),
            {"secret": SUB, "%RETRY%G": SUB},
        ),
        (request(RequestCode.GET_MAX_OFFSET, topic="T"), {"T": Perm.ANY}),
        (
            request(RequestCode.GET_CONSUME_STATS, consumerGroup="G", topicList="T;U"),
            {"T": Perm.ANY, "U": Perm.ANY, "%RETRY%G": SUB},
        ),
        (request(RequestCode5.POP_MESSAGE, topic="T", consumerGroup="G"), BOTH),
        (request(RequestCode5.ACK_MESSAGE, topic="%RETRY%G_T", consumerGroup="G"), BOTH),
        (request(RequestCode5.ACK_MESSAGE, topic="%RETRY%G+T", consumerGroup="G"), BOTH),
        (
            request(RequestCode5.ACK_MESSAGE, topic="%RETRY%X+T", consumerGroup="G"),
            {"%RETRY%X+T": SUB, "%RETRY%G": SUB},
        ),
        (
            with_body(RequestCode5.BATCH_ACK_MESSAGE, {"acks": [{"c": "G", "t": "T", "r": "0"}]}),
            BOTH,
        ),
        (with_body(RequestCode5.QUERY_ASSIGNMENT, {"topic": "T", "consumerGroup": "G"}), BOTH),
        (with_body(RequestCode.LOCK_BATCH_MQ, {"consumerGroup": "G", "mqSet": [QUEUE]}), BOTH),
        (with_body(RequestCode.UNLOCK_BATCH_MQ, {"consumerGroup": "G", "mqSet": [QUEUE]}), BOTH),
    ],
)
def test_request_of_the_later_release_needs_permissions(
    command: RemotingCommand, needs: dict[str, Perm]
) -> None:
    assert merged(V5.needs(command)) == needs


def test_lite_pull_needs_what_a_pull_needs() -> None:
    assert merged(NEEDS.needs(request(361, topic="T", consumerGroup="G"))) == BOTH


def test_topic_that_is_needed_in_two_ways_needs_both() -> None:
    command = request(RequestCode.END_TRANSACTION, topic="T", commitLogOffset="0")
    assert merged(V5.needs(command)) == {"T": PUB}
    account = Account.of(
        PlainAccessConfig.of(
            {"accessKey": "useruser", "secretKey": "12345678", "topicPerms": ["T=SUB"]}
        )
    )
    with pytest.raises(AclError):
        account.require({"T": PUB | SUB})


@pytest.mark.parametrize("code", [41, 42, 400, 200151, 34])
@pytest.mark.parametrize("body", [b"{", b"[" * 100_000], ids=["broken", "deep"])
def test_body_that_cannot_be_read_is_refused(code: int, body: bytes) -> None:
    with pytest.raises(AclError):
        merged(V5.needs(request(code, body)))


@pytest.mark.parametrize("code", [18, 225, 353, 401, 26, 28, 43, 306, 314, 316, 323, 329])
def test_administration_needs_an_admin_in_the_later_release(code: int) -> None:
    assert V5.needs_admin(code)
    assert not NEEDS.needs_admin(code)
