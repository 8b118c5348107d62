"""What differs from run to run, taken out of what is recorded.

Every rule is a function of text or of decoded JSON; `Normaliser` applies them all. A rule takes
out what no client may rely on (ids, times, ports, the order of hash maps, data versions, where in
the log a message lies) and nothing else. What is the same thing keeps the same name: the places of
messages in a log are numbered as they come up.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping

from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.hosts import format_host
from fakemq.protocol.message import decode_records
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.properties import decode_properties
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from fakemq.protocol.v5.codes import RequestCode5

NEAR_MS = 4 * 24 * 3_600_000
"""A timer is three days long at most."""
UNORDERED = frozenset(
    {
        *("brokerDatas", "queueDatas", "topicList", "consumerIdList", "lockOKMQSet", "groupList"),
        *("connectionSet", "consumerDataSet", "producerDataSet", "subscriptionDataSet"),
        *(
            "tagsSet",
            "codeSet",
            "consumeTimeSpanSet",
            "consumeStatsList",
            "messageQueueAssignments",
            "groups",
            "liteTopicSet",
            "subscriber",
        ),
    }
)
"""Lists that come out of a HashMap or HashSet."""

HIDDEN_KEYS = {
    "consumeTps": "<per second>",
    "delayTime": "<elapsed>",
    "rq": "<revive queue>",
    "topicPutTps": "<per second>",
}
"""Keys of JSON objects whose numbers differ from run to run."""
PLACE_FIELDS: Mapping[int, str] = {
    RequestCode.VIEW_MESSAGE_BY_ID: "offset",
    RequestCode.CONSUMER_SEND_MSG_BACK: "offset",
    RequestCode.END_TRANSACTION: "commitLogOffset",
    RequestCode.CHECK_TRANSACTION_STATE: "commitLogOffset",
    RequestCode.QUERY_MESSAGE: "indexLastUpdatePhyoffset",
}
"""Header fields that hold a place in the commit log."""
NO_INDEX = ("indexLastUpdatePhyoffset", "0")
"""No message has been looked for in any index file."""
HALF_OFFSETS = frozenset({"tranStateTableOffset", "TRAN_PREPARED_QUEUE_OFFSET"})
"""Header fields and properties that hold an offset in the queue of half messages."""
TRANSACTION, COMMITTED = 12, 8
"""Bits of a message's system flag, and what they are where its half message is named."""
ORDER_REVIVE_QUEUE = "999"
"""What a pop in order says in place of a queue of the revive topic."""
CHANGE_INVISIBLE = RequestCode5.CHANGE_MESSAGE_INVISIBLETIME
HALF_S_MS = 500
LONG = 300
"""Longer values are cut."""

_NUMBER = re.compile(r"-?[0-9]+")
_OFFSET_ID = re.compile(r"\b[0-9A-F]{32}\b")
_MILLISECONDS = re.compile(r"\b1[0-9]{12}\b")
_DATE = re.compile(r"\b(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}#[0-9]{2}:[0-9]{2}:[0-9]{2}:[0-9]{3}\b")
_ADDRESS = re.compile(r"\b127\.0\.0\.1:[0-9]{1,5}\b")
_UNIQUE_ID = re.compile(r"\b(?!AC110001000018B4AAC27E5E1C2)(?:[0-9A-F]{24})?[0-9A-F]{32}\b")
"""A unique id that no scenario has chosen: a broker of 5.5.0 makes one for a message without."""
_HANDLE = re.compile(r"\b([0-9]+ 1[0-9]{12} [0-9]+) [0-7] ([0-9] [\w-]+)\b")
"""A receipt handle up to its broker: offset, pop time, invisible time, revive queue, …"""
_RECALL = re.compile(r"v[0-9]+ .* ")
_DISK = re.compile(r"\b(CL|CQ|INDEX): +-?[0-9]+\.[0-9]+")
_EXCEPTION = re.compile(
    # Those of the filters' parser and of access control are their own words, the same everywhere.
    r"^((?!org\.apache\.rocketmq\.(?:filter|acl)\.)(?:java|com|org|io)\.[\w.$]+(?:Exception|Error))\b.*",
    re.DOTALL,
)


def without_addresses(text: str, names: Mapping[str, str]) -> str:
    """Known addresses by their names, all others as ``<address>``."""
    return _ADDRESS.sub(lambda found: f"<{names.get(found[0], 'address')}>", text)


