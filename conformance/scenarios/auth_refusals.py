"""Auth 2.0: requests that are refused, by every way into a broker."""

# Over 400 lines: the list of all codes, and one scenario for each cause.

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.access_control import ask_with_altered
from conformance.scenarios.auth_users import (
    AUTH_RELEASES,
    auth_ask,
    encoded,
    entry,
    grant,
    rights,
    user,
)
from conformance.scenarios.hostility import Conversation
from conformance.targets.accounts import AUTH, LOCAL_USERS, SECRET, STATEFUL
from conformance.wire.lites import pop_lite_fields
from conformance.wire.pops import pop_fields
from conformance.wire.raw import frame
from conformance.wire.requests import (
    END_OF_NO_HALF,
    batch,
    heartbeat,
    pull_fields,
    queue_fields,
    send_back_fields,
    send_fields,
    send_v2_fields,
    topic_fields,
)
from conformance.wire.signing import HIDDEN, signed
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

SEND = RequestCode.SEND_MESSAGE_V2
ANSWER_S = 1.0
TOPIC, GROUP = "SAuthCodes", "GAuthCodes"
EVERY_FIELD: Mapping[str, object] = {
    **send_fields(TOPIC),
    **send_v2_fields(TOPIC),
    **pop_fields(TOPIC, 0),
    "a": GROUP,
    "compareGroup": GROUP,
    "commitLogOffset": 999_999_999,
    "commitOffset": 0,
    "commitOrRollback": 8,
    "consumerGroup": GROUP,
    "delayLevel": 1,
    "destGroup": GROUP,
    "endTimestamp": 1,
    "beginTimestamp": 0,
    "extraInfo": "0 1100000000000 60000 0 0 broker-a 0",
    "filterGroups": f"{GROUP},GAuthOther",
    "group": GROUP,
    "groupName": GROUP,
    "isForce": False,
    "key": "K",
    "maxNum": 1,
    "maxOffset": 0,
    "msgId": "7F00000100002A9F000000003B9AC9FF",
    "offset": 999_999_999,
    "perm": 6,
    "queueOffset": 0,
    "readQueueNums": 1,
    "recallHandle": "x",
    "srcGroup": "GAuthSource",
    "statsKey": TOPIC,
    "statsName": "TOPIC_PUT_NUMS",
    "subVersion": 0,
    "suspendTimeoutMillis": 0,
    "timestamp": 0,
    "topicFilterType": "SINGLE_TAG",
    "topicList": f"{TOPIC};SAuthOther",
    "tranStateTableOffset": 0,
    "transactionId": "1",
    "unitMode": False,
    "value": "x",
    "version": "1",
    "writeQueueNums": 1,
}
"""Fields for any request that names a topic, a group, or both."""
HARMFUL = frozenset(
    {
        RequestCode5.EXCHANGE_BROKER_HA_INFO,
        RequestCode5.NOTIFY_BROKER_ROLE_CHANGED,
        RequestCode5.NOTIFY_MIN_BROKER_ID_CHANGE,
        RequestCode5.RESET_MASTER_FLUSH_OFFSET,
    }
)
"""Codes that leave a broker in no good state."""
CODES: tuple[int, ...] = (
    *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE),
    *(RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2),
    *(RequestCode.END_TRANSACTION, RequestCode5.RECALL_MESSAGE, RequestCode.PULL_MESSAGE),
    *(RequestCode.LITE_PULL_MESSAGE, RequestCode.CONSUMER_SEND_MSG_BACK),
    *(RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID),
    *(RequestCode.CONSUME_MESSAGE_DIRECTLY, RequestCode.RESUME_CHECK_HALF_MESSAGE),
    *(RequestCode5.POP_MESSAGE, RequestCode5.PEEK_MESSAGE, RequestCode5.ACK_MESSAGE),
    *(RequestCode5.BATCH_ACK_MESSAGE, RequestCode5.CHANGE_MESSAGE_INVISIBLETIME),
    *(RequestCode5.NOTIFICATION, RequestCode5.POLLING_INFO, RequestCode5.QUERY_ASSIGNMENT),
    *(RequestCode5.POP_LITE_MESSAGE, RequestCode5.LITE_SUBSCRIPTION_CTL),
    *(RequestCode5.GET_BROKER_LITE_INFO, RequestCode5.GET_LITE_TOPIC_INFO),
    *(RequestCode5.GET_LITE_CLIENT_INFO, RequestCode5.GET_LITE_GROUP_INFO),
    *(RequestCode5.TRIGGER_LITE_DISPATCH,),
    *(RequestCode5.SET_MESSAGE_REQUEST_MODE, RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE),
    *(RequestCode.HEART_BEAT, RequestCode.UNREGISTER_CLIENT, RequestCode.CHECK_CLIENT_CONFIG),
    *(RequestCode.GET_CONSUMER_LIST_BY_GROUP, RequestCode.GET_CONSUMER_CONNECTION_LIST),
    *(RequestCode.GET_PRODUCER_CONNECTION_LIST, RequestCode.GET_ALL_PRODUCER_INFO),
    *(RequestCode.GET_CONSUMER_RUNNING_INFO, RequestCode.LOCK_BATCH_MQ),
    *(RequestCode.UNLOCK_BATCH_MQ, RequestCode.QUERY_CONSUMER_OFFSET),
    *(RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP),
    *(RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET),
    *(RequestCode.GET_EARLIEST_MSG_STORETIME, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET),
    *(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, RequestCode.CLONE_GROUP_OFFSET),
    *(RequestCode.QUERY_CORRECTION_OFFSET, RequestCode.QUERY_CONSUME_QUEUE),
    *(RequestCode.QUERY_CONSUME_TIME_SPAN, RequestCode.GET_CONSUME_STATS),
    *(RequestCode5.QUERY_TOPICS_BY_CONSUMER, RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER),
    *(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, RequestCode.GET_TOPIC_STATS_INFO),
    *(RequestCode5.GET_TOPIC_CONFIG, RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG),
    *(RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode5.UPDATE_AND_CREATE_TOPIC_LIST),
    *(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,),
    *(RequestCode5.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,),
    *(RequestCode5.UPDATE_AND_GET_GROUP_FORBIDDEN, RequestCode.UPDATE_BROKER_CONFIG),
    *(RequestCode.GET_BROKER_CONFIG, RequestCode.GET_BROKER_RUNTIME_INFO),
    *(RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
    *(RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ALL_DELAY_OFFSET),
    *(RequestCode5.GET_TIMER_CHECK_POINT, RequestCode5.GET_TIMER_METRICS),
    *(RequestCode5.GET_BROKER_HA_STATUS, RequestCode5.GET_BROKER_EPOCH_CACHE),
    *(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, RequestCode.VIEW_BROKER_STATS_DATA),
    *(RequestCode.GET_BROKER_CONSUME_STATS, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE),
    *(RequestCode.CLEAN_UNUSED_TOPIC, RequestCode.DELETE_EXPIRED_COMMITLOG),
    *(RequestCode5.AUTH_CREATE_USER, RequestCode5.AUTH_UPDATE_USER),
    *(RequestCode5.AUTH_DELETE_USER, RequestCode5.AUTH_GET_USER, RequestCode5.AUTH_LIST_USER),
    *(RequestCode5.AUTH_CREATE_ACL, RequestCode5.AUTH_UPDATE_ACL, RequestCode5.AUTH_DELETE_ACL),
    *(RequestCode5.AUTH_GET_ACL, RequestCode5.AUTH_LIST_ACL),
    *sorted(HARMFUL),
    *(RequestCode.DELETE_SUBSCRIPTIONGROUP, RequestCode.DELETE_TOPIC_IN_BROKER),
)
"""What brokers of both sides answer; what takes the topic and the group away is the last."""
_REFUSALS = ("permission to access", "authorization context", "Authorization failed")


