"""What every strategy has: a name, and Java's checks of its arguments.

Source: client/consumer/AllocateMessageQueueStrategy.java,
client/consumer/rebalance/AbstractAllocateMessageQueueStrategy.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from fakemq.protocol.bodies.queue import MessageQueue

_log = logging.getLogger("fakemq.client")

AllocateStrategy: TypeAlias = Callable[
    [str, str, Sequence[MessageQueue], Sequence[str]], Sequence[MessageQueue] | None
]
"""Takes a group, this client's id, all queues and all client ids, both sorted; returns the queues
of this client. Every member computes its own share, so all must use the same strategy, and its
result may depend on nothing else."""


class Strategy:
    """A strategy of RocketMQ: a callable with RocketMQ's ``name``.

    ``has_user_code`` says that it calls functions of the user, which may take time.
    """

    __slots__ = ("_allocate", "has_user_code", "name")

    def __init__(self, name: str, allocate: AllocateStrategy, *, user_code: bool = False) -> None:
        self.name = name
        self._allocate = allocate
        self.has_user_code = user_code

    def __call__(
        self,
        group: str,
        client_id: str,
        queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> Sequence[MessageQueue] | None:
        """Return the queues of ``client_id``. Raise ValueError if an argument is empty."""
        return self._allocate(group, client_id, queues, client_ids)

    def __repr__(self) -> str:
        return f"<strategy {self.name}>"


def strategy_name(allocate: AllocateStrategy) -> str:
    """Return a strategy's name for a log: RocketMQ's, or that of the user's function."""
    name = getattr(allocate, "name", None) or getattr(allocate, "__name__", None)
    return name if isinstance(name, str) else type(allocate).__name__


def is_member(
    group: str,
    client_id: str,
    queues: Sequence[MessageQueue],
    client_ids: Sequence[str],
) -> bool:
    """Return whether the client is a member of the group; log it if not.

    Raise ValueError with Java's text if an argument is empty.

    Source: AbstractAllocateMessageQueueStrategy.java#check (4.9.7)
    """
    if not client_id:
        raise ValueError("currentCID is empty")
    if not queues:
        raise ValueError("mqAll is null or mqAll empty")
    if not client_ids:
        raise ValueError("cidAll is null or cidAll empty")
    if client_id in client_ids:
        return True
    _log.info(
        "[BUG] ConsumerGroup: %s The consumerId: %s not in cidAll: %s", group, client_id, client_ids
    )
    return False


def java_text(queue: MessageQueue) -> str:
    """Return the text of a queue as Java prints it.

    Source: common/message/MessageQueue.java#toString (4.9.7)
    """
    topic = "null" if queue.topic is None else queue.topic
    broker = "null" if queue.broker_name is None else queue.broker_name
    return f"MessageQueue [topic={topic}, brokerName={broker}, queueId={queue.queue_id}]"


def java_order(text: str) -> bytes:
    """Return the key by which Java sorts strings: their UTF-16 units.

    Members in Java and Python must sort alike, or two members could take the same queue.
    """
    return text.encode("utf-16-be", "surrogatepass")


def queue_order(queue: MessageQueue) -> tuple[bytes, bytes, int]:
    """Return the key by which Java sorts queues.

    Source: common/message/MessageQueue.java#compareTo (4.9.7)
    """
    return java_order(queue.topic or ""), java_order(queue.broker_name or ""), queue.queue_id
