"""The first and last offsets of queues now, and the offset of a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from fakemq.client.blocking import Client
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.pull_operations import PULL_TIMEOUT_MS
from fakemq.client.routes import MASTER_ID
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.message import decode_records


class Bounds(NamedTuple):
    """The first existing offset and the next offset to be written, as one broker has them."""

    min_offset: int
    max_offset: int
    addr: str
    is_slave: bool


class Survey(NamedTuple):
    """The bounds of queues, and the errors of brokers that returned none."""

    bounds: dict[MessageQueue, Bounds]
    failures: dict[str, Exception]


def find_bounds(client: Client, queues: Iterable[MessageQueue]) -> Survey:
    """Return the bounds of queues, with one request for each topic and broker.

    If the master is away a slave answers, which may be behind. The client must know the routes.
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
                found.failures.setdefault(broker_name, error)  # the master's error comes first
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
            # 4.9.7 returns only writable queues, but others may still hold messages.
            first, end = client.min_offset(queue), client.max_offset(queue)
        found[queue] = Bounds(max(first, 0), max(end, 0), addr, is_slave)
    return found


def first_at_or_after(client: Client, queue: MessageQueue, bounds: Bounds, time_ms: int) -> int:
    """Return the first offset stored at or after a time; the queue's end if there is none.

    Differs: SEARCH_OFFSET_BY_TIMESTAMP of 4.9.7 returns the message nearest to the time, any of
    those of one millisecond, and the last one if all are older. This function starts there and
    compares the times of single messages: three requests if the broker was right.
    """
    low, high = bounds.min_offset, bounds.max_offset
    if low >= high:
        return high
    try:
        hint = min(max(client.search_offset(queue, time_ms), low), high - 1)
    except (RemotingError, MQBrokerError, MQClientError):
        hint = (low + high) // 2  # only a master answers this; for a slave start in the middle
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
    """Return True if the message was stored before a time, or no longer exists."""
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
