"""Topic tables, and registration in its two forms."""

from __future__ import annotations

import zlib
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol.bodies.topic import (
    DataVersion,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigSerializeWrapper,
)
from fakemq.protocol.errors import BodyError, HeaderError, NumberFormatError
from fakemq.protocol.limits import REGISTER_BODY_MAX_BYTES

WRAPPER = TopicConfigSerializeWrapper({"t": TopicConfig("t", 4, 8)}, DataVersion(7, 3))
BODY = RegisterBrokerBody(WRAPPER, ["f:1"])

names = st.text(st.characters(codec="utf-8", exclude_characters=" "), min_size=1)
configs = st.builds(
    TopicConfig,
    names,
    *[st.integers(-(2**31), 2**31 - 1)] * 3,
    st.sampled_from(["SINGLE_TAG", "MULTI_TAG"]),
)


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def test_json_is_written_as_by_java() -> None:
    assert BODY.encode() == (
        b'{"filterServerList":["f:1"],"topicConfigSerializeWrapper":{"dataVersion":{"counter":3,'
        b'"timestamp":7},"topicConfigTable":{"t":{"order":false,"perm":6,"readQueueNums":4,'
        b'"topicFilterType":"SINGLE_TAG","topicName":"t","topicSysFlag":0,"writeQueueNums":8}}}}'
    )


def test_compressed_form_has_javas_layout() -> None:
    plain = (
        sized(b'{"counter":3,"timestamp":7}')
        + (1).to_bytes(4, "big")
        + sized(b"t 4 8 6 SINGLE_TAG")
        + sized(b'["f:1"]')
    )
    assert zlib.decompress(BODY.encode(compressed=True)) == plain
    assert RegisterBrokerBody.decode(zlib.compress(plain), compressed=True) == BODY


@given(st.lists(configs, unique_by=lambda config: config.topic_name, max_size=5))
@settings(deadline=None)
def test_compressed_form_is_read_back(topics: list[TopicConfig]) -> None:
    table = {config.topic_name: config for config in topics}
    body = RegisterBrokerBody(TopicConfigSerializeWrapper(table, DataVersion(1, 2)), ["x"])
    assert RegisterBrokerBody.decode(body.encode(compressed=True), compressed=True) == body


def test_compression_drops_system_flag_and_order() -> None:
    table = {"t": TopicConfig("t", topic_sys_flag=3, order=True)}
    body = RegisterBrokerBody(TopicConfigSerializeWrapper(table))
    read = RegisterBrokerBody.decode(body.encode(compressed=True), compressed=True)
    assert read.topic_config_serialize_wrapper.topic_config_table == {"t": TopicConfig("t")}


@pytest.mark.parametrize(
    ("plain", "why"),
    [
        (b"", "4 bytes wanted at 0 of 0"),
        (sized(b"{}"), "4 bytes wanted at 6 of 6"),
        (sized(b"nonsense"), "no DataVersion"),
        (b"\xff\xff\xff\xff", "-1 bytes wanted"),
        (sized(b"{}") + b"\x7f\xff\xff\xff", "4 bytes wanted at 10 of 10"),
        (sized(b"{}") + b"\0\0\0\1" + sized(b"t 4 8 6"), "no topic in b't 4 8 6'"),
        (sized(b"{}") + b"\0\0\0\1" + sized(b"t 4 8 6 NO_TAG"), "no topic in"),
    ],
)
def test_broken_compressed_forms_are_refused(plain: bytes, why: str) -> None:
    with pytest.raises(BodyError, match=why):
        RegisterBrokerBody.decode(zlib.compress(plain), compressed=True)


def test_invalid_number_in_a_topic_text_is_refused() -> None:
    plain = sized(b"{}") + b"\0\0\0\1" + sized(b"t x 8 6 SINGLE_TAG")
    with pytest.raises(NumberFormatError, match='For input string: "x"'):
        RegisterBrokerBody.decode(zlib.compress(plain), compressed=True)


def test_invalid_filter_servers_are_ignored() -> None:
    plain = sized(b"{}") + b"\0\0\0\0" + sized(b"{{{")
    body = RegisterBrokerBody.decode(zlib.compress(plain), compressed=True)
    assert body.filter_server_list == []


def test_decompression_bomb_is_not_inflated() -> None:
    # 5 MB of zeros, 5 KB on the wire
    squeezer = zlib.compressobj()
    chunks = [squeezer.compress(bytes(2**20)) for _ in range(REGISTER_BODY_MAX_BYTES // 2**20 + 1)]
    bomb = b"".join([*chunks, squeezer.flush()])
    assert len(bomb) < 100_000
    with pytest.raises(BodyError, match="a compressed body of over 4194304 bytes"):
        RegisterBrokerBody.decode(bomb, compressed=True)


@given(st.binary(max_size=40), st.booleans())
@settings(deadline=None)
def test_any_bytes_are_a_body_or_a_header_error(data: bytes, packed: bool) -> None:
    with suppress(HeaderError):
        RegisterBrokerBody.decode(zlib.compress(data) if packed else data, compressed=True)


def test_defaults_are_javas() -> None:
    config = TopicConfig("t", 16, 16, 6, "SINGLE_TAG", 0, order=False)
    assert TopicConfig.decode(b'{"topicName":"t"}') == config
    assert RegisterBrokerBody.decode(b"{}") == RegisterBrokerBody()
