"""What hypothesis draws: sequences of requests over the table of headers.

A request has every field of its header. Most fields have a likely value; one or two may have an odd
one, or be absent. Values of different fields are drawn independently, so that they often contradict
each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from conformance.differ.left_out import LEFT_OUT
from conformance.differ.sequences import Step
from conformance.wire.requests import (
    BORN_MS,
    V2_NAMES,
    group_config,
    heartbeat,
    message_queue,
    producer_heartbeat,
    properties,
)
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode

MOST_STEPS = 10
ABSENT = "<absent>"

_LONG_NAMES = {short: long for long, short in V2_NAMES.items()} | {"n": "bname"}
_SHORT = {
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE_V2,
}
SENDS = _SHORT | {RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE}
"""Codes that store what they are sent."""
NAMESRV = {
    *(RequestCode.PUT_KV_CONFIG, RequestCode.GET_KV_CONFIG, RequestCode.DELETE_KV_CONFIG),
    *(RequestCode.GET_KVLIST_BY_NAMESPACE, RequestCode.GET_ROUTEINFO_BY_TOPIC),
    *(RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.DELETE_TOPIC_IN_NAMESRV),
    *(RequestCode.QUERY_DATA_VERSION, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS),
}
"""Codes for the name server; all others are for the broker."""
CODES = tuple(row.code for row in table.rows() if row.code not in LEFT_OUT)
_OFTEN = (
    *(RequestCode.SEND_MESSAGE_V2,) * 6,
    *(RequestCode.PULL_MESSAGE,) * 4,
    *(RequestCode.SEND_MESSAGE, RequestCode.SEND_BATCH_MESSAGE) * 2,
    *(RequestCode.HEART_BEAT, RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.END_TRANSACTION) * 2,
    *(RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.UPDATE_AND_CREATE_TOPIC) * 2,
)

ODD_NUMBERS = (
    *("-1", "0", "1", "3", "64", "2147483647", "-2147483648", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "", " 1", "+1", "-0", "1.5", "x", "٣", "0x10", ABSENT),
)
_SMALL_ODD = ("-1", "0", "1", "3", "64", "-2147483648", "2147483648", "", "x", " 1", "1.5", ABSENT)
"""For numbers that reserve memory."""
_FLAGS = ("true", "false", "TRUE", "1", "", "x", ABSENT)
_ODD_TEXTS = ("", " ", "x", "a b", "a/b", "%", "é", "a|b", "a||b", "y" * 127, "y" * 128, "y" * 256)
_ODD_TOPICS = (*_ODD_TEXTS, "%RETRY%", "%DLQ%", "SELF_TEST_TOPIC", ABSENT)
_SENT_TOPICS = ("SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "SELF_TEST_TOPIC")
_TOPICS = ("<A>", "<A>", "<A>", "<B>", "%RETRY%<G>", "%DLQ%<G>")
_GROUPS = ("<G>", "<G>", "<H>", "%RETRY%<G>")
_ODD_GROUPS = (*_ODD_TEXTS[1:], "TOOLS_CONSUMER", ABSENT)
_TIMES = ("0", "-1", str(BORN_MS), "4102444800000", "9223372036854775807")
_PLACES = ("<place 0>", "<place 1>", "<place 2>")

_TEXTS = (
    "",
    properties(UNIQ_KEY="AC110001000018B4AAC27E5E1C2D0001", TAGS="t", KEYS="k1 k2", WAIT="true"),
    properties(TAGS="u", KEYS="k1", own="1"),
    properties(TRAN_MSG="true", PGROUP="<P>", UNIQ_KEY="AC110001000018B4AAC27E5E1C2D0002"),
    properties(DELAY="3", TAGS="t"),
)
"""Properties of messages."""
_ODD_PROPERTIES = (
    *(properties(DELAY=value) for value in ("0", "-1", "99", "x", "", "2147483648")),
    *(properties(RETRY_TOPIC="<A>", DELAY="1"), properties(REAL_TOPIC="<B>", REAL_QID="1")),
    *(properties(TRAN_MSG="TRUE"), properties(TRAN_MSG="true", DELAY="2"), properties(WAIT="x")),
    *(properties(TAGS=""), properties(TAGS="t||u"), properties(KEYS=" "), properties(KEYS="k1 k1")),
    *(properties(MSG_TYPE="reply", REPLY_TO_CLIENT="c"), properties(INNER_NUM="2")),
    *(properties(CHECK_IMMUNITY_TIME_IN_SECONDS="x"), properties(CLUSTER="", INSTANCE_ID="i")),
    *("a", "a\x01", "\x01b", "\x02\x02", "a\x01b\x01c", "a\x01b\x02", "a\x01b\x02a\x01c", "é\x01é"),
    *("TAGS\x01t\x02TAGS\x01u", "k\x01" + "v" * 32_768, ABSENT),
)

VALUES: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "topic": (_TOPICS, _ODD_TOPICS),
    "originTopic": (("<A>", ABSENT), _ODD_TOPICS),
    "defaultTopic": (("TBW102",), ("<A>", "<B>", "", "x", ABSENT)),
    "consumerGroup": (_GROUPS, _ODD_GROUPS),
    "group": (_GROUPS, _ODD_GROUPS),
    "groupName": (_GROUPS, _ODD_TEXTS),
    "srcGroup": (_GROUPS, _ODD_GROUPS),
    "destGroup": (("<H>", "<G>"), _ODD_TEXTS[1:]),
    "compareGroup": (_GROUPS, _ODD_GROUPS),
    "filterGroups": ((ABSENT, "<H>", "<G>"), (*_ODD_TEXTS, "<G>,<H>")),
    "producerGroup": (("<P>",), ("<G>", *_ODD_GROUPS)),
    "queueId": (("0", "0", "1"), ODD_NUMBERS),
    "queueOffset": (("0", "0", "1", "2"), ODD_NUMBERS),
    "commitOffset": (("0", "1", "2"), ODD_NUMBERS),
    "maxMsgNums": (("32", "1", "2"), _SMALL_ODD),
    "maxNum": (("32", "1"), _SMALL_ODD),
    "count": (("8", "1"), _SMALL_ODD),
    "index": (("0", "1"), ODD_NUMBERS),
    "suspendTimeoutMillis": (("15000",), ODD_NUMBERS),
    "subscription": (("*", "t", "t || u", ABSENT), ("", "||", " ", "x", "a > 1", "t|u", "é")),
    "subVersion": (("0", "1"), ODD_NUMBERS),
    "expressionType": (("TAG", "TAG", ABSENT), ("SQL92", "", "tag", "x")),
    "defaultTopicQueueNums": (("4", "1"), _SMALL_ODD),
    "readQueueNums": (("2", "1", "3"), _SMALL_ODD),
    "writeQueueNums": (("2", "1", "3"), _SMALL_ODD),
    "perm": (("6", "6", "4", "2", "7"), ("0", "1", "8", "-1", "x", "", "2147483648", ABSENT)),
    "topicFilterType": (("SINGLE_TAG", "MULTI_TAG"), ("", "x", "single_tag", ABSENT)),
    "topicSysFlag": (("0", "1", "2", "3"), ODD_NUMBERS),
    "order": (("false", "true"), _FLAGS),
    "bornTimestamp": ((str(BORN_MS),), ("0", "-1", "x", "", "9223372036854775808", ABSENT)),
    "flag": (("0", "7"), ODD_NUMBERS),
    "properties": (_TEXTS, _ODD_PROPERTIES),
    "reconsumeTimes": (("0", "0", "1", ABSENT), ("16", "17", "-1", "x", "", "2147483648")),
    "maxReconsumeTimes": ((ABSENT, "16", "0"), ("-1", "1", "x", "", "2147483648")),
    "unitMode": (("false", "false", "true"), _FLAGS),
    "batch": (("false",), _FLAGS),
    "bname": ((ABSENT, "broker-a"), ("x", "")),
    "brokerName": (("broker-a",), ("<K>", "x", "", ABSENT)),
    "offset": (_PLACES, ("-1", "0", "1", "9223372036854775807", "x", "", ABSENT)),
    "delayLevel": (("0", "1", "3"), ("-1", "-2", "19", "99", "2147483648", "x", "", ABSENT)),
    "originMsgId": ((ABSENT, "<id 0>"), ("", "x")),
    "timestamp": (_TIMES, ("x", "", "9223372036854775808", ABSENT)),
    "beginTimestamp": (("0", "-1"), ("4102444800000", "x", "", "9223372036854775807", ABSENT)),
    "endTimestamp": (("9223372036854775807", "4102444800000"), ("0", "-1", "x", "", ABSENT)),
    "key": (("k1", "k2", "AC110001000018B4AAC27E5E1C2D0001"), ("", " ", "x", "k1 k2", ABSENT)),
    "value": (("v", "w"), ("", " ", "é", "v\n", ABSENT)),
    "namespace": (("<N>",), ("", "x", " ", ABSENT)),
    "tranStateTableOffset": (("<offset 0>", "<offset 1>"), ("x", "", ABSENT)),
    "commitLogOffset": (_PLACES, ("-1", "9223372036854775807", "x", "", ABSENT)),
    "commitOrRollback": (("8", "12", "0"), ("4", "-1", "x", "", ABSENT)),
    "fromTransactionCheck": (("false", "true"), _FLAGS),
    "msgId": (("<id 0>", "AC110001000018B4AAC27E5E1C2D0002"), ("", "x", ABSENT)),
    "transactionId": ((ABSENT, "AC110001000018B4AAC27E5E1C2D0002"), ("", "x")),
    "clientID": (("client",), ("other", "", ABSENT)),
    "isForce": (("true", "false"), _FLAGS),
    "offline": (("true", "false"), _FLAGS),
    "removeOffset": (("true", "false"), _FLAGS),
    "clusterName": (("DefaultCluster",), ("", "x", ABSENT)),
    "brokerAddr": (("127.0.0.1:1",), ("", "x", ABSENT)),
    "brokerId": (("0",), ODD_NUMBERS),
    "acceptStandardJsonOnly": ((ABSENT, "true", "false"), _FLAGS),
}
"""Field → likely values, the simplest first, and odd ones."""

_SYS_FLAGS: Mapping[bool, tuple[Sequence[str], Sequence[str]]] = {
    True: (("0",), ("1", "2", "4", "8", "12", "5", "256", "1024", "x", "", "2147483648", ABSENT)),
    # Without 2, the flag of a pull that may be held.
    False: (("4", "5"), ("0", "1", "8", "12", "16", "256", "x", "", "2147483648", ABSENT)),
}
"""Of sends, and of pulls."""


def values(code: int, wire: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the likely values of a field, and odd ones. Raise KeyError for an unknown field."""
    name = _LONG_NAMES.get(wire, wire) if code in _SHORT else wire
    if name == "sysFlag":
        return _SYS_FLAGS[code in SENDS]
    if name == "group" and code == RequestCode.CONSUMER_SEND_MSG_BACK:  # it makes topics of them
        return _GROUPS, [one for one in _ODD_GROUPS if "/" not in one]
    if name == "queueId" and code in SENDS:  # one below 0 is any queue
        return VALUES[name][0], [one for one in ODD_NUMBERS if not re.match(r"-[1-9]", one)]
    if name == "topic" and code in SENDS:
        return _TOPICS, (*_ODD_TOPICS, *_SENT_TOPICS)
    return VALUES[name]