def _body_of(code: int) -> bytes:
    if code == RequestCode.HEART_BEAT:
        return encoded(heartbeat("C1", GROUP, TOPIC))
    if code in (RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ):
        queue = {"brokerName": "broker-a", "queueId": 0, "topic": TOPIC}
        return encoded({"clientId": "C1", "consumerGroup": GROUP, "mqSet": [queue]})
    if code == RequestCode5.QUERY_ASSIGNMENT:
        return encoded({"consumerGroup": GROUP, "topic": TOPIC, "messageModel": "CLUSTERING"})
    return b""


def _refusal(run: Run, code: int, fields: Mapping[str, object], account: str) -> str:
    """Return why a request is refused; "" for one that is let in, whatever becomes of it then."""
    body = _body_of(code)
    keyed = {name: str(value) for name, value in signed(fields, body, account=account).items()}
    with Conversation(run.addrs["broker-a"]) as conversation:
        conversation.send(frame(code, keyed, body, opaque=code))
        conversation.receive(1, ANSWER_S)
        for one in conversation.came:
            if one.code == 16 and any(part in (one.remark or "") for part in _REFUSALS):
                return run.normaliser.text(one.remark or "")
    return ""


def _name(code: int) -> str:
    try:
        return RequestCode(code).name
    except ValueError:
        return RequestCode5(code).name


