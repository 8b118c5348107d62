"""The options of writing: which there are, and what is refused."""

from __future__ import annotations

import pickle

import pytest

from fakemq.client import SendStatus
from fakemq.errors import ConfigError
from tests.support.writes import options


def test_defaults_are_applied() -> None:
    found = options(checkpointLocation="/c", queryName="q")
    assert (found.topic, found.batch_size, found.delivery_timeout_ms) == (None, 1000, 120_000)
    assert found.accept_statuses == set(SendStatus)
    assert (found.row_id_property, found.write_id) == ("SPARK_ROW_ID", None)
    assert not found.drop_system_properties
    assert pickle.loads(pickle.dumps(found)) == found


def test_options_are_parsed() -> None:
    found = options(
        topic="orders",
        batchSize="5",
        deliveryTimeoutMs="0",
        acceptStatuses="flush_disk_timeout",
        rowIdProperty="None",
        writeId="nightly",
        dropSystemProperties="TRUE",
    )
    assert (found.topic, found.batch_size, found.delivery_timeout_ms) == ("orders", 5, 0)
    assert found.accept_statuses == {SendStatus.SEND_OK, SendStatus.FLUSH_DISK_TIMEOUT}
    assert (found.row_id_property, found.write_id) == (None, "nightly")
    assert found.drop_system_properties


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("topics", "orders", "there is no option topics; did you mean topic?"),
        ("topic", " ", "option topic is '', expected the name of a topic"),
        ("batchSize", "0", "option batchSize is '0', expected a whole number from 1 on"),
        ("batchSize", "40000", "option batchSize is '40000', expected .* from 1 to 32767"),
        ("deliveryTimeoutMs", "2s", "option deliveryTimeoutMs is '2s'"),
        ("acceptStatuses", "OK", "expected a list of SEND_OK, FLUSH_DISK_TIMEOUT"),
        ("rowIdProperty", "KEYS", "option rowIdProperty is 'KEYS', expected a name that is free"),
        ("rowIdProperty", "a\x02b", "option rowIdProperty is .* expected a name that is free"),
        ("path", "/orders", "a path is not used: name the topic by the option topic"),
    ],
)
def test_invalid_options_are_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        options(**{name: value})
