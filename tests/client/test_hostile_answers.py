"""Whatever a server answers, an operation raises only the errors of `fakemq.client.errors`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakemq.client import Client
from fakemq.client.addresses import split_addr, vip_addr
from fakemq.client.errors import (
    RemotingCommandError,
    RemotingConnectError,
)
from fakemq.client.routes import ROUTE_QUEUES_MAX
from fakemq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.message import encode_record
from tests.support.client_operations import OPERATIONS, outcome
from tests.support.scripted_operation import answer, client, queue, route, sent

# -- answers of any kind --------------------------------------------------------------------------

ODD_TEXTS = [
    "",
    "-1",
    "0",
    "9" * 30,
    "9" * 5000,
    "NaN",
    "true",
    "null",
    "\ud800",
    "٣",
    "1e400",
    "0x",
]
SCALARS = st.sampled_from(
    [None, True, -1, 0, 2**63, 10**400, 1.5, float("inf"), *ODD_TEXTS, "a", "a:1", "b:70000"]
)
ROUTE_KEYS = [
    *("queueDatas", "brokerDatas", "brokerAddrs", "brokerName", "readQueueNums", "writeQueueNums"),
    *("perm", "orderTopicConf", "cluster", "topicList", "brokerAddrTable", "clusterAddrTable"),
    *("consumerIdList", "lockOKMQSet", "offsetTable", "consumeTps", "queueId", "topic", "0", "c"),
]
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(ROUTE_KEYS), inner, max_size=5)
    ),
    max_leaves=25,
)


def as_json(value: object) -> bytes:
    """Write a value as JSON, with what no standard allows."""
    if isinstance(value, dict):
        inner = (as_json(key) + b":" + as_json(one) for key, one in value.items())
        return b"{" + b",".join(inner) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(as_json, value)) + b"]"
    if isinstance(value, str):
        return b'"' + value.encode("utf-8", "surrogatepass") + b'"'
    words = {True: b"true", None: b"null", float("inf"): b"1e999"}
    return words[value] if value in words else str(value).encode()


RECORD = encode_record(
    "orders",
    b"hello",
    "TAGS\1a",
    queue_id=0,
    born_host=("127.0.0.1", 1),
    store_host=("127.0.0.1", 2),
)
BODIES = st.one_of(
    st.binary(max_size=60),
    VALUES.map(as_json),
    st.tuples(st.integers(0, len(RECORD) - 1), st.integers(0, 255)).map(
        lambda change: RECORD[: change[0]] + bytes([change[1]]) + RECORD[change[0] + 1 :]
    ),
    st.integers(0, len(RECORD)).map(lambda end: RECORD + RECORD[:end]),
    st.sampled_from([b"[" * 100_000, b"{" * 100_000, b'{"a":' * 50_000, b"{{" * 5_000]),
)
FIELDS = st.dictionaries(
    st.sampled_from(
        [
            *("msgId", "queueId", "queueOffset", "transactionId", "offset", "timestamp"),
            *("nextBeginOffset", "minOffset", "maxOffset", "suggestWhichBrokerId", "MSG_REGION"),
        ]
    ),
    st.sampled_from([*ODD_TEXTS, "1", "7F00000100002A9F0000000000000000"]),
)
CODES = st.sampled_from([0, 1, 2, 10, 11, 12, 17, 19, 20, 21, 22, 206, -1, 2**31 - 1])
ANSWERS = st.one_of(
    st.builds(
        lambda code, fields, body, remark: RemotingCommand(
            code, ext_fields=fields, body=body, remark=remark, flag=FLAG_RESPONSE
        ),
        CODES,
        FIELDS,
        BODIES,
        st.none() | st.sampled_from(ODD_TEXTS),
    ),
    st.just(RemotingConnectError("a:1")),
    st.sampled_from([answer(body=route("a", "b")), sent()]),
)


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(answers=st.lists(ANSWERS, min_size=1, max_size=4), knows_route=st.booleans())
def test_answer_of_any_kind_is_a_result_or_an_error_of_ours(
    name: str, answers: list[Any], knows_route: bool
) -> None:
    instance = client(*(("a", "b") if knows_route else ()), vip_channel=True)
    outcome(OPERATIONS[name], instance, answers)


@pytest.mark.parametrize(
    ("name", "bad", "text"),
    [
        ("max_offset", answer(offset="many"), "GetMaxOffsetResponseHeader.offset is null"),
        ("topic_names", answer(body=b"{"), "no TopicList in a body of 1 bytes"),
        ("pull", answer(19), "PullMessageResponseHeader.next_begin_offset is null"),
        ("view_message", answer(body=b"x" * 99), "2021161080"),
        ("query_offset", answer(), "QueryConsumerOffsetResponseHeader.offset is null"),
        ("lock", answer(body=b"[[]]"), "no LockBatchResponseBody in a body of 4 bytes"),
        ("consume_stats", answer(body=b'{"brokerAddrTable":7}'), "no ClusterInfo"),
    ],
)
def test_unreadable_answer_says_from_whom_and_what(
    name: str, bad: RemotingCommand, text: str
) -> None:
    error = outcome(OPERATIONS[name], client("a"), [bad])
    assert isinstance(error, RemotingCommandError), error
    assert str(error).startswith(f"cannot read the response of {error.addr}: ")
    assert text in str(error)


def test_producer_tries_another_broker_after_an_unreadable_answer() -> None:
    result = outcome(OPERATIONS["send"], client("a", "b"), [answer(), sent()])
    assert not isinstance(result, Exception)


def test_unreadable_number_of_queues_in_an_order_is_an_error_of_ours() -> None:
    data = route("a")
    data.order_topic_conf = "a:many"
    error = outcome(OPERATIONS["publish_queues"], client(), [answer(body=data)])
    assert isinstance(error, RemotingCommandError)


def test_route_of_many_brokers_with_many_queues_has_a_limit() -> None:
    names = [f"b{number}" for number in range(200)]
    data = TopicRouteData(
        queue_datas=[
            QueueData(
                broker_name=one, read_queue_nums=2**31 - 1, write_queue_nums=2**31 - 1, perm=6
            )
            for one in names
        ],
        broker_datas=[
            BrokerData(cluster="c", broker_name=one, broker_addrs={0: "a:1"}) for one in names
        ],
    )
    found = outcome(OPERATIONS["publish_queues"], client(), [answer(body=data)])
    assert isinstance(found, tuple)
    assert len(found) == ROUTE_QUEUES_MAX


@pytest.mark.parametrize(
    "addr",
    [
        "",
        "a",
        ":1",
        "a:",
        "a:-1",
        "a:65536",
        "a:" + "9" * 5000,
        "a:٣",
        "a:1:b",
        "a\0b:1",
        "a" * 254 + ":1",
    ],
)
def test_invalid_address_is_refused(addr: str) -> None:
    for split in (split_addr, vip_addr):
        with pytest.raises(RemotingConnectError):
            split(addr)


@pytest.mark.parametrize("addr", ["a..b:1", "\ud800:1", "\xe9" * 80 + ":1", "a\x7f:1"])
def test_route_to_an_address_without_a_host_is_a_failed_connection(addr: str) -> None:
    data = route("a")
    data.broker_datas[0].broker_addrs = {0: addr}
    with Client("127.0.0.1:1") as one:
        one.instance.routes.put("orders", data, one.instance.time.elapsed_ms())
        with pytest.raises(RemotingConnectError):
            one.max_offset(queue())