@st.composite
def _fields(draw: st.DrawFn, code: int) -> dict[str, str]:
    (header,) = (row.request_header for row in table.rows() if row.code == code)
    names = [wire for wire, _, _ in header.field_specs()]
    odd: list[str] = []
    if names:
        count = draw(st.sampled_from((0, 0, 0, 1, 1, 2)))
        odd = [draw(st.sampled_from(names)) for _ in range(count)]
    fields = {}
    for name in names:
        value = draw(st.sampled_from(values(code, name)[name in odd]))
        if value != ABSENT:
            fields[name] = value
    return fields


_ODD_JSON: tuple[object, ...] = (
    *(None, True, "", "x", "1", 0, -1, 1.5, 2**31, 2**63, [], {}, [None], "<A>", "<G>", "broker-a"),
)
_ODD_BODIES = ("", "{}", "[]", "null", "42", '"text"', '{"a":', "[{}]", "nonsense", "{'a':1}")
_QUEUES = [message_queue("<A>"), message_queue("<A>", 1)]
_LOCK = {"clientId": "client", "consumerGroup": "<G>", "mqSet": _QUEUES}
_CHECKED = {
    "clientId": "client",
    "group": "<G>",
    "subscriptionData": heartbeat("client", "<G>", "<A>", expression="a > 1",
                                  expression_type="SQL92")["consumerDataSet"][0][  # type: ignore[index]
                                      "subscriptionDataSet"][0],
}  # fmt: skip
_BODIES: Mapping[int, Sequence[object]] = {
    RequestCode.HEART_BEAT: (
        heartbeat("client", "<G>", "<A>"),
        heartbeat("client", "<G>", "<A>", "<B>", producers=["<P>"], expression="t || u"),
        heartbeat("client", "<H>", "<A>", model="BROADCASTING"),
        heartbeat("client", "<G>", "<A>", expression="a > 1", expression_type="SQL92"),
        producer_heartbeat("client", "<P>"),
    ),
    RequestCode.LOCK_BATCH_MQ: (_LOCK, _LOCK | {"clientId": "other"}),
    RequestCode.UNLOCK_BATCH_MQ: (_LOCK, _LOCK | {"clientId": "other"}),
    RequestCode.CHECK_CLIENT_CONFIG: (_CHECKED,),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: (
        group_config("<G>"),
        group_config("<G>", consumeEnable=False),
        group_config("<G>", retryMaxTimes=0),
        group_config("<H>", consumeBroadcastEnable=False),
    ),
    RequestCode.QUERY_DATA_VERSION: ({"counter": 1, "timestamp": BORN_MS},),
}
"""Bodies that are JSON, by code."""