@scenario("auth 2.0: what each request asks for", config=AUTH, real_s=60, releases=AUTH_RELEASES)
def auth_codes(run: Run) -> None:
    run.topic(TOPIC)
    user(run, "CNone")
    user(run, "CTopic")
    grant(run, "CTopic", rights(entry(f"Topic:{TOPIC}", "All")))
    for fields, what in ((EVERY_FIELD, "with all fields"), ({}, "without a field")):
        run.note(f"{what}, by a user without rights")
        for code in CODES:
            said = _refusal(run, code, fields, "CNone") or "let in"
            run.lines.append(f"{_name(code)} ({code}): {said}")
    run.note("with all fields, by a user with every right to the topic")
    for code in CODES:
        if code != RequestCode.DELETE_TOPIC_IN_BROKER:
            said = _refusal(run, code, EVERY_FIELD, "CTopic") or "let in"
            run.lines.append(f"{_name(code)} ({code}): {said}")
    run.note("which one of the actions is enough")
    actions = ("Pub", "Sub", "Create", "Update", "Delete", "Get", "List")
    for action in actions:
        user(run, f"C{action}")
        grant(run, f"C{action}", rights(entry("*", action)))
    for code in CODES:
        if code not in HARMFUL:
            found = [
                action for action in actions if not _refusal(run, code, EVERY_FIELD, f"C{action}")
            ]
            every = len(found) == len(actions)
            run.lines.append(f"{_name(code)} ({code}): {'any' if every else ', '.join(found)}")


@scenario("auth 2.0: keys and signatures that are refused", config=AUTH, releases=AUTH_RELEASES)
def auth_keys(run: Run) -> None:
    run.topic("SAuthKeys")
    name = user(run, "KUser")
    grant(run, name, rights(entry("Topic:SAuthKeys", "Pub", "Sub")))
    off = user(run, "KOff", userStatus="disable")
    fields, body = send_v2_fields("SAuthKeys"), b"pay 1"
    run.note("no key, in a header of the usual form and in another, and without fields")
    run.ask("broker-a", SEND, fields, body)
    run.ask("broker-a", SEND, {**fields, "x": "y"}, body)
    run.ask("broker-a", RequestCode.GET_BROKER_RUNTIME_INFO, {})
    run.ask("broker-a", RequestCode.GET_BROKER_RUNTIME_INFO)
    run.note("an empty key, an unknown one, one of a user that is off")
    run.ask("broker-a", SEND, {**fields, "AccessKey": ""}, body)
    for account in ("nobodynobody", "a {} b", off):
        auth_ask(run, SEND, fields, body, account=account)
    run.note("a key without a signature, with an empty one, with one by another secret")
    run.ask("broker-a", SEND, {**fields, "AccessKey": name}, body)
    run.ask("broker-a", SEND, {**fields, "AccessKey": name, "Signature": ""}, body)
    auth_ask(run, SEND, fields, body, account=name, secret="87654321")
    ask_with_altered(run, fields, body, name)
    run.note("a query by a unique key: that field is signed, but of clients before 4.9.4")
    query = {"topic": "SAuthKeys", "key": "K", "maxNum": 1, "beginTimestamp": 0, "endTimestamp": 1}
    unsigned = {**signed(query, account=name), "_UNIQUE_KEY_QUERY": "true"}
    keyed = signed({**query, "_UNIQUE_KEY_QUERY": "true"}, account=name)
    for version in (395, 399, 401, 403, 513):
        for asked in (unsigned, keyed):
            code = RequestCode.QUERY_MESSAGE
            run.ask("broker-a", code, asked, hidden=HIDDEN, version=version)
    run.note("in a binary header, without an empty field and with one")
    auth_ask(run, SEND, {**fields, "i": "KEYS\x01k"}, body, account=name, binary=True)
    run.ask("broker-a", SEND, fields, body, binary=True)
    auth_ask(run, SEND, fields, body, account=name, binary=True)
    run.note("codes that no broker knows")
    run.ask("broker-a", 9999, {})
    run.ask("broker-a", 9999)
    auth_ask(run, 9999, {}, account=name)
    run.note("a name server asks for no key")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SAuthNowhere"})


