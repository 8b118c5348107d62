"""Answers of the right shape with odd numbers: a result in range, or an error of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.client.errors import RemotingError
from fakemq.client.instance import ClientInstance
from fakemq.client.operation import Operation
from fakemq.client.pull_operations import PullOperations
from fakemq.protocol.bodies.queue import LockBatchResponseBody
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.message import encode_record
from tests.support.client_operations import OPERATIONS, outcome
from tests.support.scripted_operation import answer, client, queue, route, sent

STATS = (
    b'{"consumeTps":1.5,"offsetTable":{{"brokerName":"a","queueId":0,"topic":"orders"}:'
    b'{"brokerOffset":4,"consumerOffset":2,"lastTimestamp":9,"lastUpdateTimestamp":9,"maxOffset":4,'
    b'"minOffset":0}}}'
)
CLUSTER = (
    b'{"brokerAddrTable":{"a":{"brokerAddrs":{0:"a:10911"},"brokerName":"a","cluster":"c"}},'
    b'"clusterAddrTable":{"c":["a"]}}'
)
RECORD = encode_record(
    "orders",
    b"hello",
    "KEYS\1key\2UNIQ_KEY\1id\2DELAY\0013\2RECONSUME_TIME\0011",
    queue_id=0,
    born_host=("127.0.0.1", 1),
    store_host=("127.0.0.1", 2),
)
PULLED = answer(
    body=RECORD, suggestWhichBrokerId=0, nextBeginOffset=1, minOffset=0, maxOffset=1
)  # fmt: skip
ORDERED = route("a")
ORDERED.order_topic_conf = "a:4;b:2"
SENT = sent()
SENT.ext_fields |= {"msgId": "7F00000100002A9F0000000000000000", "transactionId": "1"}
LOCKED = answer(body=LockBatchResponseBody(lock_ok_mq_set=[queue()]))

GOOD: dict[str, list[RemotingCommand]] = {
    "update_route": [answer(body=route("a", "b"))],
    "publish_queues": [answer(body=ORDERED)],
    "subscribe_queues": [answer(body=route("a", "b"))],
    "cluster_info": [answer(body=CLUSTER)],
    "send": [SENT],
    "send_batch": [SENT],
    "send_in_transaction": [SENT],
    "pull": [PULLED],
    "query_offset": [answer(offset=5)],
    "lock": [LOCKED],
    "max_offset": [answer(offset=5)],
    "min_offset": [answer(offset=5)],
    "search_offset": [answer(offset=5)],
    "topic_offsets": [answer(body=STATS)],
    "earliest_store_time_ms": [answer(timestamp=5)],
    "view_message": [answer(body=RECORD)],
    "query_messages": [answer(body=RECORD)],
    "query_unique": [answer(body=RECORD)],
    "consume_stats": [answer(body=CLUSTER), answer(body=STATS)],
    "create_topic": [answer(body=route("a")), answer()],
    "create_topic_in": [answer(body=CLUSTER), answer()],
    "create_group": [answer(body=CLUSTER), answer()],
}
ODD = st.sampled_from(
    [
        *("-1", "0", "-0", "2147483647", "2147483648", "-2147483649", "4294967296"),
        *(str(LONG_MAX), str(LONG_MAX + 1), str(-LONG_MAX - 1), str(2**70), str(-(2**70))),
        *("1.5", "-1.5", "1e3", "1e-3", "1e400", "-1e400", "NaN", "Infinity", "null", "true"),
        *('"7"', '"x"', '""', "[]", "{}", "9" * 5000, "0x10", "1_0", "+1", "٣"),
    ]
)


def changed(good: RemotingCommand, which: int, odd: str) -> RemotingCommand:
    """Return an answer with one of its numbers replaced: of its fields, its JSON or its record."""
    fields, body = dict(good.ext_fields), good.body
    which %= len(fields) + 20
    if which < len(fields):
        fields[list(fields)[which]] = odd.strip('"')
    elif body[:1] == b"{":
        numbers = [*re.finditer(rb"(?<![a-z])-?\d+(\.\d+)?(?!\d*\")|(?<=:)\d+(?=[;\"])", body)]
        if numbers:
            one = numbers[which % len(numbers)]
            body = body[: one.start()] + odd.encode() + body[one.end() :]
    elif body:
        at = which * 4 % len(body)
        body = (body[:at] + b"\xff\xff\xff\xfe" + body[at + 4 :])[: len(body)]
    return RemotingCommand(good.code, ext_fields=fields, body=body, flag=good.flag)


def numbers_in(value: object) -> Iterator[int]:
    """Yield all whole numbers of a result."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from numbers_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from numbers_in(pair)
    elif isinstance(value, list | tuple | set):
        for one in value:
            yield from numbers_in(one)
    elif isinstance(value, int):
        yield value


@pytest.mark.parametrize("name", GOOD)
def test_good_answers_give_a_result(name: str) -> None:
    result = outcome(OPERATIONS[name], instance_for(name), GOOD[name])
    assert not isinstance(result, Exception), result


def instance_for(name: str) -> ClientInstance:
    return client(*(() if name in ("publish_queues", "subscribe_queues") else ("a",)))


@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=40, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, 40), ODD), min_size=1, max_size=3))
def test_odd_number_of_an_answer_is_a_result_in_range_or_an_error_of_ours(
    name: str, changes: list[tuple[int, str]]
) -> None:
    answers = []
    for good in GOOD[name]:
        for which, odd in changes:
            good = changed(good, which, odd)
        answers.append(good)
    result = outcome(OPERATIONS[name], instance_for(name), answers)
    assert all(-LONG_MAX - 1 <= number <= LONG_MAX for number in numbers_in(result)), result


@settings(max_examples=100, deadline=None)
@given(change=st.tuples(st.integers(0, 40), ODD))
def test_numbers_of_one_answer_are_good_for_the_next_request(change: tuple[int, str]) -> None:
    def steps(instance: ClientInstance) -> Operation[Any]:
        consumer = PullOperations(instance)
        result = yield from consumer.pull(queue(), 0)
        yield from consumer.update_offset(queue(), result.next_begin_offset)
        yield from consumer.pull(queue(), result.max_offset)
        return result.min_offset

    result = outcome(steps, client("a"), [changed(PULLED, *change)])
    assert isinstance(result, int | RemotingError), result
