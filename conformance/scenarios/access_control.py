"""Access control: what an account may do, by every way into a broker, and how rules change."""

from __future__ import annotations

import json
from collections.abc import Mapping

from conformance.run import Run
from conformance.scenario import scenario
from conformance.targets.accounts import ADMIN, LOCAL, REMOTE, SENDER, STRICT_ADMIN, USER
from conformance.targets.java_jars import REFERENCE
from conformance.wire.requests import (
    batch,
    group_config,
    pull_fields,
    send_fields,
    send_v2_fields,
    topic_fields,
)
from conformance.wire.signing import HIDDEN, signed
from fakemq.protocol.codes import RequestCode

ACL = {"aclEnable": "true"}
OWN_ACL = {"aclEnable": "true", "regionId": "OwnRules"}
ACL_RELEASES = (REFERENCE,)
"""5.5.0 has another access control, without plain_acl.yml."""
"""For the scenario that changes the rules, so that it shares its brokers with no other."""


def ask_signed(
    run: Run,
    code: int,
    fields: Mapping[str, object],
    body: bytes = b"",
    *,
    account: str = USER,
    place: str = "broker-a",
    binary: bool = False,
) -> None:
    """Send a request that an account has signed."""
    run.ask(place, code, signed(fields, body, account=account), body, hidden=HIDDEN, binary=binary)


def ask_with_altered(run: Run, fields: Mapping[str, object], body: bytes, account: str) -> None:
    """Send requests whose signature is of another one, or was used before; and odd texts."""
    send = RequestCode.SEND_MESSAGE_V2
    run.note("the signature of one request on another body, and on another queue")
    good = signed(fields, body, account=account)
    run.ask("broker-a", send, good, b"pay 9", hidden=HIDDEN)
    run.ask("broker-a", send, {**good, "e": "1"}, body, hidden=HIDDEN)
    run.note("the same request twice")
    for _ in range(2):
        run.ask("broker-a", send, good, body, hidden=HIDDEN)
    run.note("with a security token, and with one that was not signed")
    token = signed(fields, body, account=account, token="a token")
    run.ask("broker-a", send, token, body, hidden=HIDDEN)
    run.ask("broker-a", send, {**good, "SecurityToken": "late"}, body, hidden=HIDDEN)
    run.note("characters beyond ASCII, within and beyond the basic plane")
    odd = {**fields, "i": "KEYS\x01né 日本\x02TAGS\x01😀", "\uff5a": "1", "\U0001f600": "2"}
    ask_signed(run, send, odd, "körper".encode(), account=account)


def _topics(run: Run) -> None:
    for topic in ("SAclPub", "SAclSub", "SAclBoth", "SAclDeny", "SAclOther"):
        run.topic(topic)