def _ways(run: Run, name: str, secret: str) -> None:
    """Ask in every way for what a user may not, or may not with this key."""
    many = batch(b"one", b"two")
    lone = send_v2_fields("SAuthDoor")
    back = send_back_fields("GAuthDoor", 0, originTopic="SAuthDoor")
    end = END_OF_NO_HALF | {"topic": "SAuthDoor"}
    group = {"consumerGroup": "GAuthDoor"}
    requests: Iterable[tuple[int, Mapping[str, object], bytes]] = (
        (RequestCode.SEND_MESSAGE, send_fields("SAuthDoor"), b"x"),
        (SEND, lone, b"x"),
        (SEND, lone | {"b": "%RETRY%GAuthDoor"}, b"x"),
        (RequestCode.SEND_BATCH_MESSAGE, lone | {"m": "true"}, many),
        (RequestCode.END_TRANSACTION, end, b""),
        (RequestCode.CONSUMER_SEND_MSG_BACK, back, b""),
        (RequestCode.HEART_BEAT, {}, encoded(heartbeat("C1", "GAuthDoor", "SAuthDoor"))),
        (RequestCode5.POP_MESSAGE, pop_fields("SAuthDoor", 0) | group, b""),
        (RequestCode.PULL_MESSAGE, pull_fields("SAuthDoor") | group, b""),
        (RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("SAuthNever"), b""),
        (RequestCode5.AUTH_CREATE_USER, {"username": "DNever"}, encoded({"password": SECRET})),
    )
    for place in ("broker-a", "broker-a vip"):
        run.note(place)
        for code, fields, body in requests:
            auth_ask(run, code, fields, body, account=name, secret=secret, place=place)
    run.note("one-way: refused in silence")
    for code, fields, body in requests:
        keyed = signed(fields, body, account=name, secret=secret)
        run.send("broker-a", code, keyed, body, oneway=True, hidden=HIDDEN)


@scenario("auth 2.0: refusals at every way into a broker", config=AUTH, releases=AUTH_RELEASES)
def auth_doors(run: Run) -> None:
    run.topic("SAuthDoor")
    user(run, "DNone")
    run.note("a wrong secret")
    _ways(run, "DNone", "87654321")
    run.note("no rights")
    _ways(run, "DNone", SECRET)
    run.note("nothing has changed")
    auth_ask(run, RequestCode.GET_MAX_OFFSET, queue_fields("SAuthDoor"))
    auth_ask(run, RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "GAuthDoor"})
    auth_ask(run, RequestCode5.AUTH_GET_USER, {"username": "DNever"})


@scenario(
    "auth 2.0: pops of lite topics need a key and no right", config=AUTH, releases=AUTH_RELEASES
)
def auth_lite(run: Run) -> None:
    run.topic("SAuthLite")
    user(run, "LNone")
    fields = pop_lite_fields("SAuthLite", "GAuthLite")
    for place in ("broker-a", "broker-a vip"):
        run.note(f"{place}: without a key, with a wrong secret, without rights")
        run.ask(place, RequestCode5.POP_LITE_MESSAGE, fields)
        for secret in ("87654321", SECRET):
            code = RequestCode5.POP_LITE_MESSAGE
            auth_ask(run, code, fields, account="LNone", secret=secret, place=place)


