"""Java, Go and Python members of one group share its queues, while they come, leave and die."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from conformance.drivers.drivers import EVENT_TIMEOUT_S, Consuming, Producing
from conformance.drivers.go_program import GoConsumer, GoProducer, binary
from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.drivers.python_program import PythonConsumer, PythonProducer
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.processes import FakemqProcess
from conformance.targets.quick_pair import TWO_MASTERS
from conformance.wire.raw import create_topic
from fakemq.client import Client
from fakemq.client.pull_operations import PullOperations
from fakemq.protocol.bodies.queue import MessageQueue

# Half a minute: seven clients start one after the other, at a real cluster and at a fake.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC, GROUP, QUEUES = "MixedGroup", "GMixed", 4
BROKERS = ("broker-a", "broker-b")
ALL = sorted(f"{broker}:{queue_id}" for broker in BROKERS for queue_id in range(QUEUES))
PER_SECOND = 40

Make = Callable[..., Consuming]
Members = dict[str, Consuming]


class Group:
    """The members of the group at one cluster, and the producers that send to it meanwhile."""

    def __init__(self, namesrv_addr: str) -> None:
        self.namesrv_addr = namesrv_addr
        self._members: Members = {}
        self._everyone: list[Consuming] = []
        self._producers: list[Producing] = []
        self._stack = ExitStack()

    def __enter__(self) -> Group:
        for make in (JavaProducer, GoProducer, PythonProducer):
            group = f"G{make.__name__}"
            producer = make(self.namesrv_addr, TOPIC, group, PER_SECOND)
            self._producers.append(self._stack.enter_context(producer))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def produce(self) -> None:
        for producer in self._producers:
            producer.go()

    def joins(self, make: Make, name: str) -> None:
        """A member joins; the others make room."""
        member = make(self.namesrv_addr, TOPIC, GROUP, instance=name)
        self._members[name] = self._stack.enter_context(member)
        self._everyone.append(member)
        self._assert_shared(f"{name} joined")

    def leaves(self, name: str) -> None:
        """A member shuts down; the others take over."""
        self._members.pop(name).stop()
        self._assert_shared(f"{name} left")

    def dies(self, name: str) -> None:
        """A member is killed; the others take over."""
        self._members.pop(name).kill()
        self._assert_shared(f"{name} died")

    def _assert_shared(self, what: str) -> None:
        """Wait until each queue has one owner and every member has its share; fail otherwise."""
        shares: dict[str, list[str]] = {}

        def is_shared() -> bool:
            shares.update({name: one.assigned() for name, one in self._members.items()})
            for name in shares.keys() - self._members.keys():
                del shares[name]
            sizes = [len(share) for share in shares.values()]
            owned = sorted(queue for share in shares.values() for queue in share)
            return owned == ALL and max(sizes) - min(sizes) <= 1

        try:
            wait_until(is_shared, EVENT_TIMEOUT_S)
        except TimeoutError:
            raise AssertionError(f"after {what} the shares are {shares}") from None

    def assert_nothing_lost(self) -> None:
        """Every acknowledged message was received, by one that lives or one that has died."""
        for producer in self._producers:
            producer.stop()
        for number, producer in enumerate(self._producers):
            assert len(producer.acks) > PER_SECOND, number
        sent = {
            (ack.broker, ack.queue_id, ack.queue_offset)
            for producer in self._producers
            for ack in producer.acks
        }

        def received() -> set[tuple[str, int, int]]:
            return {
                (one.broker, one.queue_id, one.queue_offset)
                for member in self._everyone
                for one in list(member.received)
            }

        wait_until(lambda: sent <= received(), EVENT_TIMEOUT_S)
        # What a member received before it died comes again, to those that live.
        self._wait_all_committed()
        for member in self._members.values():
            member.stop()
        self._wait_all_committed()

    def _wait_all_committed(self) -> None:
        """Wait until all is acknowledged: the group's offsets are at the ends of the queues."""
        with Client(self.namesrv_addr) as client:
            group = PullOperations(client.instance, GROUP)

            def behind() -> dict[str, int]:
                queues = client.subscribe_queues(TOPIC)
                return {
                    f"{queue.broker_name}:{queue.queue_id}": lag
                    for queue in queues
                    if (lag := _lag(client, group, queue)) != 0
                }

            wait_until(lambda: not behind(), EVENT_TIMEOUT_S)


def _lag(client: Client, group: PullOperations, queue: MessageQueue) -> int:
    return client.max_offset(queue) - (client.run(group.query_offset(queue)) or 0)


def live_through(namesrv_addr: str, brokers: Sequence[str]) -> None:
    """Let members of each kind join, leave and die, while messages are sent."""
    for addr in brokers:
        create_topic(addr, TOPIC, QUEUES)
    with Group(namesrv_addr) as group:
        group.joins(PythonConsumer, "python-1")
        group.produce()
        group.joins(JavaConsumer, "java-1")
        group.joins(GoConsumer, "go-1")
        group.joins(PythonConsumer, "python-2")
        group.dies("python-1")
        group.leaves("java-1")
        group.joins(JavaConsumer, "java-2")
        group.dies("go-1")
        group.leaves("python-2")
        group.joins(PythonConsumer, "python-3")
        group.dies("java-2")
        group.joins(GoConsumer, "go-2")
        group.assert_nothing_lost()


def test_members_of_each_kind_share_a_group(java: None, go: None) -> None:
    binary()  # once, and not while clients wait
    with (
        JavaCluster(masters=2) as real,
        FakemqProcess(*TWO_MASTERS) as fake,
        ThreadPoolExecutor(2) as both,
    ):
        real_brokers = [broker.addr for broker in real.brokers]
        on_real = both.submit(live_through, real.namesrv_addr, real_brokers)
        on_fake = both.submit(live_through, fake.namesrv_addr, fake.broker_addrs)
        on_real.result()
        on_fake.result()
