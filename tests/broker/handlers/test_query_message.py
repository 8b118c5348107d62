"""QUERY_MESSAGE: messages by key, from the index."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.headers.query import QueryMessageRequestHeader
from fakemq.protocol.message import decode_records
from tests.support.broker_lab import BrokerLab, Send
from tests.support.peer import Peer
from tests.support.time import START_MS


def query(
    peer: Peer, key: str, *, unique: bool = False, binary: bool = False, **fields: int | str
) -> RemotingCommand:
    header = QueryMessageRequestHeader(
        topic="orders", key=key, max_num=32, begin_timestamp=0, end_timestamp=1 << 62
    )
    vars(header).update(fields)
    return peer.ask(
        RequestCode.QUERY_MESSAGE,
        header,
        ext_fields={"_UNIQUE_KEY_QUERY": "true"} if unique else None,
        serialize_type=SerializeType.ROCKETMQ if binary else SerializeType.JSON,
    )


def offsets(response: RemotingCommand) -> list[int]:
    return [one.queue_offset for one in decode_records(response.body)]


def keys(words: str) -> str:
    return f"KEYS\x01{words}"


def test_every_word_of_the_keys_is_a_key(peer: Peer, send: Send) -> None:
    send(properties=keys("red green"))
    send(properties=keys("  green   blue "))
    send(properties="TAGS\x01green")
    assert offsets(query(peer, "green")) == [0, 1]
    assert offsets(query(peer, "blue")) == [1]
    assert offsets(query(peer, "red")) == [0]


def test_index_progress_is_returned_with_the_messages(
    lab: BrokerLab, peer: Peer, send: Send
) -> None:
    send(properties=keys("a"))
    lab.clock.advance("3s")
    last = send(properties=keys("b"))
    assert query(peer, "a").ext_fields == {
        "indexLastUpdateTimestamp": str(START_MS + 3000),
        "indexLastUpdatePhyoffset": str(int(last.ext_fields["msgId"][16:], 16)),
    }
    nothing = query(peer, "c")
    assert (nothing.code, nothing.remark) == (
        ResponseCode.QUERY_NOT_FOUND,
        "can not find message, maybe time range not correct",
    )
    assert set(nothing.ext_fields.values()) == {"0"}


def test_unique_key_has_its_own_limit(peer: Peer, broker: Broker, send: Send) -> None:
    for _ in range(3):
        send(properties="UNIQ_KEY\x01U")
    assert offsets(query(peer, "U", max_num=1)) == [2]
    assert offsets(query(peer, "U", max_num=0, unique=True)) == [0, 1, 2]
    broker.config.default_query_max_num = 2
    assert offsets(query(peer, "U", unique=True)) == [1, 2]


def test_number_of_messages_is_limited(peer: Peer, broker: Broker, send: Send) -> None:
    for _ in range(5):
        send(properties=keys("k"))
    broker.config.max_msgs_num_batch = 3
    assert offsets(query(peer, "k", max_num=(1 << 31) - 1)) == [2, 3, 4]
    assert query(peer, "k", max_num=0).code == ResponseCode.QUERY_NOT_FOUND
    refused = query(peer, "k", max_num=-7, binary=True)
    assert refused.code == ResponseCode.SYSTEM_ERROR
    assert refused.serialize_type is SerializeType.JSON, "as of every exception"
    assert (refused.remark or "").startswith(
        "java.lang.IllegalArgumentException: Illegal Capacity: -7,"
    )


@pytest.mark.parametrize("binary", [False, True])
def test_answer_with_records_is_always_json(binary: bool, peer: Peer, send: Send) -> None:
    send(properties=keys("k"))
    assert query(peer, "k", binary=binary).serialize_type is SerializeType.JSON
    form = SerializeType.ROCKETMQ if binary else SerializeType.JSON
    assert query(peer, "none", binary=binary).serialize_type is form


def test_missing_fields_are_refused(peer: Peer, send: Send) -> None:
    send(b"null", topic="null", properties=keys("null"))
    fields = {"maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(1 << 62)}
    assert offsets(peer.ask(RequestCode.QUERY_MESSAGE, ext_fields=fields)) == [0]
    for name in fields:
        rest = {key: value for key, value in fields.items() if key != name}
        response = peer.ask(RequestCode.QUERY_MESSAGE, ext_fields=rest)
        assert response.code == ResponseCode.SYSTEM_ERROR
        assert (response.remark or "").startswith("java.lang.NullPointerException")
    below_zero = {"maxNum": "-1", "beginTimestamp": "0"}
    remark = peer.ask(RequestCode.QUERY_MESSAGE, ext_fields=below_zero).remark
    assert (remark or "").startswith("java.lang.NullPointerException"), "not the number's exception"
