"""The config of a broker and of a name server: RocketMQ's keys, with types.

``BrokerConfig`` has the keys of four objects of Java: one flat file sets them all, and the only
names that two of them share (the two write-buffer marks) mean the same in both. Attributes are
snake_case (``config.broker_name``); files, printouts and admin requests use Java's names
(``brokerName``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self, TypeAlias

from fakemq.config.keys import (
    CHOICES,
    FIELD_NAMES,
    IMPORTANT,
    JAVA_NAMES,
    BrokerKeys,
    BrokerStartupKeys,
    MessageStoreKeys,
    NamesrvKeys,
    NettyClientKeys,
    NettyServerKeys,
    NewerKeys,
)
from fakemq.errors import ConfigError, printable

Value: TypeAlias = str | int | bool | None

_INTEGERS = {"int": 31, "Long": 63}
_RANGES: dict[str, tuple[int, int]] = {
    "listen_port": (0, 65534),  # the HA port is the next one
    "ha_listen_port": (0, 65535),
    "broker_permission": (0, 7),
    "access_message_in_memory_max_ratio": (0, 100),
    "disk_max_used_space_ratio": (0, 100),
    "max_error_rate_of_bloom_filter": (1, 99),
    "revive_queue_num": (1, 32_768),
    "mapped_file_size_timer_log": (68, (1 << 31) - 1),  # a unit and a blank
}
_AT_LEAST_ONE = frozenset(
    {
        "default_topic_queue_nums",
        "flush_consumer_offset_interval",
        "short_polling_time_mills",
        "expect_consumer_num_use_filter",
        "register_name_server_period",
        "register_broker_timeout_mills",
        "transaction_check_interval",
        "mapped_file_size_commit_log",
        "mapped_file_size_consume_queue",
        "mapped_file_size_consume_queue_ext",
        "flush_interval_commit_log",
        "flush_interval_consume_queue",
        "clean_resource_interval",
        "max_message_size",
        "max_hash_slot_num",
        "max_index_num",
        "max_msgs_num_batch",
        "default_query_max_num",
        "ha_send_heartbeat_interval",
        "ha_housekeeping_interval",
        "ha_transfer_batch_size",
        "sync_flush_timeout",
        "slave_timeout",
        "flush_delay_offset_interval",
        "server_channel_max_idle_time_seconds",
        "server_socket_backlog",
        "timer_precision_ms",
    }
)
"""Keys that must be above zero: with less, Java starts, and then fails or loops for ever."""
_NOT_EMPTY = frozenset({"broker_name", "broker_cluster_name", "broker_ip1", "broker_ip2"})


_NOT_IN_ANSWERS = (BrokerStartupKeys, NewerKeys)
"""Tables of keys that are in none of Java's config objects."""


