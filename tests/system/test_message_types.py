"""Topics with a message type: declared at the start, created later, kept."""

from __future__ import annotations

import pytest

import fakemq

STEPS = {"steps": {"queues": 2, "message_type": "FIFO"}, "orders": 1}


def test_declared_type_is_there_at_every_broker_and_after_a_reset() -> None:
    with fakemq.Cluster(reference="5.5.0", masters=2, topics=STEPS, clock="frozen") as mq:
        mq.topic("steps").message_type = "DELAY"
        mq.reset()
        attributes = mq.inspect(
            lambda core: [
                one.topics.snapshot()["steps"].attributes for one in core.brokers.values()
            ]
        )
        assert attributes == [{"message.type": "FIFO"}] * 2
        assert len(mq.queues("steps")) == 4
        assert mq.topic("orders").message_type == "NORMAL"


def test_created_topic_keeps_its_type_until_another_is_given() -> None:
    with fakemq.Cluster(reference="5.5.0") as mq:
        mq.create_topic("steps", 1, message_type="FIFO")
        mq.create_topic("steps", 3)
        assert (mq.topic("steps").message_type, len(mq.queues("steps"))) == ("FIFO", 3)
        mq.create_topic("steps", 3, message_type="NORMAL")
        assert mq.topic("steps").message_type == "NORMAL"


@pytest.mark.parametrize(
    ("reference", "message_type", "text"),
    [
        ("5.5.0", "FIFI", "topic steps: no message type is called 'FIFI'; did you mean FIFO?"),
        ("4.9.7", "FIFO", "topic steps: topics of 4.9.7 have no message types: only those"),
    ],
)
def test_type_that_cannot_be_creates_nothing(reference: str, message_type: str, text: str) -> None:
    with fakemq.Cluster(reference=reference) as mq:
        with pytest.raises(fakemq.ConfigError) as caught:
            mq.create_topic("steps", 2, message_type=message_type)
        assert str(caught.value).startswith(text)
        assert "steps" not in mq.topics()
