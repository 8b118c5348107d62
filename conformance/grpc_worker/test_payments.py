"""Retries, order, delays, transactions and dead letters of the service, without any sleep."""

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from payments import create

from fakemq.events import RpcHandled

TYPES = {"orders": "NORMAL", "steps": "FIFO", "later": "DELAY", "sales": "TRANSACTION"}


@pytest.fixture
def service(rocketmq):
    for topic, message_type in TYPES.items():
        rocketmq.create_topic(topic, queues=1, message_type=message_type)
    rocketmq.group("payments").set(retry_max_times=2)
    rocketmq.group("in-order").set(retry_max_times=2, consume_message_orderly=True)
    with TestClient(create(rocketmq.grpc_addr)) as http:
        yield http


def attempts(service, rocketmq, count):
    found = service.app.state.charging.attempts
    rocketmq.wait_for(lambda: len(found) >= count, "30s")
    return found


def failures(rocketmq, count):
    """Wait until the client has said that it failed: only then is the next attempt timed."""
    said = {"rpc": "ChangeInvisibleDuration", "status": "OK"}
    rocketmq.wait_for(lambda: len(rocketmq.journal.find(RpcHandled, **said)) >= count, "30s")


def test_declined_order_is_charged_again_until_it_is_a_dead_letter(service, rocketmq):
    charging = service.app.state.charging
    charging.declined.add("42")
    service.post("/orders/42")
    for attempt in (1, 2, 3):
        attempts(service, rocketmq, attempt)
        failures(rocketmq, attempt)
        rocketmq.clock.advance_to_next("pop_revive")
    assert charging.attempts == [("42", 1), ("42", 2), ("42", 3)]
    rocketmq.wait_for(lambda: rocketmq.messages("%DLQ%payments"), "30s")


def test_steps_of_an_order_are_done_in_order(service, rocketmq):
    for step in ("reserve", "pack", "ship"):
        service.post(f"/orders/42/steps/{step}")
    done = attempts(service, rocketmq, 3)
    assert [order for order, _ in done] == ["42 reserve", "42 pack", "42 ship"]


def test_order_is_charged_when_its_time_has_come(service, rocketmq):
    when = rocketmq.clock.now() + timedelta(hours=20)
    service.post(f"/orders/42/at/{when.isoformat()}")
    rocketmq.clock.advance(timedelta(hours=19))
    assert service.app.state.charging.attempts == []
    rocketmq.clock.advance(timedelta(hours=2))
    assert attempts(service, rocketmq, 1) == [("42", 1)]


def test_sale_of_a_crashed_service_is_asked_for(service, rocketmq):
    service.post("/sales/7", params={"crash": True})
    service.post("/sales/8")
    assert attempts(service, rocketmq, 1) == [("8", 1)]
    rocketmq.clock.advance_to_next("txn_check")
    assert attempts(service, rocketmq, 2) == [("8", 1), ("7", 1)]
