"""Offsets of a group: in memory, and at the brokers or in a file.

Source: client/consumer/store/OffsetStore.java (4.9.7)
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path
from stat import S_ISREG

from fakemq.client.errors import MQClientError, RemotingTimeoutError
from fakemq.client.pull_operations import PullOperations
from fakemq.client.tasks import Task
from fakemq.errors import FakemqError
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.offset import ResetOffsetBody
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.limits import FILE_JSON
from fakemq.protocol.topics import FAQ

_log = logging.getLogger("fakemq.client")


class OffsetStore(ABC):
    """Where a consumer's queues continue: each queue's next offset."""

    def __init__(self) -> None:
        self._offsets: dict[MessageQueue, int] = {}

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        """Remember an offset; with ``increase_only`` a lower one has no effect."""
        if not increase_only or offset > self._offsets.get(queue, -1):
            self._offsets[queue] = offset

    def in_memory(self, queue: MessageQueue) -> int | None:
        """Return the offset that is remembered; None if there is none."""
        return self._offsets.get(queue)

    def of_topic(self, topic: str) -> dict[MessageQueue, int]:
        """Return the remembered offsets of a topic's queues; of all queues if it is empty.

        Source: OffsetStore.java#cloneOffsetTable (4.9.7)
        """
        return {
            queue: offset
            for queue, offset in self._offsets.items()
            if not topic or topic == queue.topic
        }

    @abstractmethod
    def load(self) -> None:
        """Read what is there before the first queue is taken; raise MQClientError if damaged."""

    @abstractmethod
    def read(self, queue: MessageQueue) -> Task[int | None]:
        """Return the stored offset, and remember it; None if there is none.

        Raise MQBrokerError, MQClientError, RemotingError if it cannot be had.
        """

    @abstractmethod
    def persist(self, queue: MessageQueue) -> Task[None]:
        """Store the offset of one queue, if one is remembered. Errors are logged."""

    @abstractmethod
    def persist_all(self, queues: Collection[MessageQueue]) -> Task[None]:
        """Store the offsets of the consumer's queues. Errors are logged."""

    def persist_last(self, queues: Collection[MessageQueue]) -> Task[None]:
        """As `persist_all`, at the end of a consumer: whatever goes wrong, it leaves its group."""
        try:
            yield from self.persist_all(queues)
        except Exception:
            _log.exception("the last offsets were not stored")

    @abstractmethod
    def remove(self, queue: MessageQueue) -> None:
        """Forget the offset of a queue that is dropped, or not yet taken."""


COMMIT_AGAIN_MS = 30_000
"""How often an offset is committed again that has not changed."""


class RemoteOffsets(OffsetStore):
    """Offsets that the brokers keep for the group.

    Differs: Java commits every 5 s what has not changed, too. Here a broker that has lost an offset
    gets it again within half a minute. And here the first commit to a broker for a topic waits for
    its answer: a Java broker that gets a group's first two commits together may keep only one, as
    each of its threads makes the table of the topic (ConsumerOffsetManager.java#commitOffset). If a
    broker is silent, one queue waits in each round; the others are sent, and sent again later.

    Source: client/consumer/store/RemoteBrokerOffsetStore.java (4.9.7)
    """

    def __init__(self, operations: PullOperations) -> None:
        super().__init__()
        self._operations = operations
        # Of each queue: the offset that was committed last, and the elapsed time of that.
        self._committed: dict[MessageQueue, tuple[int, int]] = {}
        # The brokers that have an offset of a topic from here.
        self._places: set[tuple[str | None, str | None]] = set()
        # The brokers that have not answered a commit since the last round began.
        self._silent: set[str | None] = set()

    def load(self) -> None:
        """There is nothing to read before a queue is taken."""

    def read(self, queue: MessageQueue) -> Task[int | None]:
        offset = yield from self._operations.query_offset(queue)
        if offset is not None:
            self.update(queue, offset, increase_only=False)
        return offset

    def persist(self, queue: MessageQueue) -> Task[None]:
        offset = self._offsets.get(queue)
        if offset is None:
            return
        place = queue.broker_name, queue.topic
        known = place in self._places
        oneway = known or queue.broker_name in self._silent
        try:
            yield from self._operations.update_offset(queue, offset, oneway=oneway)
        except FakemqError as error:
            if isinstance(error, RemotingTimeoutError):
                self._silent.add(queue.broker_name)
            _log.error("updateConsumeOffsetToBroker exception, %s: %s", queue, error)
            return
        # What a silent broker was sent may be lost: it stays due for the next round.
        if known or not oneway:
            self._places.add(place)
            self._committed[queue] = offset, self._operations.elapsed_ms()

    def persist_all(self, queues: Collection[MessageQueue]) -> Task[None]:
        """Commit the offsets of ``queues`` that are due, and forget those of others."""
        self._silent.clear()
        now_ms = self._operations.elapsed_ms()
        for queue, offset in list(self._offsets.items()):
            if queue not in queues:
                self.remove(queue)
                continue
            committed, at_ms = self._committed.get(queue, (-1, 0))
            if committed != offset or now_ms - at_ms >= COMMIT_AGAIN_MS:
                yield from self.persist(queue)

    def remove(self, queue: MessageQueue) -> None:
        self._offsets.pop(queue, None)
        self._committed.pop(queue, None)