@scenario("auth 2.0: which policy decides", config=AUTH, releases=AUTH_RELEASES)
def auth_policies(run: Run) -> None:
    run.topic("SAuthPolicy")

    def try_it(name: str, *policies: Mapping[str, object], topic: str = "SAuthPolicy") -> None:
        user(run, name)
        grant(run, name, *policies)
        auth_ask(run, SEND, send_v2_fields(topic), b"x", account=name)

    this, prefix, every = "Topic:SAuthPolicy", "Topic:SAuth*", "Topic:*"
    run.note("each pattern")
    for number, resource in enumerate((this, prefix, every, "*", "Topic:sauth*", "Group:*")):
        try_it(f"P1{number}", rights(entry(resource, "Pub")))
    run.note("the narrowest decides, whatever stands first")
    deny = "Deny"
    try_it("P20", rights(entry(every, "Pub"), entry(this, "Pub", decision=deny)))
    try_it("P21", rights(entry(every, "Pub", decision=deny), entry(this, "Pub")))
    try_it("P22", rights(entry(prefix, "Pub", decision=deny), entry("Topic:SAuthP*", "Pub")))
    try_it("P23", rights(entry("*", "Pub", decision=deny), entry(every, "Pub")))
    try_it("P24", rights(entry(prefix, "Pub"), entry(every, "Pub", decision=deny)))
    run.note("of equals a denial")
    more = {"policies": [rights(entry("Any:a", "Pub")), rights(entry("Any:b", "Pub"))]}
    user(run, "P30")
    auth_ask(run, RequestCode5.AUTH_CREATE_ACL, {"subject": "User:P30"}, encoded(more))
    auth_ask(run, SEND, send_v2_fields("SAuthPolicy"), b"x", account="P30")
    any_ = rights(entry("Any:a", "Pub"), entry("Any:b", "Pub", decision=deny))
    try_it("P31", any_)
    run.note("a default counts where nothing else does")
    default = rights(entry(every, "Pub"), kind="Default")
    try_it("P40", default)
    try_it("P41", rights(entry(this, "Sub", decision=deny)), default)
    try_it("P42", rights(entry("*", "Pub", decision=deny)), default)
    run.note("actions")
    try_it("P50", rights(entry(this, "All")))
    try_it("P51", rights(entry(this, "Sub", "Get", "List")))
    try_it("P52", rights(entry(this, "Sub", decision=deny), entry(every, "Pub")))
    run.note("addresses")
    for number, ips in enumerate(
        (
            *(("127.0.0.1",), ("10.0.0.1",), ("10.0.0.1", "127.0.0.0/8"), ("127.0.0.2/31",)),
            *(("0.0.0.0/0",), ("::/0",), ("::1",), ("127.0.0.1/32",)),
        )
    ):
        try_it(f"P6{number}", rights(entry(this, "Pub", ips=ips)))
    run.note("an address that denies")
    try_it(
        "P70", rights(entry(this, "Pub", decision=deny, ips=("127.0.0.1",)), entry(every, "Pub"))
    )
    try_it("P71", rights(entry(this, "Pub", decision=deny, ips=("10.0.0.1",)), entry(every, "Pub")))
    run.note("a super user needs nothing, and what denies it has no effect")
    user(run, "P80", userType="Super")
    grant(run, "P80", rights(entry("*", "All", decision=deny)))
    auth_ask(run, SEND, send_v2_fields("SAuthPolicy"), b"x", account="P80")
    run.note("a change holds at once, on the same connection")
    user(run, "P90")
    grant(run, "P90", rights(entry(this, "Pub")))
    auth_ask(run, SEND, send_v2_fields("SAuthPolicy"), b"x", account="P90")
    auth_ask(run, RequestCode5.AUTH_DELETE_ACL, {"subject": "User:P90"})
    auth_ask(run, SEND, send_v2_fields("SAuthPolicy"), b"x", account="P90")
    auth_ask(run, RequestCode5.AUTH_DELETE_USER, {"username": "P90"})
    auth_ask(run, SEND, send_v2_fields("SAuthPolicy"), b"x", account="P90")


@scenario(
    "auth 2.0: what was said of a connection is remembered for a minute",
    config=AUTH | STATEFUL | {"statefulAuthenticationCacheExpiredSecond": "4"},
    releases=AUTH_RELEASES,
)
def auth_stateful(run: Run) -> None:
    run.topic("SAuthState")
    name = user(run, "SUser")
    fields = send_v2_fields("SAuthState")
    run.note("refused, then granted: only a new connection finds it")
    auth_ask(run, SEND, fields, b"x", account=name)
    grant(run, name, rights(entry("Topic:SAuthState", "Pub")))
    auth_ask(run, SEND, fields, b"x", account=name)
    auth_ask(run, SEND, fields, b"x", account=name, peer="another")
    run.note("a wrong signature on a connection whose key was right, and a right one after a wrong")
    auth_ask(run, SEND, fields, b"x", account=name, secret="87654321", peer="another")
    auth_ask(run, SEND, fields, b"x", account=name, secret="87654321", peer="third")
    auth_ask(run, SEND, fields, b"x", account=name, peer="third")
    run.note("deleted: what was allowed stays allowed")
    auth_ask(run, RequestCode5.AUTH_DELETE_USER, {"username": name})
    auth_ask(run, SEND, fields, b"x", account=name, peer="another")
    auth_ask(run, SEND, fields, b"x", account=name, peer="fourth")
    run.note("without a key")
    run.ask("broker-a", SEND, fields, b"x", peer="fifth")
    run.pass_time(4_500)
    run.note("later")
    auth_ask(run, SEND, fields, b"x", account=name, peer="another")


