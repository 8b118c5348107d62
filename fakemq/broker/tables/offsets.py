"""How far each group has consumed each queue.

Source: broker/offset/ConsumerOffsetManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fakemq.clock.slices import A_STEP, finished, removed_where
from fakemq.events.core import CommitIgnored, OffsetReset, OffsetWentBack
from fakemq.journal.journal import shortened
from fakemq.journal.noted import COMMITTED
from fakemq.protocol.java import (
    java_concurrent_map_order_in_steps,
    java_hash_map_order_in_steps,
)
from fakemq.protocol.topics import LMQ_PREFIX

if TYPE_CHECKING:
    from fakemq.broker.tables.persistence import ConfigFile
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper
    from fakemq.store.store import MessageStore

_TABLE_CAPACITY: Final = 512
_QUEUES_CAPACITY: Final = 32
"""The capacities of Java's tables, which decide the order in the file."""

_KEYS_A_STEP: Final = 200
NO_OFFSET: Final = -1
"""The offset of a queue that the group has never committed."""


class ConsumerOffsetManager:
    """The committed offsets of one broker, by ``topic@group`` and queue id."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        store: MessageStore,
        file: ConfigFile[ConsumerOffsetSerializeWrapper],
    ) -> None:
        self._node = node
        self._store = store
        self._file = file
        self._table: dict[str, dict[int, int]] = {}
        self._light: dict[str, int] | None = {} if node.config.enable_lmq else None
        """The offsets of light groups by ``topic@group``; None if groups called so are usual ones.

        Source: broker/offset/LmqConsumerOffsetManager.java (4.9.7)
        """
        self._read_keys: frozenset[str] | None = None
        """The keys that came from a file; None if there was none."""

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store an offset; nothing is checked, and it may go backwards, as in Java."""
        key = f"{topic}@{group}"
        if self._light is not None and group.startswith(LMQ_PREFIX):
            self._light[key] = offset
            self._file.changed()
        else:
            offsets = self._table.setdefault(key, {})
            if offsets.get(queue_id) != offset:  # consumers commit every 5 s, moved or not
                offsets[queue_id] = offset
                self._file.changed()
        what = (shortened(group), shortened(topic), queue_id, offset)
        self._node.journal.note((COMMITTED, self._node.name, *what))

    def ignore(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Note in the journal that a commit is answered, and not stored."""
        self._node.journal.add(
            CommitIgnored(
                node=self._node.name,
                group=shortened(group),
                topic=shortened(topic),
                queue_id=queue_id,
                offset=offset,
                kept=self.query(group, topic, queue_id),
            )
        )

    def note_reset(
        self, group: str, topic: str, queue_id: int, offset: int, *, to_ms: int | None, how: str
    ) -> None:
        """Note in the journal that an operator resets a queue; ``how`` is as in `OffsetReset`."""
        self._node.journal.add(
            OffsetReset(
                node=self._node.name,
                group=shortened(group),
                topic=shortened(topic),
                queue_id=queue_id,
                offset=offset,
                before=self.query(group, topic, queue_id),
                end_offset=self._store.max_offset_in_queue(topic, queue_id),
                to_ms=to_ms,
                how=how,
            )
        )

    def clone(self, source: str, group: str, topic: str) -> None:
        """Replace the offsets of ``group`` in a topic by those of ``source``.

        Source: ConsumerOffsetManager.java#cloneOffset (4.9.7)
        """
        offsets = self._table.get(f"{topic}@{source}")
        if offsets is None:
            return
        key = f"{topic}@{group}"
        before = self._table.get(key, {})
        self._table[key] = {}
        self._file.changed()
        for queue_id, offset in offsets.items():
            self.commit(group, topic, queue_id, offset)
        self._note_smaller(key, {one: before[one] for one in before.keys() - offsets}, "removed")

    @property
    def is_empty(self) -> bool:
        """Whether no usual group has an offset."""
        return not self._table

    def clean(self, topic: str) -> Steps[None]:
        """Remove the offsets of all groups in a topic.

        Source: ConsumerOffsetManager.java#cleanOffsetByTopic (5.5.0)
        """
        yield from self._remove_where(lambda key: key.split("@")[0] == topic)

    @property
    def count(self) -> int:
        """How many pairs of a topic and a group have offsets."""
        return len(self._table)

    def forget_one(self, group: str, topic: str) -> None:
        """Remove the offsets of a group in a topic."""
        key = f"{topic}@{group}"
        before = self._table.pop(key, None)
        if before is not None:
            self._file.changed()
            self._note_smaller(key, before, "removed")

    def remove(self, group: str) -> Steps[None]:
        """Remove all offsets of a group. Source: ConsumerOffsetManager.java#removeOffset (4.9.7)"""
        yield from self._remove_where(lambda key: key.partition("@")[2] == group)

    def _remove_where(self, picks: Callable[[str], bool]) -> Steps[None]:
        def removed(key: str, before: Mapping[int, int]) -> None:
            self._file.changed()
            self._note_smaller(key, before, "removed")

        yield from removed_where(self._table, picks, removed)

    @contextmanager
    def losing(self) -> Iterator[None]:
        """Write which offsets are smaller behind this: a kill loses what no file has."""
        # Both tables are replaced meanwhile, not changed.
        table, light = self._table, self._light
        yield
        for key, before in table.items():
            self._note_smaller(key, before, "kill")
        for key, offset in (light or {}).items():
            self._note_smaller(key, {0: offset}, "kill")

    def _note_smaller(self, key: str, before: Mapping[int, int], why: str) -> None:
        topic, _, group = key.partition("@")
        for queue_id, committed in before.items():
            offset = self.query(group, topic, queue_id)
            if offset < committed:
                self._node.journal.add(
                    OffsetWentBack(
                        node=self._node.name,
                        group=shortened(group),
                        topic=shortened(topic),
                        queue_id=queue_id,
                        offset=offset,
                        before=committed,
                        why=why,
                    )
                )

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """Return the committed offset, or `NO_OFFSET`."""
        if self._light is not None and group.startswith(LMQ_PREFIX):
            return self._light.get(f"{topic}@{group}", NO_OFFSET)
        return self._table.get(f"{topic}@{group}", {}).get(queue_id, NO_OFFSET)

    def which_topics_by_group(self, group: str) -> Steps[list[str]]:
        """Return the topics that a group has offsets in, in the order of Java's set.

        Source: ConsumerOffsetManager.java#whichTopicByConsumer (4.9.7)
        """
        topics = yield from self._between("", f"@{group}")
        return (yield from java_hash_map_order_in_steps(topics))

    def topics_by_group(self) -> Steps[Mapping[str, set[str]]]:
        """Return what `which_topics_by_group` has for each group, in no order; in one pass."""
        found: dict[str, set[str]] = {}
        for number, key in enumerate(list(self._table), 1):
            topic, at, group = key.partition("@")
            if at and "@" not in group:
                found.setdefault(group, set()).add(topic)
            if not number % A_STEP:
                yield
        return found

    def which_groups_by_topic(self, topic: str) -> Steps[list[str]]:
        """Return the groups that have offsets in a topic.

        Source: ConsumerOffsetManager.java#whichGroupByTopic (4.9.7)
        """
        return self._between(f"{topic}@", "")

    def _between(self, before: str, behind: str) -> Steps[list[str]]:
        """Return what stands between these texts in keys; one with two @ is of no group."""
        found: list[str] = []
        keys = list(self._table)
        for start in range(0, len(keys), A_STEP):
            found += [
                key[len(before) : len(key) - len(behind)]
                for key in keys[start : start + A_STEP]
                if key.startswith(before) and key.endswith(behind) and key.count("@") == 1
            ]
            yield
        return found

    def query_all(self, group: str, topic: str) -> Mapping[int, int]:
        """Return all offsets of a group in a topic, by queue id."""
        if self._light is not None and group.startswith(LMQ_PREFIX):
            offset = self._light.get(f"{topic}@{group}")
            return {} if offset is None else {0: offset}
        return self._table.get(f"{topic}@{group}", {})

    def query_min_offset_in_all_groups(
        self, topic: str, filter_groups: Collection[str]
    ) -> Steps[dict[int, int]]:
        """Return the lowest offset of all groups in each queue, without those of deleted records.

        The groups in ``filter_groups`` are left out, and lose all their offsets, as in Java.
        Source: ConsumerOffsetManager.java#queryMinOffsetInAllGroup (4.9.7)
        """
        left_out = frozenset(filter_groups)
        yield from self._remove_where(lambda key: key.partition("@")[2] in left_out)
        lowest: dict[int, int] = {}
        for group in (yield from self.which_groups_by_topic(topic)):
            for queue_id, offset in dict(self.query_all(group, topic)).items():
                if offset >= self._store.min_offset_in_queue(topic, queue_id):
                    lowest[queue_id] = min(offset, lowest.get(queue_id, offset))
                yield
        return lowest

    def first_boot_offset(self, topic: str, queue_id: int) -> int | None:
        """Return where a group that never committed starts: 0, or None to let the client decide.

        It is 0 while the queue still has its first entry and that entry counts as in memory.

        Source: broker/processor/ConsumerManageProcessor.java#queryConsumerOffset (4.9.7)
        """
        store = self._store
        if store.min_offset_in_queue(topic, queue_id) > 0:
            return None
        return None if store.check_in_disk_by_consume_offset(topic, queue_id, 0) else 0

    def wrapper(self) -> Steps[ConsumerOffsetSerializeWrapper]:
        """Return a copy of all offsets, as code 43 sends them.

        Each ``topic@group`` is as it is at its step; one that is removed meanwhile is left out.
        """
        table = {}
        for number, key in enumerate(list(self._table), 1):
            offsets = self._table.get(key)
            if offsets is not None:
                table[key] = dict(offsets)
            if not number % _KEYS_A_STEP:
                yield
        return self._wrapped(table, None if self._light is None else dict(self._light))

    def _wrapped(
        self, table: dict[str, dict[int, int]], light: dict[str, int] | None
    ) -> ConsumerOffsetSerializeWrapper:
        from fakemq.protocol.bodies import offset as bodies

        if light is None:
            return bodies.ConsumerOffsetSerializeWrapper(offset_table=table)
        return bodies.LmqConsumerOffsetSerializeWrapper(offset_table=table, lmq_offset_table=light)

    def persisted(self) -> ConsumerOffsetSerializeWrapper:
        """Return all offsets as their file contains them."""
        return finished(self.persisted_in_steps())

    def persisted_in_steps(self) -> Steps[ConsumerOffsetSerializeWrapper]:
        """Return all offsets as consumerOffset.json, or lmqConsumerOffset.json, contains them.

        Each ``topic@group`` is as it is at its step, as in Java, which does not stop commits
        either. One that is removed meanwhile is left out.
        Source: ConsumerOffsetManager.java#encode (4.9.7)
        """
        return self._in_order(self._table, self._light)

    def captured(self) -> Steps[ConsumerOffsetSerializeWrapper]:
        """As `persisted` now: what changes between its steps is not in it."""
        table = {key: dict(offsets) for key, offsets in self._table.items()}
        return self._in_order(table, None if self._light is None else dict(self._light))

    def _in_order(
        self, offset_table: dict[str, dict[int, int]], light: dict[str, int] | None
    ) -> Steps[ConsumerOffsetSerializeWrapper]:
        """Return these offsets in Java's order.

        It depends on the capacity of Java's maps: those that fastjson has read are smaller than
        those that the broker creates.
        """
        read = self._read_keys
        keys = yield from java_concurrent_map_order_in_steps(
            list(offset_table), _TABLE_CAPACITY if read is None else None
        )
        table = {}
        for key in keys:
            yield
            offsets = offset_table.get(key)
            if offsets is not None:
                offsets = dict(offsets)
                capacity = None if read and key in read else _QUEUES_CAPACITY
                queue_ids = yield from java_concurrent_map_order_in_steps(offsets, capacity)
                table[key] = {queue_id: offsets[queue_id] for queue_id in queue_ids}
        if light is not None:
            keys = yield from java_concurrent_map_order_in_steps(
                list(light), _TABLE_CAPACITY if read is None else None
            )
            light = {key: light[key] for key in keys if key in light}
        return self._wrapped(table, light)

    def load(self, saved: ConsumerOffsetSerializeWrapper) -> None:
        """Replace all offsets by those of a file.

        Source: ConsumerOffsetManager.java#decode (4.9.7)
        """
        self._table = {key: dict(offsets) for key, offsets in saved.offset_table.items()}
        self._read_keys = frozenset(self._table)
        if self._light is not None:
            self._light = dict(getattr(saved, "lmq_offset_table", {}))

    def put_all(self, fetched: ConsumerOffsetSerializeWrapper) -> Steps[None]:
        """Replace the offsets of these groups and topics by the master's; slaves do this.

        The table becomes ours. The file is written in steps.
        Source: broker/slave/SlaveSynchronize.java#syncConsumerOffset (4.9.7)
        """
        # In place: a removal may be walking the table.
        before = {key: self._table.get(key, {}) for key in fetched.offset_table}
        self._table.update(fetched.offset_table)
        for number, key in enumerate(before):
            self._note_smaller(key, before[key], "master")
            if not number % _KEYS_A_STEP:
                yield
        yield from self._file.persist_in_steps()

    def snapshot(self) -> Mapping[str, Mapping[int, int]]:
        """Return all offsets as they are now, read-only."""
        table = self._table | {key: {0: offset} for key, offset in (self._light or {}).items()}
        return MappingProxyType(
            {key: MappingProxyType(dict(offsets)) for key, offsets in table.items()}
        )

    def reset(self) -> None:
        """Remove all offsets."""
        self._table = {}
        self._read_keys = None
        if self._light is not None:
            self._light = {}
