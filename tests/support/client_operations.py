"""The operations of a client, each of which a test plays against answers of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakemq.client import LocalTransactionState, Message
from fakemq.client.admin import Admin
from fakemq.client.errors import RemotingError
from fakemq.client.instance import ClientInstance
from fakemq.client.operation import Operation
from fakemq.client.pull_operations import PullOperations
from fakemq.client.send_operations import SendOperations
from fakemq.client.transaction_operations import TransactionOperations
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from tests.support.client_errors import ERRORS
from tests.support.scripted_operation import performing, queue

Run = Callable[[ClientInstance], Operation[object]]

OPERATIONS: dict[str, Run] = {
    "update_route": lambda c: c.update_route("orders"),
    "publish_queues": lambda c: c.publish_queues("orders"),
    "subscribe_queues": lambda c: c.subscribe_queues("orders"),
    "cluster_info": lambda c: c.cluster_info(),
    "topic_names": lambda c: c.topic_names(),
    "consumer_ids": lambda c: c.consumer_ids("orders", "g"),
    "send": lambda c: SendOperations(c).send(Message("orders", b"x")),
    "send_batch": lambda c: SendOperations(c).send_batch([Message("orders", b"x")] * 2),
    "send_in_transaction": lambda c: performing(
        TransactionOperations(c).send_in_transaction(
            Message("orders", b"x"), lambda _: LocalTransactionState.COMMIT_MESSAGE
        )
    ),
    "pull": lambda c: PullOperations(c).pull(queue(), 0, expression="a || b"),
    "query_offset": lambda c: PullOperations(c).query_offset(queue()),
    "lock": lambda c: PullOperations(c).lock([queue()]),
    "unlock": lambda c: PullOperations(c).unlock([queue()]),
    "max_offset": lambda c: Admin(c).max_offset(queue()),
    "min_offset": lambda c: Admin(c).min_offset(queue()),
    "search_offset": lambda c: Admin(c).search_offset(queue(), 0),
    "topic_offsets": lambda c: Admin(c).topic_offsets("orders", "a:10911"),
    "earliest_store_time_ms": lambda c: Admin(c).earliest_store_time_ms(queue()),
    "view_message": lambda c: Admin(c).view_message("7F00000100002A9F0000000000000000"),
    "query_messages": lambda c: Admin(c).query_messages("orders", "key"),
    "query_unique": lambda c: Admin(c).query_message_by_unique_key("orders", "id"),
    "consume_stats": lambda c: Admin(c).consume_stats("g"),
    "create_topic": lambda c: Admin(c).create_topic("orders"),
    "create_topic_in": lambda c: Admin(c).create_topic("orders", cluster="c"),
    "create_group": lambda c: Admin(c).create_group(SubscriptionGroupConfig(group_name="g")),
}


def outcome(run: Run, instance: ClientInstance, answers: Sequence[Any]) -> object:
    """Play an operation against these answers; the last one is repeated."""
    operation = run(instance)
    try:
        next(operation)
        for number in range(50):
            given_answer = answers[min(number, len(answers) - 1)]
            if isinstance(given_answer, RemotingError):
                operation.throw(given_answer)
            else:
                operation.send(given_answer)
    except StopIteration as stop:
        return stop.value
    except ERRORS as error:
        return error
    return None