@scenario(
    "auth 2.0: codes that are not checked",
    config=AUTH
    | {
        "authenticationWhitelist": "310, 28,x",
        "authorizationWhitelist": "310 ,30",
    },
    releases=AUTH_RELEASES,
)
def auth_white_lists(run: Run) -> None:
    run.topic("SAuthWhite")
    name = user(run, "WUser")
    fields = send_v2_fields("SAuthWhite")
    run.note("neither key nor right; a wrong key; a right one")
    run.ask("broker-a", SEND, fields, b"x")
    auth_ask(run, SEND, fields, b"x", account="nobodynobody")
    auth_ask(run, SEND, fields, b"x", account=name)
    run.note("a key, and no right; a right, and no key; neither list has it")
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, queue_fields("SAuthWhite"))
    auth_ask(run, RequestCode.GET_MAX_OFFSET, queue_fields("SAuthWhite"), account=name)
    auth_ask(run, RequestCode.GET_MIN_OFFSET, queue_fields("SAuthWhite"), account=name)
    run.ask("broker-a", RequestCode.SEND_MESSAGE, send_fields("SAuthWhite"), b"x")


@scenario(
    "auth 2.0: rights are checked, and keys are not",
    config=LOCAL_USERS | {"authorizationEnabled": "true"},
    releases=AUTH_RELEASES,
)
def auth_rights_alone(run: Run) -> None:
    run.note("a request without a field asks for nothing")
    run.ask("broker-a", RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE)
    run.note("without a key, by a user that is none")
    fields = send_v2_fields("TBW102")
    run.ask("broker-a", SEND, fields, b"x")
    run.ask("broker-a", SEND, {**fields, "AccessKey": "RNone"}, b"x")
    run.ask("broker-a", RequestCode5.AUTH_LIST_USER)
    run.ask("broker-a", RequestCode5.AUTH_LIST_USER, {"filter": "x"})
    run.note("so no user can be made")
    sent = encoded({"password": SECRET})
    run.ask("broker-a", RequestCode5.AUTH_CREATE_USER, {"username": "RNone"}, sent)


@scenario(
    "auth 2.0: checks without a place that keeps users",
    config={"authenticationEnabled": "true", "authorizationEnabled": "true"},
    releases=AUTH_RELEASES,
)
def auth_checks_without_users(run: Run) -> None:
    fields = send_v2_fields("TBW102")
    run.ask("broker-a", SEND, fields, b"x")
    auth_ask(run, SEND, fields, b"x")
    run.ask("broker-a", RequestCode.GET_BROKER_RUNTIME_INFO)


@scenario(
    "auth 2.0: rights without a place that keeps users",
    config={"authorizationEnabled": "true"},
    releases=AUTH_RELEASES,
)
def auth_rights_without_users(run: Run) -> None:
    fields = send_v2_fields("TBW102")
    run.ask("broker-a", SEND, fields, b"x")
    run.ask("broker-a", SEND, {**fields, "AccessKey": "RNone"}, b"x")
    run.ask("broker-a", RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE)


@scenario(
    "access control of 4.9.7, which 5.5.0 has not",
    config={"aclEnable": "true"},
    releases=AUTH_RELEASES,
)
def auth_acl_enable(run: Run) -> None:
    run.ask("broker-a", SEND, send_v2_fields("TBW102"), b"x")
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, queue_fields("TBW102"))
    auth_ask(run, RequestCode.GET_MAX_OFFSET, queue_fields("TBW102"), account="nobodynobody")
    run.ask("broker-a", RequestCode5.AUTH_LIST_USER)
    run.ask("broker-a", RequestCode.GET_BROKER_CLUSTER_ACL_INFO)
