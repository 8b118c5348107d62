"""Configs that are changed at run time, by what a real broker was asked to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.config.model import BrokerConfig
from fakemq.config.updates import properties_of, update


def test_known_keys_are_set_and_others_warned_about() -> None:
    config = BrokerConfig()
    warnings = update(config, {"waitTimeMillsInSendQueue": "500", "unknownKey": "1"})
    assert config.wait_time_mills_in_send_queue == 500
    assert warnings == ["unknownKey=1: RocketMQ 4.9.7 has no key unknownKey"]


@pytest.mark.parametrize("text", ["abc", "", "99999999999999999999"])
def test_invalid_number_changes_nothing(text: str) -> None:
    config = BrokerConfig()
    assert len(update(config, {"waitTimeMillsInSendQueue": text})) == 1
    assert config == BrokerConfig()


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("maybe", False), ("true ", False)]
)
def test_every_word_but_true_is_false(text: str, value: bool) -> None:
    config = BrokerConfig()
    assert update(config, {"longPollingEnable": text}) == []
    assert config.long_polling_enable is value


def test_invalid_choice_changes_nothing() -> None:
    config = BrokerConfig()
    assert len(update(config, {"flushDiskType": "NONSENSE"})) == 1
    assert config.flush_disk_type == "ASYNC_FLUSH"


def test_bytes_are_read_as_latin_1_like_in_java() -> None:
    assert properties_of(b"regionId=\\u00e9") == {"regionId": "é"}
    assert properties_of("regionId=é".encode()) == {"regionId": "Ã©"}


def test_broken_escape_cannot_be_read() -> None:
    assert properties_of(b"regionId=\\u00zz") is None


@given(st.binary(max_size=200))
def test_missing_body_changes_nothing(body: bytes) -> None:
    config = BrokerConfig()
    properties = properties_of(body)
    assert properties is None or len(update(config, properties)) <= len(properties)
