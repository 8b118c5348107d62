"""The folder of a consume queue: the one place where a topic and a queue id become a path."""

from __future__ import annotations

from typing import NewType

from fakemq.files.folder_names import FolderNameError, folder_name
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.message import TOPIC_MAX_BYTES

FOLDER = "consumequeue"
EXTENSION_FOLDER = "consumequeue_ext"
"""Beside it, the folder of the extensions of queues (`fakemq.store.queue_extension`)."""
QueueFolder = NewType("QueueFolder", str)
"""``consumequeue/TOPIC/QUEUE`` or ``consumequeue_ext/TOPIC/QUEUE``, relative to the folder of the
store."""


class NoQueueError(ValueError):
    """No store keeps such a queue; the text says why, as a clause."""


def queue_folder(topic: str, queue_id: int, below: str = FOLDER) -> QueueFolder:
    """Return the folder of a queue; raise NoQueueError if no store can have this queue.

    ``below`` is `FOLDER`, or `EXTENSION_FOLDER` for the folder of its extension.

    Whatever a store keeps below ``consumequeue`` has its path from here, in memory too: so both
    kinds of stores refuse the same topics.
    """
    try:
        name = folder_name(topic)
    except FolderNameError as error:
        raise NoQueueError(f"no queue is kept for this topic: {error}") from None
    size_bytes = len(name.encode())
    # Java counts characters only, and writes a record with a longer topic that no reader can read.
    if size_bytes > TOPIC_MAX_BYTES:
        raise NoQueueError(
            f"no queue is kept for this topic: {topic!r} has {size_bytes} bytes, more than"
            f" {TOPIC_MAX_BYTES}"
        )
    if not 0 <= queue_id <= INT_MAX:
        raise NoQueueError(
            f"no queue {queue_id} of topic {topic!r} is kept: expected an id from 0 to {INT_MAX}"
        )
    return QueueFolder(f"{below}/{name}/{queue_id}")


def why_no_queue(topic: str, queue_id: int) -> str:
    """Return why no store can have this queue; "" if one can."""
    try:
        queue_folder(topic, queue_id)
    except NoQueueError as error:
        return str(error)
    return ""


def queue_id_of(name: str) -> int | None:
    """Return the queue id that a folder is called by; None for another name, which Java skips."""
    if not (name.isascii() and name.isdecimal() and len(name) <= len(str(INT_MAX))):
        return None
    queue_id = int(name)
    return queue_id if str(queue_id) == name and queue_id <= INT_MAX else None
