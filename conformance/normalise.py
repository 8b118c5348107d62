"""What differs from run to run, taken out of what is recorded.

Every rule is a function of text or of decoded JSON; `Normaliser` applies them all. A rule takes
out what no client may rely on (ids, times, ports, the order of hash maps, data versions, where in
the log a message lies) and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from fakemq.protocol import fastjson
from fakemq.protocol.hosts import format_host
from fakemq.protocol.message import decode_records
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.properties import decode_properties

DAY_MS = 24 * 3_600_000
UNORDERED = frozenset(
    {
        *("brokerDatas", "queueDatas", "topicList", "consumerIdList", "lockOKMQSet", "groupList"),
        *("connectionSet", "consumerDataSet", "producerDataSet", "subscriptionDataSet"),
        *("tagsSet", "codeSet"),
    }
)
"""Lists that come out of a HashMap or HashSet."""

_OFFSET_ID = re.compile(r"\b[0-9A-F]{32}\b")
_MILLISECONDS = re.compile(r"\b1[0-9]{12}\b")
_ADDRESS = re.compile(r"\b127\.0\.0\.1:[0-9]{1,5}\b")
_EXCEPTION = re.compile(r"^((?:java|com|org|io)\.[\w.$]+(?:Exception|Error))\b.*", re.DOTALL)


def without_addresses(text: str, names: Mapping[str, str]) -> str:
    """Known addresses by their names, all others as ``<address>``."""
    return _ADDRESS.sub(lambda found: f"<{names.get(found[0], 'address')}>", text)


def without_offset_ids(text: str, names: Mapping[str, str]) -> str:
    """Ids that say where a message is stored: the broker stays, the place in its log goes."""

    def name(found: re.Match[str]) -> str:
        broker = names.get(format_host(decode_offset_id(found[0]).store_host))
        return found[0] if broker is None else f"<offset id at {broker}>"

    return _OFFSET_ID.sub(name, text)


def without_times(text: str, now_ms: int) -> str:
    """Milliseconds within a day of the run; the times that scenarios choose lie elsewhere."""

    def name(found: re.Match[str]) -> str:
        return "<now>" if abs(int(found[0]) - now_ms) < DAY_MS else found[0]

    return _MILLISECONDS.sub(name, text)


def without_stack(text: str) -> str:
    """An exception by its class: text and line belong to the JVM."""
    return _EXCEPTION.sub(r"<thrown \1>", text)


def without_order(value: object, key: str = "") -> object:
    """Maps by key, and lists that come out of a hash table by what they hold."""
    if isinstance(value, dict):
        items = sorted((str(one), one) for one in value)
        return {text: without_order(value[one], text) for text, one in items}
    if isinstance(value, list):
        found = [without_order(one, key) for one in value]
        unordered = key in UNORDERED or key.startswith("Cluster")  # clusterAddrTable's values
        return sorted(found, key=lambda one: json.dumps(one)) if unordered else found
    return value


def without_versions(value: object, now_ms: int) -> object:
    """The counter of a DataVersion that the cluster itself has counted."""
    if isinstance(value, dict):
        stamp = value.get("timestamp")
        if "counter" in value and isinstance(stamp, int) and abs(stamp - now_ms) < DAY_MS:
            value = value | {"counter": "<count>"}
        return {key: without_versions(one, now_ms) for key, one in value.items()}
    if isinstance(value, list):
        return [without_versions(one, now_ms) for one in value]
    return value


class Normaliser:
    """Applies every rule. ``names`` maps addresses to names and may grow."""

    def __init__(self, names: dict[str, str], now_ms: int) -> None:
        self.names = names
        self.now_ms = now_ms

    def text(self, text: str) -> str:
        """One value: a remark, an ext field, a line of a body."""
        text = without_stack(text)
        text = without_offset_ids(text, self.names)
        text = without_addresses(text, self.names)
        return without_times(text, self.now_ms)

    def body(self, body: bytes, *, records: bool = False) -> list[str]:
        """A body as lines."""
        if not body:
            return []
        if records:
            return self._records(body)
        if body[:1] in (b"{", b"["):
            return self._json(body)
        try:
            lines = body.decode("utf-8").splitlines()
        except UnicodeDecodeError:
            return [f"body: {len(body)} bytes that are no text"]
        if len(body) > 400:
            return [f"body: {len(body)} bytes of text"]
        return [f"body: {self.text(line)}" for line in lines]

    def _json(self, body: bytes) -> list[str]:
        try:
            value, dialect = json.loads(body), "every key quoted"
        except ValueError:
            value, dialect = fastjson.loads(body), "fastjson's own dialect"
        value = without_order(self._strings(without_versions(value, self.now_ms)))
        text = without_times(json.dumps(value, indent=1, ensure_ascii=False), self.now_ms)
        return [f"body: JSON, {dialect}", *text.splitlines()]

    def _strings(self, value: object) -> object:
        """Normalised before they are sorted, or their order would be that of ports."""
        if isinstance(value, dict):
            return {key: self._strings(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._strings(one) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def _records(self, body: bytes) -> list[str]:
        lines: list[str] = []
        for one in decode_records(body):
            born, store = format_host(one.born_host), format_host(one.store_host)
            lines += (
                f"message {one.topic} queue {one.queue_id} offset {one.queue_offset}",
                f"  body {one.body[:60]!r} of {len(one.body)} bytes, crc {one.body_crc}",
                f"  flag {one.flag} sysFlag {one.sys_flag} reconsumed {one.reconsume_times}",
                f"  prepared at {one.prepared_transaction_offset}, {one.store_size_bytes} bytes",
                self.text(f"  born {one.born_timestamp_ms} at {born}"),
                self.text(f"  stored {one.store_timestamp_ms} at {store}"),
            )
            for name, value in decode_properties(one.properties_string).items():
                lines.append(f"  {name}: {self.text(value)}")
        return lines
