"""The config files of a broker: topics, groups, offsets, filters and delays between two runs.

Topics and groups are written with every change, the others at ticks of Java's grid. Java writes at
each tick; here a tick has a timer only if there is something to write.

A broker without a directory keeps the texts that wait for ticks in memory: a kill takes it back to
them. What is written with every change needs no text in memory: the table has the same contents.

Source: common/ConfigManager.java, broker/BrokerController.java (4.9.7)
"""

# Over 400 lines: how one file is written, and which files there are.

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from fakemq.clock.slices import finished, in_one_step
from fakemq.clock.timers import next_tick_ms
from fakemq.dispatch.node import TextWriter
from fakemq.errors import StoreError
from fakemq.events.core import ChangesLost, Warned
from fakemq.files.texts import MemoryTextFile
from fakemq.protocol.errors import BodyError, ProtocolError
from fakemq.protocol.limits import FILE_JSON

if TYPE_CHECKING:
    from fakemq.broker.tables.kept_text import KeptText
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.files.texts import TextFile
    from fakemq.protocol.bodies.body import Body
    from fakemq.protocol.bodies.filter import ConsumerFilterTable
    from fakemq.protocol.bodies.group import SubscriptionGroupWrapper
    from fakemq.protocol.bodies.offset import (
        ConsumerOffsetSerializeWrapper,
        DelayOffsetSerializeWrapper,
    )
    from fakemq.protocol.bodies.topic import TopicConfigSerializeWrapper

FOLDER = "config"
TABLES = {
    "topics.json": "topicConfigTable",
    "consumerOffset.json": "offsetTable",
    "subscriptionGroup.json": "subscriptionGroupTable",
    "consumerFilter.json": "filterDataByTopic",
    "delayOffset.json": "offsetTable",
    "lmqConsumerOffset.json": "offsetTable",
}
"""The files, in the order in which they are read, and the field that each of them has. A broker has
one of the two with offsets of groups."""
NAMES = tuple(TABLES)
MODES, ORDERS = "messageRequestMode.json", "consumerOrderInfo.json"
TIMER_METRICS = "timermetrics"
AUTH = "auth.json"
V5_NAMES = (TIMER_METRICS, MODES, ORDERS, AUTH)
"""The files that only brokers of 5.5.0 have besides."""
OFFSETS = "consumerOffset.json"
LMQ_OFFSETS = "lmqConsumerOffset.json"
"""With enableLmq all offsets are in this file, and consumerOffset.json is not read."""
WRITTEN_AT_STOP = ("consumerOffset.json", "consumerFilter.json")
"""Files that every broker has written when it was stopped; the others begin with a change."""

FIRST_TICK_MS = 10_000
TICKS_AFTER_CHANGE = 2
"""How many ticks write after a change: the second one brings the backup up to date, too."""

B = TypeVar("B", bound="Body")


class PersistedTable(Protocol[B]):
    """A table that has a config file."""

    def persisted(self) -> B:
        """Return what the file is to contain."""

    def load(self, saved: B, /) -> None:
        """Take over what the file contains."""


def _ticks_after_change(file: TextFile) -> int:
    return TICKS_AFTER_CHANGE if file.durable else 1


