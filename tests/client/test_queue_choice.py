"""In which order a producer takes queues, and which brokers it avoids."""

from __future__ import annotations

from fakemq.client.queue_choice import QueueChoice
from tests.support.scripted_operation import queue

QUEUES = [queue("a", 0), queue("a", 1), queue("b", 0)]


def test_queues_are_taken_in_turn() -> None:
    choice = QueueChoice(-1)
    assert [choice.select(QUEUES, None) for _ in range(4)] == [*QUEUES, QUEUES[0]]


def test_failed_broker_is_avoided() -> None:
    choice = QueueChoice(-1)
    assert choice.select(QUEUES, "a") == queue("b", 0)
    assert choice.select(QUEUES, "b") == queue("a", 0)


def test_only_broker_is_taken_although_it_failed() -> None:
    assert QueueChoice(0).select(QUEUES[:2], "a").broker_name == "a"


def test_index_stays_positive() -> None:
    choice = QueueChoice(0x7FFF_FFFF)
    assert choice.select(QUEUES, None) == QUEUES[0]
