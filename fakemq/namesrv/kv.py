"""KV config: namespace → key → value, in memory and, if it has one, in a JSON file.

Source: namesrv/kvconfig/KVConfigManager.java (4.9.7)
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec import field

from fakemq.clock.slices import Steps, finished
from fakemq.clock.timers import notes_nothing
from fakemq.dispatch.node import TextWriter
from fakemq.errors import ConfigError
from fakemq.events.core import KvConfigPrinted
from fakemq.protocol.bodies.body import Body
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.java import java_hash_map_order_in_steps
from fakemq.protocol.limits import FILE_JSON

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.files.texts import TextFile
    from fakemq.journal.journal import Journal

NAMESPACE_ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"
PRINT_FIRST_MS = 60_000
PRINT_PERIOD_MS = 600_000
RETRY_MS = 10_000
"""The time between a write that failed and the next one; Java waits for the next change."""
PRINTED_LINES_MAX = 100
"""How many lines one print has at most; Java has no limit."""


class KVConfigSerializeWrapper(Body):
    """Source: namesrv/kvconfig/KVConfigSerializeWrapper.java (4.9.7)"""

    config_table: dict[str, dict[str, str]] = field(default_factory=dict)


class KvConfig:
    """The KV config of one name server; with ``file`` None it is only in memory."""

    def __init__(self, clock: NodeClock, journal: Journal, file: TextFile | None = None) -> None:
        self._clock = clock
        self._journal = journal
        self._file = file
        self._config_table: dict[str, dict[str, str]] = {}
        self._writer = TextWriter(journal, clock.owner)
        self._retry: Timer | None = None
        """Writes the file after a write that failed."""

    def load(self) -> None:
        """Load the file; without one, begin empty.

        Raise ConfigError for a file that cannot be read or is no KV config. Java begins empty in
        the first case, and overwrites the file with the next change.
        """
        self._config_table = {}
        self._clock.cancel(self._retry)
        self._retry = None
        if self._file is None:
            return
        path = self._file.path
        try:
            text = self._file.read()
            if text:
                kept = KVConfigSerializeWrapper.decode(text.encode(), limits=FILE_JSON)
                self._config_table = kept.config_table
        except OSError as error:
            raise ConfigError(f"{path}: cannot read this KV config: {error.strerror}") from None
        except (ProtocolError, ValueError) as error:
            raise ConfigError(f"{path}: this is no KV config: {error}") from None

    def put(self, namespace: str, key: str, value: str | None) -> None:
        """Set one value and write the file; a null value counts as absent."""
        table = self._config_table.setdefault(namespace, {})
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
        self._persist()

    def get(self, namespace: str, key: str) -> str | None:
        return self._config_table.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> None:
        """Remove one value; its namespace stays, also if it is empty."""
        self._config_table.get(namespace, {}).pop(key, None)
        self._persist()

    def kv_table(self, namespace: str) -> KVTable | None:
        """Return the values of a namespace; None if it does not exist."""
        if namespace not in self._config_table:
            return None
        return finished(self.kv_table_in_steps(namespace))

    def kv_table_in_steps(self, namespace: str) -> Steps[KVTable | None]:
        """`kv_table`, of many values; one that comes or goes meanwhile may be in it or not."""
        table = self._config_table.get(namespace)
        if table is None:
            return None
        keys = yield from java_hash_map_order_in_steps(table)
        return KVTable(table={key: table[key] for key in keys if key in table})

    def tables(self) -> dict[str, dict[str, str]]:
        """Return a copy of all values, by namespace."""
        return {namespace: dict(table) for namespace, table in self._config_table.items()}

    def restore(self, tables: Mapping[str, Mapping[str, str]]) -> None:
        """Replace all values and write the file."""
        self._config_table = {namespace: dict(table) for namespace, table in tables.items()}
        self._persist()

    def start_printing(self) -> None:
        """Print all values after one minute, and then every ten minutes."""
        self._print_in(PRINT_FIRST_MS)

    def _print_in(self, delay_ms: int) -> None:
        self._clock.call_later(
            delay_ms,
            self._print_all,
            kind="kv_config_print",
            routine=notes_nothing,
            grid_ms=PRINT_PERIOD_MS,
        )

    def _print_all(self) -> None:
        items = (
            f"configTable NS: {namespace} Key: {key} Value: {value}"
            for namespace, table in self._config_table.items()
            for key, value in table.items()
        )
        lines = [
            f"configTable SIZE: {len(self._config_table)}",
            *islice(items, PRINTED_LINES_MAX - 1),
        ]
        left = 1 + sum(map(len, self._config_table.values())) - len(lines)
        if left:
            lines.append(f"… and {left} more")
        self._journal.add(KvConfigPrinted(node=self._clock.owner, lines=tuple(lines)))
        self._print_in(PRINT_PERIOD_MS)

    def _persist(self) -> None:
        if self._file is None:
            return
        self._clock.cancel(self._retry)
        self._retry = None
        text = KVConfigSerializeWrapper(config_table=self._config_table).encode().decode()
        if not self._writer.write(self._file, text):  # the request is answered with SUCCESS
            self._retry = self._clock.call_later(RETRY_MS, self._persist, kind="config_persist")