class Places:
    """Where messages lie in the logs of brokers, by number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}

    def name(self, broker: str, offset: int, *, learn: bool = True) -> str:
        """A place by its number; one that has not come up stays as it is unless it is learnt."""
        if (broker, offset) not in self._numbers:
            if not learn:
                return str(offset)
            self._numbers[broker, offset] = len(self._numbers) + 1
        return f"<place {self._numbers[broker, offset]} at {broker}>"


class Ids:
    """Unique ids that brokers have made, by number. Those of a host with IPv6 are longer."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def named(self, text: str) -> str:
        """Return a text with each of them by its number."""
        return _UNIQUE_ID.sub(lambda found: f"<id {self._number(found[0])}>", text)

    def _number(self, unique_id: str) -> int:
        return self._numbers.setdefault(unique_id, len(self._numbers) + 1)


def made_id_bytes(properties: Mapping[str, str]) -> int:
    """Return how long the unique id of a message is if a broker has made it, else 0."""
    unique_id = properties.get("UNIQ_KEY", "")
    return len(unique_id) if _UNIQUE_ID.fullmatch(unique_id) else 0


LOG_MOST_BYTES = 1 << 48
"""An offset that no log has. The unique ids of a fake broker have the form of an offset id, whose
port and upper bytes of the offset are a checksum: they may be the port of a broker by chance."""


def without_offset_ids(text: str, names: Mapping[str, str], places: Places) -> str:
    """Ids that say where a message is stored: by the broker and the number of the place."""

    def name(found: re.Match[str]) -> str:
        place = decode_offset_id(found[0])
        if place.physical_offset >= LOG_MOST_BYTES:
            return found[0]
        broker = names.get(format_host(place.store_host))
        return found[0] if broker is None else places.name(broker, place.physical_offset)

    return _OFFSET_ID.sub(name, text)


def without_times(text: str, now_ms: int) -> str:
    """Milliseconds within days of the run, and dates written out; chosen times lie elsewhere."""

    def name(found: re.Match[str]) -> str:
        return "<now>" if abs(int(found[0]) - now_ms) < NEAR_MS else found[0]

    return _DATE.sub("<date>", _MILLISECONDS.sub(name, text))


def without_revive_queue(text: str) -> str:
    """Return receipt handles without the queue of their records, which all pops have in turn."""
    return _HANDLE.sub(r"\1 <revive queue> \2", text)


def recall_handle(text: str) -> str:
    """Return what a recall handle says; one that is none stays as it is."""
    try:
        said = base64.b64decode(text, altchars=b"-_", validate=True).decode()
    except ValueError:
        return text
    return f"<handle of {said}>" if _RECALL.match(said) else text


def without_disk(text: str) -> str:
    """Return how full the disk of a broker is: that of this machine."""
    return _DISK.sub(r"\1: <full>", text)


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
    """Return the counter of a DataVersion that the cluster itself has counted."""
    if isinstance(value, dict):
        stamp = value.get("timestamp")
        if "counter" in value and isinstance(stamp, int) and abs(stamp - now_ms) < NEAR_MS:
            value = value | {"counter": "<count>"}
        return {key: without_versions(one, now_ms) for key, one in value.items()}
    if isinstance(value, list):
        return [without_versions(one, now_ms) for one in value]
    return value


def shortened(text: str, most: int = LONG, kept: int = 40) -> str:
    """A value of more than ``most`` characters by its beginning."""
    return text if len(text) <= most else f"{text[:kept]}… of {len(text)} characters"


