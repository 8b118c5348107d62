"""Configs that are changed at run time, by what a real broker was asked to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.config.model import BrokerConfig, Key, keys_of
from fakemq.config.updates import properties_of, update
from fakemq.config.v5.model import BrokerConfig5


def test_known_keys_are_set_and_others_warned_about() -> None:
    config = BrokerConfig()
    warnings = update(config, {"waitTimeMillsInSendQueue": "500", "unknownKey": "1"})
    assert config.wait_time_mills_in_send_queue == 500
    assert warnings == ["unknownKey: RocketMQ 4.9.7 has no key unknownKey"]


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


OF_AUTH = [key for key in keys_of(BrokerConfig5).values() if key.table in BrokerConfig5.of_start]
NEW_TEXTS = {bool: "true", int: "7", str: "secret"}


@pytest.mark.parametrize("key", OF_AUTH, ids=lambda key: key.name)
def test_key_of_auth_needs_a_place_in_the_file(key: Key) -> None:
    """Else each user could make itself a super user: code 25 asks for no right."""
    config = BrokerConfig5()
    kind = type(getattr(config, key.attribute))
    warnings = update(config, {key.name: NEW_TEXTS[kind]})
    assert config == BrokerConfig5()
    assert not config.texts
    assert warnings == [f"{key.name} has no effect: the file of the start does not set it"]
    config.texts = {key.name: ""}
    update(config, {key.name: NEW_TEXTS[kind]})
    assert config.texts == {key.name: NEW_TEXTS[kind]}


def test_secrets_are_in_no_text() -> None:
    secret = '{"username":"boss","password":"87654321"}'
    config = BrokerConfig5(init_authentication_user=secret, broker_name="b")
    assert repr(config) == "BrokerConfig5(broker_name='b', init_authentication_user=…)"
    config.texts = {"initAuthenticationUser": secret}
    (unreadable,) = update(config, {"initAuthenticationUser": f"{secret}\ud800"})
    (unknown,) = update(BrokerConfig(), {"initAuthenticationUser": secret})
    assert "87654321" not in unreadable + unknown
