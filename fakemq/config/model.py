"""The config of a broker and of a name server: RocketMQ's keys, with types.

``BrokerConfig`` has the keys of four objects of Java: one flat file sets them all, and the only
names that two of them share (the two write-buffer marks) mean the same in both. Attributes are
snake_case (``config.broker_name``); files, printouts and admin requests use Java's names
(``brokerName``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias

from fakemq.config.keys import (
    BrokerKeys,
    BrokerStartupKeys,
    MessageStoreKeys,
    NamesrvKeys,
    NettyClientKeys,
    NettyServerKeys,
    NewerKeys,
)
from fakemq.errors import ConfigError, printable

if TYPE_CHECKING:
    from fakemq.config.rows import KeyRow

Value: TypeAlias = str | int | bool | None


class Key:
    """One config key: Java's name, the attribute here, and the table with its row."""

    __slots__ = ("_row", "attribute", "declared", "field_name", "is_secret", "name", "table")

    def __init__(self, attribute: str, declared: str, table: type) -> None:
        self.attribute = attribute
        self.table = table
        self.declared = declared
        """The text of its row: a start looks for words there, and evaluates none."""
        self._row: KeyRow | None = None
        first, *rest = attribute.split("_")
        self.name = _given(declared, "Named('") or first + "".join(map(str.capitalize, rest))
        """Java's name."""
        self.field_name = _given(declared, "JavaField('") or self.name
        """The name of Java's field, which answers have; files have ``name``."""
        self.is_secret = declared.startswith("Annotated[Secret,")
        """Whether no error and no repr may show its value."""

    def __repr__(self) -> str:
        return f"<Key {self.name}: {self.declared}>"

    @property
    def row(self) -> KeyRow:
        """What the tables say of it."""
        if self._row is None:
            from fakemq.config.rows import row_of  # most starts ask for names and defaults only

            self._row = row_of(self.table, self.attribute)
        return self._row


