"""What a cluster has before mqadmin looks at it: messages, groups, a producer, a consumer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from conformance.drivers.drivers import EVENT_TIMEOUT_S
from conformance.targets.java_cluster import wait_until
from conformance.wire.raw import call, create_topic, frame
from fakemq.client import (
    Client,
    MessageQueue,
    MQBrokerError,
    MQClientError,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from fakemq.protocol.codes import RequestCode

CLUSTER = "DefaultCluster"
BROKERS = ("broker-a", "broker-b")
ORDERS, QUEUES = "MOrders", 2
SOLO = "MSolo"
"""A topic with one queue, at broker-a."""
ONLINE, OFFLINE, PRODUCER = "GOnline", "GOffline", "GProducer"


class State(NamedTuple):
    """A cluster with its contents."""

    addrs: Mapping[str, str]
    """Name server and brokers by name."""
    ids: Mapping[str, str]
    """Seeded messages by name → their offset ids."""
    keys: Mapping[str, str]
    """Seeded messages by name → their unique keys."""
    clients: Mapping[str, str]
    """The client ids of the producer and of the consumer, by these words."""


def addresses(client: Client, namesrv_addr: str) -> dict[str, str]:
    """Return where the nodes of a cluster are."""
    addrs = {"namesrv": namesrv_addr}
    for name, broker in client.cluster_info().broker_addr_table.items():
        for broker_id, addr in broker.broker_addrs.items():
            addrs[name if broker_id == 0 else f"{name}-{broker_id}"] = addr
    return addrs


@contextmanager
def seeded(namesrv_addr: str) -> Iterator[State]:
    """Fill an empty cluster; its producer and its consumer are there until the end."""
    with Client(namesrv_addr) as client:
        addrs = addresses(client, namesrv_addr)
        for broker in BROKERS:
            create_topic(addrs[broker], ORDERS, QUEUES)
            for group in (ONLINE, OFFLINE):  # as their first members would make them
                create_topic(addrs[broker], f"%RETRY%{group}", 1)
        create_topic(addrs["broker-a"], SOLO, 1)
        for topic, brokers in ((ORDERS, 2), (f"%RETRY%{ONLINE}", 2), (SOLO, 1)):
            _wait_routed(client, topic, brokers)
        with _producer(namesrv_addr) as producer:
            ids, keys = _send(producer)
            for broker in BROKERS:
                _commit(addrs[broker])
            with _consumer(namesrv_addr) as consumer:
                wait_until(lambda: _lag(client) == 0, EVENT_TIMEOUT_S)
                clients = {"producer": producer.client_id, "consumer": consumer.client_id}
                yield State(addrs, ids, keys, clients)


def _wait_routed(client: Client, topic: str, brokers: int) -> None:
    """Wait until the name server knows a topic at this many brokers."""

    def is_routed() -> bool:
        route = client.update_route(topic)
        return route is not None and len(route.data.queue_datas) == brokers

    wait_until(is_routed, EVENT_TIMEOUT_S)


def _producer(namesrv_addr: str) -> Producer:
    return Producer(namesrv_addr, group=PRODUCER, instance_name="mqadmin-producer")


def _consumer(namesrv_addr: str) -> PushConsumer:
    def consume(message: ReceivedMessage) -> None:
        """Acknowledge."""

    return PushConsumer(
        namesrv_addr,
        group=ONLINE,
        subscribe={ORDERS: "*"},
        on_message=consume,
        consume_from="first",
        instance_name="mqadmin-consumer",
        persist_interval_ms=200,
    )


def _send(producer: Producer) -> tuple[dict[str, str], dict[str, str]]:
    """Send two messages to each queue; return all offset ids and unique keys, by name."""
    ids, keys = {}, {}
    queues = [MessageQueue(ORDERS, broker, one) for broker in BROKERS for one in range(QUEUES)]
    for number in range(2 * len(queues)):
        sent = producer.send(
            ORDERS,
            f"order {number}".encode(),
            tags="red" if number % 2 else "blue",
            keys=f"k{number % 4}",
            properties={"number": str(number)},
            queue=queues[number % len(queues)],
        )
        ids[f"order-{number}"] = sent.offset_msg_id
        keys[f"order-{number}"] = sent.message_id
    sent = producer.send(SOLO, b"alone")
    ids["solo"], keys["solo"] = sent.offset_msg_id, sent.message_id
    return ids, keys


def _commit(broker_addr: str) -> None:
    """Commit the offset 1 of each queue for the group without members."""
    for queue_id in range(QUEUES):
        fields = {
            "consumerGroup": OFFLINE,
            "topic": ORDERS,
            "queueId": str(queue_id),
            "commitOffset": "1",
        }
        call(broker_addr, frame(RequestCode.UPDATE_CONSUMER_OFFSET, fields))


def _lag(client: Client) -> int | None:
    """Return the lag of the consumer; None until it has committed something for each queue."""
    try:
        table = client.consume_stats(ONLINE).offset_table
    except (MQClientError, MQBrokerError):
        return None  # its members are not there yet
    if len(table) != (QUEUES + 1) * len(BROKERS):
        return None
    return sum(one.broker_offset - one.consumer_offset for one in table.values())
