"""Consumers that pull survive brokers and name servers that answer anything."""

from __future__ import annotations

import logging
from itertools import cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakemq.client.consuming.pull import PullConsumerCore
from fakemq.client.consuming.pull_schedule import PullScheduleCore, PullTaskContext
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from tests.support.hostile_answers import OUTCOMES, Hostile
from tests.support.lite_lab import LiteLab
from tests.support.played_broker import GROUP
from tests.support.scripted_carrier import HELD
from tests.support.scripted_operation import answer

ERRORS = (RemotingError, MQBrokerError, MQClientError)


def attempt(lab: LiteLab, task: Task[object]) -> None:
    """Run a task that ends within a minute, with a result or with an error of a client."""
    results = lab.carrier.start(task)
    lab.carrier.advance(60_000)
    assert results, "it hangs"
    error = results[0][1]
    assert error is None or isinstance(error, ERRORS), error


def assert_recovers(lab: LiteLab) -> None:
    """With an honest broker again, messages come within two minutes."""
    lab.carrier.answers = lab.broker._answer
    lab.broker.topics["orders"] = 1
    lab.carrier.advance(120_000)
    lab.carrier.held = [one for one in lab.carrier.held if not one.over]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(outcomes=st.lists(OUTCOMES, min_size=1, max_size=30))
def test_lite_pull_survives_any_answers(
    outcomes: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    with caplog.at_level(logging.ERROR, "fakemq.client"):
        lab = LiteLab(started=False)
        Hostile(lab.carrier, outcomes)
        attempt(lab, lab.consumer.start())
        consumer, queue = lab.consumer, lab.queue()
        for task in (
            consumer.poll(1_000),
            consumer.commit(),
            consumer.seek(queue, 0),
            consumer.seek_to_end(queue),
            consumer.committed(queue),
            consumer.fetch_message_queues("orders"),
            consumer.poll(30_000),
        ):
            attempt(lab, task)
        assert not [one for one in caplog.records if one.msg.startswith("the task")], caplog.text
        assert_recovers(lab)
        for _ in range(4):  # up to an offset at which no answer had a message
            lab.broker.put(b"honest")
        lab.carrier.settle()
        bodies = lab.poll_all()
        lab.carrier.advance(5_000)
        assert b"honest" in bodies + lab.poll_all()
        attempt(lab, consumer.shutdown())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(outcomes=st.lists(OUTCOMES, min_size=1, max_size=30))
def test_pull_schedule_survives_any_answers(
    outcomes: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    lab = LiteLab(started=False)
    Hostile(lab.carrier, outcomes)
    calls: list[MessageQueue] = []

    def work(queue: MessageQueue, context: PullTaskContext[PullConsumerCore]) -> None:
        calls.append(queue)

    schedule = PullScheduleCore(lab.services, PullSettings(group=GROUP), _same)
    schedule.register_pull_task_callback("orders", work)
    with caplog.at_level(logging.ERROR, "fakemq.client"):
        attempt(lab, schedule.start())
        attempt(lab, schedule.consumer.pull(lab.queue(), 0))
        attempt(lab, schedule.consumer.fetch_consume_offset(lab.queue()))
        assert_recovers(lab)
        calls.clear()
        lab.carrier.advance(1_000)
        assert lab.queue() in calls
        assert not [one for one in caplog.records if one.msg.startswith("the task")], caplog.text
    attempt(lab, schedule.shutdown())


def _same(consumer: PullConsumerCore) -> PullConsumerCore:
    return consumer


@pytest.mark.parametrize("status", [0, 19, 20, 21])
def test_offsets_that_lead_nowhere_are_pulled_from_after_a_pause(status: int) -> None:
    lab = LiteLab(started=False)
    offsets = cycle([2, 1, -3])
    lab.broker.answers[RequestCode.PULL_MESSAGE] = lambda call: answer(
        status, suggestWhichBrokerId=0, nextBeginOffset=next(offsets), minOffset=0, maxOffset=5
    )
    lab.run(lab.consumer.start())
    lab.carrier.advance(10_000)
    assert 100 <= lab.carrier.codes().count(RequestCode.PULL_MESSAGE) <= 1_000


def test_route_that_grows_and_shrinks_under_way_loses_no_queue() -> None:
    lab = LiteLab(queues=4)
    for queues in (1, 3, 0, 4, 2):
        lab.broker.topics["orders"] = queues
        lab.carrier.advance(60_000)
        assert len(lab.consumer.assignment()) == (queues or 3), "kept without a readable queue"


def test_silent_name_server_leaves_the_queues() -> None:
    lab = LiteLab(queues=2)
    lab.broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: HELD
    lab.carrier.advance(120_000)
    assert len(lab.consumer.assignment()) == 2
    lab.put(b"1")
    assert lab.poll_all() == [b"1"]
