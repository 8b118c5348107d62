"""How much of what only fastjson reads is read, by where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol import beans, fastjson, fastjson_keys, fastjson_reader
from fakemq.protocol.bodies.body import Body, FrozenBody
from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper, ResetOffsetBody
from fakemq.protocol.bodies.pop import PopCheckPoint
from fakemq.protocol.bodies.route import BrokerData, TopicRouteData
from fakemq.protocol.bodies.topic import RegisterBrokerBody
from fakemq.protocol.errors import BodyError, RemoteProtocolError
from fakemq.protocol.header_json import decode_json_header
from fakemq.protocol.limits import FILE_JSON, PEER_JSON, RECORD_JSON
from tests.support.body_modules import body_modules

MANY = PEER_JSON.items + 1
LONG = PEER_JSON.lax_bytes + 1
HOSTILE = {
    "names without quotes": b"{a:[" + b"{b:1}," * MANY + b"]}",
    "a long text without quotes around its name": b'{a:"' + b"x" * LONG + b'"}',
    "an array for the bean": b"[" + b'"x",' * MANY + b'"x"]',
    "a body that is cut": b'{"a":[' + b'"x",' * MANY,
    "a long text that is cut": b'{"a":"' + b"x" * LONG,
    "comments": b"/*" + b"x" * LONG + b"*/{}",
    "blanks behind commas": b'{"a":[1,' + b" ," * LONG + b"1]}",
    "number keys": b'{"a":{' + b",".join(b"%d:1" % one for one in range(MANY)) + b",b:1}}",
    "object keys": b"{" + b'{"queueId":1}:1,' * MANY + b"b:1}",
    "quotes": b'"' * (PEER_JSON.quoted_bytes + 1),
    "backslashes": b"\\" * (PEER_JSON.quoted_bytes + 1),
}


def body_types() -> Iterator[type[Any]]:
    body_modules()  # they must be there to be found
    waiting: list[type[Any]] = [Body, FrozenBody]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls not in (Body, FrozenBody) and cls.__module__.startswith("fakemq.protocol."):
            yield cls


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which slow readers were called."""
    calls: list[str] = []

    def fail(name: str) -> Any:
        def called(*_: object) -> Any:
            calls.append(name)
            raise ValueError(f"{name} was called")

        return called

    monkeypatch.setattr(fastjson_reader, "read", fail("read"))
    monkeypatch.setattr(beans, "to_bean", fail("to_bean"))
    return calls


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_no_body_reads_what_only_fastjson_reads_beyond_the_limits(
    data: bytes, slow: list[str]
) -> None:
    types = list(body_types())
    assert len(types) > 80
    for cls in types:
        with pytest.raises(BodyError):
            cls.decode(data)
    assert not slow


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_header_is_bound_by_the_same_limits(data: bytes, slow: list[str]) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_json_header(data)
    assert not slow


@pytest.mark.usefixtures("slow")
def test_steps_and_compressed_form_are_bound_by_the_same_limits() -> None:
    data = HOSTILE["a long text without quotes around its name"]
    with pytest.raises(BodyError):
        list(ConsumerOffsetSerializeWrapper.decode_in_steps(data))
    import zlib

    sized = len(data).to_bytes(4, "big") + data
    with pytest.raises(BodyError):
        RegisterBrokerBody.decode(zlib.compress(sized), compressed=True)


def test_error_says_what_is_too_much() -> None:
    with pytest.raises(BodyError, match=r"of JSON that no standard allows; fakemq reads 32768 of"):
        TopicRouteData.decode(b'{orderTopicConf:"' + b"x" * LONG + b'"}')
    with pytest.raises(BodyError, match=r"JSON of about 200001 items; fakemq reads 100000 at most"):
        TopicRouteData.decode(b"{queueDatas:[" + b"{}," * 99_999 + b"{}]}")


def test_record_is_read_only_in_the_form_that_brokers_write(slow: list[str]) -> None:
    assert PopCheckPoint.decode(b'{"so":"5"}', limits=RECORD_JSON).start_offset == 5
    with pytest.raises(BodyError):
        PopCheckPoint.decode(b"{so:5}", limits=RECORD_JSON)
    assert not slow


def test_file_is_read_beyond_the_limits_of_peers() -> None:
    data = b'{orderTopicConf:"' + b"x" * LONG + b'"}'
    route = TopicRouteData.decode(data, limits=FILE_JSON)
    assert route.order_topic_conf is not None
    assert len(route.order_topic_conf) == LONG


def test_large_tables_that_fastjson_writes_need_no_slow_reader(slow: list[str]) -> None:
    keys = b",".join(b'%d:"127.0.0.1:%d"' % (one, one) for one in range(40_000))
    assert len(BrokerData.decode(b'{"brokerAddrs":{' + keys + b"}}").broker_addrs) == 40_000
    offsets = b'{"offsetTable":{"a@b":{' + b",".join(b"%d:7" % i for i in range(9_000)) + b"}}}"
    assert len(ConsumerOffsetSerializeWrapper.decode(offsets).offset_table["a@b"]) == 9_000
    assert slow == []


def test_many_objects_for_keys_need_no_slow_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(fastjson_reader, "read", fail)
    keys = b'{"brokerName":"a\\"{","queueId":%d,"topic":"T"}:%d'
    data = b'{"offsetTable":{' + b",".join(keys % (one, one) for one in range(9_000)) + b"}}"
    table = ResetOffsetBody.decode(data).offset_table
    assert sorted(table.values()) == list(range(9_000))
    assert {queue.broker_name for queue in table} == {'a"{'}


_KEYS = st.one_of(
    st.text(st.sampled_from('a0"\\{}[],: \x01é')).map(fastjson.dumps),
    st.integers(-(2**63), 2**63).map(str),
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(st.sampled_from('a"\\{}:,'))).map(
        fastjson.dumps
    ),
    st.sampled_from(["00", "1 ", "a", "+1", "-", '{"a":{}}', "{}", '{"a":1} ']),
)


def _texts(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(_KEYS, inner), max_size=4)
    return st.one_of(
        pairs.map(lambda found: "{" + ",".join(f"{k}:{v}" for k, v in found) + "}"),
        st.lists(inner, max_size=3).map(lambda found: "[" + ", ".join(found) + "]"),
    )


TEXTS = st.recursive(st.sampled_from(["1", '"{0:1}"', '"\\u0001"', "null", "x"]), _texts)


@given(TEXTS)
def test_keys_without_quotes_mean_the_same_to_the_fast_way(text: str) -> None:
    try:
        fast = fastjson_keys.decode(text.encode(), 10_000)
    except (ValueError, RecursionError):  # msgspec's errors
        return
    assert repr(fast) == repr(fastjson_reader.read(text))
