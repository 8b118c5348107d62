"""Flips bytes in a store: in a record of the log, in a queue's entry, in the index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fakemq.config import checked
from fakemq.core.finding import find
from fakemq.core.inspection import messages, topics
from fakemq.core.overview import is_system
from fakemq.core.views import Message
from fakemq.errors import ConfigError
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT, INDEX_ENTRY, RECORD_LEAST_BYTES
from fakemq.protocol.message import record_size_bytes, record_struct

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.store.files import File

PLACES = ("log", "queue", "index")
_PLACE = ("topic", "broker", "queue_id", "offset")
_QUEUE_ID_END = record_struct("queue_id").size - 1
_BODY_BEGIN = record_struct("body_bytes").size
_TAGS_CODE_END = CONSUME_QUEUE_UNIT.size - 1
_KEY_HASH_END = 3
_MASK = 0xFF


def flip(broker: Broker, message: Message, where: str, byte: int | None) -> str:
    """Flip a byte of a message at a broker; return a description of this byte.

    Raise LookupError if the broker has no such part of the message, ValueError if that part has no
    such byte.
    """
    (file, start), size_bytes, default = _find(broker, message, where)
    at = default if byte is None else byte
    if not 0 <= at < size_bytes:
        raise ValueError(f"byte={at}: what {where} has of the message has {size_bytes} bytes")
    file.spoil(start + at, bytes([file.read(start + at, 1)[0] ^ _MASK]))
    broker.store.files.damaged = True
    place = f"{message.topic}:{message.queue_id}@{message.offset}"
    return f"byte {at} of {size_bytes} in the {where} of {place}"


def found(core: ClusterCore, wanted: object) -> Steps[Message]:
    """Return the message that is given itself, by its id, or by its place.

    Retries, dead letters and delayed copies have the id of their message. It is looked for in the
    topics of users first, so that it is the message itself. Raise LookupError if there is none.
    """
    if isinstance(wanted, Message):
        return wanted
    if isinstance(wanted, str):
        for topic in sorted(topics(core), key=lambda name: is_system(core, name)):
            message = yield from find(core, topic, wanted)
            if message is not None:
                return message
    elif isinstance(wanted, Mapping) and {"topic"} < wanted.keys() <= set(_PLACE):
        for message in (yield from messages(core, checked.text("topic", wanted["topic"]))):
            if all(getattr(message, name) == value for name, value in wanted.items()):
                return message
    else:
        raise ConfigError(
            f"message={wanted!r}: expected a message, its id, or its place with {', '.join(_PLACE)}"
        )
    raise LookupError(f"no message {wanted!r}")


def _find(broker: Broker, message: Message, where: str) -> tuple[tuple[File, int], int, int]:
    """Return the place's file and position, its size, and the index of the default byte."""
    store, at = broker.store, message.commit_log_offset
    place: tuple[File, int] | None = None
    size_bytes = default = 0
    if where == "log":
        record = store.select_one_message_by_offset(at)
        found = store.log.find_file(at)
        if record is not None and found is not None:
            place, size_bytes = (found[0], at - found[1]), len(record)
        stored = store.look_message_by_offset(at)
        body_bytes = 0 if stored is None else len(stored.body)
        # Its body's first byte; of one without a body, its queue id.
        v6_bytes = record_size_bytes(message.sys_flag, 0, 0, 0) - RECORD_LEAST_BYTES
        default = _BODY_BEGIN + v6_bytes if body_bytes else _QUEUE_ID_END
    elif where == "queue":
        queue = store.consume_queue(message.topic, message.queue_id)
        place = None if queue is None else queue.place_of(message.offset)
        size_bytes, default = CONSUME_QUEUE_UNIT.size, _TAGS_CODE_END
    else:
        index = store.index
        index.catch_up()
        entries = [entry for file in index.files for entry in file.entries_of(at)]
        place = entries[-1] if entries else None
        size_bytes, default = INDEX_ENTRY.size, _KEY_HASH_END
    if place is None:
        raise LookupError(f"{broker.name} has nothing in its {where} of {message!r}")
    return place, size_bytes, default