def commit_fields(group: str, topic: str) -> dict[str, object]:
    return {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": 7}


def _heartbeat(group: str, *topics: str, client: str = "C1") -> bytes:
    consumer = {
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "consumeType": "CONSUME_PASSIVELY",
        "groupName": group,
        "messageModel": "CLUSTERING",
        "subscriptionDataSet": [
            {"topic": topic, "subString": "*", "subVersion": 1, "tagsSet": [], "codeSet": []}
            for topic in topics
        ],
        "unitMode": False,
    }
    return json.dumps(
        {"clientID": client, "consumerDataSet": [consumer], "producerDataSet": []}
    ).encode()


@scenario("access control: keys and signatures that are refused", config=ACL, releases=ACL_RELEASES)
def acl_keys(run: Run) -> None:
    run.topic("SAclKeys")
    fields, body = send_v2_fields("SAclKeys"), b"pay 1"
    send = RequestCode.SEND_MESSAGE_V2
    run.note("no key, in a header of the usual form and in another")
    run.ask("broker-a", send, fields, body)
    run.ask("broker-a", send, {**fields, "x": "y"}, body)
    run.ask("broker-a", RequestCode.GET_BROKER_RUNTIME_INFO, {})
    run.note("an unknown key")
    ask_signed(run, send, fields, body, account="nobodynobody")
    run.note("a key without a signature, with an empty one, with one by another secret")
    run.ask("broker-a", send, {**fields, "AccessKey": USER}, body)
    run.ask("broker-a", send, {**fields, "AccessKey": USER, "Signature": ""}, body)
    wrong = signed(fields, body, account=USER, secret="87654321")
    run.ask("broker-a", send, wrong, body, hidden=HIDDEN)
    ask_with_altered(run, fields, body, USER)
    run.note("a query by a unique key: that field is not signed")
    query = {"topic": "SAclKeys", "key": "K", "maxNum": 1, "beginTimestamp": 0, "endTimestamp": 1}
    keyed = {**signed(query, account=USER), "_UNIQUE_KEY_QUERY": "true"}
    run.ask("broker-a", RequestCode.QUERY_MESSAGE, keyed, hidden=HIDDEN)
    ask_signed(run, RequestCode.QUERY_MESSAGE, {**query, "_UNIQUE_KEY_QUERY": "true"})
    run.note("in a binary header, without an empty field and with one")
    ask_signed(run, send, {**fields, "i": "KEYS\x01k"}, body, binary=True)
    run.ask("broker-a", send, fields, body, binary=True)
    ask_signed(run, send, fields, body, binary=True)


@scenario(
    "access control: permissions for topics, groups and admin requests",
    config=ACL,
    releases=ACL_RELEASES,
)
def acl_permissions(run: Run) -> None:
    _topics(run)
    for topic in ("SAclPub", "SAclSub", "SAclBoth", "SAclDeny", "SAclOther", "SAclNowhere"):
        ask_signed(run, RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic), b"x")
    ask_signed(run, RequestCode.SEND_MESSAGE, send_fields("SAclSub"), b"x")
    run.note("to the retry topic of a group")
    retry = {"a": "GAclDeny", "b": "%RETRY%GAclDeny"}
    ask_signed(run, RequestCode.SEND_MESSAGE_V2, send_v2_fields("x") | retry, b"x")
    long = send_fields("%RETRY%GAclDeny", producerGroup="GAclDeny")
    ask_signed(run, RequestCode.SEND_MESSAGE, long, b"x")
    run.note("pulls: the group, the topic, both")
    for group, topic in (
        *(("GAclSub", "SAclSub"), ("GAclSub", "SAclPub"), ("GAclDeny", "SAclSub")),
        *(("GAclPub", "SAclSub"), ("GAclDeny", "SAclDeny"), ("GOther", "SAclBoth")),
    ):
        ask_signed(run, RequestCode.PULL_MESSAGE, pull_fields(topic, consumerGroup=group))
    run.note("heartbeats")
    for group, subscribed in (
        *(("GAclSub", ("SAclSub",)), ("GAclSub", ("SAclSub", "SAclPub"))),
        *(("GAclDeny", ("SAclSub",)), ("GAclDeny", ("SAclDeny", "SAclPub", "SAclOther"))),
    ):
        ask_signed(run, RequestCode.HEART_BEAT, {}, _heartbeat(group, *subscribed))
    ask_signed(run, RequestCode.HEART_BEAT, {})
    run.note("members, the end of a client, offsets")
    for group in ("GAclSub", "GAclDeny"):
        ask_signed(run, RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
        client = {"clientID": "C1", "consumerGroup": group}
        ask_signed(run, RequestCode.UNREGISTER_CLIENT, client)
        ask_signed(run, RequestCode.UPDATE_CONSUMER_OFFSET, commit_fields(group, "SAclSub"))
    ask_signed(run, RequestCode.UPDATE_CONSUMER_OFFSET, commit_fields("GAclSub", "SAclPub"))
    ask_signed(run, RequestCode.UNREGISTER_CLIENT, {"clientID": "C1", "producerGroup": "P"})
    run.note("sent back, queried")
    back = {"group": "GAclDeny", "offset": 999_999_999, "delayLevel": 1, "originTopic": "SAclSub"}
    ask_signed(run, RequestCode.CONSUMER_SEND_MSG_BACK, back)
    query = {"topic": "SAclPub", "key": "K", "maxNum": 1, "beginTimestamp": 0, "endTimestamp": 1}
    ask_signed(run, RequestCode.QUERY_MESSAGE, query)
    run.note("what needs an admin")
    create = topic_fields("SAclNew", readQueueNums=1, writeQueueNums=1, order=False)
    group_body = json.dumps(group_config("GAclNew")).encode()
    for account in (USER, STRICT_ADMIN, ADMIN):
        run.note(account)
        ask_signed(run, RequestCode.UPDATE_AND_CREATE_TOPIC, create, account=account)
        ask_signed(run, RequestCode.UPDATE_BROKER_CONFIG, {}, b"traceOn=true", account=account)
        ask_signed(run, RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "SAclNew"}, account=account)
        create_group = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
        ask_signed(run, create_group, {}, group_body, account=account)
        delete = {"groupName": "GAclNew", "cleanOffset": False}
        ask_signed(run, RequestCode.DELETE_SUBSCRIPTIONGROUP, delete, account=account)
    run.note("an admin with permissions of its own, and one without")
    for account in (STRICT_ADMIN, ADMIN):
        for topic in ("SAclSub", "SAclPub"):
            ask_signed(
                run, RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic), b"x", account=account
            )
    run.note("by default an account may send, and not consume")
    ask_signed(run, RequestCode.SEND_MESSAGE_V2, send_v2_fields("SAclDeny"), b"x", account=SENDER)
    pull = pull_fields("SAclDeny", consumerGroup="GAclSub")
    ask_signed(run, RequestCode.PULL_MESSAGE, pull, account=SENDER)
    run.note("traces need nothing")
    ask_signed(run, RequestCode.SEND_MESSAGE_V2, send_v2_fields("RMQ_SYS_TRACE_TOPIC"), b"x")


