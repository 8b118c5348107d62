"""Offsets survive a checkpoint, and equal ones are equal texts."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.errors import ConfigError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.reading.offsets import flat, nested, parse_offsets, parse_queues, queue_texts

QUEUES = st.builds(
    MessageQueue,
    topic=st.sampled_from(["orders", "%RETRY%g", "käse"]),
    broker_name=st.sampled_from(["broker-a", "broker-b"]),
    queue_id=st.integers(0, 200),
)
OFFSETS = st.dictionaries(QUEUES, st.integers(0, 2**63 - 1))


@given(OFFSETS, st.randoms())
def test_checkpoint_is_read_back(offsets: dict[MessageQueue, int], chance: Random) -> None:
    text = json.dumps(nested(offsets))
    assert flat(json.loads(text)) == offsets
    assert parse_offsets(text) == offsets
    shuffled = list(offsets.items())
    chance.shuffle(shuffled)
    assert json.dumps(nested(dict(shuffled))) == text


def test_offsets_text_is_as_documented() -> None:
    offsets = {MessageQueue(topic="t", broker_name="b", queue_id=one): one for one in (10, 9)}
    assert json.dumps(nested(offsets)) == '{"t": {"b": {"9": 9, "10": 10}}}'


@pytest.mark.parametrize("text", ["", "[]", "1", '{"t": 5}', '{"t": {"b": {"-1": 0}}}', "\ud800"])
def test_invalid_offsets_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_offsets(text)
    with pytest.raises(ConfigError):
        parse_queues(text)


def test_checkpoint_of_another_source_is_refused() -> None:
    with pytest.raises(ConfigError, match="not an offset of this source"):
        flat({"orders": {"0": 5}})  # type: ignore[dict-item]


def test_few_queues_are_named_and_the_rest_counted() -> None:
    queues = [MessageQueue(topic="t", broker_name="b", queue_id=one) for one in range(5)]
    assert queue_texts(queues).endswith("topic t, broker b, queue 2 and 2 more")
