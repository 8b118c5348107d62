"""Delay levels: the table of a config, and how a delayed message is stored."""

from __future__ import annotations

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.errors import ConfigError
from fakemq.events import AppendRefused
from fakemq.protocol.delay_levels import parse_delay_levels
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.message import tags_code
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store.delay_detour import DelayLevels
from fakemq.store.inner_message import inner_message
from fakemq.store.results import PutMessageStatus
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS

SCHEDULE = "SCHEDULE_TOPIC_XXXX"


def tags_codes(lab: StoreLab, topic: str, queue_id: int) -> list[int]:
    units = [lab.store.queue_unit(topic, queue_id, offset) for offset in range(9)]
    return [unit[2] for unit in units if unit is not None]


@pytest.mark.parametrize(
    ("text", "delays_ms"),
    [
        ("1s", [1_000]),
        ("1s 2m 3h 4d", [1_000, 120_000, 10_800_000, 345_600_000]),
        ("5s 1s 5s  ", [5_000, 1_000, 5_000]),  # Java's split drops empty strings at the end
        ("0s", [0]),
        ("+2s -3s", [2_000, -3_000]),
    ],
)
def test_valid_tables_are_accepted_as_by_java(text: str, delays_ms: list[int]) -> None:
    assert parse_delay_levels(text) == dict(enumerate(delays_ms, 1))


def test_default_table_has_18_levels() -> None:
    table = DelayLevels(BrokerConfig().message_delay_level).table
    assert list(table) == list(range(1, 19))
    assert (table[3], table[17], table[18]) == (10_000, 3_600_000, 7_200_000)


@pytest.mark.parametrize(
    "text",
    ["", " ", " 1s", "1s  2s", "1", "s", "1w", "1S", "one s", "1.5s", "1s,2s", "9" * 20 + "s"],
)
def test_invalid_tables_are_refused_as_by_java(text: str) -> None:
    config = BrokerConfig()
    with pytest.raises(ConfigError, match='numbers with s, m, h or d, one space between: "1s 5s'):
        config.set_property("messageDelayLevel", text)
    with pytest.raises(ValueError, match="is no delay"):
        DelayLevels(text)


def test_overflowing_delay_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        parse_delay_levels(f"1s {2**62}d")


def test_invalid_table_leaves_the_old_one() -> None:
    levels = DelayLevels("1s 2s")
    with pytest.raises(ValueError, match="'3x' is no delay"):
        levels.read("1s 3x")
    assert levels.table == {1: 1_000, 2: 2_000}


def test_delayed_message_is_stored_in_the_schedule_topic() -> None:
    lab = StoreLab()
    result = lab.put(properties="TAGS\x01red\x02DELAY\x013\x02KEYS\x01k", queue_id=5)
    assert result.ok
    assert result.append_result is not None
    stored = lab.store.look_message_by_offset(result.append_result.wrote_offset)
    assert stored is not None
    assert (stored.topic, stored.queue_id) == (SCHEDULE, 2)
    assert stored.properties == {
        "DELAY": "3",
        "KEYS": "k",
        "REAL_QID": "5",
        "REAL_TOPIC": "orders",
        "TAGS": "red",
    }
    assert tags_codes(lab, SCHEDULE, 2) == [START_MS + 10_000]
    assert tags_codes(lab, "orders", 5) == []


def test_level_beyond_the_last_is_the_last() -> None:
    lab = StoreLab(message_delay_level="1s 2s")
    lab.put(properties="DELAY\x0199")
    (message,) = lab.store.messages_in_queue(SCHEDULE, 1)
    assert message.properties["DELAY"] == "2"
    assert tags_codes(lab, SCHEDULE, 1) == [START_MS + 2_000]


@pytest.mark.parametrize("level", ["0", "-1", "-2147483648"])
def test_level_0_is_no_delay(level: str) -> None:
    lab = StoreLab()
    lab.put(properties=f"DELAY\x01{level}\x02TAGS\x01red")
    assert tags_codes(lab, "orders", 0) == [tags_code("red")]


@pytest.mark.parametrize("level", ["soon", "1.5", "2147483648", " 1"])
def test_invalid_level_raises(level: str) -> None:
    with pytest.raises(NumberFormatError):
        StoreLab().put(properties=f"DELAY\x01{level}")
    with pytest.raises(NumberFormatError):
        StoreLab().store.put_messages(inner_message("orders", 0, b"", properties={"DELAY": level}))


@pytest.mark.parametrize(
    ("transaction", "waits"),
    [
        (MessageSysFlag.TRANSACTION_NOT_TYPE, True),
        (MessageSysFlag.TRANSACTION_COMMIT_TYPE, True),
        (MessageSysFlag.TRANSACTION_PREPARED_TYPE, False),
        (MessageSysFlag.TRANSACTION_ROLLBACK_TYPE, False),
    ],
)
def test_half_messages_and_rollbacks_are_not_delayed(transaction: int, waits: bool) -> None:
    lab = StoreLab()
    result = lab.put(properties="DELAY\x011", sys_flag=transaction)
    assert result.append_result is not None
    stored = lab.store.look_message_by_offset(result.append_result.wrote_offset)
    assert stored is not None
    assert (stored.topic == SCHEDULE) is waits


def test_slave_refuses_before_parsing_the_level() -> None:
    lab = StoreLab(broker_role="SLAVE")
    assert lab.put(properties="DELAY\x01soon").status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert lab.journal.find(AppendRefused)[0].topic == "orders"


def test_added_properties_may_exceed_the_limit() -> None:
    lab = StoreLab(log_bytes=1 << 20)
    properties = "DELAY\x011\x02KEYS\x01" + "k" * (32_767 - 13)
    assert len(properties) == 32_767
    assert lab.put(properties=properties.replace("DELAY\x011", "DELAY\x010")).ok
    assert lab.put(properties=properties).status is PutMessageStatus.PROPERTIES_SIZE_EXCEEDED


def test_message_without_level_keeps_its_tags_code_in_the_schedule_topic() -> None:
    lab = StoreLab()
    lab.put(topic=SCHEDULE, properties="TAGS\x01red")
    assert tags_codes(lab, SCHEDULE, 0) == [tags_code("red")]
