"""Where queues begin and end now, and where in them a time is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from fakemq.client.blocking import Client
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.pull_consumer import PULL_TIMEOUT_MS
from fakemq.client.routes import MASTER_ID
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.message import decode_records


class Bounds(NamedTuple):
    """The first offset that is there, and the next that will be, as one broker has them."""

    min_offset: int
    max_offset: int
    addr: str
    is_slave: bool


class Survey(NamedTuple):
    """The bounds of queues, and why those of some brokers were not to be had."""

    bounds: dict[MessageQueue, Bounds]
    failures: dict[str, Exception]


def find_bounds(client: Client, queues: Iterable[MessageQueue]) -> Survey:
    """The bounds of queues, by one request for each topic and broker.

    A slave tells where the master is away, and may be behind. The client must know the routes.
    """
    found = Survey({}, {})
    for (topic, broker_name), some in groupby(sorted(queues), _topic_and_broker):
        here = list(some)
        addrs = client.instance.routes.brokers.get(broker_name, {})
        for broker_id in sorted(addrs):
            try:
                found.bounds.update(
                    _bounds(client, topic, here, addrs[broker_id], broker_id != MASTER_ID)
                )
            except (RemotingError, MQBrokerError, MQClientError) as error:
                found.failures.setdefault(broker_name, error)  # what the master said, if anything
            else:
                found.failures.pop(broker_name, None)
                break
    return found


def _topic_and_broker(queue: MessageQueue) -> tuple[str, str]:
    return queue.topic or "", queue.broker_name or ""


def _bounds(
    client: Client, topic: str, queues: Sequence[MessageQueue], addr: str, is_slave: bool
) -> dict[MessageQueue, Bounds]:
    table = client.topic_offsets(topic, addr)
    found = {}
    for queue in queues:
        if queue in table:
            first, end = table[queue].min_offset, table[queue].max_offset
        else:
            # 4.9.7 tells of queues that can be written to; those given up may hold messages.
            first, end = client.min_offset(queue), client.max_offset(queue)
        found[queue] = Bounds(max(first, 0), max(end, 0), addr, is_slave)
    return found


def first_at_or_after(client: Client, queue: MessageQueue, bounds: Bounds, time_ms: int) -> int:
    """The first offset stored at or after a time; the queue's end if there is none yet.

    Differs: what 4.9.7 finds by SEARCH_OFFSET_BY_TIMESTAMP is the message nearest to the time,
    any of those of one millisecond, and the last where all are older; from there this looks on by
    the times of single messages, three requests where it was right.
    """
    low, high = bounds.min_offset, bounds.max_offset
    if low >= high:
        return high
    try:
        hint = min(max(client.search_offset(queue, time_ms), low), high - 1)
    except (RemotingError, MQBrokerError, MQClientError):
        hint = (low + high) // 2  # only a master is asked; a slave's messages are looked at
    step = 1
    if _is_older(client, queue, bounds, hint, time_ms):
        low = hint + 1
        while low < high:
            probe = min(low + step - 1, high - 1)
            if not _is_older(client, queue, bounds, probe, time_ms):
                high = probe
                break
            low, step = probe + 1, step * 2
    else:
        high = hint
        while low < high:
            probe = max(high - step, low)
            if _is_older(client, queue, bounds, probe, time_ms):
                low = probe + 1
                break
            high, step = probe, step * 2
    while low < high:
        middle = (low + high) // 2
        if _is_older(client, queue, bounds, middle, time_ms):
            low = middle + 1
        else:
            high = middle
    return low


def _is_older(
    client: Client, queue: MessageQueue, bounds: Bounds, offset: int, time_ms: int
) -> bool:
    """Whether the message was stored before a time; one that is not there any more counts so."""
    request = client.consumer.pull_request(queue, offset, max_messages=1)
    response = client.invoke(bounds.addr, request, PULL_TIMEOUT_MS)
    if response.code not in (
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    ):
        raise MQBrokerError(response.code, response.remark, bounds.addr)
    messages = decode_records(response.body) if response.code == ResponseCode.SUCCESS else []
    return not messages or messages[0].store_timestamp_ms < time_ms