@st.composite
def _bent(draw: st.DrawFn, value: Any) -> Any:
    """Return a JSON value with one thing wrong somewhere below it."""
    if isinstance(value, dict) and value:
        key = draw(st.sampled_from(sorted(set(value) - {"clientID"})))  # see left_out
        if draw(st.integers(0, 5)) == 5:
            return {one: below for one, below in value.items() if one != key}
        return value | {key: draw(_bent(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 5)) != 5:
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(_bent(value[at])), *value[at + 1 :]]
    return draw(st.sampled_from(_ODD_JSON))


@st.composite
def _body(draw: st.DrawFn, code: int) -> str:
    if code in SENDS:
        return draw(st.sampled_from(("body", "body", "", "é", "x" * 5000)))
    bodies = _BODIES.get(code)
    if bodies is None:
        return ""
    body = draw(st.sampled_from(bodies))
    how = draw(st.sampled_from("rrrrbbo"))
    if how == "o":
        return draw(st.sampled_from(_ODD_BODIES))
    if how == "b":
        body = draw(_bent(body))
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


_MESSAGES = st.tuples(
    st.sampled_from(("one", "two", "")),
    st.sampled_from((*_TEXTS[:3], properties(DELAY="1"), "a", "\x01", "TAGS\x01t\x02TAGS\x01u")),
)


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """Return one request."""
    code = draw(st.sampled_from((*_OFTEN, *CODES)))
    batch: tuple[tuple[str, str], ...] = ()
    if code == RequestCode.SEND_BATCH_MESSAGE:
        batch = tuple(draw(st.lists(_MESSAGES, min_size=1, max_size=3)))
    return Step(
        code=int(code),
        fields=draw(_fields(code)),
        body="" if batch else draw(_body(code)),
        place="namesrv" if code in NAMESRV else "broker-a",
        binary=draw(st.sampled_from((False, False, False, True))),
        batch=batch,
    )


def sequences(most_steps: int = MOST_STEPS) -> st.SearchStrategy[tuple[Step, ...]]:
    """Return sequences of 1 to ``most_steps`` requests."""
    return st.lists(steps(), min_size=1, max_size=most_steps).map(tuple)
