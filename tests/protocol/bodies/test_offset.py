"""Offset tables have unquoted queue ids and levels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.slices import finished
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.offset import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
)
from fakemq.protocol.errors import BodyError
from fakemq.protocol.java import INT_MAX, LONG_MAX


def test_consumer_offsets_have_unquoted_queue_ids() -> None:
    wrapper = ConsumerOffsetSerializeWrapper({"t@g": {0: 3, 1: 0}})
    assert wrapper.encode() == b'{"offsetTable":{"t@g":{0:3,1:0}}}'
    mixed = b'{"offsetTable":{"t@g":{0:3,"1":"0"}}}'
    assert ConsumerOffsetSerializeWrapper.decode(mixed) == wrapper


def test_delay_offsets_have_unquoted_levels() -> None:
    wrapper = DelayOffsetSerializeWrapper({3: 1, 18: 2**40})
    assert wrapper.encode() == b'{"offsetTable":{3:1,18:1099511627776}}'
    assert DelayOffsetSerializeWrapper.decode(wrapper.encode()) == wrapper


@given(
    st.dictionaries(
        st.text(),
        st.dictionaries(
            st.integers(-INT_MAX - 1, INT_MAX), st.integers(-LONG_MAX - 1, LONG_MAX), max_size=3
        ),
        max_size=5,
    )
)
def test_offsets_are_decoded_in_steps_as_at_once(table: dict[str, dict[int, int]]) -> None:
    wrapper = ConsumerOffsetSerializeWrapper(table)
    for text in (fastjson.dumps(wrapper), fastjson.dumps_pretty(wrapper)):
        data = text.encode("utf-8", "replace")
        found = finished(ConsumerOffsetSerializeWrapper.decode_in_steps(data))
        assert found == ConsumerOffsetSerializeWrapper.decode(data)


def test_many_offsets_are_decoded_in_many_steps() -> None:
    # A key may look like the end of an entry.
    table = {f'topic-{number}"}},@group': {0: 1, 1: 2} for number in range(20_000)}
    data = ConsumerOffsetSerializeWrapper(table).encode()
    assert sum(1 for _ in ConsumerOffsetSerializeWrapper.decode_in_steps(data)) >= 90


@pytest.mark.parametrize(
    "text",
    [
        '{"offsetTable":{"t@g":{0:3,"1":"0"}}}',
        '{"offsetTable":{"t@g":{2147483648:3}}}',
        '{"offsetTable":{"t@g":{0:99999999999999999999}}}',
        '{"offsetTable":{"t@g":{0:99999999999999999}}}',
        '{"offsetTable":{"t@g":{0:3}',
        '{"offsetTable":{"t@g":{0:3},}}',
        '{"offsetTable":{"t":null}}',
        '{"offsetTable":{"\\x":{}}}',
        '{"offsetTable":{},"x":1}',
        '{"offsetTable":{}} x',
        *("{offsetTable:{}}", "null", "[]", "", "\ufffd"),
    ],
)
def test_odd_offsets_are_decoded_in_steps_as_at_once(text: str) -> None:
    def outcome(decode: object) -> object:
        try:
            return decode()  # type: ignore[operator]
        except BodyError as error:
            return str(error)

    data = text.encode()
    assert outcome(
        lambda: finished(ConsumerOffsetSerializeWrapper.decode_in_steps(data))
    ) == outcome(lambda: ConsumerOffsetSerializeWrapper.decode(data))
