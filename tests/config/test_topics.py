"""Topics as users declare them: texts and mappings, with and without message types."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.config.checked import TopicSpec, declared_topics
from fakemq.config.spec import cluster_spec
from fakemq.errors import ConfigError


@pytest.mark.parametrize(
    "topics",
    [
        ["steps:4:FIFO", "orders:8"],
        {"steps": {"queues": 4, "message_type": "FIFO"}, "orders": {}},
        {"steps": {"queues": 4, "message_type": "FIFO"}, "orders": 8},
    ],
)
def test_topic_may_have_a_message_type(topics: Any) -> None:
    spec = cluster_spec(topics=topics, reference="5.5.0")
    assert spec.topics == {"steps": TopicSpec(4, "FIFO"), "orders": TopicSpec(8)}


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (["orders"], "topic 'orders': expected NAME:QUEUES, such as orders:8"),
        (["orders:4:FIFO:x"], "topic 'orders:4:FIFO:x': expected NAME:QUEUES"),
        ([":4"], "topic ':4': expected NAME:QUEUES"),
        (["orders:4:"], "topic orders: no message type is called ''; there are: "),
        (["o:1", "o:2"], "topic o is given twice"),
        (["o:4:FIFI"], "topic o: no message type is called 'FIFI'; did you mean FIFO?"),
        ({"o": {"queue": 4}}, "topic 'o' has no queue; did you mean queues?"),
        ({"o": {"queues": 0}}, "queues of topic o=0: expected a whole number from 1 to 65536"),
        ({"o": {"message_type": 5}}, "topic o: no message type is called 5; there are: "),
        ({"o": "4:FIFO"}, "queues of topic o='4:FIFO': expected a whole number from 1 to 65536"),
        ({"o": 0}, "queues of topic o=0: expected a whole number from 1 to 65536"),
        ({"o": 1 << 31}, "queues of topic o=2147483648: expected a whole number from 1"),
        ({"a b": 1}, "topic 'a b': The specified topic contains illegal characters"),
    ],
)
def test_topic_that_cannot_be_is_refused(topics: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        declared_topics(topics)
    assert str(caught.value).startswith(message)


def test_message_type_of_a_cluster_without_them_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        cluster_spec(topics={"o": {"message_type": "FIFO"}})
    assert str(caught.value) == (
        "topic o: topics of 4.9.7 have no message types: only those of RocketMQ 5 do"
    )
