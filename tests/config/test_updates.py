"""Configs that are changed at run time, by what a real broker was asked to do."""

from __future__ import annotations

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.config.model import BrokerConfig
from fakemq.config.updates import logical_lines, properties_of, update


def test_what_is_known_is_set_and_the_rest_is_warned_of() -> None:
    config = BrokerConfig()
    warnings = update(config, {"waitTimeMillsInSendQueue": "500", "unknownKey": "1"})
    assert config.wait_time_mills_in_send_queue == 500
    assert warnings == ["unknownKey=1: RocketMQ 4.9.7 has no key unknownKey"]


@pytest.mark.parametrize("text", ["abc", "", "99999999999999999999"])
def test_a_number_that_is_none_changes_nothing(text: str) -> None:
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


def test_a_choice_that_is_none_changes_nothing() -> None:
    config = BrokerConfig()
    assert len(update(config, {"flushDiskType": "NONSENSE"})) == 1
    assert config.flush_disk_type == "ASYNC_FLUSH"


def test_java_reads_the_bytes_as_latin_1() -> None:
    assert properties_of(b"regionId=\\u00e9") == {"regionId": "é"}
    assert properties_of("regionId=é".encode()) == {"regionId": "Ã©"}


def test_a_broken_escape_cannot_be_read() -> None:
    assert properties_of(b"regionId=\\u00zz") is None


@given(st.binary(max_size=200))
def test_no_body_does_harm(body: bytes) -> None:
    config = BrokerConfig()
    properties = properties_of(body)
    assert properties is None or len(update(config, properties)) <= len(properties)


@given(st.text(alphabet="ab=: \t\f\\\n\r#!u0", max_size=16))
def test_lines_that_are_joined_first_mean_the_same(text: str) -> None:
    def read(text: str) -> dict[str, str] | None:
        try:
            return javaproperties.loads(text)
        except ValueError:
            return None

    assert read(logical_lines(text)) == read(text)


def test_many_lines_in_one_take_no_time() -> None:
    # javaproperties alone takes minutes.
    properties = properties_of(b"key = " + b"value\\\n" * 50_000)
    assert properties == {"key": "value" * 50_000}