class ConfigFile(Generic[B]):
    """One of the files. `connect` it with its table before it is read or written."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        name: str,
        kind: Callable[[], type[B]],
        *,
        is_running: Callable[[], bool],
        period_ms: Callable[[], int] = lambda: FIRST_TICK_MS,
        field: str = "",
        pretty: bool = True,
        late: bool = False,
        always_there: bool = False,
    ) -> None:
        self.name = name
        self._always_there = always_there
        """Whether the first tick writes the file without a change."""
        self._field = field or TABLES[name]
        """The field that the file must have."""
        self._pretty = pretty
        """Whether the text has a line for each value."""
        self.file: TextFile | None = MemoryTextFile(name) if late else None
        """None for what a broker in memory would write with every change: there is no text of it.

        ``late`` is whether a change waits for a write, so that a kill loses it.
        """
        self._node = node
        self._kind = kind
        """Returns the class of the file's body."""
        self._is_running = is_running
        """Whether the broker runs: only then the grid has timers."""
        self._period_ms = period_ms
        """Returns the period of the grid on which the file is written."""
        self._table: PersistedTable[B]
        self._clear: Callable[[], None]
        """Puts the table into the state of a first start."""
        self._in_steps: Callable[[], Steps[B]] | None = None
        """As the table's `persisted`, in steps; None for a table that never takes long."""
        self._captured: Callable[[], Steps[B]] | None = None
        """As `persisted_in_steps` of the table as it is at the call; None for a small table."""
        self._kept: KeptText[B] | None = None
        """Encodes what has changed; None if it encodes all."""
        self._unknown: dict[Any, Any] = {}
        """Fields of the file that no class here declares; they are written back as they were."""
        self._changes = self._written = 0
        """How often the table was changed, and how many of these changes are in the file."""
        self._tried = 0
        """How many of these changes the last write had, whether or not the disk took it."""
        self._making: Iterator[None] | None = None
        """The write of `persist_change` that is under way: all its callers proceed with it."""
        self.written_ms = 0
        """When the file was written last, by the cluster's wall time; 0 for never."""
        self._generation = 0
        """How often the file was written or deleted."""
        self._held = False
        """Whether writes wait for the end of `Persistence.at_once`."""
        self._wanted = False
        """Whether there was a write to wait."""
        self._started_ms = 0
        """The origin of the grid, in elapsed time."""
        self._ticks = 0
        """How many of the next ticks write the file."""
        self._ticked_ms = -1
        """When the last tick was, in elapsed time."""
        self._timer: Timer | None = None
        self._writer = TextWriter(node.journal, node.name)

    def connect(
        self,
        table: PersistedTable[B],
        clear: Callable[[], None],
        in_steps: Callable[[], Steps[B]] | None = None,
        captured: Callable[[], Steps[B]] | None = None,
        *,
        kept: KeptText[B] | None = None,
    ) -> None:
        """Read into this table, and write what it returns.

        ``clear`` puts it into the state of a first start. ``in_steps`` is as the table's
        `persisted`, in steps, if that may take long; ``captured`` is as it is at the call of it,
        whatever changes between its steps. ``kept`` is for a file that each change writes.
        """
        self._table, self._clear, self._in_steps = table, clear, in_steps
        self._captured = captured if kept is None else kept.captured
        self._kept = kept

    @property
    def has_unwritten(self) -> bool:
        """Whether a change waits for a write, so that a kill loses it."""
        return self.file is not None and self._changes > self._written

    @property
    def in_memory(self) -> bool:
        """Whether no text remains when the Python process ends."""
        return self.file is None or not self.file.durable

    # -- reading ------------------------------------------------------------------------------

    def load(self, *, stopped: bool = False) -> None:
        """Clear the table and read the file into it.

        If it is missing, empty or damaged, read its backup, and write a warning.

        ``stopped`` is whether a broker was stopped here: some files should be there then.

        Raise StoreError where Java does not start: both files exist, and neither can be read. Raise
        it also if something else than a file is in the place of one: it could not be written later.
        Source: common/ConfigManager.java#load (4.9.7)
        """
        self.clear()
        if self.file is None:
            return
        from fakemq.store.findings import CONFIG_EMPTY, CONFIG_MISSING, no_table  # in a directory

        path, damage = self.file.path, ""
        try:
            self.file.require_regular()
        except OSError as error:
            raise StoreError(f"{error.filename}: cannot be opened: {error.strerror}") from None
        try:
            text = self.file.read()
            if text:
                if not self.decode(text):
                    self._warn(f"{path}: {no_table(self._field)}")
                return
            if text is not None:
                damage = f"{path}: {CONFIG_EMPTY}"
        except (OSError, ProtocolError, ValueError) as error:
            damage = f"{path}: {_reason(error)}"
        try:
            text = self.file.read_backup()
            if text:
                self.decode(text)
        except (OSError, ProtocolError, ValueError) as error:
            damage = damage or f"{path} has nothing"
            raise StoreError(f"{damage}; {path}.bak: {_reason(error)}") from None
        if not damage and (text is not None or (stopped and self.name in WRITTEN_AT_STOP)):
            damage = f"{path}: {CONFIG_MISSING}"
        if damage:
            instead = "its backup" if text else "nothing, for there is no backup"
            self._warn(f"{damage}; the broker begins with {instead}")

    def _warn(self, text: str) -> None:
        self._node.journal.add(Warned(node=self._node.name, text=text))

    def clear(self) -> None:
        """Put the table into the state of a first start, and forget fields that only files have."""
        self._clear()
        self._set_unknown({})
        self._making = None
        self._generation += 1  # a text that is being made is of the old table
        self._written = self._tried = self._changes

    def _set_unknown(self, unknown: dict[Any, Any]) -> None:
        self._unknown = unknown
        if self._kept is not None:
            self._kept.clear()

    def take_back(self) -> None:
        """Return to the text in memory, as after a kill; a table without a text stays."""
        if self.file is not None and self.in_memory:
            self.load()

    def decode(self, text: str) -> bool:
        """Take over the contents of a text and return whether it has its table.

        Raise BodyError if it is no such file.
        """
        from fakemq.protocol import fastjson  # needed only by brokers with a directory
        from fakemq.protocol.unknown_fields import unknown_fields

        bean = self._kind().decode_or_null(text.encode("utf-8", "replace"), FILE_JSON)
        if bean is None:
            return False
        raw = fastjson.loads(text, FILE_JSON)
        if isinstance(raw, dict) and None in raw.values():
            raise BodyError("null where a table should be")  # Java's decode fails on it, too
        self._table.load(bean)
        self._set_unknown(unknown_fields(bean, raw))
        return isinstance(raw, dict) and self._field in raw

    # -- writing ------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Encode what a change would have to encode for the first time."""
        if self._kept is not None and not self.in_memory:
            self.text()

    def text(self) -> str:
        """Return the text to write; unknown fields of the file are in it as they were."""
        return finished(self._text_in_steps())

    def captured_text(self) -> Steps[str]:
        """Return work for the text as it is now: what changes between its steps is not in it."""
        if self._captured is None:
            text = self.text()
            return in_one_step(text)
        return self._encoded(self._captured(), self._unknown)

    def _text_in_steps(self) -> Steps[str]:
        if self._kept is not None and not self.in_memory:
            from fakemq.protocol import fastjson

            value = yield from self._kept.value(self._unknown)
            return fastjson.dumps_pretty(value)
        in_steps = self._in_steps or self._captured
        steps = in_one_step(self._table.persisted()) if in_steps is None else in_steps()
        return (yield from self._encoded(steps, self._unknown))

    def _encoded(self, steps: Steps[B], unknown: dict[Any, Any]) -> Steps[str]:
        from fakemq.protocol import fastjson
        from fakemq.protocol.unknown_fields import with_unknown

        value = with_unknown((yield from steps), unknown)
        if not self._pretty:
            return (yield from fastjson.encode_in_steps(value)).decode("utf-8", "replace")
        return (yield from fastjson.dumps_pretty_in_steps(value))

    def persist(self) -> None:
        """Write the file after a change. Source: common/ConfigManager.java#persist (4.9.7)"""
        self._changes += 1
        if self._held:
            self._wanted = True
        elif self.file is not None:
            self.write(self.text())

    def finish(self) -> None:
        """Write the last changes, as a stop does; a file in a directory also without a change."""
        # A write that is under way is dropped with the other work of the broker.
        if self._ticks or self._node.clock.unfinished(self) or not self.in_memory:
            self.persist()

    def persist_in_steps(self) -> Steps[None]:
        """Write the file, unless it was written or deleted meanwhile: the text is older then."""
        if self.file is None:
            return
        generation, changes = self._generation, self._changes
        text = yield from self._text_in_steps()
        if generation == self._generation:
            self.write(text, changes)

    def persist_change(self) -> Steps[None]:
        """Write the file in steps: at the end it has what was changed before the first one.

        Of several callers at once none makes a text alone. Example: while the text of the first
        change is made, seven more come; a second text has all of these.
        """
        self._changes += 1
        change = self._changes
        while self.file is not None and self._tried < change:
            if self._making is None:
                self._making = self.persist_in_steps()
            making = self._making
            for _ in making:
                yield
            if self._making is making:
                self._making = None

    def write(self, text: str, changes: int | None = None) -> None:
        """Write this text into the file, without a check.

        ``changes`` is how many changes it has; None for all.
        """
        if self.file is None:
            return
        self._generation += 1
        self._tried = self._changes if changes is None else changes
        if self._writer.write(self.file, text):
            self._written = self._tried
            self.written_ms = self._node.clock.now_ms() - self._node.clock.skew_ms
        else:
            self._try_again()

    def _try_again(self) -> None:
        """Write at the next tick."""
        if self._is_running():
            self._ticks = TICKS_AFTER_CHANGE
            if self._timer is None:
                self._wait(self._node.clock.elapsed_ms() + 1)

    def hold(self, held: bool) -> None:
        """Delay writes while ``held``; afterwards write once if there was a write to wait."""
        self._held = held
        if not held and self._wanted:
            self._wanted = False
            self.persist()

    def start(self) -> None:
        """Let the grid begin now. The timer of an earlier run has ended with that run."""
        self._started_ms = self._node.clock.elapsed_ms()
        self._timer, self._ticks, self._making, self._ticked_ms = None, 0, None, -1
        self._begin()

    def _begin(self) -> None:
        """Write what users expect to find at the first tick."""
        if self._always_there and not self.in_memory:
            self._write_at_tick()

    def changed(self) -> None:
        """Note a change, to be written at the next tick."""
        self._changes += 1
        file = self.file
        if (
            self._timer is None
            or file is None
            or self._ticks != _ticks_after_change(file)
            or self._ticked_ms == self._node.clock.elapsed_ms()
        ):
            self._write_at_tick()
        # Else the timer of an earlier change, as most changes find it, writes this one, too. The
        # question is repeated because each pop commits: the call takes 4,800 instructions.

    def _write_at_tick(self) -> None:
        if self.file is not None and self._is_running():
            self._ticks = _ticks_after_change(self.file)
            now_ms = self._node.clock.elapsed_ms()
            # What changes at the very moment of a tick is written in it. A file in a directory may
            # have had that tick already: it has more ticks than one in memory.
            if self._timer is None or self._ticked_ms == now_ms:
                self._node.clock.cancel(self._timer)
                self._wait(now_ms)

    def _wait(self, from_ms: int) -> None:
        clock = self._node.clock
        due_ms = next_tick_ms(from_ms, self._started_ms, FIRST_TICK_MS, self._period_ms())
        self._timer = clock.call_later(
            due_ms - clock.elapsed_ms(), self._tick, kind="config_persist"
        )

    def _tick(self) -> None:
        self._timer = None
        clock = self._node.clock
        self._ticked_ms = clock.elapsed_ms()
        if not clock.unfinished(self):  # else the last write has taken a whole period so far
            self._ticks -= 1
            clock.carry_out(self.persist_in_steps(), peer=self)
        if self._ticks and self._timer is None:
            self._wait(self._node.clock.elapsed_ms() + 1)

    def forget(self) -> None:
        """Delete the file, as before the first start."""
        self._set_unknown({})
        self._generation += 1
        self._making = None
        self._written = self._tried = self._changes
        self.written_ms = 0
        if self.file is not None:
            self.file.delete()
        self._begin()