class MemoryOffsets(OffsetStore):
    """Offsets that last no longer than the consumer: of BROADCASTING inside a cluster."""

    def load(self) -> None:
        """There is nothing to read."""

    def read(self, queue: MessageQueue) -> Task[int | None]:
        yield from ()
        return self._offsets.get(queue)

    def persist(self, queue: MessageQueue) -> Task[None]:
        """Nothing: they are where they stay."""
        yield from ()

    def persist_all(self, queues: Collection[MessageQueue]) -> Task[None]:
        """Nothing: they are where they stay."""
        yield from ()

    def remove(self, queue: MessageQueue) -> None:
        """Nothing: a queue that comes back continues where it was."""


class LocalOffsets(OffsetStore):
    """Offsets of BROADCASTING, in the file ``offsets.json`` of this client id and group.

    The file is Java's, so that a Java consumer of the same client id continues from it.

    Source: client/consumer/store/LocalFileOffsetStore.java (4.9.7)
    """

    def __init__(self, client_id: str, group: str, directory: str | None = None) -> None:
        super().__init__()
        root = Path.home() / ".rocketmq_offsets" if directory is None else Path(directory)
        if "/" in client_id or "\0" in client_id or client_id in ("", ".", ".."):
            raise MQClientError(f"the client id {client_id!r} cannot be the name of a folder")
        self.path = root / client_id / group / "offsets.json"

    def load(self) -> None:
        self._offsets.update(self._read_file())

    def read(self, queue: MessageQueue) -> Task[int | None]:
        """Differs: a damaged file raises MQClientError, where Java begins anew."""
        yield from ()
        offset = self._read_file().get(queue)
        if offset is not None:
            self.update(queue, offset, increase_only=False)
        return offset

    def persist(self, queue: MessageQueue) -> Task[None]:
        """Nothing: the file is written as a whole."""
        yield from ()

    def persist_all(self, queues: Collection[MessageQueue]) -> Task[None]:
        """Write the offsets of ``queues``, and leave out those of others.

        The previous file becomes ``offsets.json.bak``.

        Source: client/consumer/store/LocalFileOffsetStore.java#persistAll,
        common/MixAll.java#string2File (4.9.7)
        """
        yield from ()
        # There are two cases in which offsets are not written, as in Java:
        # 1. Before its first rebalance, or while no name server answers, a client has no queues: to
        # write would empty the file, and the next start would begin anew.
        # 2. A queue that the client has no longer, as its topic is gone: the table still has it, if
        # it comes back in this run.
        if not queues:
            return
        kept = {queue: offset for queue, offset in self._offsets.items() if queue in queues}
        text = fastjson.dumps_pretty(ResetOffsetBody(offset_table=kept))
        temporary, backup = _beside(self.path, ".tmp"), _beside(self.path, ".bak")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # A name that a name server sent may have no UTF-8: the others are stored nevertheless.
            temporary.write_bytes(text.encode("utf-8", "replace"))
            # Between these two steps there is no file: a start then reads the backup.
            if self.path.exists():
                os.replace(self.path, backup)
            os.replace(temporary, self.path)
        except OSError as error:
            _log.error("persistAll consumer offset Exception, %s: %s", self.path, error)

    def remove(self, queue: MessageQueue) -> None:
        """Nothing: a queue that comes back continues where it was."""

    def _read_file(self) -> dict[MessageQueue, int]:
        """Return the file's offsets, or those of its backup if it cannot be read."""
        try:
            found = _read(self.path)
        except (OSError, ValueError) as error:
            _log.warning("readLocalOffset Exception, and try to correct, %s: %s", self.path, error)
            found = None
        if found is not None:
            return found
        try:
            return _read(_beside(self.path, ".bak")) or {}
        except (OSError, ValueError) as error:
            raise MQClientError(
                f"readLocalOffset Exception, maybe fastjson version too low\n{error}{FAQ}"
            ) from error


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _read(path: Path) -> dict[MessageQueue, int] | None:
    """Return the offsets of a file; None for one that is missing or empty."""
    try:
        if not S_ISREG(path.stat().st_mode):
            raise OSError(f"{path} is no regular file")
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if not data:
        return None
    try:
        return ResetOffsetBody.decode(data, limits=FILE_JSON).offset_table
    except ProtocolError as error:
        raise ValueError(f"{path}: {error}") from error
