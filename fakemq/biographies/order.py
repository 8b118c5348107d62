"""Finds out what breaks the order of messages: kills, and queues that a key does not decide."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fakemq.biographies.because import times_text
from fakemq.biographies.findings import Findings
from fakemq.errors import counted, printable
from fakemq.events.core import LogAppended
from fakemq.journal.journal import clock_text
from fakemq.protocol.properties import SHARDING_KEY
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore

_KEYS_AT_MOST = 3
_OTHERS = (RETRY_PREFIX, DLQ_PREFIX)


def order_lost(
    chronicle: Chronicle,
    wants: Callable[[str], bool],
    group: str | None,
    name: Callable[[Record], str],
) -> Steps[list[str]]:
    """Return the messages that groups popped in order, and could pop again after a kill."""
    found = Findings()
    for place, deliveries in list(chronicle.delivered.items()) if chronicle.pops.lost else ():
        yield
        record = chronicle.record_at(*place)
        if record is None or not wants(place[1]):
            continue
        for kill, one in chronicle.pops.lost_with(deliveries, place):
            if group in (None, one):
                why = (
                    f"popped in order by {one}, and free again: the kill of {kill.event.node} at"
                    f" {clock_text(kill.at_ms)} lost that, as consumerOrderInfo.json is written"
                    " later"
                )
                found.add(place[1], why, name(record))
    return found.lines()


class _Placed(NamedTuple):
    """Where one message of a key was stored, and by which request."""

    queue: tuple[str, int]
    seq: int
    cause: int


def split_keys(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool]
) -> Steps[list[str]]:
    """Return one line for each message group, or sharding key, whose messages are in several
    queues: no consumer gets these in order.

    A send of several messages over gRPC takes no notice of their message groups. Source:
    proxy/grpc/v2/producer/SendMessageActivity.java, SendMessageQueueSelector#select (5.5.0)
    """
    found: dict[tuple[str, str], list[_Placed]] = defaultdict(list)
    for record, entry in list(chronicle.appended.items()):
        yield
        event = entry.event
        assert isinstance(event, LogAppended)
        if not wants(event.topic) or event.topic.startswith(_OTHERS) or chronicle.deletion(record):
            continue
        stored = core.brokers[event.node].store.look_message_by_offset(record[1])
        key = None if stored is None else stored.properties.get(SHARDING_KEY)
        if key:
            queue = record[0], event.queue_id
            found[event.topic, key].append(_Placed(queue, entry.seq, entry.cause))
    lines = []
    several = [key for key, placed in found.items() if len(_queues(placed)) > 1]
    for topic, key in several[:_KEYS_AT_MOST]:
        placed = found[topic, key]
        queues = _queues(placed)
        where = ", ".join(f"{broker}/{queue_id}" for broker, queue_id in queues)
        lines.append(
            f"{counted(len(placed), 'message')} of {topic} with the message group {key!r} are in"
            f" {counted(len(queues), 'queue')} ({where}), so their order is lost:"
            f" {_why_split(chronicle, topic, placed)}"
        )
        yield
    if len(several) > _KEYS_AT_MOST:
        lines.append(f"{times_text(len(several) - _KEYS_AT_MOST)} more message groups are split")
    return [*map(printable, lines)]


def _queues(placed: list[_Placed]) -> dict[tuple[str, int], None]:
    return dict.fromkeys(one.queue for one in placed)


def _why_split(chronicle: Chronicle, topic: str, placed: list[_Placed]) -> str:
    """Return why the messages of a key are in several queues, as far as the journal shows it."""
    first_of: dict[int, tuple[str, int]] = {}
    if any(one.cause and first_of.setdefault(one.cause, one.queue) != one.queue for one in placed):
        return "a send of several messages takes no notice of it: send one message at a time"
    of_topic = chronicle.topic_changes.get(topic, [])
    if _is_explained(placed, of_topic):
        return "its topic was changed meanwhile"
    if _is_explained(placed, sorted([*of_topic, *chronicle.node_changes])):
        return "brokers stopped or started meanwhile, so there were other queues to choose from"
    return "their sender chose the queues by something else"


def _is_explained(placed: list[_Placed], changes: list[int]) -> bool:
    """Return whether a change came before each step to another queue, one change for each step.

    A sender may learn of a change later, so messages may be between the change and its step.
    """
    begin = bisect_right(changes, placed[0].seq)
    steps = 0
    for before, one in pairwise(placed):
        steps += before.queue != one.queue
        if bisect_right(changes, one.seq) - begin < steps:
            return False
    return True