@scenario("access control: addresses that need no key", config=ACL, releases=ACL_RELEASES)
def acl_addresses(run: Run) -> None:
    run.topic("SAclWhite")
    run.note("from the address of the account nothing is checked, not even the signature")
    send = RequestCode.SEND_MESSAGE_V2
    for fields in (
        {"AccessKey": LOCAL},
        {"AccessKey": LOCAL, "Signature": "wrong"},
    ):
        run.ask("broker-a", send, send_v2_fields("SAclWhite") | fields, b"x")
    delete = {"topic": "SAclNowhere", "AccessKey": LOCAL}
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, delete)
    run.note("but the body of a heartbeat is read before")
    run.ask("broker-a", RequestCode.HEART_BEAT, {"AccessKey": LOCAL})
    run.note("from another address")
    run.ask("broker-a", send, send_v2_fields("SAclWhite") | {"AccessKey": REMOTE}, b"x")
    ask_signed(run, send, send_v2_fields("SAclWhite"), b"x", account=REMOTE)


@scenario("access control: every way into a broker", config=ACL, releases=ACL_RELEASES)
def acl_doors(run: Run) -> None:
    for topic in ("SAclDoor", "SAclShut"):
        run.topic(topic)
    send = RequestCode.SEND_MESSAGE_V2
    run.note("the fast port")
    ask_signed(run, send, send_v2_fields("SAclShut"), b"x", place="broker-a vip")
    run.ask("broker-a vip", send, send_v2_fields("SAclDoor"), b"x")
    run.ask("broker-a vip", RequestCode.PULL_MESSAGE, pull_fields("SAclShut"))
    run.note("one-way: refused in silence")
    for fields in (
        send_v2_fields("SAclDoor"),
        signed(send_v2_fields("SAclShut"), b"x", account=USER),
    ):
        run.send("broker-a", send, fields, b"x", oneway=True, hidden=HIDDEN)
    ask_signed(run, RequestCode.GET_MAX_OFFSET, {"topic": "SAclDoor", "queueId": 0})
    ask_signed(run, RequestCode.GET_MAX_OFFSET, {"topic": "SAclShut", "queueId": 0})
    run.note("codes that no broker knows")
    run.ask("broker-a", 9999, {})
    ask_signed(run, 9999, {})
    run.note("a batch: needs a key, and no permission")
    many = batch(b"one", b"two")
    fields = send_v2_fields("SAclShut", m=True)
    run.ask("broker-a", RequestCode.SEND_BATCH_MESSAGE, fields, many)
    ask_signed(run, RequestCode.SEND_BATCH_MESSAGE, fields, many)
    run.note("a reply")
    for code in (RequestCode.SEND_REPLY_MESSAGE_V2, RequestCode.SEND_REPLY_MESSAGE):
        reply = send_v2_fields("SAclShut") if "V2" in code.name else send_fields("SAclShut")
        run.ask("broker-a", code, reply, b"x")
        ask_signed(run, code, reply, b"x")
    run.note("the end of a transaction")
    end = {
        "producerGroup": "P",
        "tranStateTableOffset": 0,
        "commitLogOffset": 999_999_999,
        "commitOrRollback": 8,
        "fromTransactionCheck": False,
        "msgId": "1",
        "transactionId": "1",
    }
    run.ask("broker-a", RequestCode.END_TRANSACTION, end)
    ask_signed(run, RequestCode.END_TRANSACTION, end)
    run.note("a message by its place")
    run.ask("broker-a", RequestCode.VIEW_MESSAGE_BY_ID, {"offset": 999_999_999})
    ask_signed(run, RequestCode.VIEW_MESSAGE_BY_ID, {"offset": 999_999_999})
    run.note("the offset of a group that the account may not read: asked, and set")
    offset = {"consumerGroup": "GAclDeny", "topic": "SAclShut", "queueId": 0}
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, offset)
    ask_signed(run, RequestCode.QUERY_CONSUMER_OFFSET, offset)
    ask_signed(run, RequestCode.UPDATE_CONSUMER_OFFSET, commit_fields("GAclDeny", "SAclShut"))
    run.note("locks, all offsets")
    lock = {"clientId": "C1", "consumerGroup": "GAclDeny", "mqSet": []}
    ask_signed(run, RequestCode.LOCK_BATCH_MQ, {}, json.dumps(lock).encode())
    run.ask("broker-a", RequestCode.GET_ALL_CONSUMER_OFFSET, {})
    run.note("a name server asks for no key")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SAclNowhere"})


