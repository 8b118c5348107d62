"""How a member of a group takes and drops queues, and when it keeps those that it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from fakemq.client.consuming.allocation import AllocateStrategy, averagely, by_config
from fakemq.client.consuming.rebalance import Rebalancer
from fakemq.client.errors import RemotingTimeoutError
from fakemq.client.operation import Call
from fakemq.client.services import ClientServices
from fakemq.client.tasks import Signal, Task, Wait
from fakemq.protocol.bodies.heartbeat import GetConsumerListByGroupResponseBody
from fakemq.protocol.bodies.queue import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
)
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.scripted_carrier import HELD, Outcome, ScriptedCarrier
from tests.support.scripted_operation import A, B, answer, client, queue, route

ORDERS = [queue(broker, number) for broker in "ab" for number in range(2)]


class Owner:
    """A `QueueOwner` that notes what it is asked to do."""

    def __init__(self) -> None:
        self.queues: list[MessageQueue] = []
        self.stuck: set[MessageQueue] = set()
        self.refuses_drop: set[MessageQueue] = set()
        self.refuses_take: set[MessageQueue] = set()
        self.done: list[str] = []
        self.divisions: list[tuple[str, int, int]] = []
        self.waits: Signal | None = None

    def owned(self, topic: str) -> Sequence[MessageQueue]:
        return [one for one in self.queues if one.topic == topic]

    def is_stuck(self, queue: MessageQueue) -> bool:
        return queue in self.stuck

    def drop(self, queue: MessageQueue) -> Task[bool]:
        yield from ()
        self.done.append(f"-{queue.broker_name}{queue.queue_id}")
        if queue in self.refuses_drop:
            return False
        self.queues.remove(queue)
        return True

    def take(self, queue: MessageQueue) -> Task[bool]:
        if self.waits is not None:
            yield Wait(self.waits)
        self.done.append(f"+{queue.broker_name}{queue.queue_id}")
        if queue in self.refuses_take:
            return False
        assert queue not in self.queues
        self.queues.append(queue)
        return True

    def divided(
        self, topic: str, all_queues: Sequence[MessageQueue], mine: Sequence[MessageQueue]
    ) -> Task[None]:
        yield from ()
        self.divisions.append((topic, len(all_queues), len(mine)))


class Play:
    """A client of two brokers with two queues each, in a group whose members the test names."""

    def __init__(
        self, *, message_model: str = "CLUSTERING", allocate: AllocateStrategy = averagely
    ) -> None:
        instance = client("a", "b")
        self.carrier = ScriptedCarrier(self._answer)
        self.services = ClientServices(instance, self.carrier)
        self.me = instance.client_id
        self.members: list[str] | Outcome = [self.me]
        self.lock: Callable[[MessageQueue], bool] = lambda queue: True
        self.owner = Owner()
        self.rebalancer = Rebalancer(
            self.services, "g", self.owner, message_model=message_model, allocate=allocate
        )

    def _answer(self, call: Call) -> Outcome:
        code = call.command.code
        if code == RequestCode.GET_CONSUMER_LIST_BY_GROUP:
            if isinstance(self.members, list):
                return answer(body=GetConsumerListByGroupResponseBody(self.members))
            return self.members
        if code == RequestCode.LOCK_BATCH_MQ:
            wanted = LockBatchRequestBody.decode(call.command.body).mq_set
            return answer(body=LockBatchResponseBody([one for one in wanted if self.lock(one)]))
        assert code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        return answer(ResponseCode.TOPIC_NOT_EXIST)

    def rebalance(self, topic: str = "orders", *, ordered: bool = False) -> list[str]:
        """Return what the owner did."""
        self.owner.done = []
        self.carrier.run(self.rebalancer.rebalance_topic(topic, ordered=ordered))
        return self.owner.done


def test_single_member_takes_all_queues_in_order() -> None:
    play = Play()
    assert play.rebalance() == ["+a0", "+a1", "+b0", "+b1"]
    assert play.owner.divisions == [("orders", 4, 4)]
    assert play.rebalance() == []
    assert len(play.owner.divisions) == 1


def test_members_are_sorted_before_queues_are_divided() -> None:
    play = Play()
    play.members = [f"{play.me}z", play.me]
    assert play.rebalance() == ["+a0", "+a1"]
    play.members = [f"{play.me}z", play.me, "0"]
    assert play.rebalance() == ["-a0", "-a1", "+b0"]
    assert play.owner.divisions == [("orders", 4, 2), ("orders", 4, 1)]


def test_broadcasting_takes_all_queues_and_asks_for_no_members() -> None:
    play = Play(message_model="BROADCASTING")
    assert play.rebalance() == ["+a0", "+a1", "+b0", "+b1"]
    assert play.carrier.codes() == []


def test_client_that_is_no_member_drops_its_queues() -> None:
    play = Play()
    play.rebalance()
    play.members = ["another"]
    assert play.rebalance() == ["-a0", "-a1", "-b0", "-b1"]


@pytest.mark.parametrize(
    "members",
    [[], answer(ResponseCode.SYSTEM_ERROR), RemotingTimeoutError(A, 1), answer(body=b"{")],
    ids=["empty", "error", "silent", "damaged"],
)
def test_queues_are_kept_without_a_list_of_members(members: list[str] | Outcome) -> None:
    play = Play()
    play.rebalance()
    play.members = members
    assert play.rebalance() == []
    assert len(play.owner.queues) == 4


def test_queues_are_kept_when_the_topic_has_no_readable_queue() -> None:
    play = Play()
    play.rebalance()
    play.services.instance.routes.put("orders", route("a", "b", perm=2), 0)
    assert play.rebalance() == []
    assert len(play.owner.queues) == 4


def test_topic_without_route_changes_nothing() -> None:
    play = Play()
    assert play.rebalance("missing") == []
    assert play.carrier.codes() == [RequestCode.GET_ROUTEINFO_BY_TOPIC]


def test_queues_follow_the_route() -> None:
    play = Play()
    play.rebalance()
    play.services.instance.routes.put("orders", route("b", queues=3), 0)
    assert play.rebalance() == ["-a0", "-a1", "+b2"]


def test_queue_that_is_not_dropped_yet_is_tried_again() -> None:
    play = Play()
    play.rebalance()
    play.owner.refuses_drop = {queue("a", 1)}
    play.services.instance.routes.put("orders", route("b"), 0)
    assert play.rebalance() == ["-a0", "-a1"]
    assert play.rebalance() == ["-a1"]
    assert len(play.owner.divisions) == 2, "no queue has changed its owner"
    play.owner.refuses_drop = set()
    assert play.rebalance() == ["-a1"]
    assert len(play.owner.divisions) == 3


def test_queue_that_is_not_taken_is_tried_again() -> None:
    play = Play()
    play.owner.refuses_take = set(ORDERS)
    assert len(play.rebalance()) == 4
    assert play.owner.divisions == []
    play.owner.refuses_take = {ORDERS[0]}
    play.rebalance()
    play.owner.refuses_take = set()
    assert play.rebalance() == ["+a0"]


def test_stuck_queue_is_dropped_and_taken_again() -> None:
    play = Play()
    play.rebalance()
    play.owner.stuck = {queue("a", 1)}
    assert play.rebalance() == ["-a1", "+a1"]
    play.owner.refuses_drop = {queue("a", 1)}
    assert play.rebalance() == ["-a1"]


def test_ordered_queues_are_locked_first() -> None:
    play = Play()
    play.lock = lambda one: one.broker_name == "b"
    assert play.rebalance(ordered=True) == ["+b0", "+b1"]
    locks = [one for one in play.carrier.calls if one.command.code == RequestCode.LOCK_BATCH_MQ]
    assert [one.addr for one in locks] == [A, A, B, B]
    play.lock = lambda one: True
    assert play.rebalance(ordered=True) == ["+a0", "+a1"]


def test_broker_that_refuses_a_lock_keeps_only_its_queues_back() -> None:
    play = Play()
    answers = play.carrier.answers

    def refusing(call: Call) -> Outcome:
        is_lock = call.command.code == RequestCode.LOCK_BATCH_MQ
        return RemotingTimeoutError(A, 1) if is_lock and call.addr == A else answers(call)

    play.carrier.answers = refusing
    assert play.rebalance(ordered=True) == ["+b0", "+b1"]


def test_strategy_by_config_takes_queues_of_other_topics_once() -> None:
    chosen = [queue("a", 0), queue("a", 5, topic="other")]
    play = Play(allocate=by_config(chosen))
    assert play.rebalance() == ["+a0", "+a5"]
    play.services.instance.routes.put("other", route("a"), 0)
    assert play.rebalance("other") == []


def _nothing(*arguments: object) -> None:
    return None


def _numbers(*arguments: object) -> list[int]:
    return [1]


def _fails(*arguments: object) -> list[MessageQueue]:
    raise LookupError("no division")


def test_own_strategy_is_performed_with_sorted_arguments() -> None:
    seen: list[object] = []

    def own(
        group: str, client_id: str, queues: Sequence[MessageQueue], ids: Sequence[str]
    ) -> Sequence[MessageQueue]:
        seen.extend([group, client_id, list(queues), list(ids)])
        return [queues[3], queues[3], queues[0]]

    play = Play(allocate=own)
    play.members = ["z", "m", play.me]
    play.carrier.performs_at_once = False
    results = play.carrier.start(play.rebalancer.rebalance_topic("orders", ordered=False))
    assert results == []
    play.carrier.perform_next()
    assert play.owner.done == ["+b1", "+a0"]
    assert seen == ["g", play.me, ORDERS, sorted(["z", "m", play.me])]


@pytest.mark.parametrize("allocate", [_fails, _numbers, lambda *_: 7], ids=["error", "ints", "int"])
def test_strategy_that_fails_changes_nothing(
    allocate: AllocateStrategy, caplog: pytest.LogCaptureFixture
) -> None:
    play = Play()
    play.rebalance()
    play.rebalancer.allocate = allocate
    assert play.rebalance() == []
    assert len(play.owner.queues) == 4
    assert "AllocateMessageQueueStrategy.allocate Exception" in caplog.text


def test_strategy_that_returns_none_drops_all() -> None:
    play = Play()
    play.rebalance()
    play.rebalancer.allocate = _nothing
    assert len(play.rebalance()) == 4
    assert play.owner.queues == []


def test_two_rebalances_of_a_topic_do_not_meet() -> None:
    play = Play()
    play.owner.waits = Signal()
    for _ in range(3):
        play.services.tasks.start(play.rebalancer.rebalance_topic("orders", ordered=False))
        play.carrier.settle()
    play.owner.waits.set()
    play.carrier.settle()
    assert play.owner.done == ["+a0", "+a1", "+b0", "+b1"]
    assert len(play.services.tasks) == 0


def test_cancelled_rebalance_lets_the_next_one_pass() -> None:
    play = Play()
    play.members = HELD
    first = play.services.tasks.start(play.rebalancer.rebalance_topic("orders", ordered=False))
    play.carrier.settle()
    play.services.tasks.cancel(first)
    play.members = [play.me]
    assert len(play.rebalance()) == 4


class FailingOwner(Owner):
    """Its listener fails for one topic."""

    def divided(
        self, topic: str, all_queues: Sequence[MessageQueue], mine: Sequence[MessageQueue]
    ) -> Task[None]:
        yield from ()
        if topic == "orders":
            raise RemotingTimeoutError(A, 1)


def test_error_of_one_topic_does_not_keep_others(caplog: pytest.LogCaptureFixture) -> None:
    play = Play()
    play.services.instance.routes.put("other", route("a"), 0)
    play.rebalancer.owner = owner = FailingOwner()
    play.carrier.run(play.rebalancer.rebalance(["orders", "other"], ordered=False))
    assert len(owner.queues) == 6
    assert "the queues of orders were not divided" in caplog.text