def _given(declared: str, word: str) -> str:
    """Return what the text of a row has between ``word`` and the next quote; "" for none."""
    return declared.partition(word)[2].partition("'")[0]


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

    __slots__ = ("revision", "texts")  # not among the values, which are those of keys

    revision: int
    """Changes with each change of a value, for readers that keep what they have worked out."""

    release: ClassVar[str] = "4.9.7"
    """The release of RocketMQ that has these keys."""
    tables: ClassVar[tuple[type, ...]]
    not_in_answers: ClassVar[tuple[type, ...]] = (BrokerStartupKeys, NewerKeys)
    """Tables of keys that are in none of the config objects that Java's answers show."""
    of_start: ClassVar[tuple[type, ...]] = ()
    """Tables that no request changes, but for keys that the file of the start sets."""
    answers_are_sorted: ClassVar[bool] = False
    """Whether answers have their keys in order; if not, in that of Java's map."""

    def __init__(self, **values: Value) -> None:
        # Its own, though it has its class's: those are found more slowly, on the path of each send.
        vars(self).update(_defaults_of(type(self)))
        object.__setattr__(self, "revision", 0)
        self.texts: Mapping[str, str] = {}
        """What the file of the start says, by Java name: also of keys that no RocketMQ has."""
        self.assign(values)

    if not TYPE_CHECKING:  # a type checker would then take any name

        def __setattr__(self, name: str, value: object) -> None:
            object.__setattr__(self, name, value)
            object.__setattr__(self, "revision", self.revision + 1)

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
        if key is None:  # without the text: another release may have the key, for a secret
            raise ConfigError(f"{name}: RocketMQ {self.release} has no key {name}")
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
            key.field_name: text_of(getattr(self, key.attribute))
            for key in keys_of(type(self)).values()
            if key.table not in self.not_in_answers and getattr(self, key.attribute) is not None
        }

    def further_properties(self) -> dict[str, str]:
        """Return what the file of the start says besides: Java shows it as it is.

        Source: broker/BrokerStartup.java#createBrokerController, which registers it (4.9.7)
        """
        if not self.texts:
            return {}
        keys = keys_of(type(self)).values()
        names = {key.field_name for key in keys if key.table not in self.not_in_answers}
        return {name: text for name, text in self.texts.items() if name not in names}

    def printed(self, *, important: bool = False) -> str:
        """Return ``key=value`` lines; a file with them makes the same config.

        With ``important`` there are only the keys that ``mqbroker -m`` prints.
        """
        from fakemq.config.properties_text import written

        return "".join(
            f"{key.name}={written(text_of(getattr(self, key.attribute)))}\n"
            for key in keys_of(type(self)).values()
            if not important or key.row.important
        )

    def changed_from(self, other: Self) -> dict[str, Value]:
        """Return the values that differ from those of ``other``, by attribute."""
        values = vars(self).items()
        return {name: value for name, value in values if getattr(other, name) != value}

    def restore(self, other: Self) -> None:
        """Replace all values by those of ``other``, for all readers of this config."""
        vars(self).clear()
        vars(self).update(vars(other))
        self.texts = other.texts  # which changes the revision

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        keys = keys_of(type(self)).values()
        return all(getattr(self, k.attribute) == getattr(other, k.attribute) for k in keys)

    def __repr__(self) -> str:
        defaults = _defaults_of(type(self))
        secrets = {key.attribute for key in keys_of(type(self)).values() if key.is_secret}
        values = ", ".join(
            f"{name}={'…' if name in secrets else repr(value)}"
            for name, value in vars(self).items()
            if value != defaults[name]
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
    broker_not_active_timeout_millis = 120_000
    channel_expired_timeout = 120_000
    fetch_namesrv_addr_interval = 120_000
    update_name_server_addr_period = 120_000
    controller_addr = ""
    enable_create_sys_group = True
    index_file_read_enable = True
    max_filter_message_size = 16_000

    @property
    def node_name(self) -> str:
        """The name of this broker everywhere in fakemq, such as ``broker-a-0``."""
        return f"{self.broker_name}-{self.broker_id}"

    @property
    def has_controller(self) -> bool:
        """Whether a controller says which role the broker has."""
        return False

    @property
    def limits_light_queues(self) -> bool:
        """Whether messages of some topics may not name light queues, as with 5.5.0."""
        return False

    @property
    def has_acting_master(self) -> bool:
        """Whether its slaves act as masters while it is away, or it does for its master."""
        return False

    @property
    def metrics_port(self) -> int | None:
        """The port at which Prometheus reads its metrics, 0 for a free one; None without one."""
        return None

    def keep_known_exporter(self) -> None:
        """Set the exporter of metrics to DISABLE if fakemq does not have it, as LOG."""

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


ExporterType: TypeAlias = Literal["DISABLE", "OTLP_GRPC", "PROM", "LOG"]
WHY_NO_OTHER = "fakemq exports metrics to Prometheus only (PROM)"


def port_of(exporter: ExporterType, port: int) -> int | None:
    """Return the port at which Prometheus reads metrics; None without one."""
    return port if exporter == "PROM" else None


def known_exporter(exporter: ExporterType) -> ExporterType:
    """Return the exporter, or DISABLE for one that fakemq does not have: OTLP_GRPC and LOG."""
    return "PROM" if exporter == "PROM" else "DISABLE"


_KEYS: dict[type[Config], dict[str, Key]] = {}


_DEFAULTS: dict[type[Config], dict[str, Value]] = {}


def _defaults_of(config: type[Config]) -> Mapping[str, Value]:
    if config not in _DEFAULTS:
        names = [name for table in config.tables for name in declared_in(table)]
        _DEFAULTS[config] = {name: getattr(config, name) for name in names}
    return _DEFAULTS[config]


def declared_in(table: type) -> Mapping[str, str]:
    """Return the rows of a table, with those that it inherits first, by attribute.

    Those of keys that a release does not have any more are among them.
    """
    found: dict[str, str] = {}
    for one in reversed(table.__mro__):
        found |= vars(one).get("__annotations__", {})
    return found


def keys_of(config: type[Config]) -> Mapping[str, Key]:
    """Return the keys of a kind of config, by Java name, in Java's order."""
    if config not in _KEYS:  # made on first use: most clusters start without
        keys = (
            Key(attribute, declared, table)
            for table in config.tables
            for attribute, declared in declared_in(table).items()
            if "GONE" not in declared
        )
        _KEYS[config] = {key.name: key for key in keys}
    return _KEYS[config]


def parsed(key: Key, text: str, where: str = "") -> Value:
    """Return the value of a text for a key; a ConfigError begins with ``where``, its place."""
    try:
        text.encode()  # half a surrogate pair has no bytes
        return key.row.kind.parse(text)
    except ValueError:
        place = f"{where}: " if where else ""
        shown = "" if key.is_secret else f"={text}"
        message = f"{place}{key.name}{shown}: expected {key.row.kind.expected}"
        raise ConfigError(printable(message)) from None
