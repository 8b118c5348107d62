"""What is wrong in a store, in the words of `dump --check` and of the warnings at a start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakemq.protocol.message import FIRST_EXTENSION_ADDRESS, LEAST_TAGS_CODE, tags_code
from fakemq.protocol.topics import (
    LMQ_PREFIX,
    SCHEDULE_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from fakemq.store.light_queues import LightEntry, is_light_entry

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from fakemq.protocol.message import MessageExt

CONFIG_EMPTY = "the file is empty"
CONFIG_MISSING = "the file is missing"
"""It has a backup, or was there when the broker was stopped."""


def no_table(field: str) -> str:
    """Return the text for a config file without its table."""
    return f"no {field} is in it"


def wrong_place(phy_offset: int, said_offset: int) -> str:
    """Return the text for a record that was written for another place of the log."""
    return f"the record at {phy_offset} says that it is at {said_offset}"


NO_TOPIC = "the queues of a topic that config/topics.json does not have"


OWN_TOPICS = frozenset({SCHEDULE_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC})
"""Topics of the broker itself whose messages it may store before they have a config, or without.

The half messages of 4.9.7 come before the first check, which makes their topic; the others never
need a config.
"""


def is_in_config(topic: str) -> bool:
    """Return whether config/topics.json has a topic as soon as it has a message."""
    return topic not in OWN_TOPICS and not topic.startswith(LMQ_PREFIX)


class Topics(NamedTuple):
    """The topics of a broker, and when one was last made, changed or deleted."""

    names: AbstractSet[str]
    changed_ms: int


class Finding(NamedTuple):
    """One defect; ``file`` is relative to the node's folder, ``offset`` in bytes."""

    file: str
    offset: int
    text: str


def few(findings: Iterable[Finding], most: int) -> Iterator[Finding]:
    """Yield the first ``most`` findings of each file, and the number of the others."""
    file, count = "", 0
    for finding in findings:
        if finding.file != file:
            yield from _more(file, count - most)
            file, count = finding.file, 0
        count += 1
        if count <= most:
            yield finding
    yield from _more(file, count - most)


def _more(file: str, count: int) -> Iterator[Finding]:
    if count > 0:
        yield Finding(file, 0, f"and {count} more in this file")


def place_text(topic: str, queue_id: int, queue_offset: int) -> str:
    return f"{topic}:{queue_id} offset {queue_offset}"


def no_queue(place: str) -> str:
    """Return the text for a record whose queue is gone."""
    return f"{place}: there is no such queue"


def no_entry(place: str) -> str:
    """Return the text for a record that its queue does not have."""
    return f"{place}: no entry of the queue points at this record"


def wrong_size(has_bytes: int, size_bytes: int) -> str:
    """Return the text for a file of another size than a start opens."""
    return (
        f"has {has_bytes} bytes where the config says {size_bytes};"
        " start with the sizes it was written with, or move it away"
    )


def no_timer_unit() -> str:
    """Return the text for a place of the timer log where a unit should be."""
    return "no unit of a timer message is here"


def no_timer_message(phy_offset: int) -> str:
    """Return the text for a unit whose message is not there."""
    return f"points at {phy_offset}, where no timer message is"


def deleted_timer_message(phy_offset: int, log_begin: int) -> str:
    """Return the text for a unit that waits although its message was deleted with its file."""
    return f"points at {phy_offset}, where no timer message is: the log begins at {log_begin} now"


def second_timer_unit(phy_offset: int) -> str:
    """Return the text for a unit whose message has one already."""
    return f"points at {phy_offset}, whose message has a unit before"


def wrong_timer_unit(phy_offset: int, slot_ms: int, out_ms: int) -> str:
    """Return the text for a unit that is in the slot of another time, or of another kind."""
    if slot_ms == out_ms:
        return f"points at {phy_offset}, whose message is of another kind"
    return f"is for {slot_ms} ms, its message at {phy_offset} for {out_ms} ms"


def wrong_timer_chain(previous: int, before: int) -> str:
    """Return the text for a unit that does not lead to the unit of its slot before it."""
    return f"leads to {previous}, where {before} is right"


def no_timer_unit_of(queue_offset: int) -> str:
    """Return the text for a message of the timer topic that has no unit."""
    return f"offset {queue_offset}: no unit of the timer log points at this message"


def no_unit(queue_offset: int, address: int) -> str:
    """Return the text for an entry whose unit in the extension of its queue is not there."""
    place = address - FIRST_EXTENSION_ADDRESS
    return f"offset {queue_offset} has its tags code at {place} of consumequeue_ext, where none is"


def entry_error(
    topic: str,
    queue_id: int,
    queue_offset: int,
    entry: tuple[int, int, int],
    message: MessageExt | None,
) -> str:
    """Return what is wrong with an entry of a queue; "" if nothing is.

    ``entry`` is physical offset, size and tags code; ``message`` is the record at that offset.
    """
    phy_offset, size_bytes, code = entry
    where = f"offset {queue_offset} points at {phy_offset}"
    if message is None:
        return f"{where}, where no record begins"
    if message.store_size_bytes != size_bytes:
        return f"{where} with {size_bytes} bytes, where the record has {message.store_size_bytes}"
    found = (message.topic, message.queue_id, message.queue_offset)
    entry_here = LightEntry(topic, queue_id, queue_offset)
    if found != entry_here and not is_light_entry(entry_here, message.properties, message.queue_id):
        return f"{where}, where there is {place_text(*found)}"
    tags = tags_code(message.tags)
    if message.topic != SCHEDULE_TOPIC and code >= LEAST_TAGS_CODE and code != tags:
        return f"{where} with tags code {code}, where the record has {tags}"
    return ""