class Key:
    """One config key: Java's name, the attribute here, Java's type, and the table with it."""

    __slots__ = ("attribute", "name", "table", "type")

    def __init__(self, attribute: str, declared: str, table: type, name: str | None = None) -> None:
        first, *rest = attribute.split("_")
        self.attribute = attribute
        self.name = name or JAVA_NAMES.get(attribute, first + "".join(map(str.capitalize, rest)))
        self.type = declared
        self.table = table

    def __repr__(self) -> str:
        return f"<Key {self.name}: {self.type}>"

    @property
    def expected(self) -> str:
        """A description of valid values, to complete the sentence "expected ..."."""
        if self.attribute in _EXPECTED:
            return _EXPECTED[self.attribute]
        if self.type in CHOICES:
            return " or ".join(CHOICES[self.type])
        if self.type == "bool":
            return "true or false"
        if self.type == "bool | None":
            return "true, false or nothing"
        if self.type in _INTEGERS:
            low, high = self.range
            return f"a whole number from {low} to {high}"
        return "some text" if self.attribute in _NOT_EMPTY else "any text"

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest number allowed, both included."""
        bits = _INTEGERS[self.type]
        low = 1 if self.attribute in _AT_LEAST_ONE else -(1 << bits)
        return _RANGES.get(self.attribute, (low, (1 << bits) - 1))

    def parse(self, text: str) -> Value:
        """Return the value of a text; raise ValueError if it has none.

        Java ignores a value that it cannot read, and reads every word except "true" as false. Here
        both are errors, because a test would not notice them.
        """
        if self.type.endswith("None") and not text:
            return None
        if self.type.startswith("bool"):
            return {"true": True, "false": False}[text.lower()]
        if self.type in _INTEGERS:
            low, high = self.range
            digits = text[1:] if text[:1] in ("+", "-") else text
            if not (digits.isascii() and digits.isdigit() and len(digits) < 30):
                raise ValueError(text)
            if not low <= int(text) <= high:
                raise ValueError(text)
            return int(text)
        if self.type in CHOICES and text not in CHOICES[self.type]:
            raise ValueError(text)
        if self.attribute in _NOT_EMPTY and not text.strip():
            raise ValueError(text)
        if self.attribute in _CHECKS and not _CHECKS[self.attribute](text):
            raise ValueError(text)
        return text


def are_addresses(text: str) -> bool:
    """Return whether a text is a list of ``host:port``, with semicolons between."""
    return all(
        host and port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65536
        for host, _, port in (address.rpartition(":") for address in text.split(";") if address)
    )


def _are_delay_levels(text: str) -> bool:
    from fakemq.protocol.delay_levels import parse_delay_levels  # few configs set the levels

    return bool(parse_delay_levels(text))


def _are_hours(text: str) -> bool:
    hours = text.rstrip(";").split(";")
    return all(
        hour.isascii() and hour.isdigit() and len(hour) < 3 and int(hour) < 24 for hour in hours
    )


_CHECKS = {
    "namesrv_addr": are_addresses,
    "message_delay_level": _are_delay_levels,
    "delete_when": _are_hours,
}
_EXPECTED = {
    "namesrv_addr": 'addresses such as "127.0.0.1:9876;192.168.0.1:9876"',
    "message_delay_level": 'numbers with s, m, h or d, one space between: "1s 5s 10s 1m 2h"',
    "delete_when": 'hours from 00 to 23, such as "04" or "04;16"',
}


def text_of(value: object) -> str:
    """Return the text of a value in a properties file: ``true``, ``false``, "" for null."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Config:
    """Values for the keys of some tables; a key that was not set has its default.

    Values change at run time (UPDATE_BROKER_CONFIG), so all readers share one config. Take a
    ``copy`` to keep the present values.
    """

    __slots__ = ("texts",)  # not among the values, which are those of keys

    release: ClassVar[str] = "4.9.7"
    """The release of RocketMQ that has these keys."""
    tables: ClassVar[tuple[type, ...]]
    renamed: ClassVar[Mapping[str, str | None]] = {}
    """Attribute → its Java name, if that is another one here; None if there is no such key."""
    field_names: ClassVar[Mapping[str, str]] = FIELD_NAMES
    """Attribute → the name of Java's field, which answers have, where it is not that of the key."""
    answers_are_sorted: ClassVar[bool] = False
    """Whether answers have their keys in order; if not, in that of Java's map."""
    important: ClassVar[frozenset[str]] = IMPORTANT
    """Attributes that Java marks @ImportantField."""

    def __init__(self, **values: Value) -> None:
        # Its own, though it has its class's: those are found more slowly, on the path of each send.
        vars(self).update(_defaults_of(type(self)))
        self.texts: Mapping[str, str] = {}
        """What the file of the start says, by Java name: also of keys that no RocketMQ has."""
        self.assign(values)

    def assign(self, values: Mapping[str, Value]) -> None:
        """Set attributes by their Python names; raise TypeError for an unknown name."""
        known = {key.attribute for key in keys_of(type(self)).values()} if values else set()
        for attribute, value in values.items():
            if attribute not in known:
                raise TypeError(f"{type(self).__name__} has no attribute {attribute!r}")
            setattr(self, attribute, value)

    def set_property(self, name: str, text: str) -> None:
        """Set one value by its Java name, from text; raise ConfigError if either is wrong."""
        key = keys_of(type(self)).get(name)
        if key is None:
            raise ConfigError(f"{name}={text}: RocketMQ {self.release} has no key {name}")
        setattr(self, key.attribute, parsed(key, text))

    def copy(self) -> Self:
        """Return an independent config with the same values."""
        twin = type(self)()
        vars(twin).update(vars(self))
        twin.texts = self.texts
        return twin

    def java_properties(self) -> dict[str, str]:
        """Return the properties of Java's answer to GET_BROKER_CONFIG: field names, no nulls.

        Source: common/MixAll.java#object2Properties (4.9.7)
        """
        return {
            self.field_name(key): text_of(getattr(self, key.attribute))
            for key in keys_of(type(self)).values()
            if key.table not in _NOT_IN_ANSWERS and getattr(self, key.attribute) is not None
        }

    def field_name(self, key: Key) -> str:
        """Return the name of Java's field, which answers have; files have ``key.name``."""
        return self.field_names.get(key.attribute, key.name)

    def further_properties(self) -> dict[str, str]:
        """Return what the file of the start says besides: Java shows it as it is.

        Source: broker/BrokerStartup.java#createBrokerController, which registers it (4.9.7)
        """
        if not self.texts:
            return {}
        keys = keys_of(type(self)).values()
        names = {self.field_name(key) for key in keys if key.table not in _NOT_IN_ANSWERS}
        return {name: text for name, text in self.texts.items() if name not in names}

    def printed(self, *, important: bool = False) -> str:
        """Return ``key=value`` lines; a file with them makes the same config.

        With ``important`` there are only the keys that ``mqbroker -m`` prints.
        """
        from fakemq.config.properties_text import written

        return "".join(
            f"{key.name}={written(text_of(getattr(self, key.attribute)))}\n"
            for key in keys_of(type(self)).values()
            if not important or key.attribute in self.important
        )

    def changed_from(self, other: Self) -> dict[str, Value]:
        """Return the values that differ from those of ``other``, by attribute."""
        values = vars(self).items()
        return {name: value for name, value in values if getattr(other, name) != value}

    def restore(self, other: Self) -> None:
        """Replace all values by those of ``other``, for all readers of this config."""
        vars(self).clear()
        vars(self).update(vars(other))
        self.texts = other.texts

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        keys = keys_of(type(self)).values()
        return all(getattr(self, k.attribute) == getattr(other, k.attribute) for k in keys)

    def __repr__(self) -> str:
        defaults = _defaults_of(type(self))
        values = ", ".join(
            f"{name}={value!r}" for name, value in vars(self).items() if value != defaults[name]
        )
        return f"{type(self).__name__}({values})"


