"""What a user's checker must refuse: mypy fails when an ignored error is no error any more."""

from __future__ import annotations

from collections.abc import Sequence

import fakemq
from fakemq.client import (
    AsyncProducer,
    LitePullConsumer,
    Message,
    MessageQueue,
    Producer,
    PullScheduling,
    PushConsumer,
    ReceivedMessage,
)
from fakemq.fixtures import factories
from fakemq.fixtures.external import ExternalCluster


def start() -> None:
    fakemq.Cluster(mastres=2)  # type: ignore[call-arg]
    fakemq.Cluster(masters="2")  # type: ignore[arg-type]
    fakemq.Cluster(clock="frozn")  # type: ignore[arg-type]
    fakemq.Cluster(role="SYNC")  # type: ignore[arg-type]
    fakemq.Cluster(flush="SYNC_MASTER")  # type: ignore[arg-type]
    factories.rocketmq_proc(clokc="frozen")  # type: ignore[call-arg]
    print(fakemq.Cluster().clok)  # type: ignore[attr-defined]


def place(mq: fakemq.Cluster) -> None:
    mq.faults.drop("SEND_MESAGE")  # type: ignore[arg-type]
    mq.faults.error("send", code="SYSTEM_BUZY")  # type: ignore[arg-type]
    mq.faults.drop("send", at="before_storing")  # type: ignore[arg-type]


def use(there: ExternalCluster) -> None:
    print(there.clock)  # type: ignore[attr-defined]


async def wait(mq: fakemq.AsyncCluster) -> list[int]:
    mq.seed("orders", b"body, not a list of bodies")  # type: ignore[arg-type]
    return [mq.wait_for(lambda: 3)]  # type: ignore[list-item]


# -- the client ---------------------------------------------------------------


def charge(message: ReceivedMessage) -> None: ...
def charge_two(message: ReceivedMessage, other: str) -> None: ...
def choose_none(queues: Sequence[MessageQueue], message: Message) -> None: ...


def make_clients() -> None:
    Producer("127.0.0.1:9876")  # type: ignore[call-arg]
    Producer(group="shop", retry_times=5)  # type: ignore[call-arg]
    Producer(group="shop", retry_response_codes=1)  # type: ignore[arg-type]
    Producer(group="shop", send_timeout_ms="3s")  # type: ignore[arg-type]
    Producer(group="shop", check=charge)  # type: ignore[arg-type]
    PushConsumer(group="billing", subscribe=5)  # type: ignore[arg-type]
    PushConsumer(group="billing", on_message=charge_two)  # type: ignore[arg-type]
    PushConsumer(group="billing", consume_from="begin")  # type: ignore[arg-type]
    PushConsumer(group="billing", message_model="broadcasting")  # type: ignore[arg-type]
    PullScheduling(group="mirror", callbacks={"orders": charge})  # type: ignore[dict-item]


def decorate(consumer: PushConsumer) -> None:
    consumer.on(charge)  # type: ignore[arg-type]

    @consumer.on("orders")  # type: ignore[type-var]
    def charge_nothing() -> None: ...

    print(charge_nothing)


def send(producer: Producer) -> None:
    producer.send("orders")  # type: ignore[call-overload]
    producer.send("orders", 5)  # type: ignore[call-overload]
    producer.send("orders", b"x", tag="paid")  # type: ignore[call-overload]
    producer.send(Message("orders", b"x"), tags="paid")  # type: ignore[call-overload]
    producer.send("orders", b"x", selector=choose_none)  # type: ignore[arg-type]
    producer.send_batch([b"x"])  # type: ignore[list-item]
    producer.send_in_transaction("orders", charge)  # type: ignore[arg-type]
    print(producer.send("orders", b"x").offset)  # type: ignore[attr-defined]


def poll(consumer: LitePullConsumer) -> None:
    consumer.poll("5")  # type: ignore[arg-type]
    consumer.commit("orders")  # type: ignore[arg-type]
    consumer.seek("orders", 0)  # type: ignore[arg-type]


async def send_later(producer: AsyncProducer) -> int:
    return producer.send("orders", b"x").queue_offset  # type: ignore[attr-defined, no-any-return]
