"""Offset tables have unquoted queue ids and levels."""

from __future__ import annotations

from fakemq.protocol.bodies.offset import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
)


def test_consumer_offsets_have_unquoted_queue_ids() -> None:
    wrapper = ConsumerOffsetSerializeWrapper({"t@g": {0: 3, 1: 0}})
    assert wrapper.encode() == b'{"offsetTable":{"t@g":{0:3,1:0}}}'
    mixed = b'{"offsetTable":{"t@g":{0:3,"1":"0"}}}'
    assert ConsumerOffsetSerializeWrapper.decode(mixed) == wrapper


def test_delay_offsets_have_unquoted_levels() -> None:
    wrapper = DelayOffsetSerializeWrapper({3: 1, 18: 2**40})
    assert wrapper.encode() == b'{"offsetTable":{3:1,18:1099511627776}}'
    assert DelayOffsetSerializeWrapper.decode(wrapper.encode()) == wrapper
