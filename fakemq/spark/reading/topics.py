"""Which queues a reader reads: what its options name, as the name server knows it now."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from fakemq.client.blocking import Client
from fakemq.client.errors import MQBrokerError, RemotingError
from fakemq.errors import ConfigError, FakemqError
from fakemq.protocol import topics
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.subscription import is_tag_type
from fakemq.spark.reading.offsets import queue_texts
from fakemq.spark.reading.options import WantedQueues, WorkerPulls

SYSTEM_TOPICS = frozenset(
    (
        topics.AUTO_CREATE_TOPIC_KEY_TOPIC,
        topics.SCHEDULE_TOPIC,
        topics.BENCHMARK_TOPIC,
        topics.SELF_TEST_TOPIC,
        topics.OFFSET_MOVED_EVENT_TOPIC,
        topics.TRANS_CHECK_MAX_TIME_TOPIC,
    )
)
_SYSTEM_PREFIXES = (topics.SYSTEM_TOPIC_PREFIX, "RMQ_SYS_")
_RESERVED = "%"
"""The prefix of retry and dead-letter topics; a pattern must contain it to match them."""


class UnknownTopicError(ConfigError):
    """A topic or queue that should be read does not exist."""


class NameServerError(FakemqError):
    """No name server responds."""


def find_queues(
    client: Client, wanted: WantedQueues, *, excused: Container[str] = ()
) -> list[MessageQueue]:
    """Return the readable queues of ``wanted``, sorted, from fresh routes.

    Raise UnknownTopicError for a topic without a route or a queue that does not exist, unless the
    topic is ``excused``. A pattern without a match returns no queues. Raise NameServerError if no
    name server responds.
    """
    try:
        return _found(client, wanted, excused)
    except (RemotingError, MQBrokerError) as error:
        raise NameServerError(
            f"rocketmq: no name server returned the topics, of {_name_servers(client)}: {error}"
        ) from error


def _found(client: Client, wanted: WantedQueues, excused: Container[str]) -> list[MessageQueue]:
    if wanted.queues is not None:
        return _assigned(client, wanted.queues, excused)
    names = wanted.topics if wanted.topics is not None else _matching(client, wanted.pattern or "")
    found: list[MessageQueue] = []
    for name in names:
        queues = _queues(client, name)
        if not queues and wanted.topics is not None and name not in excused:
            raise UnknownTopicError(
                f"rocketmq: topic {name} has no route with readable queues at name server"
                f" {_name_servers(client)}: create it, or correct option subscribe"
            )
        found += queues
    return sorted(found)


def check_expression(client: Client, queues: Sequence[MessageQueue], pulling: WorkerPulls) -> None:
    """Raise ConfigError if a broker rejects option sql; one broker of each name is asked."""
    if is_tag_type(pulling.expression_type):
        return
    for queue in {one.broker_name: one for one in queues}.values():
        try:
            client.check_expression(queue, pulling.expression, pulling.expression_type)
        except MQBrokerError as error:
            raise ConfigError(
                f"rocketmq: option sql is {pulling.expression!r}, and broker {queue.broker_name}"
                f" rejects it: {error}"
            ) from error
        except RemotingError:
            continue  # the worker that reads its queues will find out


def brokers_there(client: Client) -> set[str]:
    """Return the names of the brokers that a name server knows. Raise NameServerError."""
    try:
        return set(client.cluster_info().broker_addr_table)
    except (RemotingError, MQBrokerError) as error:
        raise NameServerError(
            f"rocketmq: no name server returned its brokers, of {_name_servers(client)}: {error}"
        ) from error


def is_wanted(wanted: WantedQueues, queue: MessageQueue) -> bool:
    """Return True if the options name this queue, which need not exist."""
    if wanted.queues is not None:
        return queue in wanted.queues
    if wanted.topics is not None:
        return queue.topic in wanted.topics
    return re.fullmatch(wanted.pattern or "", queue.topic or "") is not None


def _assigned(
    client: Client, queues: tuple[MessageQueue, ...], excused: Container[str]
) -> list[MessageQueue]:
    topics_wanted = sorted({one.topic or "" for one in queues})
    there = {queue for name in topics_wanted for queue in _queues(client, name)}
    missing = {one for one in queues if one not in there and (one.topic or "") not in excused}
    if missing:
        raise UnknownTopicError(
            f"rocketmq: name server {_name_servers(client)} knows no readable queue"
            f" {queue_texts(missing)}: correct option assign"
        )
    return sorted(there.intersection(queues))


def _queues(client: Client, topic: str) -> tuple[MessageQueue, ...]:
    route = client.update_route(topic)
    return route.subscribe_queues if route is not None else ()


def _matching(client: Client, pattern: str) -> list[str]:
    """Return the topic names that match completely, without RocketMQ's own."""
    matches = re.compile(pattern).fullmatch
    cluster = client.cluster_info()
    # Every broker has a topic of its own name, and one with the name of its cluster.
    own = {*cluster.cluster_addr_table, *cluster.broker_addr_table}
    return [
        name
        for name in sorted(client.topic_names())
        if matches(name) and name not in own and not _is_system(name, pattern)
    ]


def _is_system(name: str, pattern: str) -> bool:
    if name.startswith(_RESERVED):
        return _RESERVED not in pattern
    return (
        name in SYSTEM_TOPICS
        or name.startswith(_SYSTEM_PREFIXES)
        or name.endswith(topics.REPLY_POSTFIX)
    )


def _name_servers(client: Client) -> str:
    return ";".join(client.instance.name_servers.addrs)
