"""Topics as a broker keeps them, and as it registers them with a name server."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import ClassVar, Self

from msgspec import field

from fakemq.protocol import fastjson
from fakemq.protocol.bodies.body import Body, FrozenBody, Int, Long
from fakemq.protocol.errors import BodyError
from fakemq.protocol.header import parse_int
from fakemq.protocol.limits import PEER_JSON, REGISTER_BODY_MAX_BYTES, JsonLimits

_INT32 = struct.Struct(">i")
_FILTER_TYPES = ("SINGLE_TAG", "MULTI_TAG")


class DataVersion(FrozenBody, frozen=True):
    """When a table last changed, and how often it did. Java's default timestamp is now.

    Source: common/DataVersion.java (4.9.7), remoting/protocol/DataVersion.java (5.5.0)
    """

    timestamp: Long = 0
    counter: Long = 0
    state_version: Long | None = None
    """Of a broker of 5.5.0 under a controller: the epoch of its master; None leaves it out."""

    def next(self, now_ms: int, state_version: int | None = None) -> DataVersion:
        """Return the version after one more change, with another ``state_version`` if one is given.

        Source: DataVersion.java#nextVersion (4.9.7, 5.5.0)
        """
        state = self.state_version if state_version is None else state_version
        return DataVersion(timestamp=now_ms, counter=self.counter + 1, state_version=state)


TOPIC_FILTER_TYPES = frozenset({"SINGLE_TAG", "MULTI_TAG"})
"""Source: common/TopicFilterType.java (4.9.7)"""


class TopicConfig(Body):
    """Source: common/TopicConfig.java (4.9.7, 5.5.0)"""

    named: ClassVar[bool] = True  # see `fakemq.protocol.fastjson.NAMED`

    topic_name: str  # may be null in Java, until a table of topics is indexed with it
    read_queue_nums: Int = 16
    write_queue_nums: Int = 16
    perm: Int = 6
    topic_filter_type: str | None = "SINGLE_TAG"
    topic_sys_flag: Int = 0
    order: bool = False
    attributes: dict[str, str] | None = None
    """Of 5.5.0; None leaves them out."""


class TopicConfigSerializeWrapper(Body):
    """Source: common/protocol/body/TopicConfigSerializeWrapper.java (4.9.7)"""

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


_BODY_BEGINS = b'{"filterServerList":[],"topicConfigSerializeWrapper":'
_WRAPPER_BEGINS = b'{"dataVersion":'
_TOPICS_BEGIN = b',"topicConfigTable":{'
_BODY_ENDS = b"}}}"
_HEAD_BYTES = 200
"""More than stands before the topics."""


def topic_json(config: TopicConfig) -> bytes:
    """Return a topic as an entry of the JSON of a table of topics."""
    return fastjson.encode(config.topic_name) + b":" + config.encode()


def topics_json(data_version: DataVersion, topics: Iterable[bytes]) -> bytes:
    """Return the JSON of a `TopicConfigSerializeWrapper` of results of `topic_json`."""
    version = data_version.encode()
    return b"".join((_WRAPPER_BEGINS, version, _TOPICS_BEGIN, b",".join(topics), b"}}"))


def register_broker_json(wrapper: bytes) -> bytes:
    """Return the JSON of a `RegisterBrokerBody` without filter servers; ``wrapper`` is JSON."""
    return b"".join((_BODY_BEGINS, wrapper, b"}"))


def find_topics(body: bytes) -> tuple[int, int] | None:
    """From where to where the topics stand in what `register_broker_json` wrote; None for others.

    They may be cut out, all or the first of them, and the rest is such a body again.
    """
    if not (body.startswith(_BODY_BEGINS + _WRAPPER_BEGINS) and body.endswith(_BODY_ENDS)):
        return None
    begin = body.find(_TOPICS_BEGIN, 0, _HEAD_BYTES)
    return None if begin < 0 else (begin + len(_TOPICS_BEGIN), len(body) - len(_BODY_ENDS))


class RegisterBrokerBody(Body):
    """Everything that a broker sends to a name server about its topics.

    The compressed form is ``zlib(int32 length, DataVersion JSON | int32 topics | per topic:
    int32 length, text | int32 length, filter server JSON)``. A topic's text has no system flag
    and no order, so these do not survive it.

    Source: common/protocol/body/RegisterBrokerBody.java (4.9.7)
    """

    topic_config_serialize_wrapper: TopicConfigSerializeWrapper = field(
        default_factory=TopicConfigSerializeWrapper
    )
    filter_server_list: list[str] = field(default_factory=list)

    def encode(self, *, compressed: bool = False) -> bytes:
        """As JSON, or in the compressed form."""
        if not compressed:
            return super().encode()
        wrapper = self.topic_config_serialize_wrapper
        parts = [_sized(wrapper.data_version.encode())]
        parts.append(_INT32.pack(len(wrapper.topic_config_table)))
        parts += (_sized(_text(one)) for one in wrapper.topic_config_table.values())
        parts.append(_sized(fastjson.encode(self.filter_server_list)))
        return zlib.compress(b"".join(parts), 9)

    @classmethod
    def decode(
        cls,
        data: bytes,
        *,
        limits: JsonLimits = PEER_JSON,
        compressed: bool = False,
        has_mappings: bool = False,
    ) -> Self:
        """From JSON, or from the compressed form; BodyError for what is neither.

        ``has_mappings``: brokers of 5.x put mappings of static topics behind the compressed form.
        """
        if not compressed:
            return super().decode(data, limits=limits)
        reader = _Reader(_inflate(data))
        version = DataVersion.decode(reader.sized(), limits=limits)
        configs = (_from_text(reader.sized()) for _ in range(reader.int32()))
        table = {config.topic_name: config for config in configs}
        servers = _filter_servers(reader.sized())
        if has_mappings:
            for _ in range(reader.int32()):
                reader.sized()
        return cls(
            topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
                topic_config_table=table, data_version=version
            ),
            filter_server_list=servers,
        )


def _filter_servers(data: bytes) -> list[str]:
    try:
        servers = fastjson.loads(data)
    except fastjson.JsonError:  # logged in Java, no more
        return []
    return [str(one) for one in servers] if isinstance(servers, list) else []


def _sized(data: bytes) -> bytes:
    return _INT32.pack(len(data)) + data


def _text(config: TopicConfig) -> bytes:
    return (
        f"{config.topic_name} {config.read_queue_nums} {config.write_queue_nums}"
        f" {config.perm} {config.topic_filter_type}"
    ).encode("utf-8", "replace")


def _from_text(data: bytes) -> TopicConfig:
    parts = data.decode("utf-8", "replace").rstrip(" ").split(" ")
    if len(parts) != 5 or parts[4] not in _FILTER_TYPES:
        raise BodyError(f"no topic in {data[:80]!r}: expected 'name read write perm SINGLE_TAG'")
    name, read, write, perm, filter_type = parts
    return TopicConfig(
        topic_name=name,
        read_queue_nums=parse_int(read),
        write_queue_nums=parse_int(write),
        perm=parse_int(perm),
        topic_filter_type=filter_type,
    )


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(data, REGISTER_BODY_MAX_BYTES)
    except zlib.error as error:
        raise BodyError(f"a compressed body that is none: {error}") from error
    if inflater.unconsumed_tail:
        raise BodyError(f"a compressed body of over {REGISTER_BODY_MAX_BYTES} bytes")
    return plain


class _Reader:
    """Walks the decompressed body."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def int32(self) -> int:
        value: int = _INT32.unpack(self._take(_INT32.size))[0]
        return value

    def sized(self) -> bytes:
        return self._take(self.int32())

    def _take(self, size: int) -> bytes:
        end = self._position + size
        if size < 0 or end > len(self._data):
            raise BodyError(f"{size} bytes wanted at {self._position} of {len(self._data)}")
        self._position, start = end, self._position
        return self._data[start:end]
