"""When the pull schedule calls a function, for which queues, and when no more."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from fakemq.client.consuming.pull import PullConsumerCore
from fakemq.client.consuming.pull_schedule import PullScheduleCore, PullTaskContext
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.errors import MQClientError
from fakemq.client.tasks import Task
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.played_broker import CLIENT, GROUP, PlayedBroker

T = TypeVar("T")

Context = PullTaskContext[PullConsumerCore]


class Lab:
    """A schedule with one function for ``orders``; ``calls`` are times and queue ids."""

    def __init__(self, *, queues: int = 1, started: bool = True, **options: Any) -> None:
        self.broker = PlayedBroker(queues=queues)
        self.carrier = self.broker.carrier
        self.services = self.broker.services()
        self.schedule = PullScheduleCore(
            self.services, PullSettings(group=GROUP), lambda consumer: consumer, **options
        )
        self.calls: list[tuple[int, int]] = []
        self.delay_ms: int | None = None
        self.error: Exception | None = None
        self.schedule.register_pull_task_callback("orders", self._pull)
        if started:
            self.run(self.schedule.start())

    def _pull(self, queue: MessageQueue, context: Context) -> None:
        assert context.pull_consumer is self.schedule.consumer
        self.calls.append((self.carrier.elapsed_ms(), queue.queue_id))
        if self.delay_ms is not None:
            context.set_pull_next_delay_ms(self.delay_ms)
        if self.error is not None:
            raise self.error

    def run(self, task: Task[T], *, within_ms: int = 0) -> T:
        return self.carrier.run(task, within_ms=within_ms)

    def times(self) -> list[int]:
        return [at_ms for at_ms, _ in self.calls]


def test_function_is_called_for_each_queue_every_200_ms() -> None:
    lab = Lab(queues=2)
    lab.carrier.advance(400)
    assert lab.calls == [(0, 0), (0, 1), (200, 0), (200, 1), (400, 0), (400, 1)]


def test_function_sets_the_delay_before_its_next_call() -> None:
    lab = Lab(started=False)
    lab.delay_ms = 1_000
    lab.run(lab.schedule.start())
    lab.carrier.advance(1_999)
    lab.delay_ms = 0
    lab.carrier.advance(3)
    assert lab.times() == [0, 1_000, 2_000, 2_001, 2_002]


@pytest.mark.parametrize("delay_ms", [-1, 0.5, True, None])
def test_delay_is_a_whole_number(delay_ms: Any) -> None:
    context = PullTaskContext("consumer")
    with pytest.raises(ConfigError, match="pull_next_delay_ms"):
        context.set_pull_next_delay_ms(delay_ms)
    assert context.pull_next_delay_ms == 200


def test_function_that_fails_is_called_again_a_second_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = Lab(started=False)
    lab.error = LookupError("no")
    lab.delay_ms = 5
    lab.run(lab.schedule.start())
    lab.carrier.advance(1_000)
    assert lab.times() == [0, 1_000]
    assert "doPullTask Exception" in caplog.text


def test_calls_begin_and_end_with_the_share_of_the_consumer() -> None:
    lab = Lab(queues=2)
    lab.broker.members = [CLIENT, "z"]
    lab.run(lab.schedule.consumer.rebalance())
    lab.calls.clear()
    lab.carrier.advance(200)
    assert lab.calls == [(200, 0)]
    lab.broker.members = [CLIENT]
    lab.run(lab.schedule.consumer.rebalance())
    assert lab.calls == [(200, 0), (200, 1)]


def test_queue_that_is_lost_during_a_call_is_not_called_for_again() -> None:
    lab = Lab(queues=2, started=False)
    lab.carrier.performs_at_once = False
    lab.run(lab.schedule.start())
    assert len(lab.carrier.performing) == 2
    lab.broker.members = [CLIENT, "z"]
    lab.run(lab.schedule.consumer.rebalance())
    lab.carrier.perform_next()
    lab.carrier.perform_next()
    assert lab.calls == [(0, 0), (0, 1)]
    lab.carrier.advance(200)
    assert len(lab.carrier.performing) == 1


def test_functions_run_one_at_a_time_for_a_queue_and_few_at_all() -> None:
    lab = Lab(queues=5, started=False, pull_threads=2)
    lab.carrier.performs_at_once = False
    lab.run(lab.schedule.start())
    assert len(lab.carrier.performing) == 2
    busy = not lab.schedule.is_idle
    seen = 0
    while lab.carrier.performing:
        assert len(lab.carrier.performing) <= 2
        lab.carrier.perform_next()
        seen += 1
    assert busy
    assert seen == 5
    assert sorted(number for _, number in lab.calls) == [0, 1, 2, 3, 4]
    assert lab.schedule.is_idle
    with pytest.raises(ConfigError, match="pull_threads=0"):
        Lab(started=False, pull_threads=0)


def test_function_pulls_and_commits() -> None:
    lab = Lab(started=False)
    bodies: list[bytes] = []

    def work(queue: MessageQueue, context: Context) -> None:
        consumer = context.pull_consumer
        offset = lab.run(consumer.fetch_consume_offset(queue)) or 0
        if offset < len(lab.broker.messages[queue]):
            pulled = lab.run(consumer.pull(queue, offset, max_messages=2))
            bodies.extend(one.body for one in pulled.messages)
            consumer.update_consume_offset(queue, pulled.next_begin_offset)

    for number in range(5):
        lab.broker.put(b"%d" % number)
    lab.schedule.register_pull_task_callback("orders", work)
    lab.run(lab.schedule.start())
    lab.carrier.advance(1_000)
    assert bodies == [b"0", b"1", b"2", b"3", b"4"]
    lab.run(lab.schedule.shutdown())
    assert lab.broker.committed() == 5


def test_topic_can_be_registered_while_it_runs() -> None:
    lab = Lab()
    lab.broker.topics["payments"] = 1
    seen: list[str | None] = []
    lab.schedule.register_pull_task_callback(
        "payments", lambda queue, context: seen.append(queue.topic)
    )
    lab.carrier.settle()
    assert seen == ["payments"]


def test_topic_that_was_only_pulled_from_has_no_calls(caplog: pytest.LogCaptureFixture) -> None:
    lab = Lab()
    lab.broker.put(b"1", topic="payments")
    lab.run(lab.schedule.consumer.pull(lab.broker.queue(0, "payments"), 0))
    lab.run(lab.schedule.consumer.rebalance())
    assert "Pull Task Callback not exist , payments" in caplog.text


def test_shutdown_ends_calls_and_waits_for_those_under_way() -> None:
    lab = Lab(started=False)
    lab.carrier.performs_at_once = False
    lab.run(lab.schedule.start())
    ending = lab.carrier.start(lab.schedule.shutdown(wait_ms=5_000))
    lab.carrier.advance(3_000)
    assert ending == []
    assert lab.schedule.consumer.is_running, "so that the function can update its offset"
    lab.carrier.perform_next()
    assert ending == [(None, None)]
    lab.carrier.advance(60_000)
    assert lab.times() == [3_000]
    assert lab.carrier.performing == []


def test_shutdown_waits_no_longer_than_asked() -> None:
    lab = Lab(started=False)
    lab.carrier.performs_at_once = False
    lab.run(lab.schedule.start())
    lab.run(lab.schedule.shutdown(wait_ms=1_000), within_ms=1_000)
    assert not lab.schedule.consumer.is_running
    lab.carrier.perform_next()
    lab.carrier.advance(60_000)
    assert lab.carrier.performing == []


def test_end_of_the_client_begins_no_call() -> None:
    lab = Lab(queues=3, started=False, pull_threads=1)
    lab.carrier.performs_at_once = False
    lab.run(lab.schedule.start())
    lab.services.shutdown()
    assert len(lab.carrier.performing) == 1
    assert lab.carrier.performing[0].cancelled
    assert lab.schedule.is_idle


def test_namespace_is_not_in_the_queue_of_a_call() -> None:
    lab = Lab(started=False)
    broker = lab.broker
    broker.topics["ns%orders"] = 1
    schedule = PullScheduleCore(
        lab.services, PullSettings(group=GROUP, namespace="ns"), lambda consumer: consumer
    )
    seen: list[MessageQueue] = []
    schedule.register_pull_task_callback("orders", lambda queue, context: seen.append(queue))
    lab.run(schedule.start())
    assert seen == [broker.queue(0)]


def test_start_raises_what_the_consumer_raises() -> None:
    lab = Lab()
    with pytest.raises(MQClientError, match="maybe started once"):
        lab.run(lab.schedule.start())
