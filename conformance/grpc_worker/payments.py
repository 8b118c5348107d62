"""A web service that takes orders and charges them: FastAPI and RocketMQ 5's own Python client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from fastapi import FastAPI
from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
    TransactionChecker,
    TransactionResolution,
)


class Charging(MessageListener):
    """Charges orders, in threads of the client. Those of `declined` fail."""

    def __init__(self) -> None:
        self.declined: set[str] = set()
        self.attempts: list[tuple[str, int]] = []

    def consume(self, message: Any) -> Any:
        order = message.body.decode()
        self.attempts.append((order, message.delivery_attempt))
        return ConsumeResult.FAILURE if order in self.declined else ConsumeResult.SUCCESS


class Bookkeeping(TransactionChecker):
    """Knows which sales were written down, when a broker asks about one that was left open."""

    def __init__(self) -> None:
        self.written: set[str] = set()

    def check(self, message: Any) -> Any:
        sale = message.body.decode()
        written = sale in self.written
        return TransactionResolution.COMMIT if written else TransactionResolution.ROLLBACK


def create(endpoints: str) -> FastAPI:
    """Return the service; `endpoints` is the address of a proxy."""
    configuration = ClientConfiguration(endpoints, Credentials())
    charging, books = Charging(), Bookkeeping()
    producer = Producer(configuration, ["orders", "steps", "later", "sales"], books)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        subscription = {topic: FilterExpression() for topic in ("orders", "later", "sales")}
        consumers = [
            PushConsumer(configuration, "payments", charging, subscription),
            PushConsumer(configuration, "in-order", charging, {"steps": FilterExpression()}),
        ]
        for client in (producer, *consumers):
            client.startup()
        yield
        for client in (*consumers, producer):
            client.shutdown()

    app = FastAPI(lifespan=lifespan)
    app.state.charging, app.state.books = charging, books

    @app.post("/orders/{order}")
    def charge(order: str) -> None:
        producer.send(_message("orders", order))

    @app.post("/orders/{order}/steps/{step}")
    def do_step(order: str, step: str) -> None:
        message = _message("steps", f"{order} {step}")
        message.message_group = order
        producer.send(message)

    @app.post("/orders/{order}/at/{when}")
    def charge_later(order: str, when: datetime) -> None:
        message = _message("later", order)
        message.delivery_timestamp = int(when.timestamp())
        producer.send(message)

    @app.post("/sales/{sale}")
    def sell(sale: str, crash: bool = False) -> None:
        transaction = producer.begin_transaction()
        producer.send(_message("sales", sale), transaction)
        books.written.add(sale)
        if not crash:
            transaction.commit()

    return app


def _message(topic: str, body: str) -> Message:
    message = Message()
    message.topic, message.body = topic, body.encode()
    return message