class BrokerConfig(
    Config,
    BrokerKeys,
    NettyServerKeys,
    NettyClientKeys,
    MessageStoreKeys,
    BrokerStartupKeys,
    NewerKeys,
):
    """All keys that 4.9.7's broker reads from its file, and those that only fakemq reads.

    Source: broker/BrokerStartup.java (4.9.7)
    """

    tables: ClassVar[tuple[type, ...]] = (
        BrokerKeys,
        NettyServerKeys,
        NettyClientKeys,
        MessageStoreKeys,
        BrokerStartupKeys,
        NewerKeys,
    )
    listen_port: int = 10911

    # Constants in 4.9.7, and keys in 5.5.0.
    channel_expired_timeout = 120_000
    fetch_namesrv_addr_interval = 120_000
    update_name_server_addr_period = 120_000
    enable_create_sys_group = True
    index_file_read_enable = True
    max_filter_message_size = 16_000

    @property
    def node_name(self) -> str:
        """The name of this broker everywhere in fakemq, such as ``broker-a-0``."""
        return f"{self.broker_name}-{self.broker_id}"

    @property
    def is_slave(self) -> bool:
        """Whether ``brokerRole`` is SLAVE. The id follows from the role, never vice versa."""
        return self.broker_role == "SLAVE"


class NamesrvConfig(Config, NamesrvKeys, NettyServerKeys):
    """All keys that 4.9.7's name server reads. Source: namesrv/NamesrvStartup.java (4.9.7)."""

    tables: ClassVar[tuple[type, ...]] = (NamesrvKeys, NettyServerKeys)
    listen_port: int = 9876
    scan_not_active_broker_interval = 10_000
    """How often silent brokers are looked for, in ms: a constant in 4.9.7, a key in 5.5.0."""


_KEYS: dict[type[Config], dict[str, Key]] = {}


_DEFAULTS: dict[type[Config], dict[str, Value]] = {}


def _defaults_of(config: type[Config]) -> Mapping[str, Value]:
    if config not in _DEFAULTS:
        names = [name for table in config.tables for name in declared_in(table)]
        _DEFAULTS[config] = {name: getattr(config, name) for name in names}
    return _DEFAULTS[config]


def declared_in(table: type) -> Mapping[str, str]:
    """Return the keys of a table, with those that it inherits first: attribute → Java type."""
    found: dict[str, str] = {}
    for one in reversed(table.__mro__):
        found |= vars(one).get("__annotations__", {})
    return found


def keys_of(config: type[Config]) -> Mapping[str, Key]:
    """Return the keys of a kind of config, by Java name, in Java's order."""
    if config not in _KEYS:  # made on first use: most clusters start without
        keys = (
            Key(attribute, declared, table, config.renamed.get(attribute))
            for table in config.tables
            for attribute, declared in declared_in(table).items()
            if config.renamed.get(attribute, "") is not None
        )
        _KEYS[config] = {key.name: key for key in keys}
    return _KEYS[config]


def parsed(key: Key, text: str, where: str = "") -> Value:
    """Return the value of a text for a key; a ConfigError begins with ``where``, its place."""
    try:
        text.encode()  # half a surrogate pair has no bytes
        return key.parse(text)
    except (ValueError, KeyError):
        place = f"{where}: " if where else ""
        message = f"{place}{key.name}={text}: expected {key.expected}"
        raise ConfigError(printable(message)) from None