def _reason(error: Exception) -> str:
    return str(error.strerror) if isinstance(error, OSError) else str(error)


class Persistence:
    """All config files of a broker; without `keep_in` they are in memory."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        *,
        is_running: Callable[[], bool],
    ) -> None:
        self._node = node
        self._is_running = is_running
        self.topics: ConfigFile[TopicConfigSerializeWrapper] = ConfigFile(
            node, NAMES[0], _topics, is_running=is_running
        )
        self.offsets: ConfigFile[ConsumerOffsetSerializeWrapper] = ConfigFile(
            node,
            LMQ_OFFSETS if node.config.enable_lmq else OFFSETS,
            _lmq_offsets if node.config.enable_lmq else _offsets,
            is_running=is_running,
            period_ms=lambda: node.config.flush_consumer_offset_interval,
            late=True,
            always_there=True,
        )
        self.groups: ConfigFile[SubscriptionGroupWrapper] = ConfigFile(
            node, NAMES[2], _groups, is_running=is_running
        )
        self.filters: ConfigFile[ConsumerFilterTable] = ConfigFile(
            node, NAMES[3], _filters, is_running=is_running, late=True, always_there=True
        )
        self.delays: ConfigFile[DelayOffsetSerializeWrapper] = ConfigFile(
            node, NAMES[4], _delays, is_running=is_running
        )
        self.files: tuple[ConfigFile[Any], ...] = (
            *(self.topics, self.offsets, self.groups, self.filters, self.delays),
        )

    def add(
        self,
        name: str,
        kind: Callable[[], type[B]],
        *,
        field: str,
        pretty: bool = True,
        late: bool = False,
    ) -> ConfigFile[B]:
        """Return one more file, which only brokers of another reference have; connect it.

        ``kind`` returns the class of its body, which must have ``field``; a file that is not
        ``pretty`` is one line. ``late`` is whether a change waits for a write.
        """
        file: ConfigFile[B] = ConfigFile(
            self._node,
            name,
            kind,
            is_running=self._is_running,
            field=field,
            pretty=pretty,
            late=late,
        )
        self.files += (file,)
        return file

    def keep_in(self, open_file: Callable[[str], TextFile]) -> None:
        """Open the files by their names; call this before the broker's first start."""
        for file in self.files:
            file.file = open_file(file.name)

    def load(self, *, stopped: bool = False) -> None:
        """Fill the tables from the files; a table without a file is as after a first start.

        In memory the tables stay as they are. ``stopped`` is as for `ConfigFile.load`. Raise
        StoreError where Java does not start.

        Source: broker/BrokerController.java#initialize (4.9.7)
        """
        if self.topics.file is not None:
            folder = os.path.dirname(self.topics.file.path)
            if os.path.exists(folder) and not os.path.isdir(folder):
                raise StoreError(f"{folder}: Not a directory")
            for file in self.files:
                file.load(stopped=stopped)
                file.prepare()

    def take_back(self) -> None:
        """Forget the changes that wait for a write: the process was killed."""
        for file in self.files:
            # What is lost of offsets has events of its own.
            if file.has_unwritten and file is not self.offsets:
                self._node.journal.add(
                    ChangesLost(node=self._node.name, file=file.name, since_ms=file.written_ms)
                )
            file.take_back()

    def load_texts(self, texts: dict[str, str]) -> None:
        """Fill the tables from texts by file name."""
        for file in self.files:
            file.clear()
            if text := texts.get(file.name):
                file.decode(text)

    def persist_all(self) -> None:
        """Write every file, after many changes."""
        for file in self.files:
            file.persist()

    def start(self) -> None:
        """Begin the grid of every file; `ScheduleMessageService` has one of its own besides.

        Source: broker/BrokerController.java#initialize (4.9.7)
        """
        for file in self.files:
            file.start()

    def stop(self) -> None:
        """Write the last changes, in Java's order; delays are written when the store ends.

        Source: broker/BrokerController.java#shutdown (4.9.7)
        """
        self.offsets.finish()
        self.filters.finish()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Write topics and groups once for many changes."""
        self.topics.hold(True)
        self.groups.hold(True)
        try:
            yield
        finally:
            self.topics.hold(False)
            self.groups.hold(False)

    def reset(self) -> None:
        """Delete all files; later changes are written as after a first start."""
        for file in self.files:
            file.forget()


# These functions import the classes of bodies only when there is a file to read.


def _topics() -> type[Any]:
    from fakemq.protocol.bodies.topic import TopicConfigSerializeWrapper

    return TopicConfigSerializeWrapper


def _offsets() -> type[Any]:
    from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper

    return ConsumerOffsetSerializeWrapper


def _lmq_offsets() -> type[Any]:
    from fakemq.protocol.bodies.offset import LmqConsumerOffsetSerializeWrapper

    return LmqConsumerOffsetSerializeWrapper


def _groups() -> type[Any]:
    from fakemq.protocol.bodies.group import SubscriptionGroupWrapper

    return SubscriptionGroupWrapper


def _filters() -> type[Any]:
    from fakemq.protocol.bodies.filter import ConsumerFilterTable

    return ConsumerFilterTable


def _delays() -> type[Any]:
    from fakemq.protocol.bodies.offset import DelayOffsetSerializeWrapper

    return DelayOffsetSerializeWrapper
