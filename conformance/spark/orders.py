"""The orders that `count_job` counts, and whether the totals that it sent are right."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from fakemq.client.blocking import Client
from fakemq.client.messages import Message, PullStatus, SendStatus
from fakemq.protocol.message import MessageExt

BATCH = 1000
"""Orders that are sent as one; every queue in turn gets this number."""
SEND_TIMEOUT_MS = 20_000


class Total(NamedTuple):
    """What the orders of one customer come to."""

    orders: int
    amount: int


class Orders(msgspec.Struct, frozen=True):
    """``count`` orders of up to ``customers`` customers, the same at every look."""

    count: int
    customers: int = 1000

    def each(self) -> Iterator[tuple[str, int]]:
        """Customer and amount. Some customers order many times as often as others."""
        chance = random.Random(self.count)
        for _ in range(self.count):
            number = int(self.customers * chance.random() ** 2)
            yield f"customer-{number}", int(1000 * chance.random())

    def totals(self) -> dict[str, Total]:
        """Of each customer."""
        found: dict[str, Total] = {}
        for customer, amount in self.each():
            before = found.get(customer, Total(0, 0))
            found[customer] = Total(before.orders + 1, before.amount + amount)
        return found

    def send(self, namesrv_addr: str, topic: str) -> None:
        """Send them all, as fast as batches go. RuntimeError unless each is stored."""
        orders = self.each()
        with Client(namesrv_addr, send_timeout_ms=SEND_TIMEOUT_MS) as client:
            queues = client.publish_queues(topic)
            for number in range(0, self.count, BATCH):
                batch = [
                    Message(topic, f'{{"amount": {amount}}}', keys=customer)
                    for customer, amount in islice(orders, BATCH)
                ]
                queue = queues[number // BATCH % len(queues)]
                result = client.send_batch(batch, queue=queue)
                if result.status is not SendStatus.SEND_OK:
                    raise RuntimeError(f"a batch of orders was answered {result}")


def received(namesrv_addr: str, topic: str) -> list[MessageExt]:
    """All that is in a topic, queue after queue."""
    messages: list[MessageExt] = []
    with Client(namesrv_addr) as client:
        for queue in client.subscribe_queues(topic):
            offset, end = client.min_offset(queue), client.max_offset(queue)
            while offset < end:
                result = client.pull(queue, offset, max_messages=1000)
                if result.status is not PullStatus.FOUND:
                    raise RuntimeError(f"{queue} at {offset} of {end}: {result.status}")
                messages += result.messages
                offset = result.next_begin_offset
    return messages


def arrived(client: Client, topic: str) -> int:
    """Return how many messages a topic has got so far."""
    return sum(client.max_offset(queue) for queue in client.subscribe_queues(topic))


def counted(messages: Iterable[MessageExt]) -> int:
    """Return how many orders the last total of each customer comes to."""
    last: dict[str, int] = {}
    for message in messages:
        total = json.loads(message.body)["orders"]
        customer = message.keys or ""
        last[customer] = max(total, last.get(customer, 0))
    return sum(last.values())


def deduplicated(messages: Iterable[MessageExt], name: str) -> list[MessageExt]:
    """Return the first of those that have the same value of a property.

    AssertionError where one lacks it, or where the same value stands for different messages.
    """
    first: dict[str, MessageExt] = {}
    for message in messages:
        value = message.properties.get(name)
        assert value is not None, f"{message} has no property {name}"
        same = first.setdefault(value, message)
        assert _content(same) == _content(message), f"{name} {value}: {same} and {message}"
    return list(first.values())


def wrong_totals(messages: Iterable[MessageExt], orders: Orders, micro_batches: int) -> list[str]:
    """Return what deduplicated totals show that is not as it must be; nothing if all are exact.

    A customer's last total is what was ordered. Each micro-batch sends the totals of all customers
    it knows, so no customer has more totals than micro-batches; the most frequent one has as many.
    """
    totals_of: dict[str, list[Total]] = {}
    for message in messages:
        total = json.loads(message.body)
        totals_of.setdefault(message.keys or "", []).append(Total(total["orders"], total["amount"]))
    expected = orders.totals()
    wrong = [f"{customer}: never ordered" for customer in totals_of.keys() - expected.keys()]
    for customer, total in expected.items():
        last = max(totals_of.get(customer, []), default=None)
        if last != total:
            wrong.append(f"{customer}: {last}, ordered was {total}")
    most = max(expected, key=expected.__getitem__)
    for customer, totals in totals_of.items():
        if len(totals) > micro_batches or (customer == most and len(totals) < micro_batches):
            wrong.append(f"{customer}: {len(totals)} totals of {micro_batches} micro-batches")
    return wrong


def _content(message: MessageExt) -> tuple[str | None, bytes]:
    return message.keys, message.body
