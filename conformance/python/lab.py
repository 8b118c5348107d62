"""Names, clients and telling for one scenario of the program.

What is asked only to observe is asked by a `Client`, which joins no group; what is observed is done
by the clients for programs: `Producer`, `PushConsumer`, `LitePullConsumer`.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, Unpack

from conformance.python.listening import Ear
from conformance.python.operating import Operator
from conformance.python.seen import Seen, described, pulled
from conformance.python.spelling import event, failure_text, neutral, spelled
from conformance.python.steps import await_, message, routed
from conformance.wire.raw import create_topic
from fakemq.client import (
    Client,
    LitePullConsumer,
    Message,
    MQBrokerError,
    Producer,
    PullConsumer,
    PullStatus,
    PushConsumer,
    Selector,
    SendStatus,
)
from fakemq.client.faces.messages import Where
from fakemq.client.pull_operations import PullOperations
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.queue import MessageQueue

PATIENCE_MS = 15_000
"""A stall of the machine, which would else be taken for what the cluster did."""
NOT_THERE = -1
"""What Java says for an offset that a group has not committed."""

FaceT = TypeVar("FaceT", Producer, PushConsumer, PullConsumer, LitePullConsumer)


class Lab:
    """One scenario's run; ``suffix`` keeps its names apart from those of other runs."""

    def __init__(self, namesrv_addr: str, scenario: str, suffix: str, home: Path) -> None:
        self.namesrv_addr = namesrv_addr
        self.scenario = scenario
        self.suffix = suffix
        self.home = home
        self.at_end = ExitStack()
        """Closes the clients of the scenario when it is over."""

    # -- telling --------------------------------------------------------------

    def say(self, key: str, value: object) -> None:
        """Tell one observation."""
        event(f"observed {self.scenario} {neutral(f'{key}: {spelled(value)}', self.suffix)}")

    def say_failure(self, key: str, action: Callable[[], object], done: str = "") -> bool:
        """Tell what an action raises, or that it raises nothing; return whether it does not.

        Then its result is said, or ``done`` where it has none.
        """
        try:
            result = action()
        except Exception as error:
            self.say(key, failure_text(error))
            return False
        self.say(key, f"no failure, {done or spelled(result)}")
        return True

    def fail(self, error: BaseException) -> None:
        """Tell why the scenario ended before its time."""
        for line in "".join(traceback.format_exception(error)).splitlines():
            event(f"failed {self.scenario} {line}")

    def close(self) -> None:
        """Close the scenario's clients, on a thread of their own."""
        threading.Thread(target=self.at_end.close, name=f"closes {self.scenario}").start()

    # -- names ----------------------------------------------------------------

    def topic(self, name: str) -> str:
        return name + self.suffix

    def group(self, name: str) -> str:
        return f"G{name}{self.suffix}"

    # -- what observes --------------------------------------------------------

    def reader(self, group: str) -> Client:
        """Return a client that pulls for a group without being one of its members."""
        return Client(
            self.namesrv_addr,
            consumer_group=self.group(group),
            producer_group=self.group(group),
            api_timeout_ms=PATIENCE_MS,
        )

    @cached_property
    def client(self) -> Client:
        """Looks at what is stored; for the scenario's own thread."""
        return self.at_end.enter_context(self.reader("Reader"))

    @cached_property
    def operator(self) -> Operator:
        return Operator(self.client, self.masters.values())

    @cached_property
    def masters(self) -> dict[str, str]:
        """The masters' addresses by broker name."""
        brokers = self.client.cluster_info().broker_addr_table
        return {name: brokers[name].broker_addrs[0] for name in sorted(brokers)}

    def create_topic(
        self, name: str, queues: int, perm: int = 6, brokers: Collection[str] | None = None
    ) -> str:
        """Create or change a topic on every master and wait until its route says so."""
        topic = self.topic(name)
        where = self.masters if brokers is None else brokers
        for broker in where:
            create_topic(self.masters[broker], topic, queues, perm)
        wanted = queues * len(where)
        if perm & 4:
            await_(f"route of {topic}", lambda: routed(lambda: len(self.queues(topic)) == wanted))
        return topic

    def create_group(self, name: str, *, consume_enable: bool) -> None:
        """Create or change a group on every master."""
        config = SubscriptionGroupConfig(group_name=self.group(name), consume_enable=consume_enable)
        self.client.create_group(config)

    def queues(self, topic: str) -> Sequence[MessageQueue]:
        """Return the queues of a topic's present route. Raise MQClientError without one."""
        if self.client.update_route(topic) is None:
            self.client.instance.routes.routes.pop(topic, None)
        return self.client.subscribe_queues(topic)

    def total(self, topic: str) -> int:
        """Return how many messages a topic has had."""
        return sum(self.client.max_offset(queue) for queue in self.queues(topic))

    def all(self, queue: MessageQueue) -> list[Seen]:
        """Return everything that can be read from a queue; nothing where there is no such queue."""
        found: list[Seen] = []
        try:
            offset = self.client.min_offset(queue)
            while True:
                result = self.client.pull(queue, offset)
                if result.status is not PullStatus.FOUND:
                    return found
                found += pulled(result)
                offset = result.next_begin_offset
        except MQBrokerError:
            return found  # some of a broker's own topics are made when they are needed

    def stored(self, topic: str, count: int) -> list[Seen]:
        """Return a topic's messages by queue and offset, once ``count`` can be read."""
        await_(f"{count} in {topic}", lambda: routed(lambda: self.total(topic) == count))
        return [one for queue in self.queues(topic) for one in self.all(queue)]

    def describe(self, seen: Seen, *without: str) -> str:
        """Return what is the same of a message in every run; see `described`."""
        return described(seen, self.masters, *without)

    def committed(self, group: str, queue: MessageQueue) -> int:
        """Return a group's offset at the broker; -1 if it has none."""
        operations = PullOperations(self.client.instance, self.group(group))
        found = self.client.run(operations.query_offset(queue))
        return NOT_THERE if found is None else found

    def await_committed(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Wait until a group has committed an offset: a commit is one-way."""
        await_(f"commit of {offset}", lambda: self.committed(group, queue) == offset)

    def committed_in_all(self, group: str, topic: str) -> int:
        """Return the sum of a group's offsets in a topic."""
        return sum(self.committed(group, queue) for queue in self.queues(topic))

    def producers(self, group: str) -> int:
        """Return how many producers of a group a broker knows."""
        try:
            return self.operator.producers(self.group(group))
        except MQBrokerError:
            return 0

    # -- what is observed -----------------------------------------------------

    def _common(self, instance: str) -> dict[str, Any]:
        """Return the options that every client of a scenario has.

        Clients of one instance name in one process would be one client.
        """
        return {
            "instance_name": instance + self.suffix,
            "api_timeout_ms": PATIENCE_MS,
            "heartbeat_interval_ms": 1000,
        }

    def _started(self, client: FaceT) -> FaceT:
        """Start a client, and close it at the end of the scenario."""

        def close() -> None:
            with suppress(FakemqError):  # its broker may not know it any more
                client.close()

        self.at_end.callback(close)
        client.start()
        return client

    def producer(self, name: str, instance: str | None = None, **options: Any) -> Producer:
        """Return a started producer; its group and instance are named after ``name``."""
        common = self._common(f"producer-{instance or name}")
        settings = {"send_timeout_ms": PATIENCE_MS} | common | options
        return self._started(Producer(self.namesrv_addr, group=self.group(name), **settings))

    def sending(
        self, producer: Producer, message: Message, **where: Unpack[Where]
    ) -> Callable[[], SendStatus]:
        """Return an action that sends a message and returns its status."""
        return lambda: producer.send(message, **where).status

    def settled(self, name: str, **options: Any) -> Producer:
        """Return a producer whose first look for routes is over.

        That look takes for every topic it has sent to the topic's own route, and of one that is
        being made a name server may know a single broker yet.
        """
        producer = self.producer(name, **options)
        producer.send(message(self.create_topic("Settled", 1), "t", "k"))
        await_(f"heartbeat of {name}", lambda: self.producers(name) == 1)
        return producer

    def push_consumer(
        self,
        group: str,
        instance: str,
        subscribe: dict[str, str | Selector],
        on_message: Callable[[Any], object] | None,
        **options: Any,
    ) -> PushConsumer:
        """Return a started consumer that begins with the first message."""
        settings = {
            "consume_from": "first",
            "offsets_directory": str(self.home / "offsets"),
            **self._common(instance),
            **options,
        }
        if on_message is not None:
            settings["on_message"] = on_message
        name = self.group(group)
        return self._started(
            PushConsumer(self.namesrv_addr, group=name, subscribe=subscribe, **settings)
        )

    def batch_consumer(
        self,
        group: str,
        instance: str,
        subscribe: dict[str, str | Selector],
        on_messages: Callable[[Any], object],
        **options: Any,
    ) -> PushConsumer:
        """Return a started consumer whose function takes batches."""
        return self.push_consumer(
            group, instance, subscribe, None, on_messages=on_messages, **options
        )

    def ear(
        self,
        group: str,
        instance: str,
        topic: str,
        expression: str | Selector = "*",
        **options: Any,
    ) -> Ear:
        """Return a consumer of one topic that keeps what it receives."""
        ear = Ear()
        ear.consumer = self.push_consumer(
            group, instance, {topic: expression}, ear.listen, **options
        )
        return ear

    def pull_consumer(self, group: str, **options: Any) -> PullConsumer:
        """Return a started consumer that pulls by hand."""
        settings = self._common(f"pull-{group}") | options
        return self._started(PullConsumer(self.namesrv_addr, group=self.group(group), **settings))

    @cached_property
    def puller(self) -> PullConsumer:
        """Pulls where the Java program's own reader does; its group is part of no observation."""
        return self.pull_consumer("Puller")

    def lite_consumer(self, group: str, instance: str, **options: Any) -> LitePullConsumer:
        """Return a started consumer that polls four messages at a time from each queue."""
        settings = {"consume_from": "first", "pull_batch_size": 4, **self._common(instance)}
        name = self.group(group)
        return self._started(LitePullConsumer(self.namesrv_addr, group=name, **settings, **options))