@scenario(
    "access control: operators change the rules", config=OWN_ACL, real_s=13, releases=ACL_RELEASES
)
def acl_changes(run: Run) -> None:
    _topics(run)
    create, delete = RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, RequestCode.DELETE_ACL_CONFIG
    white = RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG
    versions = (*HIDDEN, "allAclFileVersion")

    def show() -> None:
        ask_signed(run, RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG, {})

    def try_it(account: str, topic: str = "SAclDeny") -> None:
        fields = send_v2_fields(topic)
        ask_signed(run, RequestCode.SEND_MESSAGE_V2, fields, b"x", account=account)

    show()
    run.note("every account may do what follows; without a key nothing")
    run.ask("broker-a", create, {"accessKey": "newaccount", "secretKey": "12345678"})
    run.ask("broker-a", RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG, {})
    run.note("wrong accounts")
    for fields in (
        {},
        {"accessKey": "newaccount"},
        {"accessKey": "short1", "secretKey": "12345678"},
        {"accessKey": "newaccount", "secretKey": "123456"},
        {"accessKey": "newaccount", "secretKey": "12345678", "topicPerms": "T"},
        {"accessKey": "newaccount", "secretKey": "12345678", "topicPerms": "T=ALL"},
        {"accessKey": "newaccount", "secretKey": "12345678", "groupPerms": "G=SUB,G=PUB=SUB"},
        {"accessKey": "newaccount", "secretKey": "12345678", "whiteRemoteAddress": "1.2.3"},
    ):
        ask_signed(run, create, fields)
    try_it("newaccount")
    run.note("a new account")
    new: dict[str, object] = {
        "accessKey": "newaccount",
        "secretKey": "12345678",
        "defaultTopicPerm": "PUB",
        "topicPerms": "SAclSub=SUB,SAclPub=PUB",
    }
    ask_signed(run, create, new)
    try_it("newaccount")
    try_it("newaccount", "SAclSub")
    show()
    run.ask(
        "broker-a",
        RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
        signed({}, account=USER),
        hidden=versions,
    )
    run.note("a change: what is not named is forgotten, until the file is read again")
    changed = {"accessKey": "newaccount", "secretKey": "12345678", "defaultGroupPerm": "SUB"}
    ask_signed(run, create, changed, binary=True)
    try_it("newaccount")
    run.pass_time(6_000)
    try_it("newaccount")
    run.note("deleted: at once, and when the file is read again")
    ask_signed(run, delete, {"accessKey": "newaccount"})
    try_it("newaccount")
    ask_signed(run, delete, {"accessKey": "newaccount"})
    ask_signed(run, delete, {})
    run.note("addresses that need no key hold when the file is read again")
    ask_signed(run, white, {"globalWhiteAddrs": "10.0.0.1", "aclFileFullPath": "/nowhere.yml"})
    ask_signed(run, white, {"aclFileFullPath": ""})
    ask_signed(run, white, {"globalWhiteAddrs": "127.0.0.1,10.0.0.*", "aclFileFullPath": ""})
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, send_v2_fields("SAclDeny"), b"x")
    run.pass_time(6_000)
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, send_v2_fields("SAclDeny"), b"x")
    show()