class Normaliser:
    """Applies every rule. ``names`` maps addresses to names and may grow.

    ``starts`` says for topics that scenarios share where a scenario found them: their offsets
    count from there.
    """

    def __init__(self, names: dict[str, str], now_ms: int) -> None:
        self.names = names
        self.now_ms = now_ms
        self.starts: dict[str, int] = {}
        self.places = Places()
        self.ids = Ids()

    def text(self, text: str) -> str:
        """One value: a remark, an ext field, a line of a body."""
        text = without_revive_queue(without_disk(without_stack(text)))
        text = self.ids.named(without_offset_ids(text, self.names, self.places))
        text = without_addresses(text, self.names)
        return without_times(text, self.now_ms)

    def field(self, name: str, value: str, code: int, broker: str, *, sent: bool) -> str:
        """A header field of a request or of its answer.

        What a scenario sends may be a place that no message has: that is left as it is.
        """
        if name in HALF_OFFSETS:
            return self.since_start(TRANS_HALF_TOPIC, value)
        is_place = name == PLACE_FIELDS.get(code) and (name, value) != NO_INDEX
        if is_place and _NUMBER.fullmatch(value):
            return self.places.name(broker, int(value), learn=not sent)
        if name == "reviveQid" and value != ORDER_REVIVE_QUEUE:
            return "<revive queue>"
        if name == "invisibleTime" and code == CHANGE_INVISIBLE and not sent:
            return str(int(value) // HALF_S_MS * HALF_S_MS)  # in order it counts from the pop
        if name == "recallHandle":
            return self.text(recall_handle(value))
        return self.text(value)

    def since_start(self, topic: str, offset: str) -> str:
        """An offset in a topic, counted from where the scenario found it; no number stays."""
        if not _NUMBER.fullmatch(offset):
            return offset
        return str(int(offset) - self.starts.get(topic, 0))

    def body(self, body: bytes) -> list[str]:
        """A body as lines."""
        if not body:
            return []
        if body[:1] in (b"{", b"["):
            return self._json(body)
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if not all(char.isprintable() or char == "\n" for char in text):
            return [f"body: {len(body)} bytes that are no text"]
        if len(body) > 400:
            return [f"body: {len(body)} bytes of text"]
        return [f"body: {self.text(line)}" for line in text.splitlines()]

    def _json(self, body: bytes) -> list[str]:
        try:
            value, dialect = json.loads(body), "every key quoted"
        except ValueError:
            try:
                value, dialect = fastjson.loads(body), "fastjson's own dialect"
            except fastjson.JsonError:
                return [f"body: {len(body)} bytes that are no JSON: {body[:60]!r}"]
        value = without_order(self._strings(without_versions(value, self.now_ms)))
        text = without_times(json.dumps(value, indent=1, ensure_ascii=False), self.now_ms)
        return [f"body: JSON, {dialect}", *text.splitlines()]

    def _strings(self, value: object) -> object:
        """Normalised before they are sorted, or their order would be that of ports."""
        if isinstance(value, dict):
            return {key: HIDDEN_KEYS.get(key) or self._strings(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._strings(one) for one in value]
        if isinstance(value, float):
            return round(value, 2)  # counted by a clock that is a little late at times
        return self.text(value) if isinstance(value, str) else value

    def records(self, body: bytes, queue: str = "") -> list[str]:
        """Messages as lines; ``queue`` is the topic in whose queue they are, if not their own."""
        lines: list[str] = []
        try:
            found = decode_records(body)
        except RemoteProtocolError as error:
            return [f"{len(body)} bytes that no client can read: {error}"]
        for one in found:
            born, store = format_host(one.born_host), format_host(one.store_host)
            offset = self.since_start(queue or one.topic, str(one.queue_offset))
            place = self._place(store, one.commit_log_offset)
            properties = decode_properties(one.properties_string)
            prepared = str(one.prepared_transaction_offset)
            if one.sys_flag & TRANSACTION == COMMITTED and "TRAN_MSG" in properties:
                prepared = self._place(store, one.prepared_transaction_offset)
            id_bytes = made_id_bytes(properties)
            size = f"{one.store_size_bytes - id_bytes} bytes{' and an id' if id_bytes else ''}"
            lines += (
                f"message {one.topic} queue {one.queue_id} offset {offset}, {place}",
                f"  body {one.body[:60]!r} of {len(one.body)} bytes, crc {one.body_crc}",
                f"  flag {one.flag} sysFlag {one.sys_flag} reconsumed {one.reconsume_times}",
                f"  prepared at {prepared}, {size}",
                self.text(f"  born {one.born_timestamp_ms} at {born}"),
                self.text(f"  stored {one.store_timestamp_ms} at {store}"),
            )
            for name, value in properties.items():
                is_half = name in HALF_OFFSETS
                text = self.since_start(TRANS_HALF_TOPIC, value) if is_half else self.text(value)
                lines.append(f"  {name}: {shortened(text)}")
        return lines

    def _place(self, store_host: str, offset: int) -> str:
        return self.places.name(self.names.get(store_host, "address"), offset)
