"""What a cluster has before mqadmin looks at it: messages, groups, a producer, a consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from conformance.drivers.drivers import EVENT_TIMEOUT_S
from conformance.targets.accounts import ADMIN, SECRET
from conformance.targets.java_cluster import wait_until
from conformance.targets.replicas import send_until_safe
from conformance.targets.runtime_info import wait_sampled
from conformance.wire.pops import Handle, handles, pop_fields
from conformance.wire.raw import call, create_topic, frame, json_header, split
from conformance.wire.requests import texts
from fakemq.client import (
    Client,
    Message,
    MessageQueue,
    MQBrokerError,
    MQClientError,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

CLUSTER = "DefaultCluster"
BROKERS = ("broker-a", "broker-b")
ORDERS, QUEUES = "MOrders", 2
SOLO = "MSolo"
"""A topic with one queue, at broker-a."""
ONLINE, OFFLINE, PRODUCER = "GOnline", "GOffline", "GProducer"
POPPED, POPPING = "LPopped", "GPopping"
"""A topic with one queue at broker-a, and the group that pops it."""
LONG_MS = 3_600_000


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
    """Return where the nodes of a cluster are, once mqadmin may ask them for anything."""
    wait_sampled(client)
    addrs = {"namesrv": namesrv_addr}
    for name, broker in client.cluster_info().broker_addr_table.items():
        for broker_id, addr in broker.broker_addrs.items():
            addrs[name if broker_id == 0 else f"{name}-{broker_id}"] = addr
    return addrs


Contents = Callable[[str], AbstractContextManager[State]]
"""Fills an empty cluster, by its name server; its clients are there until the end."""


@contextmanager
def only_accounts(namesrv_addr: str, **options: Any) -> Iterator[State]:
    """Nothing: brokers that check accounts are asked about these, with options of the client."""
    with Client(namesrv_addr, access_key=ADMIN, secret_key=SECRET, **options) as client:
        yield State(addresses(client, namesrv_addr), {}, {}, {})


@contextmanager
def slave_in_step(namesrv_addr: str) -> Iterator[State]:
    """A slave that has all that its master has."""
    with Client(namesrv_addr) as client:
        send_until_safe(client)
        yield State(addresses(client, namesrv_addr), {}, {}, {})


@contextmanager
def replicas(namesrv_addr: str) -> Iterator[State]:
    """Three messages at replicas, which are called by the ids that the controller gave them."""
    with Client(namesrv_addr) as client:
        wait_sampled(client)
        found = client.cluster_info().broker_addr_table["broker-a"].broker_addrs
        addrs = {f"broker-a@{broker_id or 1}": addr for broker_id, addr in found.items()}
        _, _, config = split(call(found[0], frame(RequestCode.GET_BROKER_CONFIG, {})))
        pairs = dict(line.split("=", 1) for line in config.decode().splitlines())
        addrs |= {"namesrv": namesrv_addr, "controller-0": pairs["controllerAddr"]}
        for number in range(3):
            client.send(Message(SOLO, f"kept {number}".encode()))
        yield State(addrs, {}, {}, {})


@contextmanager
def orders(namesrv_addr: str, *, quickly: bool = False) -> Iterator[State]:
    """Eight messages in four queues, a group with a member, one without, and a producer.

    The member commits for the first time after 10 s. Until then each broker has registered a second
    time, which changes its topics. With ``quickly`` an earlier member has committed at its end.
    """
    with Client(namesrv_addr) as client:
        addrs = addresses(client, namesrv_addr)
        for broker in BROKERS:
            create_topic(addrs[broker], ORDERS, QUEUES)
            for group in (ONLINE, OFFLINE):  # as their first members would make them
                create_topic(addrs[broker], f"%RETRY%{group}", 1)
        create_topic(addrs["broker-a"], SOLO, 1)
        for topic, brokers in ((ORDERS, 2), (f"%RETRY%{ONLINE}", 2), (SOLO, 1)):
            wait_routed(client, topic, brokers)
        with _producer(namesrv_addr) as producer:
            ids, keys = _send(producer)
            for broker in BROKERS:
                for queue_id in range(QUEUES):
                    _commit(addrs[broker], OFFLINE, ORDERS, queue_id, 1)
            consumed: list[bytes] = []
            if quickly:
                with _consumer(namesrv_addr, consumed):
                    wait_until(lambda: len(consumed) == 2 * QUEUES * len(BROKERS), EVENT_TIMEOUT_S)
                for broker in BROKERS:  # at 5.5.0 a member commits this one after 20 s
                    _commit(addrs[broker], ONLINE, f"%RETRY%{ONLINE}", 0, 0)
            with _consumer(namesrv_addr, consumed) as consumer:
                wait_until(
                    lambda: lag(client, ONLINE, (QUEUES + 1) * len(BROKERS)) == 0, EVENT_TIMEOUT_S
                )
                clients = {"producer": producer.client_id, "consumer": consumer.client_id}
                yield State(addrs, ids, keys, clients)


@contextmanager
def pops(namesrv_addr: str) -> Iterator[State]:
    """What `orders` has, and a group that has popped three of four messages, and acked one."""
    with orders(namesrv_addr, quickly=True) as state, Client(namesrv_addr) as client:
        addr = state.addrs["broker-a"]
        create_topic(addr, POPPED, 1)
        wait_routed(client, POPPED, 1)
        for number in range(4):
            client.send(Message(POPPED, f"popped {number}".encode()))
        fields = pop_fields(POPPED, consumerGroup=POPPING, maxMsgNums=3, invisibleTime=LONG_MS)
        popped: list[Handle] = []

        def has_popped() -> bool:
            answer = call(addr, frame(RequestCode5.POP_MESSAGE, texts(fields)))
            said = json_header(answer).get("extFields", {})
            assert isinstance(said, dict)
            popped.extend(handles(said, split(answer)[2]))
            fields["maxMsgNums"] = 3 - len(popped)
            return len(popped) == 3

        wait_until(has_popped, EVENT_TIMEOUT_S)
        acked = texts(popped[0].fields(POPPED, consumerGroup=POPPING))
        call(addr, frame(RequestCode5.ACK_MESSAGE, acked))
        yield state


def wait_routed(client: Client, topic: str, brokers: int) -> None:
    """Wait until the name server knows a topic at this many brokers."""

    def is_routed() -> bool:
        route = client.update_route(topic)
        return route is not None and len(route.data.queue_datas) == brokers

    wait_until(is_routed, EVENT_TIMEOUT_S)


def _producer(namesrv_addr: str) -> Producer:
    return Producer(namesrv_addr, group=PRODUCER, instance_name="mqadmin-producer")


def _consumer(namesrv_addr: str, consumed: list[bytes]) -> PushConsumer:
    def consume(message: ReceivedMessage) -> None:
        consumed.append(message.body)

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


def _commit(broker_addr: str, group: str, topic: str, queue_id: int, offset: int) -> None:
    fields = {
        "consumerGroup": group,
        "topic": topic,
        "queueId": str(queue_id),
        "commitOffset": str(offset),
    }
    call(broker_addr, frame(RequestCode.UPDATE_CONSUMER_OFFSET, fields))


def lag(client: Client, group: str, least_queues: int) -> int | None:
    """Return the lag of a group; None until it has committed for this many queues."""
    try:
        table = client.consume_stats(group).offset_table
    except (MQClientError, MQBrokerError):
        return None  # nothing is committed yet
    if len(table) < least_queues:
        return None
    return sum(one.broker_offset - one.consumer_offset for one in table.values())
